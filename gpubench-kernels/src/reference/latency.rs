//! `latency.cu`: a chain of loads, each from the place that the load before returned.

use super::{Array, KernelWork, OutputValues, Reference};

/// The word to which `loads` loads lead from word `from`.
pub fn chase(from: u64, loads: u64, word: impl Fn(u64) -> u64) -> u64 {
    (0..loads).fold(from, |here, _| word(here))
}

/// The reference for this kernel.
pub const KERNELS: &[Reference] = &[Reference {
    kernel: "chase",
    parameters: &[8, 8, 8],
    arrays: |call| vec![Array::table(call.word(0)), Array::update(call.word(1), 8)],
    values: OutputValues::Gathered {
        size: 8,
        compute: |call, inputs, _first, at| {
            let word = |input: usize, index: u64| {
                let mut bytes = [0; 8];
                inputs[input].read(8 * index, &mut bytes);
                u64::from_le_bytes(bytes)
            };
            let end = chase(word(1, 0), call.word(2), |here| word(0, here));
            super::set(at, |_| end.to_le_bytes());
        },
    },
    work: |call| KernelWork::Loads(call.word(2)),
}];
