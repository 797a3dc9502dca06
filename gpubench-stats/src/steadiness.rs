//! Two ways in which times may not be steady: a drift from the first third of the samples to the last, and two modes, around which the
//! samples gather. Both ignore what the step of the timer explains.

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

/// The minimum distance of two modes, as a fraction of the median of all samples. If [`MIN_DISTANCE_STEPS`]
/// is a longer distance, that one counts.
const MIN_DISTANCE_FRACTION: f64 = 0.02;
/// The minimum distance of two modes, in steps of the timer. If [`MIN_DISTANCE_FRACTION`] is a longer
/// distance, that one counts.
const MIN_DISTANCE_STEPS: f64 = 3.0;

/// The minimum fraction of all samples that each mode holds. With fewer, the samples have one mode.
const MIN_MODE_FRACTION: f64 = 0.1;

/// The maximum number of samples in the gap between two modes, as a fraction of the number that a window of
/// the same width holds around the smaller mode.
const MAX_GAP_FRACTION: f64 = 0.25;
/// The minimum number of standard errors by which the gap holds fewer samples than a window of the same width
/// around the smaller mode.
const MIN_GAP_ERRORS: f64 = 3.0;

/// The maximum number of positions between two modes at which a gap is searched. With more steps of the timer
/// between the modes, positions are several steps apart.
const MAX_GAP_POSITIONS: f64 = 64.0;

crate::stored! {
    /// Two times that the samples of a case gather around.
    #[derive(Copy)]
    pub struct Modes {
        /// The median of the fast samples, in nanoseconds.
        pub low: Nanoseconds,
        /// The median of the slow samples, in nanoseconds.
        pub high: Nanoseconds,
        /// The share of slow samples, as a fraction of all.
        pub high_fraction: f64,
    }
}

impl Modes {
    /// Finds the two modes of `times`, which may be in any order. `step` is the resolution of the timer.
    /// Returns `None` if the times have one mode, or no clear gap. For fewer than about 50 samples the result
    /// is mostly `None`.
    ///
    /// The samples are split where that explains most of their variance. The parts are two modes under three
    /// conditions. Each part holds a tenth of the samples or more. Their medians are more than max(2 %, three
    /// steps) apart. Between the medians there is a gap, a window a third of their distance wide: it has at
    /// most a quarter of the samples of a window of this width around the smaller mode, and fewer by more
    /// than three standard errors.
    ///
    /// A skewed or flat distribution splits too, but has no gap. Three modes count as two, if at all.
    pub fn find(times: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        let sorted = ascending(times);
        let (fast, slow) = sorted.split_at(fast_count(&sorted)?);
        // Samples, not means of two, so that they lie on ticks of the timer.
        let (low, high) = (fast[fast.len() / 2], slow[slow.len() / 2]);
        let distance =
            (MIN_DISTANCE_FRACTION * quantile(&sorted, 0.5)).max(MIN_DISTANCE_STEPS * step.as_f64());
        let two = high - low > distance && has_gap(&sorted, low, high, step.as_f64());
        two.then(|| Self {
            low: Nanoseconds(low),
            high: Nanoseconds(high),
            high_fraction: slow.len() as f64 / sorted.len() as f64,
        })
    }
}

/// Splits `sorted` (ascending) into fast and slow samples, and returns the number of fast ones. The split is
/// the one with the largest variance between both parts, n₁·n₂·(μ₁ − μ₂)²/n², which is that of Otsu, *A
/// threshold selection method from gray-level histograms* (IEEE Transactions on Systems, Man, and Cybernetics
/// 9, 1979), and of 2-means in one dimension.
///
/// `None` if no split between different times leaves [`MIN_MODE_FRACTION`] of the samples on each side.
/// Samples beyond the 2.5th and 97.5th percentile count as if they were at these, so that a few outliers do
/// not decide.
fn fast_count(sorted: &[f64]) -> Option<usize> {
    if sorted.is_empty() {
        return None;
    }
    let (least, greatest) = (quantile(sorted, 0.025), quantile(sorted, 0.975));
    let time = |sample: f64| sample.max(least).min(greatest) - least;
    let count = sorted.len() as f64;
    let mean = sorted.iter().copied().map(time).sum::<f64>() / count;

    let mut sum = 0.0;
    let mut best = (0.0, None);
    for (index, pair) in sorted.windows(2).enumerate() {
        sum += time(pair[0]) - mean;
        let fast = (index + 1) as f64;
        let between = sum * sum / (fast * (count - fast));
        let shared = fast.min(count - fast) >= MIN_MODE_FRACTION * count;
        if shared && pair[0] < pair[1] && between > best.0 {
            best = (between, Some(index + 1));
        }
    }
    best.1
}

