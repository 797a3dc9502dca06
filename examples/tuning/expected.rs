//! Checks the outputs of variants. An error names the first element that differs from the result in f64 by more than rounding.

use std::collections::BTreeMap;
use std::sync::Mutex;

use cust::memory::{CopyDestination as _, DeviceBuffer};
use gpubench_kernels::cuda::Refusal;
use gpubench_kernels::inputs::element;
use rayon::prelude::*;

// The seeds of the inputs.
pub(crate) const X: u64 = 1;
pub(crate) const A: u64 = 3;
pub(crate) const B: u64 = 4;

/// [`expect_product`] checks one element in each square of this side, at varying positions. No warp computes a smaller part of a tile.
const SQUARE: usize = 32;

/// Checks that `total` is the sum of n elements. Each thread adds its few elements in f32. All other additions are in f64.
pub(crate) fn expect_sum(total: &DeviceBuffer<f64>, n: usize) -> Result<(), Refusal> {
    /// The expected sums by n, which variants share.
    static SUMS: Mutex<BTreeMap<usize, f64>> = Mutex::new(BTreeMap::new());
    let mut sums = SUMS.lock().map_err(|_| "an earlier check panicked")?;
    let expected = *sums.entry(n).or_insert_with(|| (0..n).into_par_iter().map(|i| element(X, i)).sum());
    let mut found = [0.0];
    total.index(0..1).copy_to(&mut found)?;
    let near = (found[0] - expected).abs() <= 1e-6 * expected;
    if near { Ok(()) } else { Err(format!("the sum is {}, not {expected}", found[0]).into()) }
}

/// Checks that `y` is the transpose of an n × n matrix.
pub(crate) fn expect_transposed(y: &DeviceBuffer<f32>, n: usize) -> Result<(), Refusal> {
    let mut found = vec![0.0_f32; n * n];
    y.copy_to(&mut found)?;
    let is_wrong = |at: &usize| found[*at] != element(X, at % n * n + at / n) as f32;
    match (0..n * n).into_par_iter().find_first(is_wrong) {
        Some(at) => Err(format!("row {}, column {} is {}", at / n, at % n, found[at]).into()),
        None => Ok(()),
    }
}

/// Checks elements of a product of two n × n matrices, whose elements are not negative.
///
/// n roundings to 24 bits, to nearest or towards zero, change a sum by n u / (1 − n u) of it at most, with u = 2⁻²³ (Higham,
/// *Accuracy and stability of numerical algorithms*, 2002, section 3.1).
pub(crate) fn expect_product(
    c: &DeviceBuffer<f32>,
    n: usize,
    a: impl Fn(usize) -> f64 + Sync,
    b: impl Fn(usize) -> f64 + Sync,
) -> Result<(), Refusal> {
    let mut found = vec![0.0_f32; n * n];
    c.copy_to(&mut found)?;
    let error = n as f64 * 2_f64.powi(-23);
    let tolerance = error / (1.0 - error);
    let across = n / SQUARE;
    let wrong = |square: usize| {
        let row = square / across * SQUARE + 37 * square % SQUARE;
        let column = square % across * SQUARE + (37 * square / SQUARE + 11 * square) % SQUARE;
        let sum: f64 = (0..n).map(|k| a(row * n + k) * b(k * n + column)).sum();
        let one = f64::from(found[row * n + column]);
        // A comparison in this direction is false for a NaN.
        let near = (one - sum).abs() <= tolerance * sum;
        (!near).then_some((row, column, one, sum))
    };
    match (0..across * across).into_par_iter().find_map_first(wrong) {
        Some((row, column, one, sum)) => {
            Err(format!("row {row}, column {column} is {one}, not {sum}").into())
        }
        None => Ok(()),
    }
}
