//! Corrects event times by a second clock.

use gpubench_records::{GroupOverhead, Timer};
use gpubench_stats::{Nanoseconds, trimmed_error, trimmed_mean};

use super::groups::MIN_GROUPS;

/// The part of the correction's variance that does not cancel, since the time is the median of all samples and the correction is from medians
/// of groups. Without it, 278 of 300 intervals hold the median on the fake driver (`tests/protocol/tests/truth.rs`, mean of eight seeds).
const NOT_CANCELLED: f64 = 0.1;

/// The correction of a time.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Correction {
    /// The bias of the first clock: its time minus that of the second.
    by: Nanoseconds,
    /// Its standard error.
    error: Nanoseconds,
    /// The number of groups that it is from.
    groups: usize,
}

impl Correction {
    /// Estimates the correction from what each group contains beyond its overhead; nothing for fewer than [`MIN_GROUPS`] groups.
    pub(super) fn new(beyond: &[Nanoseconds]) -> Option<Self> {
        // A median would add half of the noise of the groups to the time.
        let by = trimmed_mean(beyond).filter(|by| by.is_finite() && beyond.len() >= MIN_GROUPS)?;
        Some(Self { by, error: trimmed_error(beyond), groups: beyond.len() })
    }

    /// Adds the correction to the overheads, and its error to the error that all samples share. Returns the correction.
    ///
    /// A group has as many samples by each clock, and the same noise. Where all groups have both, the corrected time is that of the second
    /// clock, with nearly the interval of the first. Otherwise the error of these groups as a part of all is added.
    pub(super) fn apply(self, overheads: &mut [GroupOverhead], timer: &mut Timer) -> Nanoseconds {
        for group in overheads.iter_mut() {
            group.overhead += self.by;
        }
        let others = 1.0 - self.groups as f64 / overheads.len().max(self.groups) as f64;
        let own = (others + NOT_CANCELLED).min(1.0).sqrt() * self.error;
        let shared = timer.shared_error.unwrap_or_default();
        timer.shared_error = Some(Nanoseconds(shared.as_f64().hypot(own.as_f64())));
        self.by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrected(beyond: &[f64]) -> Option<(f64, f64)> {
        let beyond: Vec<Nanoseconds> = beyond.iter().copied().map(Nanoseconds).collect();
        let mut overheads = [GroupOverhead { samples: 32, overhead: Nanoseconds(2000.0) }];
        let by = Correction::new(&beyond)?.apply(&mut overheads, &mut Timer::new(Nanoseconds(32.0)));
        Some((overheads[0].overhead.0, by.0))
    }

    #[test]
    fn a_bias_is_subtracted() {
        let rounded = |beyond: &[f64]| corrected(beyond).map(|(overhead, by)| (overhead.round(), by.round()));
        // Without the smallest and the largest: 1805 / 6 and 50 / 6.
        let bias = [290.0, 300.0, 310.0, 280.0, 320.0, 300.0, 300.0, 305.0];
        assert_eq!(rounded(&bias), Some((2301.0, 301.0)));
        assert_eq!(rounded(&[-60.0, 70.0, -50.0, 90.0, 20.0, -80.0, 40.0, 30.0]), Some((2008.0, 8.0)));
    }

    #[test]
    fn the_error_of_some_groups_is_in_the_interval_of_all() {
        let shared = |groups| {
            let mut timer = Timer::new(Nanoseconds(32.0));
            timer.shared_error = Some(Nanoseconds(30.0));
            let mut overheads = [GroupOverhead { samples: 32, overhead: Nanoseconds(2000.0) }; 32];
            let correction = Correction { by: Nanoseconds(300.0), error: Nanoseconds(40.0), groups };
            assert_eq!(correction.apply(&mut overheads, &mut timer), Nanoseconds(300.0));
            timer.shared_error.expect("it had one").0
        };
        assert!((shared(8) - 47.5).abs() < 0.1, "{}", shared(8));
        assert!((shared(32) - 32.6).abs() < 0.1, "{}", shared(32));
    }

    #[test]
    fn few_groups_say_nothing() {
        assert_eq!(corrected(&[300.0; 7]), None);
        assert_eq!(corrected(&[]), None);
    }
}
