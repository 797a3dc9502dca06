//! The content of memory as a recipe: bytes from the host, a pattern, or the output of a kernel. So a
//! gigabyte costs nothing until it is checked, and thousands of launches cost no more than the one whose
//! result is read.

use std::sync::{Arc, OnceLock};

use crate::reference::{Input, KernelCall, OutputValues, Reference};

/// The bytes of a recipe that are computed at once.
const BLOCK: usize = 16 << 10;
/// Inputs of a recipe are computed and stored when the recipe would take more steps than this.
const MOST_STEPS: usize = 64;

/// A recipe for bytes. The first byte has offset 0.
#[derive(Debug)]
pub(crate) enum Content {
    /// From the host.
    Bytes(Vec<u8>),
    /// Four bytes over and over.
    Word([u8; 4]),
    /// More bytes over and over.
    Pattern(Vec<u8>),
    /// The output of a kernel of the suite.
    Output(Output),
    /// Another content with every bit turned.
    Complement(View),
}

/// The output of a launch, or of several that each update what the launch before left.
#[derive(Debug)]
pub(crate) struct Output {
    reference: &'static Reference,
    call: KernelCall,
    /// The inputs of the first launch in the order of its arguments. The earlier content of an updated output is the
    /// last one.
    inputs: Vec<Stored>,
    updates: bool,
    /// The number of launches.
    times: u32,
    /// The number of recipes that are computed for an element.
    steps: usize,
}

/// A content that a kernel reads, with all its bytes once the kernel has asked for them.
#[derive(Debug)]
struct Stored {
    view: View,
    bytes: OnceLock<Vec<u8>>,
}

impl Stored {
    fn new(view: View) -> Self {
        Self { view, bytes: OnceLock::new() }
    }
}

impl Input for Stored {
    fn length(&self) -> u64 {
        self.view.bytes()
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        self.view.read(offset, out);
    }

    fn all(&self) -> &[u8] {
        self.bytes.get_or_init(|| self.view.to_bytes())
    }
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

    /// The output of a launch, in so many bytes. The last of `inputs` is its earlier content, if the launch `updates` it.
    pub(crate) fn output(
        reference: &'static Reference,
        call: KernelCall,
        mut inputs: Vec<Self>,
        updates: bool,
        bytes: u64,
    ) -> Self {
        let mut times = 1;
        if let Some((earlier, count)) = Self::again(&call, &inputs, updates, bytes) {
            (inputs, times) = (earlier, count + 1);
        }
        let all = |inputs: &[Self]| inputs.iter().map(Self::steps).sum::<usize>() + 1;
        if all(&inputs) > MOST_STEPS {
            let most = MOST_STEPS / 2 / inputs.len();
            let deep = inputs.iter_mut().filter(|input| input.steps() > most);
            deep.for_each(|input| *input = Self::of(Content::Bytes(input.to_bytes()), input.bytes()));
        }
        let steps = all(&inputs);
        let inputs = inputs.into_iter().map(Stored::new).collect();
        Self::of(Content::Output(Output { reference, call, inputs, updates, times, steps }), bytes)
    }

    /// The inputs of the first of several equal launches and their number, if the last of `inputs` is their output and
    /// this launch is one more of them.
    fn again(call: &KernelCall, inputs: &[Self], updates: bool, bytes: u64) -> Option<(Vec<Self>, u32)> {
        let (last, others) = inputs.split_last().filter(|_| updates)?;
        let [Piece { content, offset: 0, bytes: length }] = &last.0[..] else { return None };
        let Content::Output(output) = &**content else { return None };
        let OutputValues::Elementwise { .. } = output.reference.values else { return None };
        let (_, before) = output.inputs.split_last()?;
        let same = before.len() == others.len() && before.iter().zip(others).all(|(a, b)| a.view.same(b));
        (same && output.updates && output.call == *call && *length == bytes)
            .then(|| (output.inputs.iter().map(|input| input.view.clone()).collect(), output.times))
    }

