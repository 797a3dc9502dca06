//! The figures that describe a case's samples. In: times in the order they ran, and the step of the timer that read them;
//! out: a [`Summary`].

use crate::autocorrelation::effective_samples;
use crate::grouped::Groups;
use crate::median_ci::{CONFIDENCE, Interval, interval};
use crate::quantile::{ascending, quantile};
use crate::ratio::Median;
use crate::units::Nanoseconds;

crate::stored! {
    /// The figures that describe a case's samples. Times are in nanoseconds; quantiles are those of Hyndman & Fan (1996),
    /// type 7.
    pub struct Summary {
        /// The number of samples.
        pub samples: usize,
        /// The number of independent samples that would give the median with the same precision: fewer than all if successive
        /// samples are alike (Geyer's initial monotone sequence estimator on the signs of their distances from the median).
        /// Nothing in an old record, whose interval takes its samples for independent.
        pub effective_samples: Option<f64>,
        /// The number of groups whose medians the interval is made of; nothing if it is made of the samples.
        pub groups: Option<usize>,
        /// The middle of the samples: the time of the case. Below the step of the timer if samples come in groups.
        pub median: Nanoseconds,
        /// The 95 % confidence interval of the median. If samples come in groups, that for the medians of other processes
        /// ([`Median::of_groups`]).
        ///
        /// Otherwise it is made of interpolated order statistics (Hettmansperger & Sheather 1986) for the effective number of
        /// samples, never narrower than ± one step of the timer: two quantised time stamps can hide up to that much. Below
        /// [`SMALLEST_SAMPLE`](crate::SMALLEST_SAMPLE) effective samples there is no such interval, and this is the range of the
        /// samples.
        pub median_ci: Interval,
        /// The fastest sample.
        pub min: Nanoseconds,
        /// The slowest sample.
        pub max: Nanoseconds,
        /// The arithmetic mean.
        pub mean: Nanoseconds,
        /// The standard deviation with divisor n − 1, in two passes (first the mean, then the squares of the
        /// distances from it), so that no digits cancel; zero for one sample.
        pub standard_deviation: Nanoseconds,
        /// The coefficient of variation: standard deviation over mean, as a fraction. Zero where the mean is not
        /// above zero and the ratio has no meaning.
        pub cv: f64,
        /// The interquartile range, 75th less 25th percentile: the spread that outliers do not move.
        pub iqr: Nanoseconds,
        /// The 5th percentile.
        pub p5: Nanoseconds,
        /// The 95th percentile.
        pub p95: Nanoseconds,
        /// The 99th percentile.
        pub p99: Nanoseconds,
    }
}

impl Summary {
    /// Summarises `samples`, in the order they ran, which a timer read in steps of `step` nanoseconds; `None` if
    /// there are none.
    ///
    /// Every sample must be finite. One that is not makes the figures meaningless (they may be infinite or
    /// not a number), but causes no panic. Their order changes the effective number of samples and with it the
    /// interval of the median, and nothing else, to the last bit.
    pub fn of(samples: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        let sorted = ascending(samples);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let mean = mean(&sorted);
        let standard_deviation = standard_deviation(&sorted, mean);
        let at = |p| Nanoseconds(quantile(&sorted, p));
        let effective = effective_samples(samples, at(0.5));

        Some(Self {
            samples: sorted.len(),
            effective_samples: Some(effective),
            groups: None,
            median: at(0.5),
            median_ci: interval(&sorted, effective, step, CONFIDENCE),
            min: Nanoseconds(min),
            max: Nanoseconds(max),
            mean: Nanoseconds(mean),
            standard_deviation: Nanoseconds(standard_deviation),
            cv: if mean > 0.0 { standard_deviation / mean } else { 0.0 },
            iqr: at(0.75) - at(0.25),
            p5: at(0.05),
            p95: at(0.95),
            p99: at(0.99),
        })
    }

