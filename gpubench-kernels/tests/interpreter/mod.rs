//! An interpreter of the PTX that these kernels are made of. Threads of a block take turns where they wait
//! for each other; blocks run one after the other. It stops at an access outside of the arrays.

mod program;

use std::ops::Range;

pub(crate) use self::program::Program;
use self::program::{Instruction, Operand};

/// Threads of a warp.
const WARP: usize = 32;

/// The memory of the device: arrays with gaps between them.
#[derive(Default)]
pub(crate) struct Memory {
    bytes: Vec<u8>,
    arrays: Vec<Range<usize>>,
}

impl Memory {
    /// Adds an array and returns its address.
    pub(crate) fn add(&mut self, array: &[u8]) -> u64 {
        let start = (self.bytes.len() + 256).next_multiple_of(256);
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(array);
        self.arrays.push(start..self.bytes.len());
        start as u64
    }

    /// The bytes from an address on, as many as `length` or to the end of their array.
    pub(crate) fn array(&self, start: u64, length: Option<u64>) -> &[u8] {
        let array =
            self.arrays.iter().find(|array| array.contains(&(start as usize))).expect("an array is there");
        let end = length.map_or(array.end, |length| start as usize + length as usize);
        &self.bytes[start as usize..end]
    }

    fn place(&self, address: u64, bytes: usize) -> Range<usize> {
        let range = address as usize..address as usize + bytes;
        let inside = self.arrays.iter().any(|array| array.start <= range.start && range.end <= array.end);
        assert!(inside && address.is_multiple_of(bytes as u64), "an access to {bytes} bytes at {address:#x}");
        range
    }
}

/// The sizes of a grid and of its blocks, in x and y.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) blocks: [u32; 2],
    pub(crate) threads: [u32; 2],
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Runs,
    WaitsForBlock,
    WaitsForWarp,
    Ended,
}

struct Thread {
    registers: Vec<u64>,
    next: usize,
    state: State,
    index: [u32; 2],
}

/// A block that runs.
struct Block<'a> {
    program: &'a Program,
    arguments: &'a [u64],
    grid: Grid,
    index: [u32; 2],
    shared: Vec<u8>,
}

/// Runs all blocks of a launch.
pub(crate) fn run(program: &Program, arguments: &[u64], grid: Grid, memory: &mut Memory) {
    for y in 0..grid.blocks[1] {
        for x in 0..grid.blocks[0] {
            let shared = vec![0; program.shared];
            Block { program, arguments, grid, index: [x, y], shared }.run(memory);
        }
    }
}