    /// The same after `change` of each `block` bytes. What repeats is changed once.
    pub(crate) fn changed(&self, block: usize, change: impl Fn(&mut [u8])) -> Self {
        let repeats = |piece: &Piece| {
            let pattern = match &*piece.content {
                Content::Word(word) if piece.offset.is_multiple_of(4) => word.repeat(block / 4),
                Content::Pattern(pattern) if piece.offset.is_multiple_of(pattern.len() as u64) => {
                    pattern.clone()
                }
                _ => return None,
            };
            (pattern.len().is_multiple_of(block) && piece.bytes.is_multiple_of(block as u64))
                .then_some(pattern)
        };
        let all: Option<Vec<Vec<u8>>> = self.0.iter().map(repeats).collect();
        let Some(patterns) = all else {
            let mut bytes = self.to_bytes();
            bytes.chunks_exact_mut(block).for_each(change);
            return Self::of(Content::Bytes(bytes), self.bytes());
        };
        let changed = patterns.into_iter().zip(&self.0).flat_map(|(mut pattern, piece)| {
            pattern.chunks_exact_mut(block).for_each(&change);
            let words = pattern.as_chunks::<4>().0;
            let content = match words.split_first() {
                Some((first, others)) if others.iter().all(|word| word == first) => Content::Word(*first),
                _ => Content::Pattern(pattern),
            };
            Self::of(content, piece.bytes).0
        });
        Self(changed.collect())
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
            Self::Output(output) => output.steps,
            Self::Complement(view) => view.steps() + 1,
            Self::Bytes(_) | Self::Word(_) | Self::Pattern(_) => 0,
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        match self {
            Self::Bytes(bytes) => out.copy_from_slice(&bytes[offset as usize..][..out.len()]),
            Self::Word(word) => {
                let mut word = *word;
                word.rotate_left((offset % 4) as usize);
                let (words, rest) = out.as_chunks_mut::<4>();
                words.fill(word);
                rest.copy_from_slice(&word[..rest.len()]);
            }
            Self::Pattern(pattern) => {
                let bytes = pattern.iter().cycle().skip(offset as usize % pattern.len());
                out.iter_mut().zip(bytes).for_each(|(out, byte)| *out = *byte);
            }
            Self::Output(output) => output.read(offset, out),
            Self::Complement(view) => {
                view.read(offset, out);
                out.iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
    }
}

impl Output {
    /// The parts of the recipe that tell it from others.
    pub(crate) fn recipe(&self) -> (&KernelCall, u32, impl Iterator<Item = &View>) {
        (&self.call, self.times, self.inputs.iter().map(|input| &input.view))
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        let size = self.reference.values.size() as u64;
        match self.reference.values {
            OutputValues::Elementwise { compute, .. } => {
                for (block, out) in out.chunks_mut(BLOCK).enumerate() {
                    let offset = offset + (block * BLOCK) as u64;
                    elements(size, offset, out, |first, out| self.elementwise(compute, first, out));
                }
            }
            OutputValues::Gathered { compute, .. } => {
                let inputs: Vec<&dyn Input> = self.inputs.iter().map(|input| input as &dyn Input).collect();
                elements(size, offset, out, |first, out| compute(&self.call, &inputs, first, out));
            }
        }
    }

    /// Computes the elements from number `first` on, launch after launch.
    fn elementwise(&self, compute: fn(&KernelCall, u64, &[&[u8]], &mut [u8]), first: u64, out: &mut [u8]) {
        let from = first * self.reference.values.size() as u64;
        let mut inputs = &self.inputs[..];
        if let (true, Some((earlier, others))) = (self.updates, inputs.split_last()) {
            earlier.view.read(from, out);
            inputs = others;
        }
        let parts: Vec<Vec<u8>> = inputs
            .iter()
            .map(|input| {
                let mut part = vec![0; out.len()];
                input.view.read(from, &mut part);
                part
            })
            .collect();
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        (0..self.times).for_each(|_| compute(&self.call, first, &parts, out));
    }
}

/// Fills `out` with the bytes from `offset` on. `fill` writes whole elements of `size` bytes from an element's number on.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{self, Access};

    fn f32s(view: &View) -> Vec<f32> {
        reference::f32s(&view.to_bytes()).collect()
    }

    fn inputs(values: &[f32]) -> View {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let length = bytes.len() as u64;
        View::of(Content::Bytes(bytes), length)
    }

    fn launched(
        kernel: &str,
        parameters: &[usize],
        arguments: &[u64],
        inputs: Vec<View>,
        bytes: u64,
    ) -> View {
        let reference = Reference::find(kernel, parameters).expect("the suite has this kernel");
        let call =
            KernelCall { kernel: kernel.to_owned(), arguments: arguments.to_vec(), ..KernelCall::default() };
        let updates =
            (reference.arrays)(&call).iter().any(|array| array.access == Access::Update && array.has_values);
        View::output(reference, call, inputs, updates, bytes)
    }

    fn bits(a: f32) -> u64 {
        a.to_bits().into()
    }

    fn saxpy(a: f32, x: &View, y: &View) -> View {
        launched("saxpy", &[4, 8, 8, 8], &[bits(a), 0, 0, 0], vec![x.clone(), y.clone()], y.bytes())
    }

    #[test]
    fn operations_are_applied_as_often_as_they_were_asked_for() {
        let (x, mut y) = (inputs(&[1.0, 2.0, 4.0]), inputs(&[0.5; 3]));
        for _ in 0..3 {
            y = saxpy(2.0, &x, &y);
        }
        assert_eq!(f32s(&y), [6.5, 12.5, 24.5]);
        assert_eq!(y.steps(), 1);
        let shifted = launched("rmw", &[4, 8, 8], &[bits(1.0), 0, 0], vec![x.clone()], x.bytes());
        assert_eq!(f32s(&shifted), [2.0, 3.0, 5.0]);
        let total = launched("sum", &[8, 8, 8, 8], &[0; 4], vec![x], 8);
        assert_eq!(total.to_bytes(), 7_f64.to_le_bytes());
    }

    #[test]
    fn what_is_built_high_is_worked_out_in_between() {
        let (mut x, mut y) = (inputs(&[1.0]), inputs(&[1.0]));
        for _ in 0..100 {
            (x, y) = (saxpy(0.5, &y, &x), x);
        }
        assert!(x.steps() <= MOST_STEPS);
        assert!(f32s(&x)[0].is_finite());
    }

    #[test]
    fn blocks_are_changed_alike_whatever_they_came_from() {
        let turned = |view: &View| view.changed(8, <[u8]>::reverse);
        let pattern = View::of(Content::Pattern((0..16).collect()), 32);
        let bytes = View::of(Content::Bytes(pattern.to_bytes()), 32);
        assert_eq!(turned(&pattern).to_bytes()[..9], [7, 6, 5, 4, 3, 2, 1, 0, 15]);
        assert_eq!(turned(&pattern).to_bytes(), turned(&bytes).to_bytes());
        assert!(matches!(&*turned(&pattern).0[0].content, Content::Pattern(_)));
        let word = View::of(Content::Word([1; 4]), 1 << 40).changed(4, |word| word[0] = 2);
        assert!(matches!(&*word.0[0].content, Content::Word([2, 1, 1, 1])));
    }

    #[test]
    fn any_part_can_be_read() {
        let random = launched("random_f32", &[8, 8, 8], &[0, 1000, 3], Vec::new(), 4000);
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
