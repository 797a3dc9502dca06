//! The stop policy of a case: when its samples are enough, and when more would not help.

use std::ops::RangeInclusive;

use super::group_size::MIN_SAMPLES;
use gpubench_records::{Sampling, verdict::WIDEST};
use gpubench_stats::{Nanoseconds, StopRule, Summary};

/// The range of factors from the number of samples at a check to the number at which the next check is due:
/// 10 to 30 % more samples. More frequent checks would cost time and raise the rate of false stops.
const NEXT_CHECK_GROWTH: RangeInclusive<f64> = 1.1..=1.3;
/// The part of the estimated number of samples that the required interval needs, at which the next check is
/// due if [`NEXT_CHECK_GROWTH`] allows it.
const PART_OF_NEEDED_SAMPLES: f64 = 0.7;

/// The time from which on sampling may be given up as hopeless (0.1 s), with at least [`MIN_SAMPLES`] samples.
const TIME_BEFORE_GIVING_UP: Nanoseconds = Nanoseconds::from_seconds(0.1);
/// The time from which on the estimate of the time that is needed is good (0.3 s).
const TIME_OF_GOOD_ESTIMATE: Nanoseconds = Nanoseconds::from_seconds(0.3);
/// Sampling is given up if the required interval is estimated to need more than the budget times this factor;
/// before [`TIME_OF_GOOD_ESTIMATE`], proportionally more. An interval narrows only with the square root of the
/// time.
const HOPELESS_BUDGETS: f64 = 1.5;
/// The time before which launches on shared processors are not given up while their interval is wider than
/// [`WIDEST`] (0.6 s). Other programs disturb for a fraction of a second, and meanwhile the estimate is poor.
const SHARED_TIME_BEFORE_GIVING_UP: Nanoseconds = Nanoseconds::from_seconds(0.6);

/// The width of the interval to which a converged case goes on while that is cheap, as a fraction of the
/// required width; the resolution of the timer, if more, is enough. For 15 µs, ± 0.25 % instead of ± 0.5 %
/// takes some ten milliseconds more.
const FINER_PRECISION: f64 = 0.5;
/// The time after which a converged case does not go on for [`FINER_PRECISION`] (50 ms).
const FINER_PRECISION_TIME: Nanoseconds = Nanoseconds::from_seconds(0.05);
/// The fraction of the budget after which a converged case does not go on for [`FINER_PRECISION`].
const FINER_PRECISION_BUDGET_PART: f64 = 0.1;

/// Decides when sampling stops, from interim checks of the samples.
pub(super) struct StopPolicy<'a> {
    sampling: &'a Sampling,
    /// The time for all samples.
    budget: Nanoseconds,
    /// The resolution of the timer.
    resolution: Nanoseconds,
    /// The rule for the required width of the interval.
    rule: StopRule,
    /// The rule for the narrower interval of [`FINER_PRECISION`].
    finer: StopRule,
    /// The number of samples at which the next check is due.
    next_check: usize,
    /// True if the interval is as narrow as the user requires.
    pub converged: bool,
    /// True if the interval is as narrow as [`FINER_PRECISION`] requires.
    is_fine: bool,
    /// True if the last check found that the required interval needs much more time than the budget.
    is_hopeless: bool,
}

impl<'a> StopPolicy<'a> {
    /// Returns the policy for at least `min_samples` samples, with this time budget and this resolution of the
    /// timer.
    pub(super) fn new(
        sampling: &'a Sampling,
        budget: Nanoseconds,
        min_samples: usize,
        resolution: Nanoseconds,
    ) -> Self {
        Self {
            sampling,
            budget,
            resolution,
            rule: StopRule::new(sampling.precision, min_samples),
            finer: StopRule::new(FINER_PRECISION * sampling.precision, min_samples),
            next_check: min_samples,
            converged: false,
            is_fine: false,
            is_hopeless: false,
        }
    }

    /// Returns true if a check is due once there are `samples` samples.
    pub(super) fn is_due(&self, samples: usize) -> bool {
        samples >= self.next_check
    }

