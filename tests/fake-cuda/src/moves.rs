//! Kernels whose elements come from other places than their own. In: what a kernel reads, and which element of its output is
//! asked for; out: that element.

use crate::content::View;

/// Threads of a block of the kernels that mix reads and writes.
const THREADS: u64 = 256;

/// Where elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Move {
    /// A square of f32 of this side, its rows as columns.
    Transpose(u64),
    /// A square of f32 of this side, each point the mean of its neighbours.
    Stencil(u64),
    /// Sums of words, of which each thread reads so many vectors and writes so many.
    Mix { reads: u64, writes: u64, threads: u64 },
    /// The word to which so many loads lead from one.
    Chase { from: u64, loads: u64 },
}

impl Move {
    /// The word at `index` of what 32-bit words of `x` become.
    pub(crate) fn word(self, x: &View, index: u64) -> u32 {
        match self {
            Self::Transpose(n) => word(x, index % n * n + index / n),
            Self::Stencil(n) => relaxed(x, n, index).to_bits(),
            Self::Mix { reads, writes, threads } => mixed(x, reads, writes, threads, index),
            Self::Chase { .. } => self.end(x) as u32,
        }
    }

    /// Where loads from `x` lead to.
    pub(crate) fn end(self, x: &View) -> u64 {
        let Self::Chase { from, loads } = self else { return 0 };
        (0..loads).fold(from, |here, _| {
            let mut bytes = [0; 8];
            x.read(8 * here, &mut bytes);
            u64::from_le_bytes(bytes)
        })
    }
}

fn word(x: &View, index: u64) -> u32 {
    let mut bytes = [0; 4];
    x.read(4 * index, &mut bytes);
    u32::from_le_bytes(bytes)
}

fn relaxed(x: &View, n: u64, index: u64) -> f32 {
    let at = |index| f32::from_bits(word(x, index));
    let inside = |place: u64| place > 0 && place + 1 < n;
    if !inside(index / n) || !inside(index % n) {
        return at(index);
    }
    0.25 * ((at(index - n) + at(index + n)) + (at(index - 1) + at(index + 1)))
}

fn mixed(x: &View, reads: u64, writes: u64, threads: u64, index: u64) -> u32 {
    let (vector, part) = (index / 4, index % 4);
    let each = writes.max(1);
    let first = vector / (THREADS * each) * THREADS;
    let stride = THREADS.min(threads - first);
    let (k, thread) = ((vector - first * each) / stride, (vector - first * each) % stride);
    let sum = |part| match reads {
        0 => (first + thread) as u32,
        _ => (0..reads)
            .map(|read| word(x, 4 * (first * reads + read * stride + thread) + part))
            .fold(0, u32::wrapping_add),
    };
    // What is not written holds what no kernel writes.
    if writes == 0 && sum(0) % 4096 != 0 { u32::MAX } else { sum(part).wrapping_add(k as u32) }
}