/// Returns true if `sorted` has a gap between the modes `low` and `high`, which are more than
/// [`MIN_DISTANCE_STEPS`] apart. `step` is the resolution of the timer in nanoseconds.
fn has_gap(sorted: &[f64], low: f64, high: f64, step: f64) -> bool {
    // Windows are an odd number of steps wide and centred on ticks, so that each holds equally many ticks.
    let step = step.max((high - low) / MAX_GAP_POSITIONS);
    let steps = ((high - low) / step).round() as usize;
    let width = (steps / 3) | 1;
    let half = width as f64 * step / 2.0;
    let count_around = |centre: f64| {
        let below = |time: f64| sorted.partition_point(|&sample| sample < time);
        below(centre + half).saturating_sub(below(centre - half)) as f64
    };

    let between = (width..=steps.saturating_sub(width)).map(|i| count_around(low + i as f64 * step));
    let gap = between.fold(f64::INFINITY, f64::min);
    let mode = count_around(low).min(count_around(high));
    gap <= MAX_GAP_FRACTION * mode && mode - gap > MIN_GAP_ERRORS * (mode + gap).sqrt()
}

#[cfg(test)]
mod drift_tests {
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

#[cfg(test)]
mod modes_tests {
    use super::*;

    const STEP: Nanoseconds = Nanoseconds(32.0);

    /// `count` samples each at these times.
    fn ticks(times: &[(f64, usize)]) -> Vec<Nanoseconds> {
        times.iter().flat_map(|&(time, count)| vec![Nanoseconds(time); count]).collect()
    }

    #[test]
    fn two_ticks_far_apart_are_two_modes() {
        let modes = Modes::find(&ticks(&[(3200.0, 60), (3520.0, 40)]), STEP).expect("ten steps apart");
        assert_eq!((modes.low.0, modes.high.0, modes.high_fraction), (3200.0, 3520.0, 0.4));
    }

    #[test]
    fn neighbouring_ticks_are_one_mode() {
        for apart in [32.0, 64.0, 96.0] {
            assert_eq!(Modes::find(&ticks(&[(320.0, 50), (320.0 + apart, 50)]), STEP), None, "{apart} ns");
        }
        assert_eq!(Modes::find(&ticks(&[(320.0, 50), (352.0, 50), (384.0, 50), (416.0, 50)]), STEP), None);
    }

    #[test]
    fn ticks_all_alike_have_no_gap() {
        let even: Vec<_> = (0..40).map(|i| (3200.0 + 32.0 * f64::from(i), 10)).collect();
        assert_eq!(Modes::find(&ticks(&even), STEP), None);
    }

    #[test]
    fn modes_closer_than_two_percent_are_one() {
        assert_eq!(Modes::find(&ticks(&[(10_000.0, 50), (10_190.0, 50)]), Nanoseconds(1.0)), None);
        assert!(Modes::find(&ticks(&[(10_000.0, 50), (10_210.0, 50)]), Nanoseconds(1.0)).is_some());
    }

    #[test]
    fn a_few_outliers_are_no_mode_and_hide_none() {
        assert_eq!(Modes::find(&ticks(&[(3200.0, 95), (9600.0, 5)]), STEP), None);
        let modes = Modes::find(&ticks(&[(3200.0, 60), (3520.0, 38), (1e9, 2)]), STEP).expect("two modes");
        assert_eq!((modes.low.0, modes.high.0), (3200.0, 3520.0));
    }

