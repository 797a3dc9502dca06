//! The text of a kernel in PTX as instructions.

use std::collections::HashMap;

/// A kernel.
pub(crate) struct Program {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) registers: usize,
    /// The bytes of shared memory of a block.
    pub(crate) shared: usize,
}

/// An instruction: an opcode, its operands, and the predicate on which it depends, with the value that it must have.
pub(crate) struct Instruction {
    pub(crate) guard: Option<(usize, bool)>,
    pub(crate) opcode: String,
    pub(crate) operands: Vec<Operand>,
}

/// An operand of an instruction.
pub(crate) enum Operand {
    Register(usize),
    /// Bits, also the address of shared memory.
    Constant(u64),
    Special(String),
    Vector(Vec<Self>),
    Parameter(usize),
    /// An address: the sum of both.
    Address(Box<Self>, u64),
    /// The number of an instruction.
    Label(usize),
}

/// The names that stand for numbers.
#[derive(Default)]
struct Names {
    registers: HashMap<String, usize>,
    parameters: HashMap<String, usize>,
    shared: HashMap<String, u64>,
    labels: HashMap<String, usize>,
}

impl Program {
    /// Reads the entry of this name.
    pub(crate) fn of(module: &str, entry: &str) -> Self {
        let lines = || module.lines().map(|line| line.split("//").next().unwrap_or("").trim());
        let declared = format!(".visible .entry {entry}(");
        let mut names = Names::default();
        let mut shared = 0;
        // Shared memory is declared outside of functions too.
        for line in lines().filter(|line| line.starts_with(".shared")) {
            let (name, rest) = line.rsplit_once(' ').expect("a name").1.split_once('[').expect("a size");
            names.shared.insert(name.to_owned(), shared as u64);
            let size: usize = rest.trim_end_matches("];").parse().expect("a number of bytes");
            shared += size.next_multiple_of(16);
        }
        let mut body = lines().skip_while(|line| *line != declared).skip(1);
        for (index, line) in body.by_ref().take_while(|line| *line != ")").enumerate() {
            let name = line.trim_end_matches(',').rsplit_once(' ').expect("a name").1;
            names.parameters.insert(name.to_owned(), index);
        }
        let body: Vec<&str> =
            body.skip_while(|line| *line != "{").skip(1).take_while(|line| *line != "}").collect();
        let is_instruction = |line: &&str| line.ends_with(';') && !line.starts_with('.');
        let mut count = 0;
        for line in &body {
            match line.strip_suffix(':') {
                Some(label) => _ = names.labels.insert(label.to_owned(), count),
                None => count += usize::from(is_instruction(line)),
            }
        }
        let instructions: Vec<Instruction> =
            body.into_iter().filter(is_instruction).map(|line| names.instruction(line)).collect();
        assert!(!instructions.is_empty(), "{entry} is in the module");
        Self { instructions, registers: names.registers.len(), shared }
    }
}

impl Names {
    fn instruction(&mut self, line: &str) -> Instruction {
        let mut text = line.trim_end_matches(';');
        let mut guard = None;
        if let Some(rest) = text.strip_prefix('@') {
            let (predicate, rest) = rest.split_once(char::is_whitespace).expect("an instruction");
            let name = predicate.trim_start_matches('!');
            guard = Some((self.register(name), name == predicate));
            text = rest.trim();
        }
        let (opcode, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let operands = split(operands).into_iter().map(|operand| self.operand(operand)).collect();
        Instruction { guard, opcode: opcode.to_owned(), operands }
    }

    fn register(&mut self, name: &str) -> usize {
        let next = self.registers.len();
        *self.registers.entry(name.to_owned()).or_insert(next)
    }

    fn operand(&mut self, text: &str) -> Operand {
        if let Some(inside) = text.strip_prefix('{') {
            return Operand::Vector(
                split(inside.trim_end_matches('}')).into_iter().map(|it| self.operand(it)).collect(),
            );
        }
        if let Some(inside) = text.strip_prefix('[') {
            let inside = inside.trim_end_matches(']');
            if let Some(parameter) = self.parameters.get(inside) {
                return Operand::Parameter(*parameter);
            }
            let (base, offset) = inside.split_once('+').unwrap_or((inside, "0"));
            let offset = offset.parse::<i64>().expect("an offset") as u64;
            return Operand::Address(Box::new(self.operand(base)), offset);
        }
        if let Some(address) = self.shared.get(text) {
            return Operand::Constant(*address);
        }
        if let Some(label) = self.labels.get(text) {
            return Operand::Label(*label);
        }
        if text.starts_with('%') {
            let special = text.contains('.');
            return if special {
                Operand::Special(text.to_owned())
            } else {
                Operand::Register(self.register(text))
            };
        }
        Operand::Constant(constant(text))
    }
}

/// The operands of a list; a vector is one of them. The predicate that a shuffle also sets is left out.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    let parts = parts.into_iter().map(|part| part.split('|').next().unwrap_or("").trim());
    parts.filter(|part| !part.is_empty()).collect()
}

/// The bits of a number: in hexadecimal for floats, which begin with `0f` or `0d`.
fn constant(text: &str) -> u64 {
    for prefix in ["0f", "0d", "0x"] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return u64::from_str_radix(digits.trim_end_matches('U'), 16).expect("hexadecimal digits");
        }
    }
    text.parse::<i64>().unwrap_or_else(|_| panic!("`{text}` is no number")) as u64
}
