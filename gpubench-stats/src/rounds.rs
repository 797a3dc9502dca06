//! The ratio of two launches that take turns. In: pairs of times, in rounds of which each two share their places in memory,
//! with the buffers of the two launches swapped; out: the logarithm that a round finds, and a [`Ratio`] of all rounds with its
//! interval.

use crate::ratio::Ratio;
use crate::student;
use crate::trimmed::TrimmedMean;
use crate::units::Nanoseconds;

/// The part of a step of the timer that means of pairs resolve where the launches' own noise spreads the readings over
/// several steps.
const PART_OF_A_STEP: f64 = 1.0 / 16.0;

/// The readings, in steps of the timer, between which the middle three quarters of a launch's times must lie for its noise to
/// be that large. Readings are whole steps, less a correction: half a step is slack.
const SPREAD: f64 = 1.5;

/// The logarithm of the ratio of pairs of times, the first over the second. `None` if there are no pairs, or a time is not
/// above zero.
///
/// The interquartile mean of the pairs' logarithms: something that disturbs up to a quarter of the pairs does not move it, and
/// it resolves less than a step of the timer, at which the median of readings stands still.
pub fn log_ratio_of_pairs(pairs: &[[Nanoseconds; 2]]) -> Option<f64> {
    if pairs.is_empty() || pairs.iter().flatten().any(|time| *time <= Nanoseconds::ZERO) {
        return None;
    }
    let mut logs: Vec<f64> = pairs.iter().map(|[a, b]| (*a / *b).ln()).collect();
    logs.sort_unstable_by(f64::total_cmp);
    let kept = middle(&logs, 4);
    Some(kept.iter().sum::<f64>() / kept.len() as f64)
}

/// Returns `sorted`, which are not empty, without the first and the last of so many parts; at least one value is left.
fn middle(sorted: &[f64], parts: usize) -> &[f64] {
    let cut = sorted.len().div_ceil(parts).min((sorted.len() - 1) / 2);
    &sorted[cut..sorted.len() - cut]
}

/// The difference of logarithms that the mean of such `pairs` cannot resolve, read from a timer with this `step`.
///
/// Noise of half a step and more makes every reading a draw between its neighbours, and the mean of many is right to a
/// twentieth of a step even if all launches begin at the same place of a step. Less noise leaves the mean wherever the rounding
/// puts it, which no number of samples tells: then the resolution is a whole step. Noise counts if the middle three quarters of
/// each launch's times cover three readings.
pub fn resolution_of_pairs(pairs: &[[Nanoseconds; 2]], step: Nanoseconds) -> f64 {
    let of = |whose: usize| {
        let mut times: Vec<f64> = pairs.iter().map(|pair| pair[whose].as_f64()).collect();
        times.sort_unstable_by(f64::total_cmp);
        let kept = middle(&times, 8);
        let is_spread = kept[kept.len() - 1] - kept[0] > SPREAD * step.as_f64();
        let part = if is_spread { PART_OF_A_STEP } else { 1.0 };
        part * (step / Nanoseconds(kept[kept.len() / 2]))
    };
    if pairs.is_empty() { f64::INFINITY } else { of(0).max(of(1)) }
}

impl Ratio {
    /// The ratio that `rounds` agree on, each of which gives the logarithm of one. `resolution` is the least difference of
    /// logarithms that they resolve. `None` for fewer than two pairs of rounds; a round without the second of its pair does not
    /// count.
    ///
    /// Two rounds, the first and the second, the third and the fourth and so on, share the places of their inputs, which the
    /// launches swap between them: what a place adds to one launch it adds to the other in the next round, and their mean is
    /// free of it. Pairs of rounds lie at random places, so that they are independent of each other; rounds and samples are not.
    ///
    /// The trimmed mean of the pairs, of which something else may have disturbed a few, with Student's interval, which is never
    /// narrower than ± `resolution`.
    pub fn of_rounds(rounds: &[f64], resolution: f64, confidence: f64) -> Option<Self> {
        Some(Self::of_mean(mean_of_rounds(rounds)?, resolution, confidence))
    }

    /// The ratio whose logarithm is this mean, with Student's interval.
    pub fn of_mean(mean: TrimmedMean, resolution: f64, confidence: f64) -> Self {
        let TrimmedMean { mean, error, freedom } = mean;
        let half = (student::quantile(confidence, freedom) * error).max(resolution);
        Self::around(mean, half, half, confidence)
    }
}

