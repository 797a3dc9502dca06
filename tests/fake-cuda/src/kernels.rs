//! What kernels do. In: a kernel's name, its arguments and its grid; out: the memory that it touches, what it leaves there,
//! and how long it takes where that is not the model's business. A kernel of an unknown name, or of other parameters than
//! the one known by it, touches nothing and takes as long as an empty one.

use std::ops::Range;
use std::sync::OnceLock;

use crate::content::{Content, Number, Operation, View};
use crate::l2::{Access, Traffic};
use crate::memory::Memory;
use crate::model::{self, ARITHMETIC, FLOPS, LOAD, STEP};
use crate::moves::Move;
use crate::ptx::Entry;
use crate::sums::{Gravity, Product};

/// The longest that the measurement's own delay lasts, and its count of cycles.
const LONGEST_DELAY: u64 = 2_000_000;

/// A kernel with its arguments, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) name: String,
    /// The bits of each argument; of one longer than 8 bytes the first.
    pub(crate) arguments: Vec<u64>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) blocks: u64,
    /// Of all blocks together.
    pub(crate) threads: u64,
}

/// What a launch does.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Doing {
    pub(crate) touched: Vec<(Range<u64>, Access)>,
    pub(crate) discarded: Option<Range<u64>>,
    /// It goes astray unless this memory is all zeros.
    pub(crate) trusts: Option<Range<u64>>,
    pub(crate) effect: Effect,
    pub(crate) lasts: Lasts,
}

/// How long a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Lasts {
    /// As the model has it.
    #[default]
    Model,
    /// So long, and what its memory takes.
    AndMemory(f64),
    /// So long. The unrest of kernels does not move it.
    Exactly(f64),
}

/// What a kernel leaves in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Effect {
    #[default]
    None,
    Copy(Range<u64>, u64),
    Fill([u8; 4], Range<u64>),
    Random(u64, Number, Range<u64>),
    /// So many lines in one cycle.
    Cycle(u64, Range<u64>),
    /// The last range gets what the operation makes of all the ranges before it.
    Map(Operation, Vec<Range<u64>>),
    /// The address gets the sum of a range, or of its products with the other.
    Sum(Range<u64>, Option<Range<u64>>, u64),
    /// The second range gets elements of the first.
    Moved(Move, Range<u64>, Range<u64>),
    /// In a table that begins at the first address, the second gets where so many loads lead from what it holds.
    Chase(u64, u64, u64),
    /// By an angle, so many times, from one range to the other.
    Turn(f32, u64, Range<u64>, Range<u64>),
    /// So many nanoseconds, and before them the cycles of as long.
    Cycles(u64, u64),
    Complement(Range<u64>),
    /// Of a range in blocks of so many bytes: the fingerprints go to the table; or if there is a place for it, the bytes of
    /// blocks with another one than is there are added.
    Fingerprint {
        of: Range<u64>,
        block: u64,
        table: u64,
        changed: u64,
    },
    /// The product of two n × n matrices, of bf16 where `half`, with so many terms a sum, goes to an address.
    Product {
        a: Range<u64>,
        b: Range<u64>,
        to: u64,
        n: u64,
        half: bool,
        terms: u64,
    },
    /// What so many of the bodies do to each, goes to an address.
    Gravity {
        bodies: Range<u64>,
        to: u64,
        softening: f32,
        terms: u64,
    },
}

impl Launch {
    pub(crate) fn new(entry: &Entry, arguments: Vec<u64>, blocks: u64, of_a_block: u64) -> Self {
        let (name, sizes) = (entry.name.clone(), entry.parameters.clone());
        Self { name, arguments, sizes, blocks, threads: blocks.saturating_mul(of_a_block) }
    }

    /// Whether it belongs to the measurement and not to what is measured.
    pub(crate) fn is_ours(&self) -> bool {
        self.name.starts_with("gpubench_") || self.name.starts_with("random_") || self.name == "cycle"
    }

