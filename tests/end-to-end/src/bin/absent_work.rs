//! Launch functions for the CPU that do not do the work they declare, each with a sibling that does.

use std::hint::black_box;

use gpubench::{gpu_bench, host};
use rayon::prelude::*;

gpubench::main!();

/// 16 KiB, which the first cache holds.
const SMALL: usize = 1 << 12;
const LARGE: usize = 1 << 20;

fn ones(n: usize) -> Result<(Vec<f32>, Vec<f32>), String> {
    Ok((vec![1.0; n], vec![0.0; n]))
}

#[gpu_bench(args(n = [SMALL, LARGE]), setup = ones, reads = 4 * n, writes = 4 * n)]
fn copies(x: &[f32], y: &mut [f32], stream: &host::Stream) {
    stream.run(|| y.copy_from_slice(x));
}

#[gpu_bench(args(n = [SMALL, LARGE]), setup = ones, reads = 4 * n, writes = 4 * n)]
fn copies_beside_its_stream(x: &[f32], y: &mut [f32], _stream: &host::Stream) {
    y.copy_from_slice(x);
}

#[gpu_bench(args(n = [SMALL]), setup = ones, writes = 4 * n, cold)]
fn fills(_x: &[f32], y: &mut [f32], stream: &host::Stream) {
    stream.run(|| black_box(y).fill(2.0));
}

#[gpu_bench(args(n = [SMALL, LARGE]), setup = ones, reads = 4 * n, flops = n)]
fn sums(x: &[f32], _y: &mut [f32], stream: &host::Stream) {
    let sum = |x: &[f32]| x.iter().fold(0_u32, |sum, x| sum.wrapping_add(x.to_bits()));
    stream.run(|| black_box(sum(black_box(x))));
}

/// What the compiler leaves of a sum that nothing reads.
#[gpu_bench(args(n = [SMALL, LARGE]), setup = ones, reads = 4 * n)]
fn sums_for_nobody(x: &[f32], _y: &mut [f32], stream: &host::Stream) {
    stream.run(|| _ = x.iter().map(|x| x * 2.0));
}

/// What the compiler leaves of a parallel sum that nothing reads, over a TiB.
#[gpu_bench(args(n = [SMALL]), setup = ones, bytes = 1_u64 << 40)]
fn sums_in_parallel_for_nobody(x: &[f32], _y: &mut [f32], stream: &host::Stream) {
    stream.run(|| x.par_chunks(1 << 10).for_each(|x| _ = black_box(x)));
}