    /// The same for samples that come in `groups`, with the median and the interval of [`Median::of_groups`]; as [`Self::of`] if
    /// there are too few groups.
    pub fn of_groups(samples: &[Nanoseconds], groups: Groups<'_>, step: Nanoseconds) -> Option<Self> {
        let summary = Self::of(samples, step)?;
        let Some(grouped) = Median::of_groups(samples, groups, step, CONFIDENCE) else {
            return Some(summary);
        };
        let count = groups.sizes.iter().filter(|size| **size > 0).count();
        Some(Self { groups: Some(count), median: grouped.time, median_ci: grouped.interval, ..summary })
    }

    /// The same figures with the median of `other`, and what is said of that.
    #[must_use]
    pub fn with_median_of(self, other: Self) -> Self {
        let Self { effective_samples, groups, median, median_ci, .. } = other;
        Self { effective_samples, groups, median, median_ci, ..self }
    }

    /// The half-width of the median's interval as a fraction of the median, such as 0.005 for ± 0.5 %.
    /// Infinite where the median is not above zero.
    pub fn relative_half_width(&self) -> f64 {
        if self.median > Nanoseconds::ZERO {
            self.median_ci.half_width() / self.median
        } else {
            f64::INFINITY
        }
    }
}

/// The arithmetic mean, summed as distances from the smallest sample, so that many long times lose no digits.
fn mean(sorted: &[f64]) -> f64 {
    let origin = sorted[0];
    origin + sorted.iter().map(|sample| sample - origin).sum::<f64>() / sorted.len() as f64
}

