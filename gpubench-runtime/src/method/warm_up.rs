//! The warm-up: runs a case until its times and the device's clock are steady, mostly for a few milliseconds;
//! or for the number of launches that the user asks for.

use std::time::Instant;

use crate::device::Sampler;
use crate::method::checked::{Budget, CheckedGroups, GroupCost};
use crate::method::{group_size::GroupSize, watch::ClockReadings};
use gpubench_records::{Failure, Sampling, Step, WarmUpSummary};
use gpubench_stats::{Nanoseconds, median};

/// Two successive groups agree if their medians differ by at most this fraction, or by the resolution of the
/// timer if that is more.
const MEDIAN_AGREEMENT: f64 = 0.01;
/// The minimum number of groups, the first one excluded, whose medians or clocks can show that there is no
/// trend: the last one is then steady if it is within the range of the others. The first group is excluded
/// because it loads code and touches memory. Launches whose times vary by more than [`MEDIAN_AGREEMENT`] need
/// this rule, and clocks that alternate: under a sum of 256 MiB, the clock of an H200 is 1930 to 1980 MHz, and
/// the warm-up takes up to 1 s without it.
const GROUPS_WITHOUT_TREND: usize = 4;
/// The GPU clock is steady if its readings after two successive groups differ by at most this fraction.
const CLOCK_AGREEMENT: f64 = 0.005;
/// The longest warm-up of a case that does not become steady. It is shorter if half of the budget is less,
/// and longer if the user requests a long warm-up.
const LONGEST_WARM_UP: Nanoseconds = Nanoseconds::from_seconds(1.0);
/// The longest warm-up is at least the warm-up time that the user requests, times this factor.
const REQUESTED_WARM_UP_FACTOR: f64 = 5.0;
/// A case whose launch takes longer than this (50 ms) is warm after one launch: clocks rise, and code and
/// memory are loaded, during a part of the launch.
const NO_WARM_UP_LAUNCH: Nanoseconds = Nanoseconds::from_seconds(0.05);

/// Returns the longest warm-up of a case that does not become steady. The warm-up counts against the budget
/// of the case.
pub(super) fn longest_warm_up(sampling: &Sampling) -> Nanoseconds {
    LONGEST_WARM_UP.min(sampling.max_time / 2.0).max(REQUESTED_WARM_UP_FACTOR * sampling.min_warm_up_time)
}

/// The result of a warm-up.
pub(super) struct WarmedUp {
    pub warm_up: WarmUpSummary,
    /// The time of the warm-up beyond the time that the user requested, which is subtracted from the budget
    /// of the samples; 0 if the user requested a number of launches.
    pub beyond: Nanoseconds,
    /// The last group of the warm-up, or `None` if the user requested no warm-up launches.
    pub last: Option<LastGroup>,
}

/// The last group of a warm-up, which may serve as the only group of samples.
pub(super) struct LastGroup {
    pub begin: Instant,
    pub end: Instant,
    pub cost: GroupCost,
    pub events: Vec<Nanoseconds>,
    pub overhead: Option<Nanoseconds>,
}

