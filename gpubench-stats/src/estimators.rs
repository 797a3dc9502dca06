//! Estimates from a few or many values: quantiles, means and trimmed means with their standard errors, Student's t distribution for
//! their intervals, and the number of independent samples that correlated samples are worth.

use std::f64::consts::FRAC_2_PI;

use crate::units::Nanoseconds;

/// Returns `times` in nanoseconds from the smallest to the largest. NaNs are at the ends, according to their
/// sign.
pub(super) fn ascending(times: &[Nanoseconds]) -> Vec<f64> {
    let mut sorted = to_numbers(times);
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
/// If `sorted` is empty. May panic if `p` is above 1.
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

/// A mean without the smallest and the largest eighth of the values, with its standard error and the error's
/// degrees of freedom (Tukey & McLaughlin, *Less vulnerable confidence and significance procedures for
/// location based on a single sample*, Sankhyā A 25, 1963). For fewer than eight values it is the plain mean,
/// without an omission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrimmedMean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// The degrees of freedom of the error.
    pub freedom: usize,
}

impl TrimmedMean {
    /// Computes the trimmed mean of independent `values`, in any order; `None` for fewer than two.
    pub(crate) fn from_values(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let cut = values.len() / 8;
        let kept = &sorted[cut..values.len() - cut];
        let mean = mean(kept);
        // Winsorised: each value that was cut counts as the nearest one that was kept.
        let (least, greatest) = (kept[0], kept[kept.len() - 1]);
        let drawn_in: Vec<f64> = values.iter().map(|value| value.clamp(least, greatest)).collect();
        let (_, variance) = moments(&drawn_in)?;
        let (all, freedom) = (values.len() as f64 - 1.0, kept.len() - 1);
        let error = (variance * all / (kept.len() * freedom) as f64).sqrt();
        Some(Self { mean, error, freedom })
    }
}

/// Returns the mean and the variance (divisor n − 1) of `values`; `None` for fewer than two. The mean is
/// computed from distances from the first value, so that the mean of many long times loses no digits.
pub(crate) fn moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values[0] + values.iter().map(|value| value - values[0]).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / (count - 1.0)))
}

/// Returns `times` as numbers of nanoseconds.
fn to_numbers(times: &[Nanoseconds]) -> Vec<f64> {
    times.iter().copied().map(Nanoseconds::as_f64).collect()
}

/// Returns the variance (divisor n − 1) of independent times, in square nanoseconds; 0 for fewer than two.
pub fn variance(times: &[Nanoseconds]) -> f64 {
    moments(&to_numbers(times)).map_or(0.0, |(_, variance)| variance)
}

/// Returns the standard error of the mean of independent times; 0 for fewer than two.
pub fn standard_error(times: &[Nanoseconds]) -> Nanoseconds {
    Nanoseconds((variance(times) / times.len().max(1) as f64).sqrt())
}

/// Returns the mean of independent times without the smallest and the largest eighth of them; `None` for
/// fewer than two.
pub fn trimmed_mean(times: &[Nanoseconds]) -> Option<Nanoseconds> {
    TrimmedMean::from_values(&to_numbers(times)).map(|trimmed| Nanoseconds(trimmed.mean))
}

/// Returns the standard error of the trimmed mean of independent times (Tukey & McLaughlin 1963); 0 for fewer
/// than two times. Disturbances of up to an eighth on each side do not affect it: two of 16 times. The error
/// of a median is a fifth larger, if the times are normal.
pub fn trimmed_error(times: &[Nanoseconds]) -> Nanoseconds {
    Nanoseconds(TrimmedMean::from_values(&to_numbers(times)).map_or(0.0, |trimmed| trimmed.error))
}

/// Returns the t for which a variable of Student's distribution lies within ± t with probability
/// `confidence`, which is at least 0 and below 1. `freedom` is the number of degrees of freedom, at least 1.
pub fn student_quantile(confidence: f64, freedom: usize) -> f64 {
    let mut high = 1.0;
    while within(high, freedom) < confidence {
        high *= 2.0;
    }
    bisect((0.0, high), 0.0, |t| within(t, freedom) < confidence)
}

/// Returns the probability that a variable of Student's distribution is above `t`. `freedom` is the number of
/// degrees of freedom, at least 1. Probabilities below 10⁻¹⁵ are not exact.
pub fn student_tail(t: f64, freedom: usize) -> f64 {
    let outside = (1.0 - within(t.abs(), freedom)).max(0.0) / 2.0;
    if t < 0.0 { 1.0 - outside } else { outside }
}

/// Returns the probability that a variable of Student's distribution with `freedom` degrees of freedom lies
/// within ± `t`.
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    // cos θ + ⅔·cos³θ + … or 1 + ½·cos²θ + …, up to the power `freedom` − 2.
    let mut power = freedom % 2;
    let mut term = if power == 1 { cosine } else { 1.0 };
    let mut sum = 0.0;
    while power + 2 <= freedom {
        sum += term;
        term *= cosine * cosine * (power + 1) as f64 / (power + 2) as f64;
        power += 2;
    }
    if freedom.is_multiple_of(2) { sine * sum } else { FRAC_2_PI * (angle + sine * sum) }
}

