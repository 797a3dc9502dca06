//! Measures how much tracing slows a launch: events on the stream time the launch before tracing starts, and
//! again during tracing.

use super::super::trace::launches::GPU_TIMER_STEP;
use super::super::trace::{
    MOST_LAUNCHES_PER_GROUP, begin_prequeued, enqueue_launch, interval_of_mean, wait_for_context,
};
use super::super::{Cuda, driver::EventPair, guarded::Guarded};
use gpubench_records::{Cache, Failure, Flush, Slowdown};
use gpubench_stats::{Interval, Nanoseconds, median, timer_step};

/// The number of launches in an ABBA pattern: a launch of the work, two empty launches, and another launch of
/// the work. In every second group, the pattern is two launches of the work between two empty launches.
const LAUNCHES_PER_PATTERN: usize = 4;
/// The most patterns in a group.
const MOST_PATTERNS_PER_GROUP: usize = MOST_LAUNCHES_PER_GROUP / LAUNCHES_PER_PATTERN;
/// The most groups, before tracing and again during tracing.
const MOST_GROUPS: usize = 8;
/// The fewest groups, which are enough for an interval. With long launches, they exceed the budget.
const FEWEST_GROUPS: usize = 3;
/// The time for all groups before tracing, and again for those during tracing (0.2 s).
const EVENTS_TIME_BUDGET: Nanoseconds = Nanoseconds::from_seconds(0.2);

/// Times a launch with events on a stream. The same events are used before tracing and during tracing.
pub(super) struct EventTimer {
    /// The state of the cache, and the flush before each launch.
    how: (Cache, Flush),
    /// The number of groups.
    groups: usize,
    /// The pair of events around each launch of a group.
    pairs: Vec<EventPair>,
}

/// The results of [`EventTimer::times`], and the resolution of event times.
pub(super) struct EventTimes {
    /// The median time in each group of a launch of the work minus that of an empty launch.
    of_groups: Vec<Nanoseconds>,
    /// The resolution of the event times.
    step: Nanoseconds,
}

impl EventTimer {
    /// Creates the events for a launch that takes about `time`, plus `overhead` for its flush.
    pub(super) fn new(
        how: (Cache, Flush),
        (time, overhead): (Nanoseconds, Nanoseconds),
    ) -> Result<Self, Failure> {
        let (groups, patterns) = group_counts((time, overhead));
        let pairs =
            (0..LAUNCHES_PER_PATTERN * patterns).map(|_| EventPair::new()).collect::<Result<_, _>>()?;
        Ok(Self { how, groups, pairs })
    }

    /// Returns, for each group, the median time between events around a launch of `work` minus the time
    /// between events around an empty launch.
    ///
    /// Both kinds of launches are interleaved within a group. On an H200 every second cold group reads 1 µs
    /// more, whatever is launched. The difference of two groups would contain that error; the difference
    /// within a group does not.
    pub(super) fn times(&self, device: &Cuda, work: &mut Guarded<'_>) -> Result<EventTimes, Failure> {
        let mut empty = device.kernels.empty.bare.clone().work(device.stream);
        let mut empty = Guarded::new(&mut empty, device.context);
        let mut of_groups = Vec::with_capacity(self.groups);
        let mut all = Vec::with_capacity(self.groups * self.pairs.len());
        for group in 0..self.groups {
            let swapped = group % 2 == 1;
            begin_prequeued(device, work, self.how.0)?;
            for (number, pair) in self.pairs.iter().enumerate() {
                match is_empty_launch(number, swapped) {
                    true => enqueue_launch(device, &mut empty, self.how, Some(pair))?,
                    false => enqueue_launch(device, work, self.how, Some(pair))?,
                }
            }
            wait_for_context()?;
            let readings = self.pairs.iter().map(EventPair::read).collect::<Result<Vec<_>, _>>()?;
            of_groups.extend(median_difference(&readings, swapped));
            all.extend(readings);
        }
        Ok(EventTimes { of_groups, step: timer_step(all.iter()).min(GPU_TIMER_STEP) })
    }
}

/// Returns true if launch `number` of a group is an empty launch. In a pattern of four, these are the second
/// and the third launch, or the first and the fourth if `swapped` is true. `swapped` is true for every second
/// group.
fn is_empty_launch(number: usize, swapped: bool) -> bool {
    matches!(number % LAUNCHES_PER_PATTERN, 1 | 2) != swapped
}

