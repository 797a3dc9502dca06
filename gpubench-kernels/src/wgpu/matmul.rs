//! Products of square matrices of `f32`, row by row, in the two forms that need nothing but WGSL. One launch does 2 n³ operations.

use gpubench::gpu_bench;
use gpubench::wgpu::{Encoder, Kernel};

use super::SQUARE;
use super::arrays::{Arrays, Refusal, array};
use crate::inputs::{element, random, unwritten};

// The seeds of the inputs.
const A: u64 = 3;
const B: u64 = 4;

/// The side of a workgroup, one invocation an element.
const SIDE: usize = 16;
/// One row in so many is checked, another of each band.
const BAND: usize = 128;

/// c ← a · b, one invocation an element. One launch reads 8 n² bytes, writes 4 n² bytes and does 2 n³ operations.
#[gpu_bench(
    args(n = [2048]),
    setup = product("naive", n, encoder),
    reads = 8 * n * n,
    writes = 4 * n * n,
    flops = 2 * n * n * n,
    cold,
    check = |arrays, n| expect_product(arrays, n),
)]
pub fn naive(arrays: &Arrays, encoder: &Encoder) {
    arrays.launch(encoder);
}

/// c ← a · b, one invocation an element, with tiles of the operands in memory of the workgroup. One launch reads 8 n² bytes, writes
/// 4 n² bytes and does 2 n³ operations.
#[gpu_bench(
    args(n = [2048]),
    setup = product("tiled", n, encoder),
    reads = 8 * n * n,
    writes = 4 * n * n,
    flops = 2 * n * n * n,
    cold,
    check = |arrays, n| expect_product(arrays, n),
)]
pub fn tiled(arrays: &Arrays, encoder: &Encoder) {
    arrays.launch(encoder);
}

fn product(entry: &str, n: usize, encoder: &Encoder) -> Result<Arrays, Refusal> {
    let squared = n.checked_mul(n).ok_or("n² is too much for any memory")?;
    let [a, b] = [array(&random(A, squared)?, encoder)?, array(&random(B, squared)?, encoder)?];
    let c = array(&unwritten(squared)?, encoder)?;
    let kernel = Kernel::new(encoder, (SQUARE, entry), &[("N", n as f64)], &[&c, &a, &b]);
    Ok(Arrays::new(vec![(kernel, n.div_ceil(SIDE).pow(2) as u64)], c, encoder))
}

/// Checks one row of each band, and the last: elements of no factor are negative, so that rounding is a part of the sum.
fn expect_product(arrays: &Arrays, n: usize) -> Result<(), Refusal> {
    let c = arrays.read()?;
    let rows = (0..n.div_ceil(BAND)).map(|band| (band * BAND + 37 * band % BAND).min(n - 1)).chain([n - 1]);
    for row in rows {
        let mut sums = vec![0.0; n];
        for k in 0..n {
            let factor = element(A, row * n + k);
            sums.iter_mut().enumerate().for_each(|(column, sum)| *sum += factor * element(B, k * n + column));
        }
        // Errors of rounding grow with √n, as for CUDA.
        let tolerance = 10.0 * (n as f64).sqrt() * f64::from(f32::EPSILON);
        for (column, sum) in sums.iter().enumerate() {
            let found = f64::from(c[row * n + column]);
            // False for a NaN.
            let is_near = (found - sum).abs() <= tolerance * sum;
            if !is_near {
                return Err(format!("element ({row}, {column}) is {found}, not {sum}").into());
            }
        }
    }
    Ok(())
}
