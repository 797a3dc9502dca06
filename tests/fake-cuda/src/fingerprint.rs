//! Fingerprints of the contents of memory, a number for each block. Small contents are computed. Large ones
//! are compared by how they were made, so that a gigabyte costs nothing: equal contents that were made in
//! different ways can have different fingerprints.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::content::{Content, Piece, View};

/// Views of no more bytes are computed for their fingerprints.
const LITTLE: u64 = 256 << 10;

impl View {
    /// The same with every bit turned.
    pub(crate) fn complement(&self) -> Self {
        let pieces = self.0.iter().flat_map(|piece| match &*piece.content {
            Content::Complement(view) => view.part(piece.offset, piece.bytes).0,
            Content::Word(word) => {
                let content = Arc::new(Content::Word(word.map(|byte| !byte)));
                vec![Piece { content, ..piece.clone() }]
            }
            Content::Pattern(pattern) => {
                let content = Arc::new(Content::Pattern(pattern.iter().map(|byte| !byte).collect()));
                vec![Piece { content, ..piece.clone() }]
            }
            _ => Self::of(Content::Complement(Self(vec![piece.clone()])), piece.bytes).0,
        });
        Self(pieces.collect())
    }

    /// `bytes` of it from `from` on.
    fn part(&self, mut from: u64, mut bytes: u64) -> Self {
        let mut part = Self::default();
        for piece in &self.0 {
            if from >= piece.bytes {
                from -= piece.bytes;
                continue;
            }
            let length = bytes.min(piece.bytes - from);
            if length == 0 {
                break;
            }
            part.0.push(piece.part(from, length));
            (from, bytes) = (0, bytes - length);
        }
        part
    }

    /// A fingerprint of each `block` bytes, with the bytes that the block has. The first has `skipped` bytes less.
    pub(crate) fn fingerprints(&self, skipped: u64, block: u64) -> Vec<(u64, u64)> {
        let all = self.bytes();
        let bytes = (all <= LITTLE).then(|| self.to_bytes());
        let runs = if bytes.is_none() { self.runs() } else { Vec::new() };
        let (mut prints, mut from, mut run) = (Vec::new(), 0, 0);
        while from < all {
            let to = all.min((from + skipped) / block * block + block - skipped);
            let print = match &bytes {
                Some(bytes) => hash(&bytes[from as usize..to as usize]),
                None => {
                    while runs[run].end() <= from {
                        run += 1;
                    }
                    let within = runs[run..].iter().take_while(|run| run.begin < to);
                    within.fold(0, |print, run| run.mixed_into(print, from, to))
                }
            };
            prints.push((print, to - from));
            from = to;
        }
        prints
    }

    /// Its pieces, those that go on as one of them began taken together.
    fn runs(&self) -> Vec<Run> {
        let (mut runs, mut begin): (Vec<Run>, _) = (Vec::new(), 0);
        for piece in &self.0 {
            let run = Run { begin, bytes: piece.bytes, origin: origin(&piece.content), offset: piece.offset };
            match runs.last_mut() {
                Some(last) if last.goes_on_as(&run) => last.bytes += run.bytes,
                _ => runs.push(run),
            }
            begin += piece.bytes;
        }
        runs
    }
}

/// A part of a view that came about in one way.
struct Run {
    begin: u64,
    bytes: u64,
    origin: Origin,
    /// The offset in its recipe at which it begins.
    offset: u64,
}

/// A number for a recipe, and the number of bytes after which its bytes repeat.
#[derive(Clone, Copy, PartialEq)]
struct Origin {
    hash: u64,
    period: u64,
}

impl Run {
    fn end(&self) -> u64 {
        self.begin + self.bytes
    }

    /// The place of byte `at` of the view in what came about so.
    fn place(&self, at: u64) -> u64 {
        (self.offset + at - self.begin) % self.origin.period
    }

    fn goes_on_as(&self, next: &Self) -> bool {
        self.origin == next.origin && self.place(self.end()) == next.place(next.begin)
    }

    /// A fingerprint with the part that lies between `from` and `to` of the view.
    fn mixed_into(&self, print: u64, from: u64, to: u64) -> u64 {
        let (from, to) = (from.max(self.begin), to.min(self.end()));
        [self.origin.hash, self.place(from), to - from].into_iter().fold(print, mixed)
    }
}

