//! The noise of a race's rounds, estimated from all variants together.
//!
//! All variants are compared with the same leader in the same way, so that their noise is similar. The
//! variance of eight pairs is known badly, and at the small error probabilities of a race that is expensive:
//! Student's t is 18 with 5 degrees of freedom and 4.4 with many. So each variance moves towards the common
//! one, as far as the variances agree.
//!
//! This is the moderated t of Smyth, *Linear models and empirical Bayes methods for assessing differential
//! expression in microarray experiments* (Statistical Applications in Genetics and Molecular Biology 3,
//! 2004), sections 4 and 6.2: the true variances are draws from a scaled inverse χ² distribution, whose width
//! follows from their spread. Variances of trimmed means spread a little more than χ² (0.56 in place of 0.49
//! for the logarithms of eight pairs), so that intervals are rather too wide.

use gpubench_stats::{TrimmedMean, bisect, mean, median_of};

/// The minimum number of variants for a common noise. With fewer, each variant has its own.
const MIN_VARIANTS: usize = 4;
/// The least variance, as a fraction of the median variance; smaller ones are raised to it, because a few
/// rounds may agree by chance. One in a thousand variances of eight pairs is smaller.
const MIN_VARIANCE_FRACTION: f64 = 0.05;
/// The maximum ratio of a variant's variance to the common one. A variant above the maximum keeps its own variance.
/// One in thirteen variances of eight pairs is above it by chance.
const MAX_VARIANCE_RATIO: f64 = 2.0;
/// The maximum degrees of freedom of a variance; a t distribution with this many counts as normal.
const MAX_FREEDOM: f64 = 500.0;

/// The noise of pairs of rounds, estimated from all variants of a race: a variance of logarithms of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CommonNoise {
    /// The common variance of one pair of rounds.
    variance: f64,
    /// The degrees of freedom of that variance.
    freedom: f64,
    /// The least variance of a variant: smaller ones are raised to it.
    least: f64,
}

impl CommonNoise {
    /// Estimates the noise from the means of all variants, each with its number of pairs of rounds. `None`
    /// for fewer than four means, or if their median variance is zero or not finite.
    pub(crate) fn from_means(means: &[(TrimmedMean, usize)]) -> Option<Self> {
        if means.len() < MIN_VARIANTS {
            return None;
        }
        let variances: Vec<f64> = means.iter().map(|(mean, pairs)| pair_variance(mean, *pairs)).collect();
        let middle = median_of(&mut variances.clone())?;
        if !(middle > 0.0 && middle.is_finite()) {
            return None;
        }
        let (count, least) = (means.len() as f64, MIN_VARIANCE_FRACTION * middle);
        let halves = means.iter().map(|(mean, _)| mean.freedom as f64 / 2.0);
        let logs: Vec<f64> = halves
            .clone()
            .zip(variances)
            .map(|(half, variance)| variance.max(least).ln() - digamma(half) + half.ln())
            .collect();
        let mean = mean(&logs);
        let spread = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        // The spread beyond that of so few pairs.
        let half = inverse_trigamma(spread - halves.map(trigamma).sum::<f64>() / count);
        let shift = half.map_or(0.0, |half| digamma(half) - half.ln());
        let freedom = half.map_or(MAX_FREEDOM, |half| 2.0 * half);
        Some(Self { variance: (mean + shift).exp(), freedom, least })
    }

    /// Returns `mean`, of this many pairs of rounds, with its variance moved towards the common one and more
    /// degrees of freedom. Returns it unchanged if its variance is more than [`MAX_VARIANCE_RATIO`] times the
    /// common one.
    pub(crate) fn moderate(&self, mean: TrimmedMean, pairs: usize) -> TrimmedMean {
        let variance = pair_variance(&mean, pairs);
        if variance > MAX_VARIANCE_RATIO * self.variance {
            return mean;
        }
        let own = mean.freedom as f64;
        let freedom = own + self.freedom;
        let variance = (variance.max(self.least) * own + self.variance * self.freedom) / freedom;
        let freedom = freedom.min(MAX_FREEDOM).max(own) as usize;
        TrimmedMean { error: (variance / pairs as f64).sqrt(), freedom, ..mean }
    }
}

/// Returns the variance of one pair of rounds, from the error of the mean of this many pairs.
fn pair_variance(mean: &TrimmedMean, pairs: usize) -> f64 {
    mean.error.powi(2) * pairs as f64
}

/// Returns the logarithmic derivative of the gamma function, for `x` above 0 (Abramowitz & Stegun, 6.3.5 and
/// 6.3.18).
fn digamma(x: f64) -> f64 {
    if x < 10.0 {
        return digamma(x + 1.0) - 1.0 / x;
    }
    let inverse = 1.0 / (x * x);
    x.ln() - 0.5 / x - inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse / 252.0))
}

