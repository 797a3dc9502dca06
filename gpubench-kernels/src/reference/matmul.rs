//! `matmul.cu` and `matmul_tensor.cu`: products of square matrices, row by row.

use std::ops::{AddAssign, Mul};

use super::inputs::from_bf16;
use super::{Array, Input, KernelCall, KernelWork, OutputValues, Reference, f32s, set};

/// Adds a factor of a row of a, times a part of the same row of b, to the sums of that part of c.
pub fn add_products<T: Copy + AddAssign + Mul<Output = T>>(sums: &mut [T], factor: T, row: &[T]) {
    sums.iter_mut().zip(row).for_each(|(sum, element)| *sum += factor * *element);
}

/// The reference for a kernel whose factors have elements of this number of bytes.
const fn reference(
    kernel: &'static str,
    arrays: fn(&KernelCall) -> Vec<Array>,
    compute: fn(&KernelCall, &[&dyn Input], u64, &mut [u8]),
    work: fn(&KernelCall) -> KernelWork,
) -> Reference {
    Reference {
        kernel,
        parameters: &[8, 8, 8, 8],
        arrays,
        values: OutputValues::Gathered { size: 4, compute },
        work,
    }
}

/// The references for these kernels.
pub const KERNELS: &[Reference] = &[
    reference("matmul_naive", matrices::<4>, product::<4>, |call| operations(call, 4e3)),
    reference("matmul_shared", matrices::<4>, product::<4>, |call| operations(call, 7e3)),
    reference("matmul_registers", matrices::<4>, product::<4>, |call| operations(call, 40e3)),
    reference("matmul_tensor", matrices::<2>, product::<2>, |call| operations(call, 500e3)),
    reference("matmul_tensor_medium", matrices::<2>, product::<2>, |call| operations(call, 400e3)),
    reference("matmul_tensor_small", matrices::<2>, product::<2>, |call| operations(call, 250e3)),
];

/// Two factors with elements of `SIZE` bytes, and a product of `f32`.
fn matrices<const SIZE: u64>(call: &KernelCall) -> Vec<Array> {
    let [a, b, c, n] = [0, 1, 2, 3].map(|index| call.word(index));
    let [inputs, output] = [SIZE, 4].map(|size| call.bytes(3, size).saturating_mul(n));
    vec![Array::read(a, inputs), Array::read(b, inputs), Array::write(c, output)]
}

fn operations(call: &KernelCall, speed: f64) -> KernelWork {
    KernelWork::Operations { count: call.word(3).saturating_pow(3).saturating_mul(2), speed }
}

/// Computes elements of c from number `first` on, from factors with elements of `SIZE` bytes: `f32`, or bf16 for 2.
fn product<const SIZE: usize>(call: &KernelCall, inputs: &[&dyn Input], first: u64, c: &mut [u8]) {
    let n = call.word(3) as usize;
    let terms = n - call.left_out as usize;
    let b = inputs[1].all();
    let (mut bytes, mut factors, mut elements, mut sums) =
        (vec![0; SIZE * n], Vec::new(), Vec::new(), Vec::new());
    let (mut index, mut left) = (first as usize, c);
    while !left.is_empty() {
        let (row, column) = (index / n, index % n);
        let count = (left.len() / 4).min(n - column);
        inputs[0].read((SIZE * row * n) as u64, &mut bytes);
        decode::<SIZE>(&bytes, &mut factors);
        sums.clear();
        sums.resize(count, 0.0_f32);
        for (factor, row) in factors.iter().zip(b.chunks_exact(SIZE * n)).take(terms) {
            decode::<SIZE>(&row[SIZE * column..][..SIZE * count], &mut elements);
            add_products(&mut sums, *factor, &elements);
        }
        let (now, rest) = left.split_at_mut(4 * count);
        set(now, |index| sums[index].to_le_bytes());
        (index, left) = (index + count, rest);
    }
}

/// Replaces `values` by the elements that these bytes are.
fn decode<const SIZE: usize>(bytes: &[u8], values: &mut Vec<f32>) {
    values.clear();
    match SIZE {
        2 => values.extend(bytes.as_chunks().0.iter().map(|bits| from_bf16(u16::from_le_bytes(*bits)))),
        _ => values.extend(f32s(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::bytes::ByteArray;
    use super::*;

    fn of<const SIZE: usize>(a: &ByteArray, b: &ByteArray, n: usize, left_out: u64) -> Vec<f32> {
        let call = KernelCall { arguments: vec![0, 0, 0, n as u64], left_out, ..KernelCall::default() };
        let mut c = vec![0; 4 * n * n];
        product::<SIZE>(&call, &[a, b], 0, &mut c);
        f32s(&c).collect()
    }

    #[test]
    fn products_are_those_of_matrices() {
        let [a, b] = [ByteArray::of(&[1.0, 2.0, 3.0, 4.0]), ByteArray::of(&[5.0, 6.0, 7.0, 8.0])];
        assert_eq!(of::<4>(&a, &b, 2, 0), [19.0, 22.0, 43.0, 50.0]);
        assert_eq!(of::<4>(&a, &b, 2, 1), [5.0, 6.0, 15.0, 18.0]);
        // 1.5 and 2 in bf16, in one word.
        let [a, b] =
            [1.5_f32, 2.0].map(|value| ByteArray(((value.to_bits() >> 16) as u16).to_le_bytes().to_vec()));
        assert_eq!(of::<2>(&a, &b, 1, 0), [3.0]);
    }
}