/// Returns the number of groups, and the number of patterns in each group, that fit into
/// [`EVENTS_TIME_BUDGET`]. Returns at least [`FEWEST_GROUPS`] groups of one pattern, even if they exceed the
/// budget. A launch of the work takes `time`, and each launch `overhead` for its flush.
fn group_counts((time, overhead): (Nanoseconds, Nanoseconds)) -> (usize, usize) {
    let pattern = 2.0 * time + LAUNCHES_PER_PATTERN as f64 * overhead;
    let patterns =
        ((EVENTS_TIME_BUDGET / pattern) as usize).clamp(FEWEST_GROUPS, MOST_GROUPS * MOST_PATTERNS_PER_GROUP);
    let groups = patterns.min(MOST_GROUPS);
    (groups, patterns / groups)
}

/// Takes for each pattern in `readings` the mean time of the two launches of the work minus the mean time of
/// the two empty launches, and returns the median over the patterns. Returns `None` without a whole pattern.
fn median_difference(readings: &[Nanoseconds], swapped: bool) -> Option<Nanoseconds> {
    let sign = |number| if is_empty_launch(number, swapped) { -0.5 } else { 0.5 };
    let signed = |(number, time): (usize, &Nanoseconds)| sign(number) * *time;
    let of_pattern = |times: &[Nanoseconds]| times.iter().enumerate().map(signed).sum();
    let differences: Vec<Nanoseconds> = readings.chunks_exact(LAUNCHES_PER_PATTERN).map(of_pattern).collect();
    median(&differences)
}

/// Returns the mean time during tracing minus the mean time before, with half the width of its 95 % interval,
/// which is at least the resolution of the timer. Returns `None` if `before` or `traced` has no group.
pub(super) fn slowdown(before: &EventTimes, traced: &EventTimes) -> Option<Slowdown> {
    let [first, second] = [interval_of_mean(&before.of_groups)?, interval_of_mean(&traced.of_groups)?];
    let middle = |interval: &Interval| (interval.low + interval.high) / 2.0;
    let half_width = first.half_width().as_f64().hypot(second.half_width().as_f64());
    let half_width = Nanoseconds(half_width).max(before.step).max(traced.step);
    Some(Slowdown { by: middle(&second) - middle(&first), half_width })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(of_groups: &[f64], step: f64) -> EventTimes {
        let of_groups = of_groups.iter().copied().map(Nanoseconds).collect();
        EventTimes { of_groups, step: Nanoseconds(step) }
    }

    #[test]
    fn a_shift_of_a_whole_group_is_in_no_difference() {
        let pattern = |shift: f64| [17e3, 2e3, 2e3, 17e3].map(|time| Nanoseconds(time + shift));
        let shifted: Vec<_> = [0.0, 1e3].map(pattern).concat();
        assert_eq!(median_difference(&shifted, false), Some(Nanoseconds(15e3)));
        let swapped: Vec<_> = [2e3, 17e3, 17e3, 2e3].map(Nanoseconds).repeat(8);
        assert_eq!(median_difference(&swapped, true), Some(Nanoseconds(15e3)));
        // Launches that alternate between two times, too.
        let alternating: Vec<_> = [17e3, 3e3, 2e3, 18e3].map(Nanoseconds).repeat(8);
        assert_eq!(median_difference(&alternating, false), Some(Nanoseconds(15e3)));
        assert_eq!(median_difference(&[], false), None);
    }

    #[test]
    fn a_slowdown_is_known_to_a_step_of_the_timer_at_best() {
        let found = slowdown(&times(&[15e3; 8], 32.0), &times(&[17e3; 8], 1.0)).expect("it has groups");
        assert_eq!(found, Slowdown { by: Nanoseconds(2e3), half_width: Nanoseconds(32.0) });
        let noisy = [15e3, 15.4e3, 14.6e3, 15e3];
        let found = slowdown(&times(&noisy, 32.0), &times(&noisy, 32.0)).expect("it has groups");
        assert!(found.by.0.abs() < 1e-6 && found.half_width > Nanoseconds(300.0), "{found:?}");
        assert_eq!(slowdown(&times(&[], 1.0), &times(&[], 1.0)), None);
    }

    #[test]
    fn long_launches_are_timed_less_often() {
        let overhead = Nanoseconds(40e3);
        assert_eq!(group_counts((Nanoseconds(15e3), overhead)), (8, 8));
        assert_eq!(group_counts((Nanoseconds(5e6), overhead)), (8, 2));
        assert_eq!(group_counts((Nanoseconds(1e9), overhead)), (3, 1));
    }
}
