//! The readings of the GPU clock according to the counters of the device, one after each group. Memory for
//! the readings of most cases is allocated before the first sample.

use gpubench_records::{DeviceClock, GroupClock};
use gpubench_stats::{Hertz, Nanoseconds, units::Range};

/// The number of groups for which memory is reserved. Few cases have more groups: 600 groups of 5 ms take
/// 3 s.
pub(super) const USUAL_GROUPS: usize = 600;

/// A clock that changes by more than this fraction over the samples is not steady. Readings of a steady clock
/// agree within 0.1 %.
const STEADY_CLOCK_CHANGE: f64 = 0.005;

/// The clock readings after the groups of a warm-up, or of the samples.
#[derive(Clone)]
pub(super) struct ClockReadings {
    groups: Vec<GroupClock>,
}

impl Default for ClockReadings {
    fn default() -> Self {
        Self { groups: Vec::with_capacity(USUAL_GROUPS) }
    }
}

impl ClockReadings {
    /// Adds the reading after a group, or nothing if `clock` is `None`. `samples` is the number of samples so
    /// far, and `at` the time since the first sample.
    pub(super) fn add(&mut self, clock: Option<Hertz>, samples: usize, at: Nanoseconds) {
        self.groups.extend(clock.map(|clock| GroupClock { samples, at, clock }));
    }

    /// Returns true if the last two readings differ by at most `fraction`, or if there are fewer than two
    /// readings.
    pub(super) fn last_two_agree(&self, fraction: f64) -> bool {
        match &self.groups[..] {
            [.., before, last] => (last.clock.as_f64() / before.clock.as_f64() - 1.0).abs() <= fraction,
            _ => true,
        }
    }

    /// Appends the readings `later`, of groups that ran after these.
    pub(super) fn extend(&mut self, later: &Self) {
        self.groups.extend_from_slice(&later.groups);
    }

    /// Returns true if the mean clock in the last third of the groups differs from that in the first third by
    /// more than [`STEADY_CLOCK_CHANGE`]. Returns false for fewer than three groups.
    pub(super) fn has_drifted(&self) -> bool {
        let third = self.groups.len() / 3;
        let sum = |groups: &[GroupClock]| groups.iter().map(|group| group.clock.as_f64()).sum::<f64>();
        let (first, last) = (sum(&self.groups[..third]), sum(&self.groups[self.groups.len() - third..]));
        // With fewer than three groups, the ratio is NaN, and the comparison false.
        (last / first - 1.0).abs() > STEADY_CLOCK_CHANGE
    }

    /// Returns the lowest and the highest clock, or `None` without readings.
    fn range(&self) -> Option<Range<Hertz>> {
        Range::of(self.groups.iter().map(|group| group.clock))
    }

    /// Returns a summary of these readings, which are those of the samples, together with the range of the
    /// readings in `warm_up`. Returns `None` if the samples have no readings.
    pub(super) fn summarize_after(&self, warm_up: &Self) -> Option<DeviceClock> {
        let readings = self.groups.len();
        let sum: Hertz = self.groups.iter().map(|group| group.clock).sum();
        Some(DeviceClock {
            before: warm_up.range(),
            during: self.range()?,
            mean: sum / readings as u64,
            after: self.groups.last()?.clock,
            readings,
            over_time: self.groups.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The readings of these clocks, in MHz, a group of eight samples each, a millisecond apart.
    fn readings(megahertz: &[u64]) -> ClockReadings {
        let group = |(number, megahertz): (usize, &u64)| GroupClock {
            samples: 8 * (number + 1),
            at: Nanoseconds(1e6 * number as f64),
            clock: Hertz(megahertz * 1_000_000),
        };
        ClockReadings { groups: megahertz.iter().enumerate().map(group).collect() }
    }

    #[test]
    fn a_clock_has_moved_if_its_last_third_differs_from_the_first() {
        for (clocks, moved) in [
            (&[2000, 2000, 2000, 2000, 2000, 2000][..], false),
            (&[2000, 2000, 1500, 1500, 2000, 2000], false),
            (&[2000, 2000, 2000, 2000, 1991, 1991], false),
            (&[2000, 2000, 2000, 2000, 1989, 1989], true),
            (&[2000, 2000, 2000, 2000, 2011, 2011], true),
            // Of seven a third is two.
            (&[2000, 1900, 1, 1, 1, 1900, 2000], false),
            (&[2000, 1000], false),
            (&[], false),
        ] {
            assert_eq!(readings(clocks).has_drifted(), moved, "{clocks:?}");
        }
    }

    #[test]
    fn readings_are_summarised_with_those_of_the_warm_up() {
        let samples = readings(&[1900, 2000, 1980]);
        let clock = samples.summarize_after(&readings(&[1200, 1800])).expect("it was read");
        let range = |low: u64, high: u64| Range::of([Hertz(low * 1_000_000), Hertz(high * 1_000_000)]);
        assert_eq!((clock.before, Some(clock.during)), (range(1200, 1800), range(1900, 2000)));
        assert_eq!(
            (clock.mean, clock.after, clock.readings),
            (Hertz(1_960_000_000), Hertz(1_980_000_000), 3)
        );
        assert_eq!(clock.over_time, samples.groups);
        assert_eq!(readings(&[]).summarize_after(&samples), None);
        assert_eq!(samples.summarize_after(&readings(&[])).expect("it was read").before, None);
    }

    #[test]
    fn the_last_two_readings_agree_or_do_not() {
        for (clocks, agree) in [
            (&[1000, 2000, 1995][..], true),
            (&[2000, 2000, 1985], false),
            (&[2000, 2015], false),
            (&[1], true),
            (&[], true),
        ] {
            assert_eq!(readings(clocks).last_two_agree(0.005), agree, "{clocks:?}");
        }
    }
}
