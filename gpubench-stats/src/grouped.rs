//! The median of samples that come in groups, as another process would find it. In: times in the order they ran, the sizes of
//! their groups, and the error that all groups share; out: a [`Median`] below the step of the timer, with an interval.
//!
//! Samples of a group have a graph and its place in memory in common, and those move all of them together: on an H200 a graph that
//! is made anew moves a time by some 50 ns. So the samples of one group, however many, agree with each other better than with
//! those of the next, and the number that narrows an interval is that of the groups.

use crate::median_ci::{Interval, SMALLEST_SAMPLE};
use crate::quantile::{ascending, quantile};
use crate::ratio::Median;
use crate::student;
use crate::trimmed::TrimmedMean;
use crate::units::Nanoseconds;

/// The groups of samples.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    /// The number of samples of each group, in the order they ran.
    pub sizes: &'a [usize],
    /// The standard error of what all groups of a process have in common, such as the overhead.
    pub shared_error: Nanoseconds,
}

impl Median {
    /// The median of `times`, in the order they ran, with the interval of this `confidence` for the medians of other
    /// processes. A timer read the times in steps of `step` nanoseconds; the median is [below that step](median_below_step).
    ///
    /// The interval is Student's, of the trimmed mean of the groups' medians, whose error adds up with the shared one as their
    /// squares. `None` of fewer than six groups, or if the sizes do not add up to the number of times.
    pub fn of_groups(
        times: &[Nanoseconds],
        groups: Groups<'_>,
        step: Nanoseconds,
        confidence: f64,
    ) -> Option<Self> {
        let Groups { sizes, shared_error } = groups;
        let mut rest = times;
        let mut medians = Vec::with_capacity(sizes.len());
        for size in sizes.iter().filter(|size| **size > 0) {
            let (group, others) = rest.split_at_checked(*size)?;
            rest = others;
            medians.push(below_the_step(&ascending(group), step));
        }
        if medians.len() < SMALLEST_SAMPLE || !rest.is_empty() {
            return None;
        }
        let TrimmedMean { error, freedom, .. } = TrimmedMean::of(&medians)?;
        let half = Nanoseconds(student::quantile(confidence, freedom) * error.hypot(shared_error.as_f64()));
        let time = Nanoseconds(below_the_step(&ascending(times), step));
        Some(Self { time, interval: Interval { low: time - half, high: time + half } })
    }
}

/// The median of `times` in any order, which a timer read in steps of `step` nanoseconds: as a [`Median::of_groups`], below that
/// step. `None` if there are no times.
pub fn median_below_step(times: &[Nanoseconds], step: Nanoseconds) -> Option<Nanoseconds> {
    (!times.is_empty()).then(|| Nanoseconds(below_the_step(&ascending(times), step)))
}

/// The median of `sorted` (ascending, not empty), each of which a timer read in steps of `step` nanoseconds.
///
/// A reading stands for all times within half a step of it, so each sample is spread evenly over that width, and the median is
/// where half of all samples lie below: the median of grouped data of the textbooks, for samples on and off the ticks of the timer.
/// It resolves a part of a step as long as the readings of a time fall on two ticks or more, as they do on an H200, whose samples
/// scatter over some seven steps.
///
/// Readings of a coarse timer fall on two ticks, and this median would be off by up to 0.09 steps. [`location`] is not.
pub(crate) fn below_the_step(sorted: &[f64], step: Nanoseconds) -> f64 {
    if step > COARSE && step.is_finite() {
        return location(sorted, step.as_f64());
    }
    let (middle, half) = (quantile(sorted, 0.5), step.as_f64() / 2.0);
    if !(half > 0.0 && half.is_finite() && middle.is_finite()) {
        return middle;
    }
    let wanted = sorted.len() as f64 / 2.0;
    let below = |time: f64| {
        let whole = sorted.partition_point(|sample| sample + half <= time);
        let begun = sorted.partition_point(|sample| sample - half < time);
        let parts = sorted[whole..begun].iter().map(|sample| (time - sample + half) / (2.0 * half));
        whole as f64 + parts.sum::<f64>()
    };
    // Between samples far apart lies a range below which half of them lie. Its middle is the usual median.
    let end = |left: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (sorted[0] - half, sorted[sorted.len() - 1] + half);
        while high - low > PART * half {
            let time = f64::midpoint(low, high);
            if time <= low || time >= high {
                break;
            }
            if left(below(time)) { low = time } else { high = time }
        }
        f64::midpoint(low, high)
    };
    f64::midpoint(end(&|below| below < wanted), end(&|below| below <= wanted))
}

