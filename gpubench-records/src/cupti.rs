//! Judges the time of a result by the times of CUPTI's trace, for `--verify cupti`.

use crate::limits::{OVERHEAD_ERROR, RELATIVE_AGREEMENT};
use crate::{CuptiPass, CuptiTimes, Path, Reason, Record, Samples, Slowdown, TracedActivity};
use gpubench_stats::Nanoseconds;

/// The difference between the time of a result and that of CUPTI, which [`CuptiTimes::difference`] computes for verdicts and reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The time by the other clock, slowdown included.
    pub other: Nanoseconds,
    /// The part of that time by which tracing slows the launch; `None` if it was not measured.
    pub slowdown: Option<Slowdown>,
    /// The result's time minus the other clock's time, after the slowdown was subtracted from the latter.
    pub by: Nanoseconds,
    /// Half of its 95 % interval, which combines those of the result, of the other clock and of the slowdown.
    pub half_width: Nanoseconds,
    /// The largest difference, without the interval, at which the two agree; `None` for samples of the stream path, whose events may wait
    /// for work that CUPTI does not record, such as a graph's start or the host.
    pub allowed: Option<Nanoseconds>,
}

impl Difference {
    /// Returns true if the two clocks differ by at most `allowed` plus `half_width`; `None` if `allowed` is
    /// not known, so that the difference is not judged.
    pub fn agrees(&self) -> Option<bool> {
        self.allowed.map(|allowed| self.by.abs() <= allowed + self.half_width)
    }
}

impl CuptiTimes {
    /// Returns the time of an operation as a fraction of the sum over all operations of the launch, also
    /// those that `activities` does not list.
    pub fn share(&self, activity: &TracedActivity) -> f64 {
        let listed: Nanoseconds = self.activities.iter().map(|activity| activity.time).sum();
        // The time without gaps also has the operations that are not listed.
        activity.time / listed.max(self.time.mean - self.gaps)
    }

    /// Returns the time by which tracing slows the launch; `None` if it was not measured. Tracing never
    /// speeds up a launch, so that a negative reading counts as zero, with its own interval.
    pub fn slowdown(&self) -> Option<Slowdown> {
        let by = self.slowdown?.max(Nanoseconds::ZERO);
        Some(Slowdown { by, half_width: self.slowdown_half_width.unwrap_or_default() })
    }

    /// Returns the difference between the time of the result with these samples and CUPTI's time, from which
    /// the slowdown is subtracted.
    ///
    /// With a DRAM stall, the result's time is that of a launch at a random moment, which is a mean: it is
    /// compared with CUPTI's mean. Every other result is compared with CUPTI's median. A launch of several
    /// operations that was sampled in a graph is compared by its time on a stream, where CUPTI saw it, if
    /// that time is known.
    ///
    /// The slowdown is subtracted even if it is not significant: its interval is part of that of the
    /// difference.
    pub fn difference(&self, samples: &Samples) -> Difference {
        let (other, other_ci) = match samples.dram_stall {
            Some(_) => (self.time.mean, self.mean_ci),
            None => (self.time.median, self.time.median_ci),
        };
        let ours = samples.stream_time.filter(|_| self.activity_count > 1).unwrap_or(samples.time.median);
        let slowdown = self.slowdown();
        let slowed = slowdown.unwrap_or_default();
        let half_widths = [samples.time.median_ci.half_width(), other_ci.half_width(), slowed.half_width];
        let half_width = half_widths.iter().fold(0.0, |all: f64, half| all.hypot(half.as_f64()));
        let known = samples.cross_check_error().unwrap_or(OVERHEAD_ERROR);
        let allowed = known.max(MIN_ALLOWED_DIFFERENCE).max(RELATIVE_AGREEMENT * ours);
        let allowed = (samples.method.path == Path::Graph).then_some(allowed);
        let by = ours - (other - slowed.by);
        Difference { other, slowdown, by, half_width: Nanoseconds(half_width), allowed }
    }
}

/// The least allowed difference between a time and CUPTI's: CUPTI's time stamps contain errors of their own.
const MIN_ALLOWED_DIFFERENCE: Nanoseconds = Nanoseconds(150.0);

impl Record {
    /// Returns true if the record has a usable measurement, but no result of CUPTI. A CUPTI pass that failed
    /// is a result.
    #[doc(hidden)]
    pub fn lacks_cupti(&self) -> bool {
        let measured = self.usable_measurement();
        measured.is_some_and(|measured| measured.verification.as_ref().is_none_or(|it| it.cupti.is_none()))
    }

