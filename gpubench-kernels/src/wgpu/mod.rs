//! Kernels for a GPU of any vendor, in WGSL: those of [`cuda`](crate::cuda) that make sense there, by the
//! same names, with the same inputs and counts.
//!
//! A sum is one launch of two passes, and adds in `f32`: WGSL has no `f64`, and no order in which workgroups begin.

mod arrays;
pub mod matmul;

use gpubench::gpu_bench;
use gpubench::wgpu::{Encoder, Kernel};
use rayon::prelude::*;

use self::arrays::{Refusal, array};
use crate::inputs::{element, random, unwritten};
use crate::reference::{elementwise, plane};

pub use self::arrays::Arrays;

const ELEMENTWISE: &str = include_str!("elementwise.wgsl");
const SQUARE: &str = include_str!("square.wgsl");

/// Values of `n` for arrays of `f32`, as for CUDA: 64 KiB, 1, 16, 40 and 256 MiB, and 1 GiB.
const F32: [usize; 6] = [1 << 14, 1 << 18, 4 << 20, 10 << 20, 64 << 20, 256 << 20];
/// The elements of a workgroup of the elementwise kernels.
const OF_WORKGROUP: usize = 4 * 256;
/// The most workgroups of a sum.
const PARTS: usize = 1024;

// The seeds of the inputs.
const X: u64 = 1;
const Y: u64 = 2;

/// y ← x, for `f32`. One launch reads 4 n bytes and writes 4 n bytes.
#[gpu_bench(
    args(n = F32),
    setup = two_arrays("copy", 0.0, &random(X, n)?, &unwritten(n)?, encoder),
    reads = 4 * n,
    writes = 4 * n,
    cold,
    check = |arrays, n| arrays.expect(n, |i| element(X, i) as f32),
)]
pub fn copy(arrays: &Arrays, encoder: &Encoder) {
    arrays.launch(encoder);
}

/// y ← a in every element, for `f32`. One launch writes 4 n bytes.
#[gpu_bench(
    args(n = F32),
    setup = filled(0.75, n, encoder),
    writes = 4 * n,
    cold,
    check = |arrays, n| arrays.expect(n, |_| 0.75),
)]
pub fn fill(arrays: &Arrays, encoder: &Encoder) {
    arrays.launch(encoder);
}

/// y ← a·x + y, for `f32`, rounded once where the GPU does. One launch reads 8 n bytes, writes 4 n bytes and does 2 n operations.
#[gpu_bench(
    args(n = F32),
    setup = two_arrays("saxpy", 2.5, &random(X, n)?, &random(Y, n)?, encoder),
    reads = 8 * n,
    writes = 4 * n,
    flops = 2 * n,
    cold,
    accumulates,
    check = |arrays, n| expect_saxpy(arrays, n),
)]
pub fn saxpy(arrays: &Arrays, encoder: &Encoder) {
    arrays.launch(encoder);
}

/// total ← Σ x, for `f32`. One launch reads 4 n bytes and does n operations.
#[gpu_bench(
    args(n = F32),
    setup = summed(n, encoder),
    reads = 4 * n,
    flops = n,
    cold,
    check = |arrays, n| expect_sum(arrays, n),
)]
pub fn sum(arrays: &Arrays, encoder: &Encoder) {
    arrays.launch(encoder);
}

/// y ← the transpose of x, in its plainest form: neighbouring invocations write far apart.
#[gpu_bench(
    args(n = [1 << 14]),
    setup = transposed("transpose_naive", n, encoder),
    reads = 4 * n * n,
    writes = 4 * n * n,
    cold,
    check = |arrays, n| arrays.expect(n * n, |i| element(X, plane::transposed(i, n)) as f32),
)]
pub fn transpose_naive(arrays: &Arrays, encoder: &Encoder) {
    arrays.launch(encoder);
}