    /// A part of less than a tenth are outliers, on either side.
    #[test]
    fn each_mode_holds_a_tenth_of_the_samples() {
        let modes = |fast, slow| Modes::find(&ticks(&[(3200.0, fast), (3520.0, slow)]), STEP);
        for (fast, share) in [(20, 0.9), (180, 0.1)] {
            let found = modes(fast, 200 - fast).expect("each has a tenth");
            assert_eq!((found.low.0, found.high.0, found.high_fraction), (3200.0, 3520.0, share));
        }
        assert_eq!([modes(19, 181), modes(181, 19)], [None; 2]);
    }

    /// All splits of 40 random times of two to four gatherings, tried one by one.
    #[test]
    fn samples_are_split_where_that_explains_most_of_their_variance() {
        for seed in 0..200_u64 {
            let draw = |number: u64| (crate::random(seed << 32 | number) >> 11) as f64 / (1_u64 << 53) as f64;
            let gatherings = 2 + seed % 3;
            let place = |number: u64| (draw(100 + (draw(number) * gatherings as f64) as u64) * 40.0).round();
            let mut sorted: Vec<f64> =
                (0..40).map(|number| 100.0 + place(number) + (9.0 * draw(50 + number)).round()).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let (least, greatest) = (quantile(&sorted, 0.025), quantile(&sorted, 0.975));
            let between = |at: usize| {
                let mean = |part: &[f64]| {
                    part.iter().map(|time| time.clamp(least, greatest)).sum::<f64>() / part.len() as f64
                };
                let (fast, slow) = sorted.split_at(at);
                (fast.len() * slow.len()) as f64 * (mean(fast) - mean(slow)).powi(2)
            };
            let best = (4..=36).filter(|at| sorted[at - 1] < sorted[*at]).map(between).fold(0.0, f64::max);
            let found = fast_count(&sorted).map(between);
            assert!(
                found.is_some_and(|found| found >= best * (1.0 - 1e-9)),
                "{seed}: {found:?} of {best}, {sorted:?}"
            );
        }
    }

    /// A correction may have moved times off the timer's multiples, and rounding a little further.
    #[test]
    fn ticks_need_not_be_multiples_of_the_step() {
        let moved: Vec<_> = (0..40).map(|i| (3200.1 + 32.7 * f64::from(i), 10)).collect();
        assert_eq!(Modes::find(&ticks(&moved), Nanoseconds(32.7)), None);
    }

    #[test]
    fn nothing_little_and_no_numbers_cause_no_panic() {
        for count in 0..6 {
            for time in [5.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut times = vec![Nanoseconds(1.0); count];
                times.extend(vec![Nanoseconds(time); count]);
                for step in [0.0, 32.0, f64::NAN, f64::INFINITY] {
                    assert_eq!(Modes::find(&times, Nanoseconds(step)), None, "{count} times {time}, {step}");
                }
            }
        }
    }

    /// A third of nine steps is three: the window at each mode has the tick on either side, and those between
    /// the modes as many.
    #[test]
    fn windows_have_as_many_ticks_on_either_side() {
        let at = |tick: i32| if (2..8).contains(&tick) { 14 } else { 100 };
        let sorted: Vec<f64> = (0..10).flat_map(|tick| vec![f64::from(tick); at(tick)]).collect();
        assert!(has_gap(&sorted, 0.0, 9.0, 1.0), "3 · 14 are less than a quarter of 2 · 100");
    }

    /// A gap of no samples between two modes is chance where one of them has nine, and none where it has a
    /// quarter of theirs.
    #[test]
    fn a_gap_is_deeper_than_chance_and_than_a_quarter() {
        let modes = |fast| Modes::find(&ticks(&[(3200.0, fast), (3520.0, 60)]), STEP);
        assert!(modes(10).is_some() && modes(9).is_none());
        let at = |tick: i32| if (2..8).contains(&tick) { 17 } else { 100 };
        let sorted: Vec<f64> = (0..10).flat_map(|tick| vec![f64::from(tick); at(tick)]).collect();
        assert!(!has_gap(&sorted, 0.0, 9.0, 1.0), "3 · 17 are more than a quarter of 2 · 100");
    }
}
