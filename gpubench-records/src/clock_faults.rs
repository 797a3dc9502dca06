//! Detects readings that no working clock gives: implausible event times, and groups whose time contradicts their samples or the host's clock.
//! Devices may come from users, so that no reading is trusted.

use std::fmt::{self, Display};

use gpubench_stats::{Nanoseconds, format};

/// The longest plausible time, eleven days. A longer reading counts as no time.
const LONGEST_TIME: Nanoseconds = Nanoseconds(1e15);
/// The fraction by which the sum of a group's samples may exceed the time of the group: its clock and that of
/// the samples are read at different moments.
const GROUP_SUM_TOLERANCE: f64 = 0.01;
/// The fraction by which a group's time may exceed the host's time of that group.
const WALL_TIME_TOLERANCE: f64 = 0.05;
/// The additional time by which a group may exceed the host's time, since the operating system can delay the
/// host's first reading.
const LATE_HOST_CLOCK: Nanoseconds = Nanoseconds(1e6);

gpubench_stats::stored! {
    /// The numbers of readings of a case, warm-up included, that no working clock gives.
    #[derive(Copy, Default, Eq)]
    pub struct ClockFaults {
        /// The number of event times that were read.
        pub readings: usize,
        /// The number of them that are no times: not a number, infinite, or over eleven days. They are not stored.
        pub no_times: usize,
        /// The number of them below zero.
        pub negative: usize,
        /// The number of groups that were read.
        pub groups: usize,
        /// The number of them whose own time is no time, or below zero.
        pub untimed_groups: usize,
        /// The number of them whose samples add up to more than the group took.
        pub overfull_groups: usize,
        /// The number of them that took longer than this machine's clock saw.
        pub too_long_groups: usize,
    }
}

/// Returns true if a reading is finite and its magnitude is at most eleven days. Negative readings pass.
pub fn is_plausible_time(reading: Nanoseconds) -> bool {
    reading.is_finite() && reading.abs() <= LONGEST_TIME
}

impl ClockFaults {
    /// Adds the faults of one group of samples to the counts. `events` are the event times of the group,
    /// `group` its time on the device's clock, and `wall` its time on this machine's clock. `step` is the
    /// timer's resolution. If `simulated` is true, `group` may exceed `wall`. Returns `group`, or `wall` if
    /// `group` is negative or not plausible.
    pub fn count(
        &mut self,
        events: impl Iterator<Item = Nanoseconds>,
        group: Nanoseconds,
        wall: Nanoseconds,
        (step, simulated): (Nanoseconds, bool),
    ) -> Nanoseconds {
        let (mut sum, mut read) = (Nanoseconds::ZERO, 0.0);
        for event in events {
            self.readings += 1;
            read += 1.0;
            if !is_plausible_time(event) {
                self.no_times += 1;
            } else if event < Nanoseconds::ZERO {
                self.negative += 1;
            } else {
                sum += event;
            }
        }
        self.groups += 1;
        if !is_plausible_time(group) || group < Nanoseconds::ZERO {
            self.untimed_groups += 1;
            return wall;
        }
        // Each reading may be a step too long.
        let overfull = sum > (1.0 + GROUP_SUM_TOLERANCE) * group + (read + 1.0) * step;
        let too_long = !simulated && group > (1.0 + WALL_TIME_TOLERANCE) * wall + LATE_HOST_CLOCK;
        self.overfull_groups += usize::from(overfull);
        self.too_long_groups += usize::from(too_long);
        group
    }

    /// Returns these counts if there is at least one fault; otherwise `None`.
    pub fn found(self) -> Option<Self> {
        let Self { no_times, negative, untimed_groups, overfull_groups, too_long_groups, .. } = self;
        let all = no_times + negative + untimed_groups + overfull_groups + too_long_groups;
        (all > 0).then_some(self)
    }
}

/// The faults in words, such as `3 of 300 event times are below zero`.
impl Display for ClockFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let events = format::counted(self.readings, "event time");
        let groups = format::counted(self.groups, "group");
        let faults = [
            (self.no_times, &events, "not valid times (not a number, infinite, or over eleven days)"),
            (self.negative, &events, "below zero"),
            (self.untimed_groups, &groups, "of no time or less"),
            (self.overfull_groups, &groups, "too short for all samples together"),
            (self.too_long_groups, &groups, "longer than this machine's clock saw"),
        ];
        let found = faults.iter().filter(|(count, ..)| *count > 0);
        let found = found.map(|(count, of, are)| {
            format!("{count} of {of} {} {are}", if *count == 1 { "is" } else { "are" })
        });
        f.write_str(&format::joined(found, ", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanoseconds = Nanoseconds(32.0);

    fn found(events: &[f64], group: f64, wall: f64) -> Option<String> {
        let mut faults = ClockFaults::default();
        let events = events.iter().copied().map(Nanoseconds);
        let counted = faults.count(events, Nanoseconds(group), Nanoseconds(wall), (STEP, false));
        assert!(is_plausible_time(counted) && counted >= Nanoseconds::ZERO, "{counted:?}");
        faults.found().map(|faults| faults.to_string())
    }

    #[test]
    fn a_clock_that_works_has_none() {
        assert_eq!(found(&[0.0, 100e3, 200e3], 400e3, 500e3), None);
        // A step more for each reading, and a clock that is a little faster than this machine's.
        assert_eq!(found(&[200e3, 200e3], 400e3 - 64.0, 400e3), None);
        assert_eq!(found(&[1e3], 1.02e9, 1e9), None);
        assert_eq!(found(&[], 0.0, 0.0), None);
    }

    #[test]
    fn every_kind_is_counted() {
        let hundred: Vec<f64> = (0..100).map(|i| if i == 7 { -32.0 } else { 1e3 }).collect();
        let told = |events: &[f64], group, wall| found(events, group, wall).expect("it is broken");
        assert_eq!(told(&hundred, 1e6, 1e6), "1 of 100 event times is below zero");
        assert_eq!(
            told(&[f64::NAN, f64::INFINITY, 1e300, 1e3], 1e6, 1e6),
            "3 of 4 event times are not valid times (not a number, infinite, or over eleven days)"
        );
        assert_eq!(told(&[500e3, 600e3], 1e6, 2e6), "1 of 1 group is too short for all samples together");
        assert_eq!(told(&[1e3], 1e9, 0.9e9), "1 of 1 group is longer than this machine's clock saw");
        for group in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300] {
            assert_eq!(told(&[1e3], group, 1e6), "1 of 1 group is of no time or less");
        }
    }

    /// A simulator computes its times, and may be faster than what it simulates.
    #[test]
    fn a_simulated_clock_may_be_ahead() {
        let mut faults = ClockFaults::default();
        let event = std::iter::once(Nanoseconds(1e9));
        faults.count(event, Nanoseconds(1e9), Nanoseconds(1e3), (STEP, true));
        assert_eq!(faults.found(), None);
    }
}
