//! The check of a product of two matrices. In large matrices some rows are checked.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use cust::memory::{CopyDestination as _, DeviceBuffer};
use rayon::prelude::*;

use super::inputs::Refusal;
use crate::reference::matmul::add_products;

/// Matrices of at most this many rows are checked completely.
const WHOLE: usize = 256;
/// Of larger ones, one row in this many is checked, which is at most the height of any kernel's tile, so that no tile is
/// missed.
const BAND: usize = 64;
/// The most rows that are checked, since each costs n² operations here.
const MOST: usize = 64;
/// Columns that a thread adds up at a time.
const COLUMNS: usize = 256;

/// The way in which a kernel rounds its sums to 24 bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rounding {
    /// To the nearest, as arithmetic in `f32` does.
    Nearest,
    /// By cutting off, as the sums of tensor cores do (Fasi, Higham, Mikaitis & Pranesh, *Numerical behavior of NVIDIA
    /// tensor cores*, PeerJ Computer Science 7, 2021).
    CutOff,
}

impl Rounding {
    /// The largest distance of a sum of `n` products from the true one, as a fraction of the sum of their absolute values.
    ///
    /// Errors of rounding to the nearest have both signs, so that their sum grows with √n: exp(λ √n u + n u² / (1 − u))
    /// − 1 holds for all but one in 10²¹ sums at λ = 10 (Higham & Mary, *A new approach to probabilistic rounding error
    /// analysis*, SIAM Journal on Scientific Computing 41, 2019, theorem 2.4), with u = 2⁻²⁴. Errors of cutting off add
    /// up: n u / (1 − n u), with u = 2⁻²³ (Higham, *Accuracy and stability of numerical algorithms*, 2002, section
    /// 3.1).
    pub(super) fn tolerance(self, n: usize) -> f64 {
        let n = n as f64;
        match self {
            Self::Nearest => {
                let u = 2_f64.powi(-24);
                (10.0 * n.sqrt() * u + n * u * u / (1.0 - u)).exp_m1()
            }
            Self::CutOff => {
                let error = n * 2_f64.powi(-23);
                error / (1.0 - error)
            }
        }
    }
}

/// The rows that are checked.
fn rows(n: usize) -> Vec<usize> {
    if n <= WHOLE {
        return (0..n).collect();
    }
    let band = BAND.max(n.div_ceil(MOST));
    // Another row of each band is checked.
    let inner = (0..n.div_ceil(band)).map(|index| band * index + (37 * index) % band);
    let mut rows: Vec<usize> = inner.map(|row| row.min(n - 1)).collect();
    rows.push(n - 1);
    rows.dedup();
    rows
}

/// The checked rows of a product: their numbers, and the sums of each for all columns of a block.
struct Product {
    rows: Vec<usize>,
    /// For each block of [`COLUMNS`] columns the sums of the first row, then those of the second, and so on.
    blocks: Vec<Vec<f64>>,
}

impl Product {
    /// Returns the rows of a product of n × n elements, those of its factors at `row * n + column` being `a(…)` and `b(…)`.
    fn new(n: usize, a: impl Fn(usize) -> f64 + Sync, b: impl Fn(usize) -> f64 + Sync) -> Self {
        let rows = rows(n);
        let factors: Vec<f64> = rows.iter().flat_map(|row| (row * n..(row + 1) * n).map(&a)).collect();
        let sums = |columns: Range<usize>| {
            let (mut sums, mut operand) = (vec![0.0; rows.len() * columns.len()], Vec::new());
            for k in 0..n {
                operand.clear();
                operand.extend(columns.clone().map(|column| b(k * n + column)));
                for (sums, factors) in sums.chunks_exact_mut(columns.len()).zip(factors.chunks_exact(n)) {
                    add_products(sums, factors[k], &operand);
                }
            }
            sums
        };
        let blocks = (0..n.div_ceil(COLUMNS)).into_par_iter();
        let blocks = blocks.map(|block| sums(COLUMNS * block..n.min(COLUMNS * (block + 1)))).collect();
        Self { rows, blocks }
    }
}

/// Checks that `c` is the product of two n × n matrices, whose elements at `row * n + column` are `a(…)` and `b(…)`, none of
/// them negative, up to the `rounding` of a sum. A process computes the product of each `name` and `n` once.
pub(super) fn expect_product(
    c: &DeviceBuffer<f32>,
    (name, n): (&'static str, usize),
    a: impl Fn(usize) -> f64 + Sync,
    b: impl Fn(usize) -> f64 + Sync,
    rounding: Rounding,
) -> Result<(), Refusal> {
    static PRODUCTS: Mutex<BTreeMap<(&str, usize), Product>> = Mutex::new(BTreeMap::new());
    // What a panic left is whole: there is one insertion.
    let mut products = PRODUCTS.lock().unwrap_or_else(PoisonError::into_inner);
    let product = products.entry((name, n)).or_insert_with(|| Product::new(n, a, b));
    let (mut found, tolerance) = (vec![0.0; n], rounding.tolerance(n));
    for (index, row) in product.rows.iter().enumerate() {
        c.index(row * n..(row + 1) * n).copy_to(&mut found)?;
        let sums = product
            .blocks
            .iter()
            .zip(found.chunks(COLUMNS))
            .flat_map(|(sums, found)| found.iter().zip(&sums[index * found.len()..]));
        // A comparison in this direction is false for a NaN.
        let is_near = |(found, sum): &(&f32, &f64)| (f64::from(**found) - **sum).abs() <= tolerance * **sum;
        if let Some((column, (found, sum))) = sums.enumerate().find(|(_, element)| !is_near(element)) {
            let message =
                format!("row {row}, column {column} is {found}, not {sum} within {tolerance:.1e} of it");
            return Err(message.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_a_small_matrix_and_every_band_of_a_large_one_is_looked_at() {
        assert_eq!(rows(3), [0, 1, 2]);
        assert_eq!(rows(256).len(), 256);
        for n in [257, 1024, 2048, 4096, 6144, 8192, 16_384] {
            let rows = rows(n);
            let band = 64.max(n / 64);
            assert!(rows.is_sorted_by(|a, b| a < b) && rows.len() <= 65, "{n}: {rows:?}");
            assert_eq!((rows.first(), rows.last()), (Some(&0), Some(&(n - 1))));
            assert!((0..n / band).all(|index| rows.iter().any(|row| row / band == index)), "{n}: {rows:?}");
        }
    }

    /// Sums of random products in f32, one after the other, are within the tolerance, and those that lack one product
    /// in a thousand are not.
    #[test]
    fn what_rounding_does_is_within_the_tolerance() {
        use crate::inputs::element;
        for n in [256, 1024, 4096] {
            let sum = |n: usize| (0..n).map(|i| element(3, i) * element(4, i)).sum::<f64>();
            let rounded = |n: usize| {
                (0..n).fold(0.0_f32, |sum, i| (element(3, i) as f32).mul_add(element(4, i) as f32, sum))
            };
            let off = |n: usize, of: usize| (f64::from(rounded(n)) / sum(of) - 1.0).abs();
            let tolerance = Rounding::Nearest.tolerance(n);
            assert!(off(n, n) < tolerance / 2.0, "{n}: {} against {tolerance}", off(n, n));
            assert!(off(n - n.div_ceil(1000), n) > tolerance, "{n}");
        }
    }
}