impl Block<'_> {
    fn run(&mut self, memory: &mut Memory) {
        let [across, down] = self.grid.threads;
        let indices = (0..down).flat_map(|y| (0..across).map(move |x| [x, y]));
        let mut threads: Vec<Thread> = indices
            .map(|index| Thread {
                registers: vec![0; self.program.registers],
                next: 0,
                state: State::Runs,
                index,
            })
            .collect();
        while threads.iter().any(|thread| thread.state != State::Ended) {
            for thread in &mut threads {
                while thread.state == State::Runs {
                    self.step(thread, memory);
                }
            }
            threads.chunks_mut(WARP).for_each(|warp| self.shuffle(warp));
            let waits = |thread: &Thread| thread.state == State::WaitsForBlock;
            if threads.iter().all(|thread| waits(thread) || thread.state == State::Ended) {
                threads
                    .iter_mut()
                    .filter(|thread| waits(thread))
                    .for_each(|thread| thread.state = State::Runs);
            }
        }
    }

    /// Runs the instruction at which a thread is.
    fn step(&mut self, thread: &mut Thread, memory: &mut Memory) {
        let program = self.program;
        let instruction = &program.instructions[thread.next];
        if let Some((predicate, wanted)) = instruction.guard
            && (thread.registers[predicate] != 0) != wanted
        {
            thread.next += 1;
            return;
        }
        let name = instruction.opcode.split('.').next().unwrap_or("");
        match (name, &instruction.operands[..]) {
            ("ret", _) => thread.state = State::Ended,
            ("bra", [Operand::Label(label)]) => {
                thread.next = *label;
                return;
            }
            ("bar", _) => thread.state = State::WaitsForBlock,
            ("shfl", _) => {
                thread.state = State::WaitsForWarp;
                return;
            }
            ("ld" | "st", _) => self.access(thread, instruction, memory),
            ("mov", [Operand::Vector(halves), from]) => {
                let bits = self.value(thread, from);
                set(thread, &halves[0], bits & 0xffff_ffff);
                set(thread, &halves[1], bits >> 32);
            }
            ("mov", [to, Operand::Vector(halves)]) => {
                let [low, high] = [0, 1].map(|half| self.value(thread, &halves[half]));
                set(thread, to, low | high << 32);
            }
            (_, [to, from @ ..]) => {
                let values: Vec<u64> = from.iter().map(|operand| self.value(thread, operand)).collect();
                set(thread, to, compute(&instruction.opcode, &values));
            }
            _ => panic!("`{}` is not known", instruction.opcode),
        }
        thread.next += 1;
    }

    /// The bits of an operand.
    fn value(&self, thread: &Thread, operand: &Operand) -> u64 {
        let of = |numbers: [u32; 2], name: &str| u64::from(numbers[usize::from(name.ends_with('y'))]);
        match operand {
            Operand::Register(register) => thread.registers[*register],
            Operand::Constant(bits) => *bits,
            Operand::Parameter(index) => self.arguments[*index],
            Operand::Address(base, offset) => self.value(thread, base).wrapping_add(*offset),
            Operand::Special(name) => match name.trim_end_matches(['x', 'y']) {
                "%tid." => of(thread.index, name),
                "%ctaid." => of(self.index, name),
                "%ntid." => of(self.grid.threads, name),
                "%nctaid." => of(self.grid.blocks, name),
                _ => panic!("`{name}` is not known"),
            },
            Operand::Vector(_) | Operand::Label(_) => panic!("a vector or a label is no value"),
        }
    }

    /// Loads or stores one element or a vector of them.
    fn access(&mut self, thread: &mut Thread, instruction: &Instruction, memory: &mut Memory) {
        let parts: Vec<&str> = instruction.opcode.split('.').collect();
        let loads = parts[0] == "ld";
        let (address, registers) = match &instruction.operands[..] {
            [registers, address] if loads => (address, registers),
            [address, registers] => (address, registers),
            _ => panic!("`{}` takes an address and a register", instruction.opcode),
        };
        let address = self.value(thread, address);
        if parts.contains(&"param") {
            return set(thread, registers, address);
        }
        let registers = match registers {
            Operand::Vector(registers) => &registers[..],
            register => std::slice::from_ref(register),
        };
        let size = bits_of(parts[parts.len() - 1]) as usize / 8;
        let all = size * registers.len();
        let bytes = match parts.contains(&"shared") {
            true => &mut self.shared[address as usize..][..all],
            false => {
                let place = memory.place(address, all);
                &mut memory.bytes[place]
            }
        };
        if loads {
            for (register, bytes) in registers.iter().zip(bytes.chunks(size)) {
                let mut word = [0; 8];
                word[..size].copy_from_slice(bytes);
                set(thread, register, u64::from_le_bytes(word));
            }
            return;
        }
        for (register, bytes) in registers.iter().zip(bytes.chunks_mut(size)) {
            let value = match register {
                Operand::Register(register) => thread.registers[*register],
                Operand::Constant(bits) => *bits,
                _ => panic!("only a number can be stored"),
            };
            bytes.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }

    /// Has the threads of a warp exchange values, if all of them are at the same shuffle.
    fn shuffle(&self, warp: &mut [Thread]) {
        let at = warp[0].next;
        if !warp.iter().all(|thread| thread.state == State::WaitsForWarp && thread.next == at) {
            return;
        }
        let instruction = &self.program.instructions[at];
        assert_eq!(instruction.opcode, "shfl.sync.down.b32");
        let [to, from, distance, ..] = &instruction.operands[..] else { panic!("a shuffle has operands") };
        let values: Vec<u64> = warp.iter().map(|thread| self.value(thread, from)).collect();
        for lane in 0..warp.len() {
            let other = lane + self.value(&warp[lane], distance) as usize;
            set(&mut warp[lane], to, *values.get(other).unwrap_or(&values[lane]));
            (warp[lane].state, warp[lane].next) = (State::Runs, at + 1);
        }
    }
}

