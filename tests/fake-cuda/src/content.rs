//! What memory holds, as it came about: bytes from the host, a pattern, random numbers, or what a kernel made of other
//! contents. In: such a recipe; out: bytes, worked out when somebody reads them. So a gigabyte costs nothing until it is
//! checked, and thousands of launches cost no more than the one whose result is looked at.

use std::sync::Arc;

use crate::moves::Move;
use crate::sums::{Gravity, Product};

/// The bytes of a recipe that are worked out at once.
const BLOCK: usize = 16 << 10;
/// Recipes of recipes are worked out when they take more steps than this.
const MOST_STEPS: usize = 64;

/// How bytes come about. The first byte has offset 0.
#[derive(Debug)]
pub(crate) enum Content {
    /// From the host.
    Bytes(Vec<u8>),
    /// Four bytes over and over.
    Word([u8; 4]),
    /// The inputs of the kernels under test, to the last bit.
    Random { seed: u64, of: Number },
    /// Words of which each sixteenth leads to another, all of these in one cycle.
    Cycle { lines: u64 },
    /// Element for element from others.
    Map(Map),
    /// The sum of an array of f32, as f64; or of its products with another one.
    Sum(View, Option<View>),
    /// Elements from other places of a content.
    Moved(Move, View),
    /// For each thread of a block of 256 the sum of 8 pairs of f32 that were turned, block after block.
    Turned { angle: f32, steps: u64, inputs: View },
    /// Others with every bit turned.
    Complement(View),
    /// A product of matrices.
    Product(Product),
    /// The gravity of bodies.
    Gravity(Gravity),
}

/// What random elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    F32,
    F64,
    U32,
    /// The upper half of an f32.
    Bf16,
}

/// An operation on elements, applied so many times: its last input is what the time before made.
#[derive(Debug)]
pub(crate) struct Map {
    operation: Operation,
    inputs: Vec<View>,
    times: u32,
    /// How many operations an element takes, each applied once.
    steps: usize,
}

/// An element from elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    /// x + a, as f32.
    Shift(f32),
    /// a·x + y rounded once, as f32.
    Saxpy(f32),
    /// x + y, as f64.
    Add,
}

/// Parts of contents in a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct View(pub(crate) Vec<Piece>);

/// A part of a content.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) content: Arc<Content>,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Piece {
    /// `bytes` of `content` from `from` bytes further on.
    pub(crate) fn part(&self, from: u64, bytes: u64) -> Self {
        Self { content: Arc::clone(&self.content), offset: self.offset + from, bytes }
    }

    fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.content, &other.content) && (self.offset, self.bytes) == (other.offset, other.bytes)
    }
}

impl View {
    /// All of a content.
    pub(crate) fn of(content: Content, bytes: u64) -> Self {
        Self(vec![Piece { content: Arc::new(content), offset: 0, bytes }])
    }

    /// What `operation` makes of arrays of equal size.
    pub(crate) fn map(operation: Operation, mut inputs: Vec<Self>) -> Self {
        let bytes = inputs.first().map_or(0, Self::bytes);
        let mut times = 1;
        if let Some((earlier, count)) = Self::again(operation, &inputs) {
            (inputs, times) = (earlier, count + 1);
        }
        let mut steps = inputs.iter().map(Self::steps).sum::<usize>() + 1;
        if steps > MOST_STEPS {
            inputs =
                inputs.into_iter().map(|input| Self::of(Content::Bytes(input.to_bytes()), bytes)).collect();
            steps = 1;
        }
        Self::of(Content::Map(Map { operation, inputs, times, steps }), bytes)
    }

    /// If the last of `inputs` is what the same operation made of the same others: its inputs, and how often it was done.
    fn again(operation: Operation, inputs: &[Self]) -> Option<(Vec<Self>, u32)> {
        let (last, others) = inputs.split_last()?;
        let [piece @ Piece { content, offset: 0, .. }] = &last.0[..] else { return None };
        let Content::Map(map) = &**content else { return None };
        let (before, same) = map.inputs.split_last()?;
        let same = same.len() == others.len() && same.iter().zip(others).all(|(a, b)| a.same(b));
        (same && map.operation == operation && before.bytes() == piece.bytes)
            .then(|| (map.inputs.clone(), map.times))
    }

    fn same(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.same(b))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|piece| piece.bytes).sum()
    }

    fn steps(&self) -> usize {
        self.0.iter().map(|piece| piece.content.steps()).max().unwrap_or(0)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes() as usize];
        self.read(0, &mut bytes);
        bytes
    }

    /// Works out the bytes from `offset` on.
    pub(crate) fn read(&self, mut offset: u64, mut out: &mut [u8]) {
        for piece in &self.0 {
            if out.is_empty() {
                return;
            }
            if offset >= piece.bytes {
                offset -= piece.bytes;
                continue;
            }
            let (now, rest) = out.split_at_mut(out.len().min((piece.bytes - offset) as usize));
            piece.content.read(piece.offset + offset, now);
            (offset, out) = (0, rest);
        }
    }
}

