//! The stop rule. In: the summary of a case's samples so far, after each group; out: continue, or converged.
//! The loop that takes the samples handles budgets of time and fixed counts.

use crate::{SMALLEST_SAMPLE, Summary, units::Nanoseconds};

/// The number of successive checks that must pass. An interval that is checked after every group is sometimes
/// narrow by luck.
const CONSECUTIVE_CHECKS: u32 = 2;

/// Decides that a case has enough samples as soon as the half-width of the median's 95 % confidence interval
/// is at most the requested share of the median, or one step of the timer if that is more, at two successive
/// checks.
///
/// A rule serves one case. Looking again and again and stopping at the first success favours lucky moments;
/// the second check, the least number of samples and the interval's floor of one step bound that bias.
#[derive(Clone, Debug)]
pub struct StopRule {
    precision: f64,
    min_samples: usize,
    checked_samples: usize,
    consecutive_passes: u32,
}

impl StopRule {
    /// Returns a rule that requires a half-width of at most `precision` × the median (0.005 is ± 0.5 %), and
    /// at least `min_samples` samples.
    ///
    /// Fewer than [`SMALLEST_SAMPLE`] samples have no 95 % interval, so that a smaller minimum is raised to
    /// [`SMALLEST_SAMPLE`].
    pub fn new(precision: f64, min_samples: usize) -> Self {
        Self {
            precision,
            min_samples: min_samples.max(SMALLEST_SAMPLE),
            checked_samples: 0,
            consecutive_passes: 0,
        }
    }

    /// Checks the `summary` of all samples so far, and counts the check. `step` is the resolution of the
    /// timer. Returns true if this check and the one before found the median as precise as required.
    ///
    /// A check without new samples changes nothing and returns the last decision. Fewer samples than at the
    /// check before belong to another case, and the count of checks starts again.
    pub fn check(&mut self, summary: &Summary, step: Nanoseconds) -> bool {
        if summary.samples < self.checked_samples {
            self.consecutive_passes = 0;
        }
        if summary.samples != self.checked_samples {
            self.checked_samples = summary.samples;
            self.consecutive_passes =
                if self.passes(summary, step) { self.consecutive_passes + 1 } else { 0 };
        }
        self.consecutive_passes >= CONSECUTIVE_CHECKS
    }

    /// Checks the `summary` of all samples at the end of a budget. Returns true if the median is as precise
    /// as required. One check is enough, and so are [`SMALLEST_SAMPLE`] samples, because the result did not
    /// choose the time of this check.
    pub fn check_last(&self, summary: &Summary, step: Nanoseconds) -> bool {
        summary.samples >= SMALLEST_SAMPLE && self.is_precise(summary, step)
    }

    /// Returns the factor by which the time of sampling must grow for the required precision: the width of
    /// the interval falls with the square root of the time. At most 1 if the interval is narrow enough.
    pub fn growth(&self, summary: &Summary, step: Nanoseconds) -> f64 {
        let wanted = (self.precision * summary.median).max(step);
        (summary.median_ci.half_width() / wanted).powi(2)
    }

    /// Returns true if `summary` has enough samples and is precise enough, whatever earlier checks found.
    fn passes(&self, summary: &Summary, step: Nanoseconds) -> bool {
        summary.samples >= self.min_samples && self.is_precise(summary, step)
    }

