//! Corrects the event times of a case by a second clock.

use gpubench_records::{GroupOverhead, Timer};
use gpubench_stats::{Nanoseconds, trimmed_error, trimmed_mean};

use super::group_size::MIN_GROUPS;

/// The fraction of the variance of the correction that does not cancel: the time is the median of all
/// samples, while the correction is from medians of groups. Without this fraction, 278 of 300 intervals
/// contain the median on the fake driver (`tests/protocol/tests/truth.rs`, mean of eight seeds).
const UNCANCELLED_VARIANCE: f64 = 0.1;

/// Corrects `overheads` and the shared error of `timer` by `biases`. Each bias is the overhead of one group
/// according to the second clock minus its overhead according to the first. Adds the trimmed mean of the
/// biases to each overhead. Returns this mean, which is the time according to the first clock minus the time
/// according to the second. Returns `None`, and changes nothing, for fewer than [`MIN_GROUPS`] biases.
///
/// A group has the same number of samples with each clock, and the same noise. If all groups have a bias, the
/// corrected time is that of the second clock, with nearly the interval of the first. Otherwise the shared
/// error grows, since the correction is from some of the groups only.
pub(super) fn correct_by_second_clock(
    biases: &[Nanoseconds],
    overheads: &mut [GroupOverhead],
    timer: &mut Timer,
) -> Option<Nanoseconds> {
    // A median would add half of the noise of the groups to the time.
    let by = trimmed_mean(biases).filter(|by| by.is_finite() && biases.len() >= MIN_GROUPS)?;
    overheads.iter_mut().for_each(|group| group.overhead += by);
    let others = 1.0 - biases.len() as f64 / overheads.len().max(biases.len()) as f64;
    let own = (others + UNCANCELLED_VARIANCE).min(1.0).sqrt() * trimmed_error(biases);
    let shared = timer.shared_error.unwrap_or_default();
    timer.shared_error = Some(Nanoseconds(shared.as_f64().hypot(own.as_f64())));
    Some(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrected(biases: &[f64]) -> Option<(f64, f64)> {
        let biases: Vec<Nanoseconds> = biases.iter().copied().map(Nanoseconds).collect();
        let mut overheads = [GroupOverhead { samples: 32, overhead: Nanoseconds(2000.0) }];
        let by = correct_by_second_clock(&biases, &mut overheads, &mut Timer::new(Nanoseconds(32.0)))?;
        Some((overheads[0].overhead.0, by.0))
    }

    #[test]
    fn a_bias_is_subtracted() {
        let rounded = |biases: &[f64]| corrected(biases).map(|(overhead, by)| (overhead.round(), by.round()));
        // Without the smallest and the largest: 1805 / 6 and 50 / 6.
        let bias = [290.0, 300.0, 310.0, 280.0, 320.0, 300.0, 300.0, 305.0];
        assert_eq!(rounded(&bias), Some((2301.0, 301.0)));
        assert_eq!(rounded(&[-60.0, 70.0, -50.0, 90.0, 20.0, -80.0, 40.0, 30.0]), Some((2008.0, 8.0)));
    }

    #[test]
    fn the_error_of_some_groups_is_in_the_interval_of_all() {
        let shared = |groups: usize| {
            let mut timer = Timer::new(Nanoseconds(32.0));
            timer.shared_error = Some(Nanoseconds(30.0));
            let mut overheads = [GroupOverhead { samples: 32, overhead: Nanoseconds(2000.0) }; 32];
            // Around 300 ns; the standard error of their trimmed mean is 40 ns.
            let kept = (groups - groups / 8 * 2) as f64;
            let distance = 40.0 * (kept * (kept - 1.0) / groups as f64).sqrt();
            let biases = [300.0 - distance, 300.0 + distance].map(Nanoseconds).repeat(groups / 2);
            let by =
                correct_by_second_clock(&biases, &mut overheads, &mut timer).expect("the groups are enough");
            assert!((by.0 - 300.0).abs() < 1e-9, "{by:?}");
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