    /// Stores the launches as CUPTI traced them, or the reason why tracing failed. If the traced times
    /// contradict the result, adds a reason to the verdict. Does nothing without a measurement.
    #[doc(hidden)]
    pub fn set_cupti(&mut self, pass: CuptiPass) {
        let Some(measured) = &mut self.measurement else { return };
        let contradicts = match &pass {
            CuptiPass::Traced(times) => cupti_disagrees(&measured.samples, times),
            CuptiPass::Failed(_) => None,
        };
        measured.verification.get_or_insert_default().cupti = Some(pass);
        self.verdict.add(contradicts);
    }
}

/// Returns a reason against a time that CUPTI contradicts; `None` if they agree, if the slowdown by tracing explains the difference, or
/// if the difference is not judged.
pub(crate) fn cupti_disagrees(samples: &Samples, times: &CuptiTimes) -> Option<Reason> {
    let difference = times.difference(samples);
    let Difference { other: cupti, slowdown, by, allowed, .. } = difference;
    let allowed = allowed.filter(|_| difference.agrees() == Some(false))?;
    let time = cupti - slowdown.unwrap_or_default().by + by;
    Some(Reason::CuptiDisagrees { time, cupti, slowdown, allowed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::tests::samples;
    use gpubench_stats::Summary;

    /// The difference of a launch of 15.43 µs from CUPTI's time, for this measured slowdown and its half-width.
    fn by_cupti(cupti: f64, slowed: Option<(f64, f64)>) -> (Difference, Option<Reason>) {
        let mut samples = samples(15_430.0);
        samples.method.path = Path::Graph;
        samples.cross_check = Some(samples.time.median);
        let times = [cupti; 16].map(Nanoseconds);
        let time = Summary::of(&times, Nanoseconds(1.0)).expect("there are some");
        let times = CuptiTimes {
            version: "13.0".to_owned(),
            mean_ci: time.median_ci,
            time,
            activities: Vec::new(),
            activity_count: 1,
            gaps: Nanoseconds::ZERO,
            streams: 1,
            slowdown: slowed.map(|(by, _)| Nanoseconds(by)),
            slowdown_half_width: slowed.map(|(_, half_width)| Nanoseconds(half_width)),
            wall_time: Nanoseconds(1e8),
        };
        (times.difference(&samples), cupti_disagrees(&samples, &times))
    }

    #[test]
    fn cupti_is_compared_after_subtraction_of_the_slowdown() {
        let agrees = |cupti, slowed| by_cupti(cupti, slowed).1.is_none();
        // A slowdown of 2 µs explains its difference, and no other.
        let (difference, reason) = by_cupti(17_500.0, Some((1980.0, 100.0)));
        assert_eq!((difference.other.0, difference.by.0.round(), reason), (17_500.0, -90.0, None));
        assert!(difference.half_width.0 >= 100.0 && difference.half_width.0 < 150.0, "{difference:?}");
        assert!(!agrees(17_500.0, None) && !agrees(17_500.0, Some((0.0, 32.0))));
        assert!(!agrees(17_500.0, Some((1000.0, 100.0))) && !agrees(18_000.0, Some((1980.0, 100.0))));
        assert!(!agrees(15_430.0, Some((1980.0, 100.0))), "CUPTI does not show the slowdown");
        // The noise of the slowdown is within its interval, and a negative slowdown counts as zero.
        for slowed in [-300.0, -20.0, 0.0, 20.0, 300.0] {
            assert!(agrees(15_430.0, Some((slowed, 320.0))), "{slowed}");
        }
        assert_eq!(by_cupti(15_430.0, Some((-300.0, 320.0))).0.by, Nanoseconds::ZERO);
        assert!(!agrees(14_900.0, Some((-300.0, 100.0))));
    }

    #[test]
    fn a_time_by_cupti_is_reported_with_its_slowdown() {
        let words = |slowed| by_cupti(18_000.0, slowed).1.expect("they differ").to_string();
        let beginning =
            "CUPTI disagrees: the samples give 15.43 µs, and CUPTI's trace of later launches gives 18.00 µs";
        let with = words(Some((1980.0, 100.0)));
        let of_which = ", which includes 1.980 µs ± 100.0 ns of tracing overhead: they differ by more than the allowed 154.3 ns: ";
        assert!(with.starts_with(&format!("{beginning}{of_which}")), "{with}");
        let without = words(None);
        assert!(
            without.starts_with(&format!("{beginning}: they differ by more than the allowed 154.3 ns: ")),
            "{without}"
        );
    }
}
