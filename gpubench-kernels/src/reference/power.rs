//! `power.cu`: fused multiply-adds from registers alone.

use super::{Array, KernelWork, OutputValues, Reference, f32s, set};

/// The pairs of a thread, and the threads of a block.
pub const PAIRS: usize = 8;
/// The threads of a block.
pub const THREADS: usize = 256;

/// The sum of a thread's pairs after each step turned each of them by the angle `a`, rounded as on the device.
#[must_use]
pub fn turned(a: f32, steps: u64, inputs: [f32; 2 * PAIRS]) -> f32 {
    let mut pairs = inputs;
    for _ in 0..steps {
        for [x, y] in pairs.as_chunks_mut().0 {
            *x = (-a).mul_add(*y, *x);
            *y = a.mul_add(*x, *y);
        }
    }
    pairs.as_chunks().0.iter().fold(0.0, |sum, [x, y]| sum + x + y)
}

/// The reference for this kernel.
pub const KERNELS: &[Reference] = &[Reference {
    kernel: "turn",
    parameters: &[4, 8, 8, 8],
    arrays: |call| {
        let sums = 4 * THREADS as u64 * call.blocks;
        vec![Array::read(call.word(1), (4 * 2 * PAIRS * THREADS) as u64), Array::write(call.word(3), sums)]
    },
    values: OutputValues::Gathered {
        size: 4,
        compute: |call, inputs, first, sums| {
            // Every block computes the same.
            let numbers: Vec<f32> = f32s(inputs[0].all()).collect();
            let threads = numbers.as_chunks().0.iter();
            let block: Vec<f32> =
                threads.map(|thread| turned(call.float(0), call.word(2), *thread)).collect();
            set(sums, |index| block[(first as usize + index) % block.len()].to_le_bytes());
        },
    },
    work: |call| {
        let threads = THREADS as u64 * call.blocks;
        KernelWork::Operations { count: call.bytes(2, 4 * PAIRS as u64 * threads), speed: 63_500.0 }
    },
}];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_stay_where_they_are_and_never_rest() {
        let inputs = std::array::from_fn(|index| super::super::inputs::element(1, 48 + index) as f32);
        let sums: Vec<f32> = (1000..1010).map(|steps| turned(0.3, steps, inputs)).collect();
        assert!(sums.iter().all(|sum| sum.abs() < 32.0), "{sums:?}");
        assert!(sums.windows(2).all(|pair| pair[0] != pair[1]), "{sums:?}");
    }
}
