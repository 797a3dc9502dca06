//! `mix.cu`: `mix_R_W` reads R vectors of 16 bytes in each thread and writes W.

use super::{Array, KernelCall, OutputValues, Reference, little, set, word_of};

/// The value of a word that is not written.
pub const UNWRITTEN: u32 = u32::MAX;
/// Threads of a block.
pub const THREADS: usize = 256;
/// Words of a vector.
pub const WORDS: usize = 4;

/// Word `index` of the output, from the words of the input. A kernel that only reads writes one word in 4096, so that the
/// compiler keeps its loads.
pub fn written(index: usize, threads: usize, reads: usize, writes: usize, x: impl Fn(usize) -> u32) -> u32 {
    let (vector, part) = (index / WORDS, index % WORDS);
    let each = writes.max(1);
    // The block, and its number of threads.
    let first = vector / (THREADS * each) * THREADS;
    let stride = THREADS.min(threads - first);
    let (k, thread) = ((vector - first * each) / stride, (vector - first * each) % stride);
    let sum = |part: usize| match reads {
        0 => (first + thread) as u32,
        _ => (0..reads).fold(0_u32, |sum, read| {
            sum.wrapping_add(x(WORDS * (first * reads + read * stride + thread) + part))
        }),
    };
    match writes {
        0 if !sum(0).is_multiple_of(4096) => UNWRITTEN,
        _ => sum(part).wrapping_add(k as u32),
    }
}

/// The vectors that each thread of a kernel reads and writes, by its name.
fn balance(call: &KernelCall) -> (u64, u64) {
    let mut numbers = call.kernel.split('_').skip(1).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The reference for these kernels.
pub const KERNELS: &[Reference] = &[Reference {
    kernel: "mix_",
    parameters: &[8, 8, 8],
    arrays: |call| {
        let ((reads, writes), [x, y]) = (balance(call), [0, 1].map(|index| call.word(index)));
        let y = Array { is_traffic: writes > 0, ..Array::write(y, call.bytes(2, 16 * writes.max(1))) };
        vec![Array::read(x, call.bytes(2, 16 * reads)), y]
    },
    values: OutputValues::Gathered {
        size: 4,
        compute: |call, inputs, first, y| {
            let ((reads, writes), threads) = (balance(call), call.word(2) as usize);
            let x = |index: usize| word_of(inputs[0], index as u64);
            set(y, |index| {
                written(first as usize + index, threads, reads as usize, writes as usize, x).to_le_bytes()
            });
        },
    },
    work: little,
}];