/// Returns the derivative of [`digamma`], for `x` above 0 (6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    if x < 10.0 {
        return trigamma(x + 1.0) + 1.0 / (x * x);
    }
    let inverse = 1.0 / (x * x);
    (1.0 + 0.5 / x + inverse * (1.0 / 6.0 - inverse * (1.0 / 30.0 - inverse / 42.0))) / x
}

/// Returns the x for which [`trigamma`] is `value`; `None` if that x is above half of [`MAX_FREEDOM`].
fn inverse_trigamma(value: f64) -> Option<f64> {
    // It falls from infinity to 0.
    let (low, high) = (1e-3, MAX_FREEDOM / 2.0);
    (value > trigamma(high)).then(|| bisect((low, high), 0.0, |x| trigamma(x) > value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(errors: &[f64]) -> Vec<(TrimmedMean, usize)> {
        errors.iter().map(|error| (TrimmedMean { mean: 0.01, error: *error, freedom: 5 }, 8)).collect()
    }

    /// From the tables of Abramowitz & Stegun: ψ(1) = −γ, ψ(½) = −γ − 2 ln 2, ψ′(1) = π²/6, ψ′(½) = π²/2.
    #[test]
    fn gamma_functions_are_those_of_the_tables() {
        let gamma = 0.577_215_664_901_532_9;
        let (six, two) = (std::f64::consts::PI.powi(2) / 6.0, std::f64::consts::PI.powi(2) / 2.0);
        for (found, expected) in [
            (digamma(1.0), -gamma),
            (digamma(0.5), -gamma - 2.0 * 2_f64.ln()),
            (digamma(20.0), 2.970_523_992_242_149),
            (trigamma(1.0), six),
            (trigamma(0.5), two),
            (trigamma(20.0), 0.051_270_822_935_203),
            (inverse_trigamma(six).expect("it is below"), 1.0),
            (inverse_trigamma(two).expect("it is below"), 0.5),
        ] {
            assert!((found - expected).abs() < 1e-9, "{found}, {expected} expected");
        }
        assert_eq!((inverse_trigamma(0.0), inverse_trigamma(-1.0)), (None, None));
    }

    /// Variances that agree better than those of so few pairs would are one variance, and it is the common
    /// one.
    #[test]
    fn where_all_agree_each_has_the_error_of_all() {
        let means = means(&[0.001, 0.0011, 0.0009, 0.001, 0.00105, 0.001]);
        let common = CommonNoise::from_means(&means).expect("six");
        assert_eq!(common.freedom, MAX_FREEDOM);
        let moderated = common.moderate(means[2].0, 8);
        assert_eq!((moderated.mean, moderated.freedom), (0.01, MAX_FREEDOM as usize));
        // Logarithms of variances are too low by ψ(5/2) − ln(5/2) on the average.
        let high = (2.5_f64.ln() - digamma(2.5)).exp().sqrt();
        assert!((moderated.error / (0.001 * high) - 1.0).abs() < 0.01, "{moderated:?}");
    }

    /// By hand, by Smyth's equations: five variances, each e times the one before.
    #[test]
    fn where_they_differ_each_keeps_most_of_its_own() {
        let errors: Vec<f64> = [-1.0, -0.5, 0.0, 0.5, 1.0_f64].map(|log| 0.001 * log.exp()).to_vec();
        let means = means(&errors);
        let common = CommonNoise::from_means(&means).expect("five");
        // The logarithms −2, −1, 0, 1, 2 have the variance 2.5.
        let half = inverse_trigamma(2.5 - trigamma(2.5)).expect("it is below");
        assert!((common.freedom - 2.0 * half).abs() < 1e-9 && common.freedom < 3.0, "{common:?}");
        let log = (8e-6_f64).ln() - digamma(2.5) + 2.5_f64.ln() + digamma(half) - half.ln();
        assert!((common.variance.ln() - log).abs() < 1e-9, "{common:?}");
        assert_eq!(common.moderate(means[4].0, 8), means[4].0, "the noisiest keeps all of it");
        let moderated = common.moderate(means[0].0, 8);
        let own = 5.0 * 8.0 * errors[0].powi(2);
        let variance = (own + common.freedom * common.variance) / (5.0 + common.freedom);
        assert!((moderated.error - (variance / 8.0).sqrt()).abs() < 1e-12, "{moderated:?}");
        assert_eq!(moderated.freedom, (5.0 + common.freedom) as usize);
    }

    #[test]
    fn too_few_tell_nothing_and_nor_do_those_without_noise() {
        assert_eq!(CommonNoise::from_means(&means(&[0.001; 3])), None);
        assert_eq!(CommonNoise::from_means(&means(&[0.0; 9])), None);
        assert_eq!(CommonNoise::from_means(&[]), None);
        // One that does not vary decides neither for all nor for itself.
        let common =
            CommonNoise::from_means(&means(&[0.0, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001])).expect("seven");
        let moderated = common.moderate(means(&[0.001])[0].0, 8);
        assert!(
            (moderated.error / 0.001 - 1.0).abs() < 0.1 && moderated.freedom > 5,
            "{common:?}, {moderated:?}"
        );
    }
}
