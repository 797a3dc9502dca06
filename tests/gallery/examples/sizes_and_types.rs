//! A case for each combination of a size, a type and a constant.

use std::hint::black_box;
use std::ops::Add;

use gpubench::{gpu_bench, host};

gpubench::main!();

/// The sum of x, in `LANES` partial sums.
#[gpu_bench(
    types(T = [f32, f64]),
    consts(LANES = [1, 8]),
    args(n = [1 << 12, 1 << 20]),
    setup = |n| Ok(vec![T::from(1_u8); n]),
    reads = size_of_val(x),
)]
fn sum<T: Copy + Add<Output = T> + From<u8> + Send + Sync, const LANES: usize>(
    x: &[T],
    stream: &host::Stream,
) {
    stream.run(|| {
        let mut sums = [T::from(0); LANES];
        for block in x.chunks_exact(LANES) {
            for (sum, x) in sums.iter_mut().zip(block) {
                *sum = *sum + *x;
            }
        }
        black_box(sums);
    });
}
