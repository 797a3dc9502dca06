//! The GPUs that are slow. In: for each roof and GPU the probability that a GPU which belongs to the others is this slow; out:
//! true for each that is found, at a false discovery rate.
//!
//! A slow GPU is found on several roofs. Over all pairs of GPU and roof, these many true findings would let in false ones on
//! other GPUs: of 20 GPUs found on six roofs each, one more would be false. So the rate is held over GPUs first, and then
//! within those found (Benjamini & Bogomolov, *Selective inference on multiple families of hypotheses*, JRSS B 76, 2014):
//!
//! 1. Simes' test combines the roofs of a GPU;
//! 2. Benjamini & Hochberg's procedure (JRSS B 57, 1995) finds GPUs;
//! 3. the same procedure finds roofs of these, at the rate times the share of GPUs found.
//!
//! Effects on roofs are correlated within a GPU, and all GPUs are held against nearly the same others. Both are positive
//! dependence, for which Simes' test and the procedure hold (Benjamini & Yekutieli, Annals of Statistics 29, 2001).

use crate::multiple::{ascending, benjamini_hochberg};

/// Finds the slow GPUs of each roof. `tests` has a probability for each GPU of each roof, or nothing where none was tested.
pub(super) fn discoveries(tests: &[Vec<Option<f64>>], rate: f64) -> Vec<Vec<bool>> {
    let gpus = tests.first().map_or(0, Vec::len);
    let roofs_of = |gpu: usize| -> Vec<(usize, f64)> {
        let tested = tests.iter().enumerate();
        tested.filter_map(|(roof, gpus)| Some((roof, gpus[gpu]?))).collect()
    };
    let combined: Vec<(usize, f64)> =
        (0..gpus).filter_map(|gpu| Some((gpu, simes(&roofs_of(gpu))?))).collect();
    let found = benjamini_hochberg(&combined, rate);
    let rate = rate * found.len() as f64 / combined.len().max(1) as f64;
    let mut discoveries = vec![vec![false; gpus]; tests.len()];
    for gpu in found {
        for roof in benjamini_hochberg(&roofs_of(gpu), rate) {
            discoveries[roof][gpu] = true;
        }
    }
    discoveries
}

/// The probability of the lowest of these by chance, by Simes' inequality. `None` if there are none.
fn simes(tests: &[(usize, f64)]) -> Option<f64> {
    let ranked = (1..).zip(ascending(tests));
    ranked.map(|(rank, (_, p))| p * tests.len() as f64 / f64::from(rank)).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_roofs_count_together() {
        assert_eq!(simes(&[(0, 0.02), (1, 0.5)]), Some(0.04));
        assert_eq!(simes(&[(0, 0.02), (1, 0.02)]), Some(0.02));
        assert_eq!(simes(&[]), None);
    }

    /// 100 GPUs, of which two are found: a roof of these must then be below 1 % · 2 / 100.
    #[test]
    fn roofs_of_a_found_gpu_have_a_limit_of_their_own() {
        let mut first = vec![Some(0.9); 100];
        let mut second = vec![Some(0.8); 100];
        (first[3], second[3]) = (Some(1e-7), Some(1e-3));
        (first[7], second[7]) = (Some(1e-5), Some(1e-4));
        first[9] = None;
        let found = discoveries(&[first, second], 0.01);
        let numbers = |roof: usize| -> Vec<usize> { (0..100).filter(|gpu| found[roof][*gpu]).collect() };
        assert_eq!((numbers(0), numbers(1)), (vec![3, 7], vec![7]));
    }
}