    /// How many vectors each thread of a kernel that mixes them reads and writes.
    fn balance(&self) -> Option<(u64, u64)> {
        let (reads, writes) = self.name.strip_prefix("mix_")?.split_once('_')?;
        let numbers = (reads.parse().ok()?, writes.parse().ok()?);
        (self.sizes == [8, 8, 8]).then_some(numbers)
    }

    pub(crate) fn doing(&self) -> Doing {
        use Access::{Read, Update, Write};
        let range = |start: u64, bytes: u64| start..start.saturating_add(bytes);
        let float = |bits: u64| f32::from_bits(bits as u32);
        let done = |touched: Vec<(Range<u64>, Access)>, effect| Doing { touched, effect, ..Doing::default() };
        if let Some((reads, writes)) = self.balance() {
            let [x, y, threads] = [0, 1, 2].map(|index| self.arguments[index]);
            let (x, y) = (range(x, 16 * threads * reads), range(y, 16 * threads * writes.max(1)));
            // Where nothing is to be written, hardly anything is.
            let written = if writes > 0 { y.clone() } else { 0..0 };
            let effect = Effect::Moved(Move::Mix { reads, writes, threads }, x.clone(), y);
            return done(vec![(x, Read), (written, Write)], effect);
        }
        match (self.name.as_str(), &self.sizes[..], &self.arguments[..]) {
            ("copy", [8, 8, 8], &[x, y, n]) => {
                let (x, y) = (range(x, 4 * n), range(y, 4 * n));
                done(vec![(x.clone(), Read), (y.clone(), Write)], Effect::Copy(x, y.start))
            }
            ("fill", [4, 8, 8], &[a, y, n]) => {
                let y = range(y, 4 * n);
                done(vec![(y.clone(), Write)], Effect::Fill((a as u32).to_le_bytes(), y))
            }
            ("rmw", [4, 8, 8], &[a, x, n]) => {
                let x = range(x, 4 * n);
                let effect = Effect::Map(Operation::Shift(float(a)), vec![x.clone(), x.clone()]);
                done(vec![(x, Update)], effect)
            }
            ("saxpy", [4, 8, 8, 8], &[a, x, y, n]) => {
                let (x, y) = (range(x, 4 * n), range(y, 4 * n));
                let effect = Effect::Map(Operation::Saxpy(float(a)), vec![x.clone(), y.clone(), y.clone()]);
                done(vec![(x, Read), (y, Update)], effect)
            }
            ("vector_add", [8, 8, 8, 8], &[a, b, c, n]) => {
                let [a, b, c] = [a, b, c].map(|start| range(start, 8 * n));
                let effect = Effect::Map(Operation::Add, vec![a.clone(), b.clone(), c.clone()]);
                done(vec![(a, Read), (b, Read), (c, Write)], effect)
            }
            ("triad", [4, 8, 8, 8, 8], &[a, x, y, z, n]) => {
                let [x, y, z] = [x, y, z].map(|start| range(start, 4 * n));
                let effect = Effect::Map(Operation::Saxpy(float(a)), vec![x.clone(), y.clone(), z.clone()]);
                done(vec![(x, Read), (y, Read), (z, Write)], effect)
            }
            ("sum", [8, 8, 8, 8], &[x, n, slots, total]) => {
                let x = range(x, 4 * n);
                let small = [(range(slots, 8 * self.blocks), Update), (range(total, 8), Write)];
                let touched = std::iter::once((x.clone(), Read)).chain(small).collect();
                done(touched, Effect::Sum(x, None, total))
            }
            ("dot", [8, 8, 8, 8, 8], &[x, y, n, slots, total]) => {
                let [x, y] = [x, y].map(|start| range(start, 4 * n));
                let small = [(range(slots, 8 * self.blocks), Update), (range(total, 8), Write)];
                let touched = [(x.clone(), Read), (y.clone(), Read)].into_iter().chain(small).collect();
                done(touched, Effect::Sum(x, Some(y), total))
            }
            ("transpose_naive" | "transpose_tiled" | "stencil", [8, 8, 8], &[x, y, n]) => {
                let [x, y] = [x, y].map(|start| range(start, 4 * n * n));
                let how = if self.name == "stencil" { Move::Stencil(n) } else { Move::Transpose(n) };
                done(vec![(x.clone(), Read), (y.clone(), Write)], Effect::Moved(how, x, y))
            }
            ("chase", [8, 8, 8], &[x, at, loads]) => Doing {
                lasts: Lasts::AndMemory(loads as f64 * LOAD),
                ..done(vec![(range(at, 8), Update)], Effect::Chase(loads, x, at))
            },
            ("turn", [4, 8, 8, 8], &[a, inputs, steps, sums]) => {
                let (inputs, sums) = (range(inputs, 4 * 16 * 256), range(sums, 4 * 256 * self.blocks));
                let touched = vec![(inputs.clone(), Read), (sums.clone(), Write)];
                let lasts = Lasts::AndMemory((32 * 256 * self.blocks * steps) as f64 / FLOPS);
                Doing { lasts, ..done(touched, Effect::Turn(float(a), steps, inputs, sums)) }
            }
            ("random_f32" | "random_u32", [8, 8, 8], &[y, n, seed]) => {
                let number = if self.name == "random_f32" { Number::F32 } else { Number::U32 };
                let y = range(y, 4 * n);
                done(vec![(y.clone(), Write)], Effect::Random(seed, number, y))
            }
            ("random_bf16", [8, 8, 8], &[y, n, seed]) => {
                let y = range(y, 2 * n);
                done(vec![(y.clone(), Write)], Effect::Random(seed, Number::Bf16, y))
            }
            ("random_f64", [8, 8, 8], &[y, n, seed]) => {
                let y = range(y, 8 * n);
                done(vec![(y.clone(), Write)], Effect::Random(seed, Number::F64, y))
            }
            ("cycle", [8, 8], &[y, lines]) => {
                let y = range(y, 128 * lines);
                done(vec![(y.clone(), Write)], Effect::Cycle(lines, y))
            }
            (name, [8, 8, 8, 8], &[a, b, c, n]) if name.starts_with("matmul_") => {
                let half = name == "matmul_tensor";
                let size = if half { 2 } else { 4 } * n * n;
                let (a, b) = (range(a, size), range(b, size));
                let touched = vec![(a.clone(), Read), (b.clone(), Read), (range(c, 4 * n * n), Write)];
                let effect = Effect::Product { a, b, to: c, n, half, terms: n };
                let operations = (2 * n * n * n) as f64;
                Doing {
                    lasts: Lasts::AndMemory(operations / model::arithmetic(name)),
                    ..done(touched, effect)
                }
            }
            ("nbody", [8, 8, 8, 4], &[bodies, to, n, softening]) => {
                let bodies = range(bodies, 16 * n);
                let touched = vec![(bodies.clone(), Read), (range(to, 16 * n), Write)];
                let effect = Effect::Gravity { bodies, to, softening: float(softening), terms: n };
                let operations = (20 * n * n) as f64;
                Doing {
                    lasts: Lasts::AndMemory(operations / model::arithmetic("nbody")),
                    ..done(touched, effect)
                }
            }
            ("gpubench_read_sweep", [8, 8, 8], &[buffer, vectors, _]) => {
                done(vec![(range(buffer, 16 * vectors), Read)], Effect::None)
            }
            ("gpubench_discard", [8, 8], &[buffer, lines]) => {
                Doing { discarded: Some(range(buffer, 128 * lines)), ..Doing::default() }
            }
            ("gpubench_complement", [8, 8], &[start, bytes]) => {
                let all = range(start, bytes);
                done(vec![(all.clone(), Update)], Effect::Complement(all))
            }
            ("gpubench_fingerprint", [8, 8, 8, 8, 8], &[start, bytes, block, table, changed]) => {
                let of = range(start, bytes);
                let length = (of.end - of.start / 16 * 16).div_ceil(block.max(1));
                let mut touched = vec![(of.clone(), Read)];
                touched.push(match changed {
                    0 => (range(table, 8 * length), Write),
                    _ => (range(changed, 8), Update),
                });
                done(touched, Effect::Fingerprint { of, block, table, changed })
            }
            // In whole steps of the clock, since how long it is depends on the host, on which no reading may.
            ("gpubench_delay", [8], &[nanoseconds]) => {
                let lasts = Lasts::Exactly((nanoseconds.min(LONGEST_DELAY) / 32 * 32) as f64);
                Doing { lasts, ..Doing::default() }
            }
            // From one tick of the timer to another.
            ("gpubench_clock", [8, 8], &[duration, read]) => {
                let step = STEP as u64;
                let nanoseconds = duration.min(LONGEST_DELAY).next_multiple_of(step);
                let lasts = Lasts::Exactly((nanoseconds + step) as f64);
                Doing { effect: Effect::Cycles(nanoseconds, read), lasts, ..Doing::default() }
            }
            ("gpubench_ceiling_read", [8, 8, 8, 8], &[buffer, vectors, sweeps, _]) => {
                let sweep = (range(buffer, 16 * vectors), Read);
                done(vec![sweep; sweeps as usize], Effect::None)
            }
            ("gpubench_ceiling_write", [8, 8, 8, 8], &[buffer, vectors, sweeps, word]) => {
                let sweep = range(buffer, 16 * vectors);
                let effect = Effect::Fill((word as u32).to_le_bytes(), sweep.clone());
                done(vec![(sweep, Write); sweeps as usize], effect)
            }
            ("gpubench_ceiling_copy", [8, 8, 8], &[from, to, vectors]) => {
                let (from, to) = (range(from, 16 * vectors), range(to, 16 * vectors));
                done(vec![(from.clone(), Read), (to.clone(), Write)], Effect::Copy(from, to.start))
            }
            (name, [8, 8], &[_, steps]) if name.starts_with("gpubench_ceiling_") => {
                let known = ARITHMETIC.iter().find(|(kernel, ..)| *kernel == name);
                let takes = |(_, work, rate): &(&str, f64, f64)| {
                    model::kernel(self.blocks, &Traffic::default())
                        + self.threads as f64 * steps as f64 * work / rate
                };
                Doing {
                    lasts: known.map_or(Lasts::Model, |known| Lasts::AndMemory(takes(known))),
                    ..Doing::default()
                }
            }
            // For tests of the measurement: so many nanoseconds, and what reading the range takes.
            ("lasts", [8, 8, 8], &[nanoseconds, start, bytes]) => Doing {
                lasts: Lasts::AndMemory(nanoseconds as f64),
                ..done(vec![(range(start, bytes), Read)], Effect::None)
            },
            // It goes astray unless its flag is 0, and writes nothing.
            ("trusts", [8], &[flag]) => {
                Doing { trusts: Some(range(flag, 4)), ..done(vec![(range(flag, 4), Read)], Effect::None) }
            }
            _ => Doing::default(),
        }
    }
}

