//! The two modes of a case's samples, if there is a gap between them.

use crate::estimators::{ascending, quantile};
use crate::units::Nanoseconds;

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
mod tests {
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