fn set(thread: &mut Thread, to: &Operand, bits: u64) {
    let Operand::Register(register) = to else { panic!("only a register can be set") };
    thread.registers[*register] = bits;
}

/// The bits of a type such as `u32`.
fn bits_of(kind: &str) -> u32 {
    kind.trim_start_matches(char::is_alphabetic).parse().unwrap_or(1)
}

/// The result of an instruction that only computes.
fn compute(opcode: &str, values: &[u64]) -> u64 {
    let parts: Vec<&str> = opcode.split('.').collect();
    let (name, kind) = (parts[0], parts[parts.len() - 1]);
    match name {
        "mov" | "cvta" => return values[0],
        "selp" => return if values[2] != 0 { values[0] } else { values[1] },
        "cvt" => return convert(parts[parts.len() - 2], kind, values[0]),
        _ => {}
    }
    match kind {
        "f32" => {
            let bits = |value: f32| u64::from(value.to_bits());
            bits(float(name, &values.iter().map(|bits| f32::from_bits(*bits as u32)).collect::<Vec<_>>()))
        }
        "f64" => {
            let [a, b] = [0, 1].map(|index| f64::from_bits(values[index]));
            match name {
                "add" => a + b,
                "mul" => a * b,
                _ => panic!("`{opcode}` is not known"),
            }
            .to_bits()
        }
        _ => integer(opcode, &parts, values),
    }
}

fn float(name: &str, values: &[f32]) -> f32 {
    match (name, values) {
        ("add", [a, b]) => a + b,
        ("sub", [a, b]) => a - b,
        ("mul", [a, b]) => a * b,
        ("div", [a, b]) => a / b,
        ("fma", [a, b, c]) => a.mul_add(*b, *c),
        ("neg", [a]) => -a,
        ("rsqrt", [a]) => a.sqrt().recip(),
        _ => panic!("`{name}.f32` is not known"),
    }
}

fn convert(to: &str, from: &str, bits: u64) -> u64 {
    match (to, from) {
        ("u64", "u32") | ("u32", "u64") => bits & 0xffff_ffff,
        ("s64", "s32") => bits as u32 as i32 as i64 as u64,
        ("f64", "f32") => f64::from(f32::from_bits(bits as u32)).to_bits(),
        ("f32", "u32") => u64::from((bits as u32 as f32).to_bits()),
        ("f64", "u32") => f64::from(bits as u32).to_bits(),
        _ => panic!("`cvt.{to}.{from}` is not known"),
    }
}

/// Integers, all operands cut to the type and the result to its size.
fn integer(opcode: &str, parts: &[&str], values: &[u64]) -> u64 {
    let kind = parts[parts.len() - 1];
    let size = bits_of(kind);
    let signed = kind.starts_with('s');
    let cut = |value: u64| match (signed, size) {
        (true, 32) => value as u32 as i32 as i128,
        (true, _) => i128::from(value as i64),
        (false, 1) => i128::from(value & 1),
        (false, 32) => i128::from(value as u32),
        (false, _) => i128::from(value),
    };
    let [a, b] = [0, 1].map(|index| cut(values.get(index).copied().unwrap_or(0)));
    // A shift's distance has 32 bits, whatever is shifted.
    let distance = values.get(1).map_or(0, |distance| *distance as u32).min(size);
    let result = match (parts[0], parts[1]) {
        ("setp", compare) => i128::from(match compare {
            "eq" => a == b,
            "ne" => a != b,
            "lt" => a < b,
            "ge" => a >= b,
            "gt" => a > b,
            "le" => a <= b,
            _ => panic!("`{opcode}` is not known"),
        }),
        ("add", _) => a + b,
        ("sub", _) => a - b,
        ("mul", "wide") => return (a * b) as u64,
        ("mul", _) => a.wrapping_mul(b),
        ("mad", _) => a.wrapping_mul(b) + cut(values[2]),
        ("div", _) => a / b,
        ("min", _) => a.min(b),
        ("max", _) => a.max(b),
        ("and", _) => a & b,
        ("or", _) => a | b,
        ("xor", _) => a ^ b,
        ("not", _) => !a,
        ("neg", _) => -a,
        ("shl", _) => a << distance,
        ("shr", _) => a >> distance,
        _ => panic!("`{opcode}` is not known"),
    };
    let bits = result as u64;
    if size == 32 { bits & 0xffff_ffff } else { bits }
}
