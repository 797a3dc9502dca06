//! Inputs that look random and can be made again. In: a seed and an index; out: a number. Every element stands for itself,
//! so that a check makes the inputs anew without keeping them.

use std::collections::TryReserveError;

use rayon::prelude::*;

/// Element `index` of the input `seed`: uniform in [0, 1), with 24 random bits, so that it is exact as `f32` too.
#[must_use]
pub fn element(seed: u64, index: usize) -> f64 {
    f64::from(bits(seed, index)) / f64::from(1 << 24)
}

/// The 24 random bits of element `index` of the input `seed`.
#[must_use]
pub fn bits(seed: u64, index: usize) -> u32 {
    // The output function of SplitMix64 (Steele, Lea & Flood 2014) on its own Weyl sequence.
    let mut bits = seed.wrapping_add(index as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    (bits >> 40) as u32
}

/// The line after `line` in the one cycle that `lines` lines are in, a power of two: a linear congruential generator of full
/// period (Hull & Dobell 1962), with the multiplier of Knuth's MMIX.
#[must_use]
pub fn next_line(line: u64, lines: u64) -> u64 {
    line.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) & (lines - 1)
}

/// Element `index` of the input `seed` in bf16, by cutting off what it has no bits for.
#[must_use]
pub fn bf16(seed: u64, index: usize) -> f64 {
    f64::from(f32::from_bits((element(seed, index) as f32).to_bits() & 0xffff_0000))
}

/// The first `n` elements of the input `seed`.
///
/// # Errors
/// Where there is not enough memory for them.
pub fn random<T: From<f32> + Send>(seed: u64, n: usize) -> Result<Vec<T>, TryReserveError> {
    let mut input = Vec::new();
    input.try_reserve_exact(n)?;
    (0..n).into_par_iter().map(|index| T::from(element(seed, index) as f32)).collect_into_vec(&mut input);
    Ok(input)
}

/// `n` elements to be overwritten. They are not zero, so that a check sees those that were not.
///
/// # Errors
/// Where there is not enough memory for them.
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