/// y ← the transpose of x, through tiles in memory of the workgroup.
#[gpu_bench(
    args(n = [1 << 14]),
    setup = transposed("transpose_tiled", n, encoder),
    reads = 4 * n * n,
    writes = 4 * n * n,
    cold,
    check = |arrays, n| arrays.expect(n * n, |i| element(X, plane::transposed(i, n)) as f32),
)]
pub fn transpose_tiled(arrays: &Arrays, encoder: &Encoder) {
    arrays.launch(encoder);
}

/// Makes the launch of an elementwise kernel over x and y.
fn two_arrays(entry: &str, a: f64, x: &[f32], y: &[f32], encoder: &Encoder) -> Result<Arrays, Refusal> {
    let workgroups = y.len().div_ceil(OF_WORKGROUP) as u64;
    let (x, y) = (array(x, encoder)?, array(y, encoder)?);
    let constants: &[(&str, f64)] = if entry == "copy" { &[] } else { &[("A", a)] };
    let kernel = Kernel::new(encoder, (ELEMENTWISE, entry), constants, &[&y, &x]);
    Ok(Arrays::new(vec![(kernel, workgroups)], y, encoder))
}

fn filled(a: f64, n: usize, encoder: &Encoder) -> Result<Arrays, Refusal> {
    let y = array(&unwritten(n)?, encoder)?;
    let kernel = Kernel::new(encoder, (ELEMENTWISE, "fill"), &[("A", a)], &[&y]);
    Ok(Arrays::new(vec![(kernel, n.div_ceil(OF_WORKGROUP) as u64)], y, encoder))
}

fn summed(n: usize, encoder: &Encoder) -> Result<Arrays, Refusal> {
    let parts = n.div_ceil(OF_WORKGROUP).clamp(1, PARTS);
    let (x, total) = (array(&random(X, n)?, encoder)?, array(&[f32::NAN], encoder)?);
    let of_parts = array(&vec![f32::NAN; 4 * parts], encoder)?;
    let add = Kernel::new(encoder, (ELEMENTWISE, "sum_parts"), &[], &[&of_parts, &x]);
    let collect =
        Kernel::with_bindings(encoder, (ELEMENTWISE, "sum_total"), &[], &[(0, &of_parts), (2, &total)]);
    Ok(Arrays::new(vec![(add, parts as u64), (collect, 1)], total, encoder))
}

fn transposed(entry: &str, n: usize, encoder: &Encoder) -> Result<Arrays, Refusal> {
    let squared = n.checked_mul(n).ok_or("n² is too much for any memory")?;
    let (x, y) = (array(&random(X, squared)?, encoder)?, array(&unwritten(squared)?, encoder)?);
    let kernel = Kernel::new(encoder, (SQUARE, entry), &[("N", n as f64)], &[&y, &x]);
    Ok(Arrays::new(vec![(kernel, n.div_ceil(32).pow(2) as u64)], y, encoder))
}

/// Checks y, which WGSL allows to be rounded twice.
fn expect_saxpy(arrays: &Arrays, n: usize) -> Result<(), Refusal> {
    let found = arrays.read()?;
    let reference = |i| elementwise::saxpy(2.5, element(X, i) as f32, element(Y, i) as f32);
    // False for a NaN.
    let is_near =
        |i: usize| (found[i] - reference(i)).abs() <= 2.0 * f32::EPSILON * reference(i).abs().max(1.0);
    match (0..n).into_par_iter().with_min_len(1 << 14).find_first(|i| !is_near(*i)) {
        Some(i) => Err(format!("element {i} is {}, not {}", found[i], reference(i)).into()),
        None => Ok(()),
    }
}

/// Checks the total. Each invocation adds at most some hundred numbers, and the rest adds in a tree.
fn expect_sum(arrays: &Arrays, n: usize) -> Result<(), Refusal> {
    let found = f64::from(arrays.read()?[0]);
    let expected: f64 = (0..n).into_par_iter().with_min_len(1 << 14).map(|i| element(X, i)).sum();
    // False for a NaN.
    if (found - expected).abs() <= 1e-5 * expected {
        Ok(())
    } else {
        Err(format!("the sum is {found}, not {expected}").into())
    }
}
