//! The drift of the times of a case: the change from the first third of the samples to the last.

use crate::estimators::{ascending, effective_samples, quantile};
use crate::{summary::rank_interval, units::Nanoseconds};

/// The minimum number of samples for a drift: thirds of twenty samples.
const MIN_SAMPLES: usize = 60;

/// The confidence of the interval of each third's median. Two such intervals do not touch if the medians
/// differ by √2·z(99.75 %) = 3.97 standard errors of their difference. Equal medians do so once in 14,000
/// times.
const THIRD_CONFIDENCE: f64 = 0.995;

/// The minimum change that counts as a drift, as a fraction of the first third's median.
const MIN_RELATIVE_CHANGE: f64 = 0.01;

crate::stored! {
    /// The time moved during the measurement.
    #[derive(Copy)]
    pub struct Drift {
        /// The median of the last third of the samples over that of the first, less one: 0.02 is 2 % slower
        /// at the end. A steady slope changes half as much again from the first sample to the last.
        pub change: f64,
    }
}

impl Drift {
    /// Finds the drift of `times`, in the order they ran. `step` is the resolution of the timer. Returns
    /// `None` if there is no drift, for fewer than 60 samples, and if the first third's median is not above
    /// zero.
    ///
    /// The medians of the first and the last third must differ by more than max(1 %, one step), and by more
    /// than chance allows (p < 0.0001): their 99.5 % confidence intervals, from order statistics and for the
    /// effective number of samples of each third, must not touch. So neither skew nor ties nor correlated
    /// samples pass for a drift, as long as samples are correlated over much less than a third.
    ///
    /// It finds a slope, and a step within the middle third. It mostly misses a step within an outer third
    /// (which shows as two modes), and a change that comes and goes between the outer thirds.
    pub fn find(times: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        if times.len() < MIN_SAMPLES {
            return None;
        }
        let length = times.len() / 3;
        let distance = times.len() - length;
        let (first, last) = (Third::new(&times[..length]), Third::new(&times[distance..]));
        let difference = last.median - first.median;

        let matters = difference.abs() > (MIN_RELATIVE_CHANGE * first.median).max(step);
        if first.median <= Nanoseconds::ZERO || !matters {
            return None;
        }
        let slope = difference / distance as f64;
        let [before, after] = [&first, &last].map(|third| {
            rank_interval(&third.sorted, third.effective_samples(slope), step, THIRD_CONFIDENCE)
        });
        let apart = before.high < after.low || after.high < before.low;
        apart.then(|| Self { change: difference / first.median })
    }
}

/// The first or the last third of the samples: in the order they ran (`times`), and `sorted`.
struct Third<'a> {
    times: &'a [Nanoseconds],
    sorted: Vec<f64>,
    median: Nanoseconds,
}

impl<'a> Third<'a> {
    /// Sorts the times of a third, and computes their median.
    fn new(times: &'a [Nanoseconds]) -> Self {
        let sorted = ascending(times);
        let median = Nanoseconds(quantile(&sorted, 0.5));
        Self { times, sorted, median }
    }

    /// Returns the effective number of samples of this third: either of the times as they are, or of the
    /// times less a line that rises by `slope` per sample, whichever number is larger. Without the second
    /// number, a drift within the third would count as correlation and hide itself.
    fn effective_samples(&self, slope: Nanoseconds) -> f64 {
        let less_slope = |(index, time): (usize, &Nanoseconds)| *time - slope * index as f64;
        let level: Vec<_> = self.times.iter().enumerate().map(less_slope).collect();
        let level_median = Nanoseconds(quantile(&ascending(&level), 0.5));
        effective_samples(self.times, self.median).max(effective_samples(&level, level_median))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanoseconds = Nanoseconds(32.0);

    /// Times of 10 µs, with ± 40 ns of noise in no order, and what `offset` adds over 0..1.
    fn drift(count: u32, offset: impl Fn(f64) -> f64) -> Option<f64> {
        let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_769) >> 24) / 255.0 * 80.0 - 40.0;
        let time = |i: u32| Nanoseconds(10_000.0 + noise(i) + offset(f64::from(i) / f64::from(count)));
        Drift::find(&(0..count).map(time).collect::<Vec<_>>(), STEP).map(|drift| drift.change)
    }

    #[test]
    fn a_slope_is_found_either_way() {
        for count in [60, 300, 5000] {
            let up = drift(count, |t| 300.0 * t).expect("3 % from start to end");
            assert!((up - 0.02).abs() < 0.003, "{count}: {up}");
            let down = drift(count, |t| -300.0 * t).expect("3 % from start to end");
            assert!((down + 0.02).abs() < 0.003, "{count}: {down}");
        }
    }

    #[test]
    fn a_step_in_the_middle_is_found() {
        for place in [0.35, 0.5, 0.65] {
            let found = drift(300, |t| if t > place { 300.0 } else { 0.0 }).expect("3 % midway");
            assert!((found - 0.03).abs() < 0.003, "at {place}: {found}");
        }
    }

    #[test]
    fn steady_times_do_not_drift() {
        for count in [0, 1, 2, 59, 60, 1000] {
            assert_eq!(drift(count, |_| 0.0), None, "{count} samples");
        }
    }

    /// The thirds differ by 2/3 of the slope: 0.93 %, and 1.07 % of the first one's median.
    #[test]
    fn a_change_below_one_percent_does_not_matter() {
        assert_eq!(drift(3000, |t| 140.0 * t), None);
        assert!(drift(3000, |t| 165.0 * t).is_some());
    }

    #[test]
    fn a_change_of_one_step_does_not_matter() {
        let stepped = |high: f64| [[Nanoseconds(320.0); 50], [Nanoseconds(high); 50]].concat();
        assert_eq!(Drift::find(&stepped(352.0), STEP), None);
        assert_eq!(Drift::find(&stepped(384.0), STEP), Some(Drift { change: 0.2 }));
    }

    #[test]
    fn times_below_zero_and_no_numbers_have_no_drift() {
        for bad in [-1e4, 0.0, f64::NAN, f64::INFINITY] {
            let mut times = vec![Nanoseconds(bad); 50];
            times.extend([Nanoseconds(5.0); 50]);
            assert_eq!(Drift::find(&times, STEP), None, "{bad}");
        }
    }
}
