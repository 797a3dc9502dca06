//! `elementwise.cu`, and the kernels of the same names in `sources.cu`. The output's element follows from the elements at
//! its index.

use super::{Array, KernelCall, Reference, change, f32_at, f64_at, set};

/// x + a.
#[must_use]
pub fn rmw(a: f32, x: f32) -> f32 {
    x + a
}

/// a·x + y, rounded once: `f64` holds the exact value for inputs of 24 bits.
#[must_use]
pub fn saxpy(a: f32, x: f32, y: f32) -> f32 {
    (f64::from(a) * f64::from(x) + f64::from(y)) as f32
}

/// a + b.
#[must_use]
pub fn vector_add(a: f64, b: f64) -> f64 {
    a + b
}

/// The references for these kernels.
pub const KERNELS: &[Reference] = &[
    Reference::elementwise(
        "copy",
        &[8, 8, 8],
        |call| {
            let bytes = call.bytes(2, 4);
            vec![Array::read(call.word(0), bytes), Array::write(call.word(1), bytes)]
        },
        4,
        |_call, _first, inputs, y| y.copy_from_slice(inputs[0]),
    ),
    Reference::elementwise(
        "fill",
        &[4, 8, 8],
        |call| vec![Array::write(call.word(1), call.bytes(2, 4))],
        4,
        |call, _first, _inputs, y| set(y, |_| call.float(0).to_le_bytes()),
    ),
    Reference::elementwise(
        "rmw",
        &[4, 8, 8],
        |call| vec![Array::update(call.word(1), call.bytes(2, 4))],
        4,
        |call, _first, _inputs, x| {
            let a = call.float(0);
            change(x, |_, x| rmw(a, f32::from_le_bytes(x)).to_le_bytes());
        },
    ),
    Reference::elementwise(
        "saxpy",
        &[4, 8, 8, 8],
        |call| {
            let bytes = call.bytes(3, 4);
            vec![Array::read(call.word(1), bytes), Array::update(call.word(2), bytes)]
        },
        4,
        |call, _first, inputs, y| {
            let a = call.float(0);
            change(y, |index, y| saxpy(a, f32_at(inputs[0], index), f32::from_le_bytes(y)).to_le_bytes());
        },
    ),
    Reference::elementwise(
        "triad",
        &[4, 8, 8, 8, 8],
        |call| two_inputs(call, 1, call.bytes(4, 4)),
        4,
        |call, _first, inputs, z| {
            let a = call.float(0);
            set(z, |index| saxpy(a, f32_at(inputs[0], index), f32_at(inputs[1], index)).to_le_bytes());
        },
    ),
    Reference::elementwise(
        "vector_add",
        &[8, 8, 8, 8],
        |call| two_inputs(call, 0, call.bytes(3, 8)),
        8,
        |_call, _first, inputs, c| {
            set(c, |index| vector_add(f64_at(inputs[0], index), f64_at(inputs[1], index)).to_le_bytes());
        },
    ),
];

/// Two inputs and an output of `bytes` each, which are the arguments from number `first` on.
fn two_inputs(call: &KernelCall, first: usize, bytes: u64) -> Vec<Array> {
    let [x, y, z] = [0, 1, 2].map(|index| call.word(first + index));
    vec![Array::read(x, bytes), Array::read(y, bytes), Array::write(z, bytes)]
}