    /// Updates the policy from `time`, the summary of `samples` samples that took `spent`: whether the
    /// interval is narrow enough, whether the budget is hopelessly short, and when the next check is due.
    /// If `time` is `None`, only schedules the next check. `is_last` is true at the final check, which the
    /// stop rule judges by [`StopRule::check_last`].
    ///
    /// The budget is hopelessly short if the required interval needs more than [`HOPELESS_BUDGETS`] of it; before
    /// [`TIME_OF_GOOD_ESTIMATE`] more: 4.5 budgets at [`TIME_BEFORE_GIVING_UP`].
    /// Launches on shared processors continue nevertheless if their interval is wider than [`WIDEST`], the
    /// limit of a valid result, and the budget suffices for that limit.
    pub(super) fn interim_check(
        &mut self,
        samples: usize,
        time: Option<&Summary>,
        (spent, is_last): (Nanoseconds, bool),
        shares_processors: impl FnOnce() -> bool,
    ) {
        let mut later = *NEXT_CHECK_GROWTH.start();
        if let Some(time) = time {
            self.converged = match is_last {
                true => self.rule.check_last(time, self.resolution),
                false => self.rule.check(time, self.resolution),
            };
            self.is_fine = self.finer.check(time, self.resolution);
            let growth = self.rule.growth(time, self.resolution);
            // `max` ignores a factor that is not a number.
            let need = if self.converged { self.finer.growth(time, self.resolution) } else { growth };
            later = later.max((PART_OF_NEEDED_SAMPLES * need).min(*NEXT_CHECK_GROWTH.end()));
            let is_known =
                samples >= MIN_SAMPLES && spent >= TIME_BEFORE_GIVING_UP.max(self.sampling.min_time);
            let margin = HOPELESS_BUDGETS * (TIME_OF_GOOD_ESTIMATE / spent).max(1.0);
            self.is_hopeless = !self.converged && is_known && spent * growth > margin * self.budget;
            if self.is_hopeless && shares_processors() {
                // Results on shared processors are valid up to this width.
                let wide = time.relative_half_width() / WIDEST;
                let is_late = spent >= SHARED_TIME_BEFORE_GIVING_UP;
                self.is_hopeless = wide <= 1.0 || is_late && spent * wide.powi(2) > self.budget;
            }
        }
        self.next_check = (later * samples as f64).ceil() as usize;
    }

    /// Returns true if sampling should end now, after `spent`: the last check found that the budget is
    /// hopelessly short, or that the interval is narrow enough.
    ///
    /// With a narrow interval, sampling still goes on for `min_time`, and for [`FINER_PRECISION`] while that
    /// is cheap. If threads of the launches are kept waiting for processors, it goes on for
    /// [`TIME_OF_GOOD_ESTIMATE`], since all samples so far may be from one time slice of other programs.
    pub(super) fn ends(&self, spent: Nanoseconds, are_kept_waiting: impl FnOnce() -> bool) -> bool {
        let cheap = if self.is_fine {
            Nanoseconds::ZERO
        } else {
            FINER_PRECISION_TIME.min(FINER_PRECISION_BUDGET_PART * self.budget)
        };
        let is_done = self.converged && spent >= self.sampling.min_time.max(cheap);
        self.is_hopeless || is_done && (spent >= TIME_OF_GOOD_ESTIMATE || !are_kept_waiting())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanoseconds = Nanoseconds(1.0);

    fn seconds(seconds: f64) -> Nanoseconds {
        Nanoseconds::from_seconds(seconds)
    }

    /// Samples of 100 µs whose interval is ± this part of the median.
    fn summary(samples: usize, half_width: f64) -> Summary {
        let times = vec![Nanoseconds(1e5); samples];
        let mut summary = Summary::of(&times, STEP).expect("there are some");
        summary.median_ci.low = Nanoseconds(1e5 * (1.0 - half_width));
        summary.median_ci.high = Nanoseconds(1e5 * (1.0 + half_width));
        summary
    }

    /// A policy for ± 0.5 % within 3 s after these checks: the numbers of samples, the half-widths and the
    /// seconds.
    fn after(checks: &[(usize, f64, f64)]) -> StopPolicy<'static> {
        const SAMPLING: Sampling =
            Sampling { precision: 0.005, min_time: Nanoseconds::ZERO, ..Sampling::USUAL };
        let mut policy = StopPolicy::new(&SAMPLING, seconds(3.0), 30, STEP);
        for (samples, half_width, spent) in checks {
            policy.interim_check(
                *samples,
                Some(&summary(*samples, *half_width)),
                (seconds(*spent), false),
                || false,
            );
        }
        policy
    }

