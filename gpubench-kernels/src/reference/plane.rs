//! `transpose.cu` and `stencil.cu`: kernels over squares of `n` × `n` elements of `f32`, row by row.

use super::{Array, Input, KernelCall, OutputValues, Reference, little, set, word_of};

/// The index of the element that a transpose moves to `index`.
#[must_use]
pub fn transposed(index: usize, n: usize) -> usize {
    index % n * n + index / n
}

/// Point `index` after one step of Jacobi's method: the mean of its four neighbours, added in the kernel's order. A point on
/// the edge stays as it is.
pub fn relaxed(index: usize, n: usize, x: impl Fn(usize) -> f32) -> f32 {
    let (row, column) = (index / n, index % n);
    if row == 0 || row + 1 == n || column == 0 || column + 1 == n {
        return x(index);
    }
    0.25 * ((x(index - n) + x(index + n)) + (x(index - 1) + x(index + 1)))
}

const fn reference(
    kernel: &'static str,
    compute: fn(&KernelCall, &[&dyn Input], u64, &mut [u8]),
) -> Reference {
    Reference {
        kernel,
        parameters: &[8, 8, 8],
        arrays: |call| {
            let bytes = call.bytes(2, 4).saturating_mul(call.word(2));
            vec![Array::read(call.word(0), bytes), Array::write(call.word(1), bytes)]
        },
        values: OutputValues::Gathered { size: 4, compute },
        work: little,
    }
}

fn transpose(call: &KernelCall, inputs: &[&dyn Input], first: u64, y: &mut [u8]) {
    let n = call.word(2) as usize;
    set(y, |index| word_of(inputs[0], transposed(first as usize + index, n) as u64).to_le_bytes());
}

/// The references for these kernels.
pub const KERNELS: &[Reference] = &[
    reference("transpose_naive", transpose),
    reference("transpose_tiled", transpose),
    reference("stencil", |call, inputs, first, y| {
        let x = |index: usize| f32::from_bits(word_of(inputs[0], index as u64));
        set(y, |index| relaxed(first as usize + index, call.word(2) as usize, x).to_le_bytes());
    }),
];