    /// Returns true if the half-width of the median's interval is at most the required one, or at most one
    /// `step` of the timer.
    fn is_precise(&self, summary: &Summary, step: Nanoseconds) -> bool {
        let wanted = (self.precision * summary.median).max(step);
        // An interval floored at one step is computed from its ends, and may come out a rounding error wider.
        let rounding = 4.0 * f64::EPSILON * summary.median_ci.low.abs().max(summary.median_ci.high.abs());
        summary.median_ci.half_width() <= wanted + rounding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanoseconds = Nanoseconds(32.0);

    /// `count` samples around `median`, evenly from `-spread` to `+spread`: the interval narrows as they grow
    /// in number. They come in strides of 61, so that those which follow each other are not alike.
    fn summary(count: usize, median: f64, spread: f64) -> Summary {
        let offset = |i: usize| 2.0 * (i * 61 % count) as f64 / (count - 1).max(1) as f64 - 1.0;
        let samples: Vec<_> = (0..count).map(|i| Nanoseconds(median + spread * offset(i))).collect();
        Summary::of(&samples, STEP).expect("count is above zero")
    }

    fn rule() -> StopRule {
        StopRule::new(0.005, 30)
    }

    #[test]
    fn converges_at_the_second_narrow_check() {
        let mut rule = rule();
        assert!(!rule.check(&summary(30, 1e6, 0.0), STEP));
        assert!(rule.check(&summary(31, 1e6, 0.0), STEP));
    }

    #[test]
    fn one_lucky_check_is_not_enough() {
        let mut rule = rule();
        for count in [30, 50, 70, 90] {
            assert!(!rule.check(&summary(count, 1e6, 0.0), STEP), "narrow at {count}");
            assert!(!rule.check(&summary(count + 10, 1e6, 1e5), STEP), "wide after {count}");
        }
    }

    #[test]
    fn a_check_without_new_samples_is_not_the_second() {
        let mut rule = rule();
        for _ in 0..5 {
            assert!(!rule.check(&summary(30, 1e6, 0.0), STEP));
        }
        for _ in 0..5 {
            assert!(rule.check(&summary(40, 1e6, 0.0), STEP));
        }
    }

    #[test]
    fn fewer_samples_begin_anew() {
        let mut rule = rule();
        rule.check(&summary(50, 1e6, 0.0), STEP);
        assert!(!rule.check(&summary(30, 1e6, 0.0), STEP));
        assert!(rule.check(&summary(40, 1e6, 0.0), STEP));
    }

    #[test]
    fn checks_below_the_minimum_do_not_count() {
        let mut rule = rule();
        for count in 1..=30 {
            assert!(!rule.check(&summary(count, 1e6, 0.0), STEP), "{count} samples");
        }
        assert!(rule.check(&summary(31, 1e6, 0.0), STEP));
    }

    #[test]
    fn one_check_is_enough_at_an_end_that_the_result_did_not_choose() {
        let check = |count, spread| rule().check_last(&summary(count, 1e6, spread), STEP);
        assert_eq!((check(100, 24e3), check(100, 28e3)), (true, false));
        assert_eq!((check(6, 0.0), check(5, 0.0)), (true, false));
    }

    #[test]
    fn without_an_interval_it_never_converges() {
        let mut rule = StopRule::new(f64::INFINITY, 0);
        for count in 1..=SMALLEST_SAMPLE {
            assert!(!rule.check(&summary(count, 1e6, 0.0), STEP), "{count} samples");
        }
    }

    /// 0.5 % of 1 ms is 5 µs. The interval of 100 samples evenly on ± s is about the middle fifth of them, ±
    /// s/5.
    #[test]
    fn the_asked_precision_decides_where_it_is_coarser_than_the_timer() {
        for (spread, decision) in [(24e3, true), (28e3, false)] {
            let mut rule = rule();
            rule.check(&summary(100, 1e6, spread), STEP);
            assert_eq!(rule.check(&summary(101, 1e6, spread), STEP), decision, "± {spread} ns");
        }
    }

    /// Rounding must not make an interval that was floored at one step wider than that step, at any
    /// magnitude.
    #[test]
    fn one_step_is_enough_where_the_timer_is_coarser_than_the_asked_precision() {
        for step in [32.0, 0.1, 1.0 / 3.0, 23.7] {
            for median in [0.0, -7.3, 0.7, 3_000.1, 1e9 / 3.0] {
                let samples = [Nanoseconds(median); 31];
                let mut rule = StopRule::new(0.0, 30);
                for count in [30, 31] {
                    let summary = Summary::of(&samples[..count], Nanoseconds(step)).expect("not empty");
                    let converged = rule.check(&summary, Nanoseconds(step));
                    assert_eq!(converged, count == 31, "step {step}, median {median}, {count} samples");
                }
            }
        }
    }

    /// The width of an interval goes with the square root of the time: twice as wide takes four times as
    /// long.
    #[test]
    fn an_interval_twice_as_wide_needs_four_times_the_samples() {
        let rule = rule();
        let growth = |half: f64, median: f64| {
            let mut summary = summary(100, median, 0.0);
            summary.median_ci.low = Nanoseconds(median - half);
            summary.median_ci.high = Nanoseconds(median + half);
            rule.growth(&summary, STEP)
        };
        for (half, median, expected) in
            [(5e3, 1e6, 1.0), (10e3, 1e6, 4.0), (2.5e3, 1e6, 0.25), (64.0, 100.0, 4.0)]
        {
            let found = growth(half, median);
            assert!((found - expected).abs() < 1e-9, "± {half} of {median}: {found}");
        }
    }
}