    #[test]
    fn two_narrow_intervals_end_a_case() {
        assert!(!after(&[(30, 0.004, 0.01)]).converged);
        let policy = after(&[(30, 0.004, 0.01), (40, 0.004, 0.02)]);
        assert!(policy.converged);
        // Up to 50 ms, half of that width costs little.
        assert!(!policy.ends(seconds(0.04), || false) && policy.ends(seconds(0.06), || false));
        let fine = after(&[(30, 0.002, 0.01), (40, 0.002, 0.02)]);
        assert!(fine.ends(seconds(0.02), || false));
    }

    #[test]
    fn launches_that_are_kept_waiting_are_sampled_longer() {
        let fine = after(&[(30, 0.002, 0.01), (40, 0.002, 0.02)]);
        assert!(!fine.ends(seconds(0.2), || true) && fine.ends(seconds(0.3), || true));
    }

    /// The interval of a few samples of noise is wide by chance.
    #[test]
    fn long_launches_are_not_given_up_with_few_samples() {
        assert!(!after(&[(16, 0.07, 0.31)]).ends(seconds(0.31), || false));
        assert!(after(&[(30, 0.07, 0.31)]).ends(seconds(0.31), || false));
    }

    /// An interval eight times as wide needs 64 times as long.
    #[test]
    fn what_would_need_much_longer_than_its_budget_is_given_up() {
        assert!(!after(&[(30, 0.15, 0.09)]).ends(seconds(0.09), || false), "too early to say");
        // 13.5 s are allowed after 0.1 s, and 6.75 s after 0.2 s.
        assert!(!after(&[(30, 0.05, 0.1)]).ends(seconds(0.1), || false), "10 s");
        assert!(after(&[(30, 0.07, 0.1)]).ends(seconds(0.1), || false), "20 s");
        assert!(after(&[(30, 0.04, 0.2)]).ends(seconds(0.2), || false), "12.8 s");
        assert!(after(&[(30, 0.04, 0.31)]).ends(seconds(0.31), || false));
        assert!(!after(&[(30, 0.01, 0.31)]).ends(seconds(0.31), || false), "1.2 s are in the budget");
    }

    /// Other programs may disturb the first samples, so that a wide interval tells little about the next.
    #[test]
    fn a_wide_interval_on_shared_processors_is_given_up_later() {
        let ends = |half_width, spent| {
            let mut policy = after(&[]);
            let time = summary(30, half_width);
            policy.interim_check(30, Some(&time), (seconds(spent), false), || true);
            policy.ends(seconds(spent), || false)
        };
        assert_eq!([0.31, 0.59, 0.61].map(|spent| ends(0.2, spent)), [false, false, true]);
        assert!(!ends(0.06, 1.6), "2.3 s suffice for ± 5 %");
        assert!(ends(0.04, 0.31), "± 4 % is valid, and ± 0.5 % hopeless");
    }

    #[test]
    fn the_next_check_depends_on_the_need_of_the_interval() {
        let next = |half_width: f64| {
            let policy = after(&[(100, half_width, 0.01)]);
            (100..=140).find(|samples| policy.is_due(*samples))
        };
        // At most 30 % more samples; 0.7 · 1.7 = 1.19; at least 10 % more, rounded up.
        assert_eq!(
            [next(0.02), next(0.005 * 1.7_f64.sqrt()), next(0.005)],
            [Some(130), Some(119), Some(111)]
        );
    }
}