impl Content {
    fn steps(&self) -> usize {
        match self {
            Self::Map(map) => map.steps,
            Self::Sum(x, y) => x.steps() + y.as_ref().map_or(0, View::steps) + 1,
            Self::Moved(_, view) | Self::Complement(view) => view.steps() + 1,
            Self::Product(product) => product.a.steps() + product.b.steps() + 1,
            Self::Gravity(gravity) => gravity.bodies.steps() + 1,
            _ => 0,
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => out.copy_from_slice(&bytes[offset as usize..][..out.len()]),
            Self::Word(word) => {
                for (index, byte) in out.iter_mut().enumerate() {
                    *byte = word[(offset as usize + index) % 4];
                }
            }
            Self::Random { seed, of: Number::F32 } => elements(4, offset, out, |first, out| {
                each(out, first, |index| (fraction(*seed, index) as f32).to_le_bytes());
            }),
            Self::Random { seed, of: Number::F64 } => elements(8, offset, out, |first, out| {
                each(out, first, |index| fraction(*seed, index).to_le_bytes());
            }),
            Self::Random { seed, of: Number::U32 } => elements(4, offset, out, |first, out| {
                each(out, first, |index| bits(*seed, index).to_le_bytes());
            }),
            Self::Cycle { lines } => elements(8, offset, out, |first, out| {
                each(out, first, |word| cycle(word, *lines).to_le_bytes());
            }),
            Self::Random { seed, of: Number::Bf16 } => elements(2, offset, out, |first, out| {
                each(out, first, |index| {
                    (((fraction(*seed, index) as f32).to_bits() >> 16) as u16).to_le_bytes()
                });
            }),
            Self::Product(product) => elements(4, offset, out, |first, out| product.read(first, out)),
            Self::Gravity(gravity) => elements(16, offset, out, |first, out| gravity.read(first, out)),
            Self::Map(map) => {
                for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                    map.read(offset + (block * BLOCK) as u64, out);
                }
            }
            Self::Turned { angle, steps, inputs } => {
                let block: Vec<[u8; 4]> = inputs
                    .to_bytes()
                    .chunks(64)
                    .map(|thread| turned(*angle, *steps, thread).to_le_bytes())
                    .collect();
                elements(4, offset, out, |first, out| {
                    each(out, first, |index| block[index as usize % block.len()]);
                });
            }
            Self::Sum(x, y) => elements(8, offset, out, |_, out| {
                each(out, 0, |_| sum(x, y.as_ref()).to_le_bytes());
            }),
            Self::Moved(how @ Move::Chase { .. }, view) => elements(8, offset, out, |_, out| {
                each(out, 0, |_| how.end(view).to_le_bytes());
            }),
            Self::Moved(how, view) => elements(4, offset, out, |first, out| {
                each(out, first, |index| how.word(view, index).to_le_bytes());
            }),
            Self::Complement(view) => {
                view.read(offset, out);
                out.iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
    }
}

impl Map {
    pub(crate) fn inputs(&self) -> &[View] {
        &self.inputs
    }

    pub(crate) fn times(&self) -> u32 {
        self.times
    }