/// Finds the location of `sorted` (ascending, not empty) to which all of them are balanced if none counts as further away than [`CLIP`]
/// steps: Huber, *Robust Estimation of a Location Parameter* (Annals of Mathematical Statistics 35, 1964). Where the times scatter over less
/// than a step it is the mean of the readings, which rounding from random places of a step leaves right. Where they scatter over many steps it
/// is close to the median.
fn location(sorted: &[f64], step: f64) -> f64 {
    let (mut low, mut high) = (sorted[0], sorted[sorted.len() - 1]);
    let balance =
        |at: f64| sorted.iter().map(|time| (time - at).clamp(-CLIP * step, CLIP * step)).sum::<f64>();
    while high - low > PART * step {
        let time = f64::midpoint(low, high);
        if time <= low || time >= high {
            break;
        }
        if balance(time) > 0.0 { low = time } else { high = time }
    }
    f64::midpoint(low, high)
}

/// A timer with a larger step is coarse. Times of an H200, whose timer steps by 32 ns, scatter over several steps.
pub const COARSE: Nanoseconds = Nanoseconds(100.0);

/// The number of steps beyond which no reading of a coarse timer counts more.
const CLIP: f64 = 1.5;

/// The part of half a step to which the median is found.
const PART: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanoseconds = Nanoseconds(32.0);

    fn below(samples: &[f64], step: f64) -> f64 {
        let times: Vec<_> = samples.iter().copied().map(Nanoseconds).collect();
        below_the_step(&ascending(&times), Nanoseconds(step))
    }

    #[test]
    fn by_hand() {
        // All on one tick, and evenly on two.
        assert!((below(&[320.0; 9], 32.0) - 320.0).abs() < 1e-3);
        assert!((below(&[320.0, 352.0], 32.0) - 336.0).abs() < 1e-3);
        // Three quarters lie within ± 16 of 320: half of all is two thirds of the way through them.
        assert!((below(&[320.0, 320.0, 320.0, 352.0], 32.0) - (304.0 + 32.0 * 2.0 / 3.0)).abs() < 1e-3);
        // Far apart, it is the usual median; without a step too.
        assert!((below(&[100.0, 1000.0], 32.0) - 550.0).abs() < 1e-3);
        assert_eq!(below(&[1.0, 2.0, 4.0], 0.0), 2.0);
        assert!((below(&[1.0, 1e12], 32.0) - 0.5e12).abs() < 1.0);
        assert!(below(&[f64::NAN, f64::NAN], 32.0).is_nan());
    }

    /// A launch of 2.3 steps, read from 1000 places of a step, takes 2 or 3 of them. An outlier moves it by 1.5 steps over 1001.
    #[test]
    fn the_readings_of_a_coarse_timer_are_averaged() {
        let reading = |place: u32| {
            let begin = f64::from(place) / 1000.0;
            1000.0 * ((begin + 2.3).floor() - begin.floor())
        };
        let mut readings: Vec<f64> = (0..1000).map(reading).collect();
        assert!((below(&readings, 1000.0) - 2300.0).abs() < 1.5, "{}", below(&readings, 1000.0));
        readings.push(1e6);
        assert!((below(&readings, 1000.0) - 2301.5).abs() < 1.5, "{}", below(&readings, 1000.0));
        // Times that scatter over many steps have their median, whatever their mean.
        let skewed: Vec<f64> = (0..1001).map(|number| 1000.0 * f64::from(number).powi(2)).collect();
        assert!((below(&skewed, 1000.0) / 250e6 - 1.0).abs() < 0.01, "{}", below(&skewed, 1000.0));
        assert!(below(&[f64::NAN, f64::NAN], 1000.0).is_nan());
    }

    #[test]
    fn too_few_groups_and_wrong_sizes_have_no_interval() {
        let times = [Nanoseconds(320.0); 60];
        let of = |sizes: &[usize]| {
            let groups = Groups { sizes, shared_error: Nanoseconds::ZERO };
            Median::of_groups(&times, groups, STEP, 0.95)
        };
        assert_eq!((of(&[12; 5]), of(&[10; 7]), of(&[])), (None, None, None));
        let found = of(&[10; 6]).expect("six groups");
        assert!((found.time - Nanoseconds(320.0)).abs() < Nanoseconds(0.01), "{found:?}");
        assert_eq!((of(&[59, 1, 0, 0, 0, 0]), of(&[11; 6])), (None, None));
    }

    /// By hand: six medians with a standard deviation of √3.5 · 10, t(95 %, 5) = 2.571, and an error of 4 that all share.
    #[test]
    fn the_interval_is_students_with_the_shared_error() {
        let times: Vec<_> = (0..60).map(|number| Nanoseconds(1000.0 + f64::from(number / 10 * 10))).collect();
        let groups = Groups { sizes: &[10; 6], shared_error: Nanoseconds(4.0) };
        let found = Median::of_groups(&times, groups, Nanoseconds(0.0), 0.95).expect("six groups");
        let error = (10.0 * 3.5_f64.sqrt() / 6.0_f64.sqrt()).hypot(4.0);
        assert_eq!(found.time, Nanoseconds(1025.0));
        assert!((found.interval.high.0 - 1025.0 - 2.570_582 * error).abs() < 1e-4, "{found:?}");
        assert!((found.interval.low.0 + found.interval.high.0 - 2050.0).abs() < 1e-9, "{found:?}");
    }
}