/// Both numbers in one; quick, since there are many.
fn mixed(print: u64, number: u64) -> u64 {
    let product = u128::from(print ^ 0x9E37_79B9_7F4A_7C15) * u128::from(number ^ 0xD1B5_4A32_D192_ED03);
    (product as u64) ^ (product >> 64) as u64 ^ number.rotate_left(29)
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Returns the number of a content's recipe.
fn origin(content: &Content) -> Origin {
    let whole =
        |view: &View| view.runs().iter().fold(0, |print, run| run.mixed_into(print, run.begin, run.end()));
    let mut period = u64::MAX;
    let hash = match content {
        Content::Bytes(bytes) => hash((0, bytes)),
        Content::Word(word) => {
            period = if word.iter().all(|byte| *byte == word[0]) { 1 } else { 4 };
            hash((1, word))
        }
        Content::Output(output) => {
            let (call, times, inputs) = output.recipe();
            hash((2, call, times, inputs.map(whole).collect::<Vec<u64>>()))
        }
        Content::Complement(view) => hash((3, whole(view))),
        Content::Pattern(pattern) => {
            period = pattern.len() as u64;
            hash((4, pattern))
        }
    };
    Origin { hash, period }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{KernelCall, Reference};

    const LARGE: u64 = 2 * LITTLE;

    fn word(word: u32, bytes: u64) -> View {
        View::of(Content::Word(word.to_le_bytes()), bytes)
    }

    fn random(bytes: u64) -> View {
        launched("random_f32", &[8, 8, 8], vec![0, bytes / 4, 3], Vec::new(), bytes)
    }

    fn launched(
        kernel: &str,
        parameters: &[usize],
        arguments: Vec<u64>,
        inputs: Vec<View>,
        bytes: u64,
    ) -> View {
        let reference = Reference::find(kernel, parameters).expect("the suite has this kernel");
        let call = KernelCall { kernel: kernel.to_owned(), arguments, ..KernelCall::default() };
        View::output(reference, call, inputs, true, bytes)
    }

    fn joined(views: &[View]) -> View {
        View(views.iter().flat_map(|view| view.0.clone()).collect())
    }

    #[test]
    fn the_same_has_the_same_fingerprints_however_it_is_cut() {
        for (whole, first) in [(LITTLE, 1000), (LARGE, 70_000)] {
            let cut = joined(&[word(7, first), word(7, whole - first)]);
            assert_eq!(cut.fingerprints(0, 512), word(7, whole).fingerprints(0, 512));
        }
        let view = random(LARGE);
        let cut = joined(&[view.part(0, 513), view.part(513, LARGE - 513)]);
        assert_eq!(cut.fingerprints(4, 1024), view.fingerprints(4, 1024));
        assert_eq!(view.fingerprints(4, 1024)[0].1, 1020);
        let map = |a: f32| {
            launched("rmw", &[4, 8, 8], vec![a.to_bits().into(), 0, LARGE / 4], vec![random(LARGE)], LARGE)
        };
        assert_eq!(map(1.0).fingerprints(0, 512), map(1.0).fingerprints(0, 512));
        assert_ne!(map(1.0).fingerprints(0, 512), map(2.0).fingerprints(0, 512));
    }

    #[test]
    fn a_change_shows_in_its_own_block() {
        for size in [LITTLE, LARGE] {
            let before = random(size).fingerprints(0, 4096);
            let view = random(size);
            let changed = joined(&[view.part(0, 8200), word(0, 4), view.part(8204, size - 8204)]);
            let after = changed.fingerprints(0, 4096);
            let differ: Vec<usize> =
                (0..before.len()).filter(|block| before[*block] != after[*block]).collect();
            assert_eq!(differ, [2]);
        }
    }

    #[test]
    fn the_complement_of_the_complement_is_what_it_was() {
        for view in [word(7, LARGE), random(LARGE), joined(&[random(100), word(1, 28)])] {
            let turned = view.complement();
            assert!(turned.to_bytes().iter().zip(view.to_bytes()).all(|(turned, byte)| *turned == !byte));
            assert_ne!(turned.fingerprints(0, 512), view.fingerprints(0, 512));
            assert_eq!(turned.complement().fingerprints(0, 512), view.fingerprints(0, 512));
        }
    }
}