impl Effect {
    /// As of a kernel that leaves the last term of each of its sums out.
    pub(crate) fn shorten(&mut self) {
        if let Self::Product { terms, .. } | Self::Gravity { terms, .. } = self {
            *terms -= 1;
        }
    }

    /// Where it leaves something.
    pub(crate) fn written(&self) -> Range<u64> {
        match self {
            Self::None => 0..0,
            Self::Copy(from, to) => *to..*to + (from.end - from.start),
            Self::Fill(_, to)
            | Self::Random(_, _, to)
            | Self::Cycle(_, to)
            | Self::Moved(_, _, to)
            | Self::Turn(_, _, _, to)
            | Self::Complement(to) => to.clone(),
            Self::Map(_, ranges) => ranges.last().cloned().unwrap_or_default(),
            Self::Sum(_, _, to) | Self::Chase(_, _, to) => *to..*to + 8,
            Self::Cycles(_, to) => *to..*to + 16,
            Self::Fingerprint { table, .. } => *table..*table + 8,
            Self::Product { to, n, .. } => *to..*to + 4 * n * n,
            Self::Gravity { bodies, to, .. } => *to..*to + (bodies.end - bodies.start),
        }
    }

    /// Leaves in `memory` what the kernel would on a device with this `clock` in MHz. All ranges are there.
    pub(crate) fn apply(self, memory: &mut Memory, clock: u64) {
        match self {
            Self::None => {}
            Self::Copy(from, to) => memory.put(to, memory.view(from)),
            Self::Fill(word, to) => memory.put(to.start, View::of(Content::Word(word), to.end - to.start)),
            Self::Random(seed, of, to) => {
                memory.put(to.start, View::of(Content::Random { seed, of }, to.end - to.start));
            }
            Self::Cycle(lines, to) => {
                memory.put(to.start, View::of(Content::Cycle { lines }, to.end - to.start));
            }
            Self::Map(operation, mut ranges) => {
                let Some(to) = ranges.pop() else { return };
                let inputs = ranges.into_iter().map(|range| memory.view(range)).collect();
                memory.put(to.start, View::map(operation, inputs));
            }
            Self::Sum(x, y, to) => {
                let (x, y) = (memory.view(x), y.map(|y| memory.view(y)));
                memory.put(to, View::of(Content::Sum(x, y), 8));
            }
            Self::Moved(how, from, to) => {
                let view = memory.view(from);
                memory.put(to.start, View::of(Content::Moved(how, view), to.end - to.start));
            }
            Self::Chase(loads, table, at) => {
                let Some(table) = memory.allocation(table) else { return };
                let from = memory
                    .view(at..at + 8)
                    .to_bytes()
                    .as_chunks()
                    .0
                    .first()
                    .map_or(0, |it| u64::from_le_bytes(*it));
                let view = memory.view(table);
                memory.put(at, View::of(Content::Moved(Move::Chase { from, loads }, view), 8));
            }
            Self::Cycles(nanoseconds, to) => {
                let counts = [clock * nanoseconds / 1000, nanoseconds].map(u64::to_le_bytes).concat();
                memory.put(to, View::of(Content::Bytes(counts), 16));
            }
            Self::Turn(angle, steps, from, to) => {
                let turned = Content::Turned { angle, steps, inputs: memory.view(from) };
                memory.put(to.start, View::of(turned, to.end - to.start));
            }
            Self::Complement(all) => {
                let view = memory.view(all.clone()).complement();
                memory.put(all.start, view);
            }
            Self::Fingerprint { of, block, table, changed } => {
                let prints = memory.view(of.clone()).fingerprints(of.start % 16, block);
                let bytes: Vec<u8> = prints.iter().flat_map(|(print, _)| print.to_le_bytes()).collect();
                let length = bytes.len() as u64;
                if changed == 0 {
                    return memory.put(table, View::of(Content::Bytes(bytes), length));
                }
                let before = memory.view(table..table + length).to_bytes();
                let differs = |place: &usize| before[8 * place..][..8] != bytes[8 * place..][..8];
                let more: u64 = (0..prints.len()).filter(differs).map(|place| prints[place].1).sum();
                let word = memory.view(changed..changed + 8).to_bytes();
                let count =
                    word.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).sum::<u64>() + more;
                memory.put(changed, View::of(Content::Bytes(count.to_le_bytes().to_vec()), 8));
            }
            Self::Product { a, b, to, n, half, terms } => {
                let (a, b, operand) = (memory.view(a), memory.view(b), OnceLock::new());
                let product = Product { a, b, n: n as usize, half, terms: terms as usize, operand };
                memory.put(to, View::of(Content::Product(product), 4 * n * n));
            }
            Self::Gravity { bodies, to, softening, terms } => {
                let bytes = bodies.end - bodies.start;
                let (bodies, terms, numbers) = (memory.view(bodies), terms as usize, OnceLock::new());
                let gravity = Gravity { bodies, softening, terms, numbers };
                memory.put(to, View::of(Content::Gravity(gravity), bytes));
            }
        }
    }
}
