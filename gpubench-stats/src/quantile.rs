//! Quantiles of a sample. In: samples; out: them in ascending order, and a value between the smallest and the
//! largest. Nothing is dropped or smoothed, so the answer is at most one gap away from a time that was
//! measured.

use crate::units::Nanoseconds;

/// Returns `times` in nanoseconds from the smallest to the largest. NaNs are at the ends.
pub(super) fn ascending(times: &[Nanoseconds]) -> Vec<f64> {
    let mut sorted: Vec<f64> = times.iter().copied().map(Nanoseconds::as_f64).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns the median of `times`, which may be in any order; `None` if there are no times. It is not
/// interpolated within a step of the timer.
pub fn median(times: &[Nanoseconds]) -> Option<Nanoseconds> {
    (!times.is_empty()).then(|| Nanoseconds(quantile(&ascending(times), 0.5)))
}

/// Returns the `p`-quantile of `sorted` (ascending, not empty), with `p` in 0..=1: definition 7 of Hyndman &
/// Fan, *Sample quantiles in statistical packages* (The American Statistician 50, 1996), the default of R and
/// NumPy.
///
/// With n samples it is the value at the fractional index (n − 1)·p counted from zero, on the straight line
/// between the two neighbouring samples. It is exact at the samples themselves, and for `p` = ½ it is the
/// usual median.
///
/// # Panics
/// If `sorted` is empty or `p` is not in 0..=1.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let index = (sorted.len() - 1) as f64 * p;
    at_fractional_index(sorted, index)
}

/// Returns the value of `sorted` at a fractional `index`, counted from zero: interpolated linearly between
/// the two neighbouring samples.
pub(super) fn at_fractional_index(sorted: &[f64], index: f64) -> f64 {
    let below = index.floor();
    let left = sorted[below as usize];
    match sorted.get(below as usize + 1) {
        Some(&right) if index > below => left + (index - below) * (right - left),
        _ => left,
    }
}

/// Returns the arithmetic mean of `values`; NaN if there are none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the difference between the 95th and the 5th percentile of `times`; zero if there are no times.
pub fn spread(times: &[Nanoseconds]) -> Nanoseconds {
    let sorted = ascending(times);
    if sorted.is_empty() {
        return Nanoseconds::ZERO;
    }
    let [low, high] = [0.05, 0.95].map(|p| Nanoseconds(quantile(&sorted, p)));
    high - low
}

/// Sorts `values`, and returns their median; `None` if there are no values.
pub fn median_of(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(values, 0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the index is 5·p, and the value is on the line between the samples beside it.
    #[test]
    fn follows_definition_seven() {
        let samples = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let expected = [
            (0.0, 1.0),
            (0.05, 1.25),
            (0.25, 2.5),
            (0.5, 6.0),
            (0.75, 14.0),
            (0.95, 28.0),
            (0.99, 31.2),
            (1.0, 32.0),
        ];
        for (p, value) in expected {
            assert!((quantile(&samples, p) - value).abs() < 1e-12, "p = {p}");
        }
    }

    #[test]
    fn median_of_an_odd_count_is_the_middle_sample() {
        assert_eq!(quantile(&[1.0, 5.0, 100.0], 0.5), 5.0);
    }

    #[test]
    fn one_sample_is_every_quantile() {
        for p in [0.0, 0.3, 1.0] {
            assert_eq!(quantile(&[7.0], p), 7.0);
        }
    }

    #[test]
    fn equal_samples_give_that_value_exactly() {
        let samples = [0.1; 17];
        for percent in 0..=100 {
            assert_eq!(quantile(&samples, f64::from(percent) / 100.0), 0.1);
        }
    }

    #[test]
    fn never_decreases_with_p() {
        let samples = [0.1, 0.1, 0.3, 0.7, 0.7, 1e9];
        let values: Vec<f64> = (0..=1000).map(|i| quantile(&samples, f64::from(i) / 1000.0)).collect();
        assert!(values.is_sorted());
    }

    #[test]
    fn does_not_panic_on_what_is_not_a_number() {
        assert!(quantile(&[1.0, f64::NAN], 0.5).is_nan());
    }
}