    /// Its operation as numbers.
    pub(crate) fn kind(&self) -> (u8, u32) {
        match self.operation {
            Operation::Shift(a) => (0, a.to_bits()),
            Operation::Saxpy(a) => (1, a.to_bits()),
            Operation::Add => (2, 0),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        let Some((last, others)) = self.inputs.split_last() else { return };
        let size = if self.operation == Operation::Add { 8 } else { 4 };
        elements(size, offset, out, |first, out| {
            let from = first * size;
            last.read(from, out);
            let other = others.first().map(|view| {
                let mut bytes = vec![0; out.len()];
                view.read(from, &mut bytes);
                bytes
            });
            let other = other.as_deref().unwrap_or(&[]);
            for _ in 0..self.times {
                match self.operation {
                    Operation::Shift(a) => update(out, |_, x| (f32::from_le_bytes(x) + a).to_le_bytes()),
                    Operation::Saxpy(a) => update(out, |index, y| {
                        let x = other.as_chunks().0[index];
                        a.mul_add(f32::from_le_bytes(x), f32::from_le_bytes(y)).to_le_bytes()
                    }),
                    Operation::Add => update(out, |index, y| {
                        let x = other.as_chunks().0[index];
                        (f64::from_le_bytes(x) + f64::from_le_bytes(y)).to_le_bytes()
                    }),
                }
            }
        });
    }
}

/// Has `fill` write whole elements of `size` bytes, the first of which it is told the number of; `out` gets of them what
/// begins at `offset`.
fn elements(size: u64, offset: u64, out: &mut [u8], fill: impl Fn(u64, &mut [u8])) {
    let (first, skipped) = (offset / size, (offset % size) as usize);
    let whole = (skipped + out.len()).next_multiple_of(size as usize);
    if whole == out.len() {
        return fill(first, out);
    }
    let mut bytes = vec![0; whole];
    fill(first, &mut bytes);
    out.copy_from_slice(&bytes[skipped..][..out.len()]);
}

/// Writes one element after the other.
fn each<const SIZE: usize>(out: &mut [u8], first: u64, element: impl Fn(u64) -> [u8; SIZE]) {
    for (index, place) in out.as_chunks_mut().0.iter_mut().enumerate() {
        *place = element(first + index as u64);
    }
}

/// Changes one element after the other.
fn update<const SIZE: usize>(out: &mut [u8], change: impl Fn(usize, [u8; SIZE]) -> [u8; SIZE]) {
    for (index, place) in out.as_chunks_mut().0.iter_mut().enumerate() {
        *place = change(index, *place);
    }
}

/// The sum of a thread's pairs after so many turns, in its order of operations.
fn turned(angle: f32, steps: u64, inputs: &[u8]) -> f32 {
    let mut pairs: Vec<[f32; 2]> = inputs
        .as_chunks()
        .0
        .as_chunks()
        .0
        .iter()
        .map(|pair: &[[u8; 4]; 2]| pair.map(f32::from_le_bytes))
        .collect();
    for _ in 0..steps {
        for [x, y] in &mut pairs {
            *x = (-angle).mul_add(*y, *x);
            *y = angle.mul_add(*x, *y);
        }
    }
    pairs.iter().fold(0.0, |sum, [x, y]| sum + x + y)
}

/// The sum of all f32 of `x`, or of their products with those of `y`, in f64: exact for the inputs of the kernels under test.
fn sum(x: &View, y: Option<&View>) -> f64 {
    let (mut total, mut bytes, mut others) = (0.0, vec![0; 64 * BLOCK], Vec::new());
    for from in (0..x.bytes()).step_by(bytes.len()) {
        let length = bytes.len().min((x.bytes() - from) as usize);
        x.read(from, &mut bytes[..length]);
        let values = f32s(&bytes[..length]);
        total += match y {
            None => values.map(f64::from).sum::<f64>(),
            Some(y) => {
                others.resize(length, 0);
                y.read(from, &mut others);
                values.zip(f32s(&others)).map(|(x, y)| f64::from(x * y)).sum::<f64>()
            }
        };
    }
    total
}

fn f32s(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

/// Element `index` of the input `seed`, as the PTX of the kernels under test makes it.
fn fraction(seed: u64, index: u64) -> f64 {
    f64::from(bits(seed, index)) / f64::from(1 << 24)
}

fn bits(seed: u64, index: u64) -> u32 {
    let mut bits = seed.wrapping_add(index).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    (bits >> 40) as u32
}

/// Word `word` of a cycle of so many lines, as that PTX makes it.
fn cycle(word: u64, lines: u64) -> u64 {
    let next = (word / 16).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    if word.is_multiple_of(16) { 16 * (next & (lines - 1)) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(view: &View) -> Vec<f32> {
        super::f32s(&view.to_bytes()).collect()
    }

    fn inputs(values: &[f32]) -> View {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let length = bytes.len() as u64;
        View::of(Content::Bytes(bytes), length)
    }

    #[test]
    fn operations_are_applied_as_often_as_they_were_asked_for() {
        let (x, mut y) = (inputs(&[1.0, 2.0, 4.0]), inputs(&[0.5; 3]));
        for _ in 0..3 {
            y = View::map(Operation::Saxpy(2.0), vec![x.clone(), y]);
        }
        assert_eq!(f32s(&y), [6.5, 12.5, 24.5]);
        assert_eq!(y.steps(), 1);
        assert_eq!(f32s(&View::map(Operation::Shift(1.0), vec![x.clone()])), [2.0, 3.0, 5.0]);
        let total = View::of(Content::Sum(x, None), 8).to_bytes();
        assert_eq!(total, 7_f64.to_le_bytes());
    }

    #[test]
    fn what_is_built_high_is_worked_out_in_between() {
        let (mut x, mut y) = (inputs(&[1.0]), inputs(&[1.0]));
        for _ in 0..100 {
            (x, y) = (View::map(Operation::Saxpy(0.5), vec![y.clone(), x.clone()]), x);
        }
        assert!(x.steps() <= MOST_STEPS);
        assert!(f32s(&x)[0].is_finite());
    }

    #[test]
    fn any_part_can_be_read() {
        let random = View::of(Content::Random { seed: 3, of: Number::F32 }, 4000);
        let whole = random.to_bytes();
        for (offset, length) in [(0, 4), (1, 9), (6, 2), (3999, 1), (17, 3000)] {
            let mut part = vec![0; length];
            random.read(offset as u64, &mut part);
            assert_eq!(part, whole[offset..offset + length]);
        }
        let pieces = View([&random, &inputs(&[1.0])].iter().flat_map(|view| view.0.clone()).collect());
        let mut end = [0; 8];
        pieces.read(3996, &mut end);
        assert_eq!((&end[..4], &end[4..]), (&whole[3996..], &1_f32.to_le_bytes()[..]));
    }
}
