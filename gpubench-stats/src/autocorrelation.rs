//! The number of independent samples that a series is worth. In: times in the order they ran, and their
//! median; out: the effective number of samples for that median, from one to as many as there are.
//!
//! The variance of a sample median depends on the autocorrelation of the signs of the distances from it, not
//! of the times themselves: Sen, *Asymptotic normality of sample quantiles for m-dependent processes* (Annals
//! of Mathematical Statistics 39, 1968); Heidelberger & Lewis, *Quantile estimation in dependent sequences*
//! (Operations Research 32, 1984). With ρ(k) the autocorrelation of the signs at lag k, n samples are worth
//! n/τ, where τ = 1 + 2·Σ ρ(k).

use crate::units::Nanoseconds;

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
mod tests {
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