/// Returns the point between `low` and `high` below which `is_left` is true and above which it is false. The
/// range is halved until it is at most `width` wide, and its middle is returned. With a `width` of 0, the
/// halving ends at neighbouring floating-point numbers.
#[doc(hidden)]
pub fn bisect((mut low, mut high): (f64, f64), width: f64, is_left: impl Fn(f64) -> bool) -> f64 {
    while high - low > width {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if is_left(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The maximum number of terms of a series. A longer series is cut into batches of successive samples, and
/// the autocorrelation is that of the batches' sums. This bounds the cost at about 1 ms for a series of any
/// length. Lags of up to a quarter of the series still count.
const MAX_BATCHES: usize = 2048;

/// The 95 % quantile of the standard normal distribution. Samples count as correlated if τ exceeds 1 by more
/// than it does for independent samples once in twenty times.
const Z_95: f64 = 1.645;

/// Returns the effective number of samples: the number of independent samples that would give the median with
/// the precision of `times`, in the order they ran. `median` is the median of `times`. The result is between
/// 1 and the number of times; 0 without times.
///
/// The variance of a sample median depends on the autocorrelation of the signs of the distances from it, not of the times themselves:
/// Sen, *Asymptotic normality of sample quantiles for m-dependent processes* (Annals of Mathematical Statistics 39, 1968); Heidelberger &
/// Lewis, *Quantile estimation in dependent sequences* (Operations Research 32, 1984). With ρ(k) the autocorrelation of the signs at lag
/// k, n samples are worth n/τ, where τ = 1 + 2·Σ ρ(k).
///
/// Σ ρ(k) is Geyer's initial monotone sequence estimate. What makes it fit for few samples:
/// - Centring takes about τ/n from each ρ(k), so that τ from K lags is divided by 1 − (2K + 1)/n.
/// - Of independent samples each ρ(k) has the variance 1/n (Bartlett 1946), and τ a standard error of
///   2·√(K/n). Up to [`Z_95`] of these above 1, samples count as independent.
/// - Samples with a τ below 1 count as independent too. The median of alternating samples is more precise,
///   but an interval is never narrower than that of independent samples.
///
/// With batches of b samples, n is the number of batches, and τ the variance of their sums divided by that of
/// b independent signs. Samples at the end that do not fill a batch are then left out of τ.
///
/// A sample on the median has the sign 0 (its mid-rank), which is how ties count. Samples that all have one
/// sign count as independent, since their signs show no correlation.
pub(super) fn effective_samples(times: &[Nanoseconds], median: Nanoseconds) -> f64 {
    let count = times.len() as f64;
    let sign = |time: &Nanoseconds| f64::from(i8::from(*time > median) - i8::from(*time < median));
    let mean = times.iter().map(sign).sum::<f64>() / count;
    let variance = times.iter().map(|time| (sign(time) - mean).powi(2)).sum::<f64>() / count;
    if times.is_empty() || variance <= 0.0 {
        return count;
    }

    let size = times.len().div_ceil(MAX_BATCHES);
    let batch = |times: &[Nanoseconds]| times.iter().map(|time| sign(time) - mean).sum::<f64>();
    let batches: Vec<f64> = times.chunks_exact(size).map(batch).collect();
    let (sum, lags) = summed_autocovariance(&batches);
    let (batches, lags) = (batches.len() as f64, lags as f64);
    let tau = sum / (size as f64 * variance) / (1.0 - (2.0 * lags + 1.0) / batches);
    let correlated = tau > 1.0 + Z_95 * 2.0 * (lags / batches).sqrt();
    if correlated { (count / tau).max(1.0) } else { count }
}

/// Returns γ(0) + 2·Σ γ(k) of a series with mean zero, and the largest lag k in the sum, at least 1. The sum
/// follows Geyer's initial monotone sequence (*Practical Markov chain Monte Carlo*, Statistical Science 7,
/// 1992).
///
/// Pairs γ(2m) + γ(2m + 1) are added until the first one that is not above zero. Each pair counts for no more
/// than the pair before. The sum ends at a quarter of the series at the latest.
fn summed_autocovariance(series: &[f64]) -> (f64, usize) {
    let autocovariance = |lag: usize| {
        let pairs = series.iter().zip(&series[lag..]);
        pairs.map(|(early, late)| early * late).sum::<f64>() / series.len() as f64
    };
    let mut sum = -autocovariance(0);
    let mut pair = f64::INFINITY;
    let mut lag = 0;
    while lag < series.len() / 4 {
        pair = (autocovariance(lag) + autocovariance(lag + 1)).min(pair);
        if pair <= 0.0 {
            break;
        }
        sum += 2.0 * pair;
        lag += 2;
    }
    (sum, lag.max(2) - 1)
}

#[cfg(test)]
mod quantile_tests {
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

#[cfg(test)]
mod trimmed_tests {
    use super::*;

    /// By hand: of 0 to 15 the outer two on each side count as 2 and 13, whose squares sum to 264 around the
    /// mean of 7.5; over 12 · 11.
    #[test]
    fn a_few_disturbed_times_do_not_widen_the_error_of_the_middle() {
        let mut times: Vec<Nanoseconds> = (0..16).map(|time| Nanoseconds(f64::from(time))).collect();
        let by_hand = (264.0_f64 / (12.0 * 11.0)).sqrt();
        assert!((trimmed_error(&times).0 - by_hand).abs() < 1e-12, "{:?}", trimmed_error(&times));
        times[15] = Nanoseconds(16_000.0);
        times[0] = Nanoseconds(-500.0);
        assert!((trimmed_error(&times).0 - by_hand).abs() < 1e-12, "{:?}", trimmed_error(&times));
        assert!(standard_error(&times).0 > 900.0);
        assert_eq!(trimmed_error(&times[..1]), Nanoseconds::ZERO);
    }
}

#[cfg(test)]
mod student_tests {
    use super::*;

    /// From the tables of any textbook.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (confidence, freedom, expected) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.95, 10, 2.228),
            (0.99, 1, 63.657),
            (0.99, 4, 4.604),
            (0.99, 7, 3.499),
            (0.99, 30, 2.750),
            (0.999, 3, 12.924),
            (0.999, 60, 3.460),
        ] {
            let found = student_quantile(confidence, freedom);
            assert!((found - expected).abs() < 6e-4, "{confidence} at {freedom}: {found}");
        }
    }

    #[test]
    fn probabilities_are_those_of_the_quantiles() {
        for (t, freedom, expected) in [(6.314, 1, 0.05), (2.353, 3, 0.05), (3.169, 10, 0.005), (0.0, 5, 0.5)]
        {
            assert!((student_tail(t, freedom) - expected).abs() < 1e-4, "{t} at {freedom}");
            assert!((student_tail(-t, freedom) - (1.0 - expected)).abs() < 1e-4, "{t} at {freedom}");
        }
    }

    #[test]
    fn many_degrees_of_freedom_are_a_normal_distribution() {
        assert!((student_quantile(0.95, 100_000) - 1.959_96).abs() < 1e-4);
        assert!((student_quantile(0.99, 100_000) - 2.575_83).abs() < 1e-4);
    }
}

#[cfg(test)]
mod correlation_tests {
    use super::*;

    /// The median of all series here is zero.
    fn effective(times: impl IntoIterator<Item = f64>) -> f64 {
        let times: Vec<_> = times.into_iter().map(Nanoseconds).collect();
        effective_samples(&times, Nanoseconds::ZERO)
    }

    #[test]
    fn none_and_few_are_worth_what_they_are() {
        assert_eq!(effective([]), 0.0);
        for count in 1..4 {
            assert_eq!(
                effective((0..count).map(|i| f64::from(i) - f64::from(count - 1) / 2.0)),
                f64::from(count)
            );
        }
    }

    #[test]
    fn ties_alone_are_independent() {
        assert_eq!(effective([0.0; 100]), 100.0);
        assert_eq!(effective([3.0; 5000]), 5000.0);
    }

    #[test]
    fn alternating_samples_are_worth_no_more_than_there_are() {
        for count in [30, 1000, 5000] {
            let alternating = (0..count).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 });
            assert_eq!(effective(alternating), f64::from(count));
        }
    }

    /// By hand, for eight signs + + + + − − − −: γ(0) = 1, γ(1) = 5/8, γ(2) = 2/8; the first pair alone is
    /// within the first quarter. τ = (2·(1 + 5/8) − 1) / (1 − 3/8) = 3.6, above 1 + 1.645·2·√(1/8) = 2.16.
    #[test]
    fn a_step_by_hand() {
        let found = effective([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]);
        assert!((found - 8.0 / 3.6).abs() < 1e-12, "{found}");
    }

    /// A long run of each sign is worth about one sample, in batches or not.
    #[test]
    fn a_slope_is_worth_a_few_samples() {
        for count in [100, 2048, 2049, 65_536] {
            let slope = (0..count).map(|i| f64::from(i) - f64::from(count) / 2.0 + 0.25);
            let found = effective(slope);
            assert!((1.0..4.0).contains(&found), "{count}: {found}");
        }
    }

    #[test]
    fn what_is_not_a_number_causes_no_panic() {
        for median in [f64::NAN, f64::INFINITY, 1.0] {
            let times = [1.0, f64::NAN, f64::INFINITY, 2.0].map(Nanoseconds).repeat(10);
            assert!((1.0..=40.0).contains(&effective_samples(&times, Nanoseconds(median))));
        }
    }
}