/// The standard deviation with divisor n − 1, in a second pass after the mean.
fn standard_deviation(sorted: &[f64], mean: f64) -> f64 {
    if sorted.len() < 2 {
        return 0.0;
    }
    let squares: f64 = sorted.iter().map(|sample| (sample - mean).powi(2)).sum();
    (squares / (sorted.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(samples: &[f64]) -> Vec<Nanoseconds> {
        samples.iter().copied().map(Nanoseconds).collect()
    }

    #[test]
    fn no_samples_have_no_summary() {
        assert_eq!(Summary::of(&[], Nanoseconds(32.0)), None);
    }

    /// Eight groups of ten, each somewhere else: the median is known as well as their medians say.
    #[test]
    fn samples_in_groups_have_the_median_and_the_interval_of_the_groups() {
        let step = Nanoseconds(32.0);
        let samples: Vec<f64> =
            (0..80).map(|i| 6_400.0 + 32.0 * f64::from((i / 10_i32).pow(2)) + f64::from(i % 10)).collect();
        let (samples, sizes) = (times(&samples), [10, 10, 0, 10, 10, 10, 10, 10, 10]);
        let groups = Groups { sizes: &sizes, shared_error: Nanoseconds(5.0) };
        let grouped = Median::of_groups(&samples, groups, step, CONFIDENCE).expect("eight groups");
        let found = Summary::of_groups(&samples, groups, step).expect("samples");
        let alone = Summary::of(&samples, step).expect("samples");
        assert_eq!((found.groups, found.median, found.median_ci), (Some(8), grouped.time, grouped.interval));
        assert!(found.median != alone.median && found.median_ci != alone.median_ci);
        let figures = |of: &Summary| (of.samples, of.mean, of.p95, of.effective_samples);
        assert_eq!(figures(&found), figures(&alone));
        // The median of other samples, and all other figures of these.
        let other = Summary { effective_samples: Some(7.0), ..found.clone() };
        let both = alone.clone().with_median_of(other);
        assert_eq!((both.median, both.median_ci, both.groups), (found.median, found.median_ci, Some(8)));
        assert_eq!((both.effective_samples, both.mean, both.max), (Some(7.0), alone.mean, alone.max));
        let few = Groups { sizes: &[40, 40], ..groups };
        assert_eq!(Summary::of_groups(&samples, few, step), Some(alone));
    }

    #[test]
    fn one_sample_is_its_own_summary() {
        let summary = Summary::of(&[Nanoseconds(640.0)], Nanoseconds(32.0)).expect("one sample");
        for time in
            [summary.median, summary.min, summary.max, summary.mean, summary.p5, summary.p95, summary.p99]
        {
            assert_eq!(time, Nanoseconds(640.0));
        }
        assert_eq!((summary.samples, summary.standard_deviation.0, summary.cv), (1, 0.0, 0.0));
        assert_eq!((summary.median_ci.low.0, summary.median_ci.high.0), (608.0, 672.0));
        assert_eq!(summary.relative_half_width(), 0.05);
    }

    /// A slow wave and a fast one, of the same times.
    #[test]
    fn order_widens_the_interval_and_changes_nothing_else() {
        let wave = |period: usize| -> Vec<_> {
            (0..400).map(|i| Nanoseconds(1000.0 + (i * period % 400) as f64)).collect()
        };
        let [slow, fast] = [1, 149].map(|period| Summary::of(&wave(period), Nanoseconds(1.0)).expect("many"));
        assert_eq!(fast.effective_samples, Some(400.0));
        assert!(slow.effective_samples < Some(10.0), "{slow:?}");
        assert!(slow.median_ci.half_width().0 > 3.0 * fast.median_ci.half_width().0, "{slow:?}");
        let same =
            Summary { effective_samples: fast.effective_samples, median_ci: fast.median_ci, ..slow.clone() };
        assert_eq!(same, fast);
    }

    /// By hand: the mean is 5, the squares of the distances add up to 32, and 32/7 is the variance.
    #[test]
    fn moments_and_quartiles_by_hand() {
        let samples = times(&[9.0, 2.0, 4.0, 5.0, 4.0, 7.0, 4.0, 5.0]);
        let summary = Summary::of(&samples, Nanoseconds(0.0)).expect("eight samples");
        assert_eq!((summary.mean.0, summary.median.0, summary.iqr.0), (5.0, 4.5, 1.5));
        assert_eq!((summary.min.0, summary.max.0), (2.0, 9.0));
        assert!((summary.standard_deviation.0 - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        assert!((summary.cv - (32.0_f64 / 7.0).sqrt() / 5.0).abs() < 1e-15);
    }

    #[test]
    fn percentiles_are_where_so_many_samples_lie_below() {
        let samples: Vec<f64> = (0..101).map(|number| f64::from(1000 + number * 37 % 101)).collect();
        let summary = Summary::of(&times(&samples), Nanoseconds(1.0)).expect("samples");
        let found = [summary.min, summary.p5, summary.median, summary.p95, summary.p99, summary.max];
        assert_eq!(found, [1000.0, 1005.0, 1050.0, 1095.0, 1099.0, 1100.0].map(Nanoseconds));
        assert_eq!(summary.iqr, Nanoseconds(50.0));
    }

    /// A naive sum of squares would lose all digits here.
    #[test]
    fn a_small_spread_on_a_long_time_keeps_its_digits() {
        let samples = times(&[1e12 + 4.0, 1e12 + 7.0, 1e12 + 13.0, 1e12 + 16.0]);
        let summary = Summary::of(&samples, Nanoseconds(0.0)).expect("four samples");
        assert_eq!(summary.mean.0, 1e12 + 10.0);
        assert!((summary.standard_deviation.0 - 30_f64.sqrt()).abs() < 1e-12);
    }

    /// Times can fall below zero where a correction took more than was read; ratios to them have no meaning.
    #[test]
    fn ratios_to_nothing_are_defined() {
        let summary = Summary::of(&times(&[-3.0, -1.0, 1.0, 3.0]), Nanoseconds(1.0)).expect("four samples");
        assert_eq!(summary.cv, 0.0);
        assert_eq!(summary.relative_half_width(), f64::INFINITY);
    }

    #[test]
    fn what_is_not_a_number_causes_no_panic() {
        for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for count in 1..20 {
                let mut samples = times(&vec![5.0; count]);
                samples[count / 2] = Nanoseconds(bad);
                assert!(
                    Summary::of(&samples, Nanoseconds(bad)).is_some_and(|summary| summary.samples == count)
                );
            }
        }
    }
}