/// Warms up for the time that the user requests, and then until the case is steady, until its launch proves
/// so long that it is warm, or until the longest warm-up is over. If the user requests a number of launches,
/// makes exactly that number instead. `size` adapts to the time of the groups, and `clocks` receives the
/// clock readings.
pub(super) fn warm_up(
    sampler: &mut dyn Sampler,
    checked: &mut CheckedGroups,
    sampling: &Sampling,
    size: &mut GroupSize,
    clocks: &mut ClockReadings,
    report_step: &mut dyn FnMut(Step),
) -> Result<WarmedUp, Failure> {
    let mut warm_up = WarmUpSummary { launches: 0, elapsed: Nanoseconds::ZERO, steady: false };
    let mut budget = Budget::new(longest_warm_up(sampling), checked.timer);
    let mut medians: Vec<f64> = Vec::new();
    let mut last: Option<LastGroup> = None;
    loop {
        let is_long = medians.last().is_some_and(|median| *median > NO_WARM_UP_LAUNCH.as_f64());
        let wanted = match sampling.warm_up_launches {
            Some(launches) => size.samples.min(launches.saturating_sub(warm_up.launches)),
            None if (warm_up.steady || is_long) && budget.spent() >= sampling.min_warm_up_time => 0,
            None => size.size_within(budget.left()),
        };
        if wanted == 0 {
            // A warm-up that the user asked for costs no samples.
            let asked =
                if sampling.warm_up_launches.is_some() { budget.spent() } else { sampling.min_warm_up_time };
            let beyond = (budget.spent() - asked).max(Nanoseconds::ZERO);
            return Ok(WarmedUp { warm_up, beyond, last });
        }
        report_step(Step::WarmUp(warm_up.launches));
        let begin = Instant::now();
        let (group, cost) = checked.take(sampler, wanted)?;
        let end = Instant::now();
        size.adapt(&cost);
        budget.add(&cost);
        warm_up.launches += cost.samples;
        warm_up.elapsed += cost.device;
        clocks.add(group.clock, warm_up.launches, warm_up.elapsed);
        let (events, overhead) = (checked.first_launch_events(&group), checked.overhead(&group));
        medians.extend(median(&events).map(Nanoseconds::as_f64));
        let clocks = clocks.hertz();
        warm_up.steady = !events.is_empty()
            && are_steady(&medians, MEDIAN_AGREEMENT, checked.timer.resolution.as_f64())
            && (clocks.len() < 2 || are_steady(&clocks, CLOCK_AGREEMENT, 0.0));
        last = Some(LastGroup { begin, end, cost, events, overhead });
    }
}

/// Returns true if the last of `values`, which are medians or clocks of successive groups, is steady: it
/// differs from the previous one by at most `fraction` of it or by `step`, or it is within the range of the
/// earlier values if these are enough for [`GROUPS_WITHOUT_TREND`]. Returns false for fewer than two values.
fn are_steady(values: &[f64], fraction: f64, step: f64) -> bool {
    let [earlier @ .., last] = values else { return false };
    let Some(next_to_last) = earlier.last() else { return false };
    let others = &earlier[1..];
    let is_between = others.iter().any(|value| value <= last) && others.iter().any(|value| value >= last);
    (last - next_to_last).abs() <= (fraction * last).max(step)
        || others.len() + 1 >= GROUPS_WITHOUT_TREND && is_between
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_steady_once_they_agree_or_have_no_trend() {
        let steady = |medians: &[f64]| are_steady(medians, MEDIAN_AGREEMENT, 32.0);
        assert!(!steady(&[]) && !steady(&[5e6]));
        // Within 1 %, or within the timer's resolution.
        assert!(steady(&[5e6, 5.04e6]) && !steady(&[5e6, 5.06e6]) && steady(&[1000.0, 1032.0]));
        // Fifth groups within the range of the others after the first.
        assert!(steady(&[20e6, 9e6, 5e6, 6e6, 5.5e6]) && steady(&[1e6, 5e6, 6e6, 9e6, 8e6]));
        assert!(!steady(&[20e6, 9e6, 5e6, 5.5e6]), "three after the first are too few");
        // The times after the first have a trend.
        assert!(!steady(&[1e6, 9e6, 7e6, 6e6, 5e6]) && !steady(&[9e6, 5e6, 6e6, 7e6, 8e6]));
    }

    #[test]
    fn clocks_are_steady_once_they_agree_or_alternate() {
        let steady = |clocks: &[f64]| are_steady(clocks, CLOCK_AGREEMENT, 0.0);
        assert!(steady(&[1000.0, 2000.0, 1995.0]) && !steady(&[2000.0, 2000.0, 1985.0]));
        assert!(steady(&[1200.0, 1980.0, 1930.0, 1980.0, 1950.0]), "it alternates");
        assert!(!steady(&[1200.0, 1400.0, 1600.0, 1800.0, 1980.0]), "it rises");
    }
}
