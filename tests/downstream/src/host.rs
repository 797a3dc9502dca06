//! Launch functions for this machine's CPU.

use std::hint::black_box;
use std::ops::AddAssign;

use gpubench::{gpu_bench, host};

gpubench::group!(QUICK, max_time = 0.01, tags = ["quick"]);

/// y ← y + x
#[gpu_bench(
    args(n = [1 << 10, 1 << 12]),
    setup = inputs,
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = y.len(),
    cold,
)]
pub fn accumulate(x: &[f32], y: &mut [f32], stream: &host::Stream) -> Result<(), String> {
    if x.len() != y.len() {
        return Err(format!("{} elements cannot be added to {}", x.len(), y.len()));
    }
    stream.run(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += x));
    Ok(())
}

fn inputs(n: usize) -> Result<(Vec<f32>, Vec<f32>), String> {
    Ok((vec![1.0; n], vec![0.0; n]))
}

/// y ← y + x in another type, in blocks.
#[gpu_bench(
    types(T = [u8, f64]),
    consts(BLOCK = [16, 64]),
    args(zip(n = [64, 128], what = ["small", "large"])),
    setup = |n, _what| Ok((vec![1_u8.into(); n], vec![0_u8.into(); n])),
    items = n, "elements",
    skip_if = what == "large" && BLOCK < 64, "takes too long",
    check = assert!(y.iter().all(|y| *y == T::from(1))),
    group = QUICK,
)]
pub fn accumulate_in_blocks<T, const BLOCK: usize>(x: &[T], y: &mut [T], stream: &host::Stream)
where
    T: AddAssign + Copy + From<u8> + PartialEq + Send + Sync,
{
    stream.run(|| {
        for (y, x) in y.chunks_mut(BLOCK).zip(x.chunks(BLOCK)) {
            y.iter_mut().zip(x).for_each(|(y, x)| *y += *x);
        }
    });
}

/// The time to ask for the number of GPUs.
#[gpu_bench]
pub fn ask_cuda(stream: &host::Stream) {
    black_box(stream.run(super::gpus));
}

/// Has a count that is more than the type of its argument holds.
#[gpu_bench(args(n = [100_000_u32]), flops = n * n, ignore)]
pub fn counts_too_much(_stream: &host::Stream) {}
