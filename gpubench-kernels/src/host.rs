//! Kernels for this machine's CPU, spread over all its threads. `n` is the number of elements of each array; the listed
//! values lead from the first-level cache to several times most last-level caches.
//!
//! Each case has a budget of 0.8 s, so that the suite takes about 10 s where other programs disturb it.

use gpubench::gpu_bench;
use gpubench::host::Stream;
use rayon::prelude::*;

use crate::inputs::{element, random, unwritten};
use crate::vectorised::vectorised;

/// Values of `n` for one array of `f32`: 8 KiB to 128 MiB.
const ONE: [usize; 4] = [1 << 11, 1 << 15, 1 << 20, 1 << 25];
/// Values of `n` for two arrays of `f32`, 16 KiB to 128 MiB together.
const TWO: [usize; 4] = [1 << 11, 1 << 15, 1 << 20, 1 << 24];
/// Values of `n` for three arrays of `f64`, 24 KiB to 192 MiB together.
const THREE: [usize; 4] = [1 << 10, 1 << 14, 1 << 19, 1 << 23];

// The seeds of the inputs.
const X: u64 = 1;
const Y: u64 = 2;

/// y ← x, for `f32`. One launch reads 4 n bytes and writes 4 n bytes.
#[gpu_bench(
    args(n = TWO),
    setup = |n| Ok((random(X, n)?, unwritten(n)?)),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
    check = |x, y, _n| same(x, y),
    max_time = 0.8,
)]
pub fn copy(x: &[f32], y: &mut [f32], stream: &Stream) {
    let block = stream.block_of::<f32>(y.len());
    stream.run(|| y.par_chunks_mut(block).zip(x.par_chunks(block)).for_each(|(y, x)| y.copy_from_slice(x)));
}

/// y ← a in every element, for `f32`. One launch writes 4 n bytes.
#[gpu_bench(
    args(n = ONE),
    setup = |n| Ok((0.75, unwritten(n)?)),
    writes = 4 * y.len(),
    cold,
    check = |a, y, _n| expect(y, |_| a.into(), 0.0),
    max_time = 0.8,
)]
pub fn fill(a: f32, y: &mut [f32], stream: &Stream) {
    let block = stream.block_of::<f32>(y.len());
    stream.run(|| y.par_chunks_mut(block).for_each(|y| y.fill(a)));
}

/// y ← a·x + y, for `f32`. One launch reads 8 n bytes, writes 4 n bytes and does 2 n operations.
#[gpu_bench(
    args(n = TWO),
    setup = |n| Ok((2.0, random(X, n)?, random(Y, n)?)),
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = 2 * n,
    cold,
    check = |a, _x, y, _n| expect(y, |i| f64::from(a) * element(X, i) + element(Y, i), 1e-6),
    max_time = 0.8,
)]
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32], stream: &Stream) {
    let block = stream.block_of::<f32>(y.len());
    stream.run(|| {
        y.par_chunks_mut(block).zip(x.par_chunks(block)).for_each(|(y, x)| {
            vectorised(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x));
        });
    });
}

/// c ← a + b, for `f64`. One launch reads 16 n bytes, writes 8 n bytes and does n operations.
#[gpu_bench(
    args(n = THREE),
    setup = |n| Ok((random(X, n)?, random(Y, n)?, unwritten(n)?)),
    reads = 8 * (a.len() + b.len()),
    writes = 8 * c.len(),
    flops = n,
    data_type = "f64",
    cold,
    check = |_a, _b, c, _n| expect(c, |i| element(X, i) + element(Y, i), 0.0),
    max_time = 0.8,
)]
pub fn vector_add(a: &[f64], b: &[f64], c: &mut [f64], stream: &Stream) {
    let block = stream.block_of::<f64>(c.len());
    stream.run(|| {
        let inputs = a.par_chunks(block).zip(b.par_chunks(block));
        c.par_chunks_mut(block).zip(inputs).for_each(|(c, (a, b))| {
            vectorised(|| c.iter_mut().zip(a.iter().zip(b)).for_each(|(c, (a, b))| *c = a + b));
        });
    });
}

/// total ← Σ x, for `f32`. One launch reads 4 n bytes and does n operations; its partial sums are kept in registers, its
/// total is in `f64`.
#[gpu_bench(
    args(n = ONE),
    setup = |n| Ok((random(X, n)?, f64::NAN)),
    reads = 4 * x.len(),
    flops = n,
    cold,
    check = |x, total, _n| near(*total, x.iter().copied().map(f64::from).sum(), 1e-4),
    max_time = 0.8,
)]
pub fn sum(x: &[f32], total: &mut f64, stream: &Stream) {
    let block = stream.block_of::<f32>(x.len());
    *total = stream.run(|| x.par_chunks(block).map(|x| vectorised(|| sum_block(x))).sum());
}

/// Enough independent sums to fill the registers, so that no addition waits for the one before.
const LANES: usize = 32;
/// The length of partial sums in `f32`, short enough to lose little.
const STRETCH: usize = 64 * LANES;

#[inline(always)]
fn sum_block(x: &[f32]) -> f64 {
    let wide = |values: &[f32]| values.iter().copied().map(f64::from).sum::<f64>();
    let mut total = 0.0;
    for stretch in x.chunks(STRETCH) {
        let mut lanes = [0.0_f32; LANES];
        let (rows, rest) = stretch.as_chunks::<LANES>();
        for row in rows {
            for lane in 0..LANES {
                lanes[lane] += row[lane];
            }
        }
        total += wide(&lanes) + wide(rest);
    }
    total
}

/// An output that differs from the reference.
#[derive(Debug, thiserror::Error)]
enum Mismatch {
    /// The only value.
    #[error("is {found}, not {expected}")]
    Value { found: f64, expected: f64 },
    /// The first element that differs.
    #[error("element {index} is {found}, not {expected}")]
    Element { index: usize, found: f64, expected: f64 },
}

fn same(x: &[f32], y: &[f32]) -> Result<(), Mismatch> {
    expect(y, |i| x[i].into(), 0.0)
}

/// Compares each element of `output` with `reference`, within a relative `tolerance`.
fn expect<T: Copy + Into<f64>>(
    output: &[T],
    reference: impl Fn(usize) -> f64,
    tolerance: f64,
) -> Result<(), Mismatch> {
    let elements = output.iter().enumerate();
    let mut compared = elements.map(|(index, found)| (index, (*found).into(), reference(index)));
    let wrong = compared.find(|(_, found, expected)| !is_near(*found, *expected, tolerance));
    wrong.map_or(Ok(()), |(index, found, expected)| Err(Mismatch::Element { index, found, expected }))
}

fn near(found: f64, expected: f64, tolerance: f64) -> Result<(), Mismatch> {
    if is_near(found, expected, tolerance) { Ok(()) } else { Err(Mismatch::Value { found, expected }) }
}

/// Returns false for a NaN.
fn is_near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs()
}