/// Returns the trimmed mean of pairs of `rounds`; nothing of fewer than two.
pub fn mean_of_rounds(rounds: &[f64]) -> Option<TrimmedMean> {
    let (pairs, _) = rounds.as_chunks::<2>();
    let means: Vec<f64> = pairs.iter().map(|[one, swapped]| f64::midpoint(*one, *swapped)).collect();
    TrimmedMean::of(&means)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(times: &[(f64, f64)]) -> Vec<[Nanoseconds; 2]> {
        times.iter().map(|&(a, b)| [Nanoseconds(a), Nanoseconds(b)]).collect()
    }

    /// Pairs of rounds with these means, in which places are worth ± 3 %.
    fn rounds(means: &[f64]) -> Vec<f64> {
        means.iter().flat_map(|mean| [mean + 0.03, mean - 0.03]).collect()
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, {expected} expected");
    }

    #[test]
    fn a_pair_that_was_interrupted_does_not_move_the_mean() {
        let log = log_ratio_of_pairs(&pairs(&[(102.0, 100.0), (51.0, 50.0), (900.0, 100.0)]));
        near(log.expect("three pairs"), 1.02_f64.ln());
        assert_eq!(log_ratio_of_pairs(&[]), None);
        assert_eq!(log_ratio_of_pairs(&pairs(&[(1.0, 1.0), (0.0, 1.0)])), None);
    }

    /// What slows both launches of a pair is in neither's favour: over the medians of each the ratio would be 0.55.
    #[test]
    fn each_time_is_held_against_that_of_its_own_pair() {
        let log = log_ratio_of_pairs(&pairs(&[(110.0, 100.0), (220.0, 200.0), (90.0, 300.0)]));
        near(log.expect("three pairs"), 1.1_f64.ln());
    }

    /// Of eight pairs the four in the middle count: of these, one reads a step more.
    #[test]
    fn readings_are_averaged_between_steps() {
        let same = (3200.0, 3200.0);
        let times =
            [(32.0, 3200.0), same, same, same, (3232.0, 3200.0), (3264.0, 3200.0), same, (9e9, 3200.0)];
        let log = log_ratio_of_pairs(&pairs(&times)).expect("eight pairs");
        near(log, 1.01_f64.ln() / 4.0);
    }

    /// By hand: mean 0.02, standard deviation 0.01, and t(99 %, 3) = 5.841.
    #[test]
    fn pairs_of_rounds_have_students_interval() {
        let deviation = 0.01 * 1.5_f64.sqrt();
        let logs = rounds(&[0.02 - deviation, 0.02, 0.02, 0.02 + deviation]);
        let ratio = Ratio::of_rounds(&logs, 0.0, 0.99).expect("four pairs");
        near(ratio.value, 0.02_f64.exp());
        assert!((ratio.high.ln() - (0.02 + 5.8409 * 0.01 / 2.0)).abs() < 1e-6, "{ratio:?}");
        near(ratio.low * ratio.high, ratio.value * ratio.value);
        assert_eq!(Ratio::of_rounds(&logs[..3], 0.0, 0.99), None);
        let without_its_second = &[&logs[..], &[0.5]].concat();
        assert_eq!(Ratio::of_rounds(without_its_second, 0.0, 0.99), Some(ratio));
    }

    /// By hand, of eight pairs −1 … 1 and one far out on each side: six are kept, the others count as ± 1.
    #[test]
    fn pairs_of_rounds_that_were_disturbed_are_cut_off() {
        let logs = rounds(&[-0.01, 0.0, 0.01, -0.5, 0.9, 0.0, 0.01, -0.01]);
        let ratio = Ratio::of_rounds(&logs, 0.0, 0.99).expect("eight pairs");
        near(ratio.value, 1.0);
        // Six squares of 0.0001; t(99 %, 5) = 4.032.
        let error = (6e-4_f64 / 30.0).sqrt();
        assert!((ratio.high.ln() - 4.032_143 * error).abs() < 1e-7, "{ratio:?}");
    }

    #[test]
    fn rounds_that_agree_are_no_finer_than_what_they_resolve() {
        let ratio = Ratio::of_rounds(&[0.0; 8], 0.005, 0.99).expect("four pairs");
        near(ratio.low, (-0.005_f64).exp());
        near(ratio.high, 0.005_f64.exp());
    }

    #[test]
    fn noise_over_several_steps_resolves_a_part_of_one() {
        let step = Nanoseconds(32.0);
        let spread =
            |readings: &[f64]| -> Vec<(f64, f64)> { readings.iter().map(|time| (*time, 640.0)).collect() };
        let both =
            |readings: &[f64]| -> Vec<(f64, f64)> { readings.iter().map(|time| (*time, *time)).collect() };
        let resolution = |times: &[(f64, f64)]| resolution_of_pairs(&pairs(times), step);
        let three = [608.0, 608.0, 640.0, 640.0, 640.0, 640.0, 672.0, 672.0];
        near(resolution(&both(&three)), 0.05 * PART_OF_A_STEP);
        near(resolution(&spread(&three)), 0.05);
        near(resolution(&both(&[608.0, 608.0, 608.0, 640.0, 640.0, 640.0, 640.0, 9000.0])), 0.05);
        near(resolution(&both(&[640.0; 8])), 0.05);
        assert_eq!(resolution(&[]), f64::INFINITY);
    }

    /// JSON gives back all that is stored but infinity.
    #[test]
    fn two_pairs_that_differ_much_have_a_finite_interval() {
        let ratio = Ratio::of_rounds(&rounds(&[-3.0, 4.0]), 0.0, 0.999).expect("two pairs");
        assert!(ratio.low > 0.0 && ratio.high.is_finite(), "{ratio:?}");
        let json = serde_json::to_string(&ratio).expect("JSON");
        assert!(serde_json::from_str::<Ratio>(&json).is_ok_and(|ratio| ratio.high.is_finite()), "{json}");
    }
}
