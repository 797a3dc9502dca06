//! `reduction.cu`: sums in `f64`, exact for the inputs of the suite.

use super::{Array, Input, KernelCall, OutputValues, Reference, f32s, little, parts, set};

/// A term of the dot product: the product is rounded to `f32`.
#[must_use]
pub fn product(x: f32, y: f32) -> f64 {
    f64::from(x * y)
}

/// The references for these kernels.
pub const KERNELS: &[Reference] = &[
    Reference {
        kernel: "sum",
        parameters: &[8, 8, 8, 8],
        arrays: |call| reduced(call, &[0], 1),
        values: OutputValues::Gathered {
            size: 8,
            compute: |_call, inputs, _first, total| {
                let sum: f64 = parts(inputs[0].length())
                    .map(|part| f32s(&read(inputs[0], &part)).map(f64::from).sum::<f64>())
                    .sum();
                set(total, |_| sum.to_le_bytes());
            },
        },
        work: little,
    },
    Reference {
        kernel: "dot",
        parameters: &[8, 8, 8, 8, 8],
        arrays: |call| reduced(call, &[0, 1], 2),
        values: OutputValues::Gathered {
            size: 8,
            compute: |_call, inputs, _first, total| {
                let of_part = |part| {
                    let [x, y] = [0, 1].map(|input| read(inputs[input], &part));
                    f32s(&x).zip(f32s(&y)).map(|(x, y)| product(x, y)).sum::<f64>()
                };
                let sum: f64 = parts(inputs[0].length()).map(of_part).sum();
                set(total, |_| sum.to_le_bytes());
            },
        },
        work: little,
    },
];

/// The arrays of a launch: these arguments as inputs of as many `f32` as argument `n` says, behind it the slots in which the
/// blocks meet, and the total.
fn reduced(call: &KernelCall, inputs: &[usize], n: usize) -> Vec<Array> {
    let inputs = inputs.iter().map(|input| Array::read(call.word(*input), call.bytes(n, 4)));
    let slots = Array::exchange(call.word(n + 1), 8 * call.blocks);
    inputs.chain([slots, Array::write(call.word(n + 2), 8)]).collect()
}

fn read(input: &dyn Input, part: &std::ops::Range<u64>) -> Vec<u8> {
    let mut bytes = vec![0; (part.end - part.start) as usize];
    input.read(part.start, &mut bytes);
    bytes
}
