//! Decisions from statistics: when a case has enough samples, when the rounds of a comparison are analysed, and which of many tests are
//! significant.

use crate::{SMALLEST_SAMPLE, Summary, units::Nanoseconds};

/// The number of successive checks that must pass. An interval that is checked after every group is sometimes
/// narrow by luck.
const CONSECUTIVE_CHECKS: u32 = 2;

/// Decides that a case has enough samples as soon as the half-width of the median's 95 % confidence interval
/// is at most the requested fraction of the median, or the timer's resolution if that is more. Two successive
/// checks must find this.
///
/// A rule serves one case. Checking after every group and stopping at the first success favours lucky
/// moments. The second check and the minimum number of samples bound that bias. Without groups, so does the
/// interval's minimum of one step.
#[derive(Clone, Debug)]
pub struct StopRule {
    precision: f64,
    min_samples: usize,
    /// The number of samples at the last check.
    checked_samples: usize,
    /// The number of checks that passed since the last check that failed.
    consecutive_passes: u32,
}

impl StopRule {
    /// Returns a rule that requires a half-width of at most `precision` × the median (0.005 is ± 0.5 %), and
    /// at least `min_samples` samples.
    ///
    /// Fewer than [`SMALLEST_SAMPLE`] samples have no 95 % interval, so that a smaller minimum is raised to
    /// [`SMALLEST_SAMPLE`].
    pub fn new(precision: f64, min_samples: usize) -> Self {
        let min_samples = min_samples.max(SMALLEST_SAMPLE);
        Self { precision, min_samples, checked_samples: 0, consecutive_passes: 0 }
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
            let passes = summary.samples >= self.min_samples && self.is_precise(summary, step);
            self.consecutive_passes = if passes { self.consecutive_passes + 1 } else { 0 };
        }
        self.consecutive_passes >= CONSECUTIVE_CHECKS
    }

    /// Checks the `summary` of all samples at the end of a budget, and does not count the check. Returns true
    /// if the median is as precise as required and there are at least [`SMALLEST_SAMPLE`] samples. One check
    /// is enough, because the budget and not the result chose its time.
    pub fn check_last(&self, summary: &Summary, step: Nanoseconds) -> bool {
        summary.samples >= SMALLEST_SAMPLE && self.is_precise(summary, step)
    }

    /// Returns the factor by which the time of sampling must grow for the required precision: the width of
    /// the interval falls with the square root of the time. At most 1 if the interval is narrow enough.
    pub fn growth(&self, summary: &Summary, step: Nanoseconds) -> f64 {
        let wanted = (self.precision * summary.median).max(step);
        (summary.median_ci.half_width() / wanted).powi(2)
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

/// The maximum probability that the decision about one comparison is wrong: 1 %.
pub const DECISION_ERROR: f64 = 0.01;

/// The interim analyses of a comparison: the number of rounds before each, and the fraction of
/// [`DECISION_ERROR`] that it spends.
const ANALYSES: [(usize, f64); 4] = [(8, 0.1), (16, 0.15), (32, 0.25), (64, 0.3)];

/// The maximum number of rounds of a comparison: the last interim analysis follows them.
pub const MAX_ROUNDS: usize = ANALYSES[ANALYSES.len() - 1].0;

/// Returns the confidence of the interim analysis after this number of rounds. `None` if no analysis is
/// scheduled after this number.
pub fn analysis_confidence(rounds: usize) -> Option<f64> {
    ANALYSES.iter().find(|(look, _)| *look == rounds).map(|(_, part)| 1.0 - DECISION_ERROR * part)
}

/// Returns the confidence of the final analysis if a budget ends the comparison after this number of rounds.
/// It is the confidence of the first analysis that is scheduled for this number or a larger one, or else of
/// the last analysis.
pub fn final_analysis_confidence(rounds: usize) -> f64 {
    let next = ANALYSES.iter().find(|(look, _)| rounds <= *look).unwrap_or(&ANALYSES[ANALYSES.len() - 1]);
    1.0 - DECISION_ERROR * next.1
}

/// Selects the significant tests by the procedure of Benjamini & Hochberg (*Controlling the false discovery
/// rate*, JRSS B 57, 1995). Each test is a number that identifies it and its p-value. Returns the numbers of
/// the selected tests, by ascending p-value.
///
/// On average at most the fraction `rate` of the selected tests is false. If all null hypotheses hold, the
/// probability that any test is selected is at most `rate`. Both statements hold for independent tests, and
/// for tests with positively dependent errors, such as cases that one process measures (Benjamini &
/// Yekutieli, Annals of Statistics 29, 2001).
pub fn benjamini_hochberg(tests: &[(usize, f64)], rate: f64) -> Vec<usize> {
    let mut sorted = tests.to_vec();
    crate::sort_by(&mut sorted, |a, b| a.1.total_cmp(&b.1));
    let limit = |rank: usize| rate * rank as f64 / sorted.len() as f64;
    let found = (1..=sorted.len()).rev().find(|rank| sorted[rank - 1].1 <= limit(*rank)).unwrap_or(0);
    sorted.into_iter().take(found).map(|(number, _)| number).collect()
}

#[cfg(test)]
mod stop_tests {
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

#[cfg(test)]
mod looks_tests {
    use super::*;

    #[test]
    fn looks_share_the_error() {
        let all: f64 =
            (0..=MAX_ROUNDS).filter_map(analysis_confidence).map(|confidence| 1.0 - confidence).sum();
        assert!(all < DECISION_ERROR && all > 0.79 * DECISION_ERROR, "{all}");
    }

    #[test]
    fn a_look_that_comes_early_takes_the_place_of_the_next() {
        for (rounds, look) in [(4, 8), (8, 8), (10, 16), (34, 64), (64, 64)] {
            assert_eq!(Some(final_analysis_confidence(rounds)), analysis_confidence(look), "{rounds}");
        }
    }
}

#[cfg(test)]
mod multiple_tests {
    use super::*;

    /// The example of Benjamini & Hochberg (1995), section 3.2: at 5 %, four of fifteen.
    #[test]
    fn the_procedure_finds_what_its_authors_found() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let tests: Vec<(usize, f64)> = p.into_iter().enumerate().collect();
        assert_eq!(benjamini_hochberg(&tests, 0.05), [0, 1, 2, 3]);
    }

    #[test]
    fn one_test_is_held_against_the_rate_itself() {
        assert_eq!(benjamini_hochberg(&[(7, 0.01)], 0.01), [7]);
        assert_eq!(benjamini_hochberg(&[(7, 0.0101)], 0.01), [0; 0]);
        assert_eq!(benjamini_hochberg(&[], 0.01), [0; 0]);
    }
}
