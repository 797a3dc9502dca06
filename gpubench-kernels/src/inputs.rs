//! Inputs that look random and can be made again. Every element depends on its index alone, so that a check
//! computes the inputs again without keeping them.

use std::collections::TryReserveError;

use rayon::prelude::*;

use crate::reference::inputs::{bf16_bits, from_bf16};

pub use crate::reference::inputs::{bits, element, next_line};

/// Element `index` of the input `seed` in bf16.
#[must_use]
pub fn bf16(seed: u64, index: usize) -> f64 {
    f64::from(from_bf16(bf16_bits(seed, index)))
}

/// The first `n` elements of the input `seed`.
///
/// # Errors
/// There is not enough memory for them.
pub fn random<T: From<f32> + Send>(seed: u64, n: usize) -> Result<Vec<T>, TryReserveError> {
    let mut input = Vec::new();
    input.try_reserve_exact(n)?;
    (0..n).into_par_iter().map(|index| T::from(element(seed, index) as f32)).collect_into_vec(&mut input);
    Ok(input)
}

/// `n` elements to be overwritten. They are not zero, so that a check sees those that were not.
///
/// # Errors
/// There is not enough memory for them.
pub fn unwritten<T: From<f32> + Clone>(n: usize) -> Result<Vec<T>, TryReserveError> {
    let mut output = Vec::new();
    output.try_reserve_exact(n)?;
    output.resize(n, T::from(f32::NAN));
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_uniform_and_reproducible() {
        let n = 1 << 16;
        let input: Vec<f64> = random(7, n).expect("it fits");
        assert!(input.iter().all(|x| (0.0..1.0).contains(x)));
        assert!(input.iter().enumerate().all(|(index, x)| *x == element(7, index)));
        // The mean of n uniform numbers has a standard deviation of 1/√(12 n).
        let (mean, sigma) = (input.iter().sum::<f64>() / n as f64, (12.0 * n as f64).sqrt().recip());
        assert!((mean - 0.5).abs() < 5.0 * sigma, "mean {mean}");
        let other: Vec<f64> = random(8, n).expect("it fits");
        let equal = input.iter().zip(&other).filter(|(a, b)| a == b).count();
        assert!(equal < 5, "{equal} elements of two seeds are equal");
    }

    /// From any line the way leads through all of them, and back.
    #[test]
    fn lines_are_one_cycle_and_neighbours_lie_apart() {
        for lines in [1, 2, 64, 1 << 13] {
            let mut visited = vec![false; lines as usize];
            let mut line = 0;
            for _ in 0..lines {
                assert!(!std::mem::replace(&mut visited[line as usize], true), "{line} of {lines} twice");
                line = next_line(line, lines);
            }
            assert_eq!(line, 0);
        }
        let lines = 1 << 13;
        let near = (0..lines).filter(|line| next_line(*line, lines).abs_diff(*line) < 64).count();
        assert!(near < 4 * 2 * 64, "{near} of {lines} lie beside the one before");
    }
}
