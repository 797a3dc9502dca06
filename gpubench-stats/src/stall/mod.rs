//! The periodic stall of a device's memory: its period in reads of memory, and the samples of a case that it delays.
//!
//! A launch that waits for memory for the time b takes longer by the length of the stall L if one begins meanwhile, and by a part
//! of that if it starts in one: on the average by L·(b + L/2) over the period.

mod folded;

use std::ops::RangeInclusive;

use self::folded::Samples;
use crate::quantile::{ascending, quantile};
use crate::{median, summary::median_below_step, units::Nanoseconds};

/// The periods of a device that the search covers.
const PERIODS: RangeInclusive<f64> = 25e3..=250e3;
/// A slow read takes longer than the median by this many standard deviations, and by this many steps of the timer.
const SLOW_DEVIATIONS: f64 = 2.25;
const SLOW_STEPS: f64 = 4.0;
/// The fewest slow reads, and the largest part of all reads that are slow.
const FEWEST_SLOW: usize = 16;
const MOST_SLOW: f64 = 0.4;
/// The least part of the reads in the window that are slow, and of the slow reads that are in the window.
const EXPLAINED: f64 = 0.6;

/// The fewest samples of a case.
const FEWEST: usize = 30;
/// The period of a case is that of its device within this fraction and the error of the device's period.
const SAME_PERIOD: f64 = 5e-4;
/// The fewest standard errors by which samples in the window are slower, and the fewest samples in the window and beside it.
const LEAST_Z: f64 = 5.8;
const FEWEST_DELAYED: usize = 4;
/// The part of its time that a launch waits for memory.
const WAITS: RangeInclusive<f64> = 0.3..=1.1;
/// The delay of a launch, relative to that of a read.
const RELATIVE_DELAY: RangeInclusive<f64> = 0.5..=1.5;
/// Three in four of the samples in the window are delayed by at least this part of the delay.
const LEAST_DELAY: f64 = 0.3;

crate::stored! {
    /// The memory of a device is held up for a time, again and again.
    #[derive(Copy)]
    pub struct DramStallPeriod {
        /// The time from one stall to the next.
        pub period: Nanoseconds,
        /// The most by which the period may be wrong.
        pub error: Nanoseconds,
        /// The time for which a read of memory is held up.
        pub duration: Nanoseconds,
    }

    /// The stall of a device's memory in the samples of a case.
    #[derive(Copy)]
    pub struct DramStall {
        /// The time from one stall to the next.
        pub period: Nanoseconds,
        /// The time by which a stall delays a launch.
        pub delay: Nanoseconds,
        /// The first time since the first sample started at which samples begin to be delayed that start then. It returns with the
        /// period.
        pub from: Nanoseconds,
        /// The time from then on in which samples start that are delayed.
        pub width: Nanoseconds,
        /// The part of launches at random times that a stall delays. Of launches longer than the period: that meet one stall more than
        /// the others.
        pub delayed_fraction: f64,
        /// The standard error of the mean delay.
        pub error: Nanoseconds,
    }
}

impl DramStallPeriod {
    /// Finds the period between 25 and 250 µs in reads of memory, with their starts and times in the order they ran; each takes a
    /// quarter of the period at most. A timer read the times in steps of `step`.
    ///
    /// Nothing if slow reads come at other times: if less than six in ten reads in the best window of the best period are slow, or less
    /// than six in ten slow reads start in it. Half of them do where the period is half as long.
    pub fn find(starts: &[Nanoseconds], times: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        if times.len() < FEWEST_SLOW || starts.len() != times.len() {
            return None;
        }
        // The search refines phases, which a distant origin would move with the period.
        let starts: Vec<Nanoseconds> = starts.iter().map(|start| *start - starts[0]).collect();
        let samples = Samples::new(&starts, times, step);
        let limit = samples.median + (SLOW_DEVIATIONS * samples.deviation).max(SLOW_STEPS * step.as_f64());
        let is_slow = |time: &Nanoseconds| time.as_f64() > limit;
        let slow: Vec<Nanoseconds> = times.iter().copied().filter(is_slow).collect();
        if slow.len() < FEWEST_SLOW || slow.len() as f64 > MOST_SLOW * times.len() as f64 {
            return None;
        }
        let duration = median(&slow)?.as_f64() - samples.median;
        // A read that starts in a stall, or ends after its begin, is slow.
        let width = samples.median + duration;
        let periods = PERIODS.start().max(4.0 * width)..=*PERIODS.end();
        let window = samples.search(periods, &(0.5 * width..=1.2 * width), duration)?;
        let [inside, _] = window.split(&starts, times);
        let slow_inside = inside.iter().filter(|time| is_slow(time)).count();
        let explained = slow_inside as f64 / inside.len().max(slow.len()) as f64;
        (explained >= EXPLAINED).then_some(Self {
            period: Nanoseconds(window.period),
            // By this error the phase moves by the width of the window over all reads.
            error: Nanoseconds(width * window.period / samples.length(times.len())),
            duration: Nanoseconds(duration),
        })
    }
}

impl DramStall {
    /// Finds the stall in the `times` of samples that started at `starts`, in the order they ran, on a device whose memory is held up
    /// like this. A timer read the times in steps of `step`. Nothing if the launch does not wait for the memory.
    pub fn find(
        starts: &[Nanoseconds],
        times: &[Nanoseconds],
        step: Nanoseconds,
        device: &DramStallPeriod,
    ) -> Option<Self> {
        if starts.len() != times.len() || times.len() < FEWEST {
            return None;
        }
        let samples = Samples::new(starts, times, step);
        let period = device.period.as_f64();
        let error = device.error.as_f64() + SAME_PERIOD * period;
        let widths = widths(samples.median, device);
        let window = samples.search(period - error..=period + error, &widths, device.duration.as_f64())?;
        let [inside, outside] = window.split(starts, times);
        let (slow, fast) = (median_below_step(&inside, step)?, median_below_step(&outside, step)?);
        let delay = slow - fast;
        let least = quantile(&ascending(&inside), 0.25) - fast.as_f64();
        let is_delayed =
            RELATIVE_DELAY.contains(&(delay / device.duration)) && least >= LEAST_DELAY * delay.as_f64();
        let is_wide = window.width >= *widths.start() && inside.len().min(outside.len()) >= FEWEST_DELAYED;
        if window.z < LEAST_Z || !is_wide || !is_delayed {
            return None;
        }
        let period = Nanoseconds(window.period);
        let widths = samples.widths(&window);
        let (least, greatest) = (widths.start / window.period, widths.end / window.period);
        let share = f64::midpoint(least, greatest);
        // A launch that waits for memory all its time tells the fraction better than the ends of the window, if samples allow that.
        let whole = ((fast + delay / 2.0) / period).fract();
        let is_whole = (least..=greatest).contains(&whole);
        Some(Self {
            period,
            delay,
            from: Nanoseconds(window.from),
            width: Nanoseconds(window.width),
            delayed_fraction: if is_whole { whole } else { share },
            error: delay * ((greatest - least) / 4.0),
        })
    }

    /// Returns the mean delay of launches at random times.
    pub fn mean_delay(&self) -> Nanoseconds {
        self.delayed_fraction * self.delay
    }

    /// Returns these times as they would be if each sample had met the mean delay and no stall.
    pub fn stall_corrected(&self, starts: &[Nanoseconds], times: &[Nanoseconds]) -> Vec<Nanoseconds> {
        let mean = self.mean_delay();
        let delay = |start: Nanoseconds| {
            let phase = (start - self.from).as_f64().rem_euclid(self.period.as_f64());
            if phase < self.width.as_f64() { self.delay } else { Nanoseconds::ZERO }
        };
        times.iter().zip(starts).map(|(time, start)| *time - delay(*start) + mean).collect()
    }
}

/// Returns the widths of the window in which launches of this time may start and meet one stall more than others.
fn widths(time: f64, device: &DramStallPeriod) -> RangeInclusive<f64> {
    let (period, duration) = (device.period.as_f64(), device.duration.as_f64());
    let width = |waits: &f64| waits * time + duration / 2.0;
    if width(WAITS.end()) < period { width(WAITS.start())..=width(WAITS.end()) } else { 0.0..=period }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DramStallPeriod =
        DramStallPeriod { period: Nanoseconds(100e3), error: Nanoseconds(20.0), duration: Nanoseconds(2e3) };

    #[track_caller]
    fn has_widths(time: f64, expected: [f64; 2]) {
        let found = widths(time, &DEVICE);
        let away = [found.start() - expected[0], found.end() - expected[1]];
        assert!(away.iter().all(|away| away.abs() < 1e-6), "{time}: {found:?}");
    }

    /// A launch meets the stall that begins while it waits, and half of one in which it starts.
    #[test]
    fn the_window_is_as_wide_as_a_launch_waits() {
        // By hand: 0.3 · 50 + 1 to 1.1 · 50 + 1 µs.
        has_widths(50e3, [16e3, 56e3]);
        has_widths(1e3, [1.3e3, 2.1e3]);
        // 1.1 · 89 + 1 µs are just below a period; from there on it may have any width.
        has_widths(89e3, [27.7e3, 98.9e3]);
        for time in [91e3, 110e3, 250e3, 1e6] {
            has_widths(time, [0.0, 100e3]);
        }
    }

    /// By hand: a fifth of launches is delayed by 1000 ns, which is 200 for each.
    #[test]
    fn evened_times_have_the_mean_delay() {
        let stall = DramStall {
            period: Nanoseconds(100.0),
            delay: Nanoseconds(1000.0),
            from: Nanoseconds(90.0),
            width: Nanoseconds(20.0),
            delayed_fraction: 0.2,
            error: Nanoseconds(0.0),
        };
        assert_eq!(stall.mean_delay(), Nanoseconds(200.0));
        let (starts, times) = ([0.0, 50.0, 95.0, 195.0, 250.0], [5000.0, 4000.0, 5000.0, 5001.0, 4003.0]);
        let found = stall.stall_corrected(&starts.map(Nanoseconds), &times.map(Nanoseconds));
        assert_eq!(found, [4200.0, 4200.0, 4200.0, 4201.0, 4203.0].map(Nanoseconds));
    }

    /// Launches of 40 µs, each of which starts 7.9 µs later in the period than the one before. Those that start in the first 41 µs meet
    /// the stall.
    fn samples(delayed: impl Fn(usize, bool) -> f64) -> (Vec<Nanoseconds>, Vec<Nanoseconds>) {
        let at = |number: usize| 107.9e3 * number as f64;
        let times = (0..400).map(|number| {
            let meets = at(number).rem_euclid(100e3) < 41e3;
            Nanoseconds(40e3 + (number * 7 % 11) as f64 * 20.0 + delayed(number, meets))
        });
        ((0..400).map(at).map(Nanoseconds).collect(), times.collect())
    }

    /// The period is known the better, the longer samples take.
    #[test]
    fn more_samples_make_the_period_sharper() {
        let at = |number: usize| 107.9e3 * number as f64;
        let delay = |number: usize| if at(number).rem_euclid(100e3) < 41e3 { 2e3 } else { 0.0 };
        let time = |number: usize| Nanoseconds(40e3 + (number * 7 % 11) as f64 * 20.0 + delay(number));
        let starts: Vec<_> = (0..3000).map(at).map(Nanoseconds).collect();
        let times: Vec<_> = (0..3000).map(time).collect();
        let found = DramStall::find(&starts, &times, Nanoseconds(1.0), &DEVICE).expect("it is planted");
        assert!(
            (found.period.0 - 100e3).abs() < 1.0 && (found.delayed_fraction - 0.41).abs() < 0.002,
            "{found:?}"
        );
    }

    #[test]
    fn a_planted_stall_is_found_and_what_is_none_is_not() {
        let find = |delayed: &dyn Fn(usize, bool) -> f64| {
            let (starts, times) = samples(delayed);
            DramStall::find(&starts, &times, Nanoseconds(1.0), &DEVICE)
        };
        let found = find(&|_, meets| if meets { 2e3 } else { 0.0 }).expect("it is planted");
        assert!((found.period.0 - 100e3).abs() < 5.0 && (found.delay.0 - 2e3).abs() < 100.0, "{found:?}");
        assert!(
            (found.delayed_fraction - 0.41).abs() < 0.005 && (found.width.0 - 41e3).abs() < 1e3,
            "{found:?}"
        );
        assert!(found.from.0 < 2e3 || found.from.0 > 98e3, "{found:?}");
        assert!(found.error.0 > 0.0 && found.error.0 < 0.02 * found.delay.0, "{found:?}");
        assert_eq!(find(&|_, _| 0.0), None, "no stall");
        assert_eq!(find(&|_, meets| if meets { 800.0 } else { 0.0 }), None, "less than half of the device's");
        assert_eq!(find(&|_, meets| if meets { 3500.0 } else { 0.0 }), None, "more than one and a half");
        assert_eq!(find(&|number, _| if number % 5 < 2 { 2e3 } else { 0.0 }), None, "slow at other times");
        let of_some =
            |some: usize| find(&|number, meets| if meets && number % 10 < some { 2e3 } else { 0.0 });
        assert!(
            of_some(9).is_some() && of_some(6).is_none(),
            "three in four of those that meet it are slower"
        );
        // A launch that waits for memory for less than 0.4 of its time has no stall, give or take a quarter: 12.75 µs of starts.
        let start = |number: usize| (107.9e3 * number as f64).rem_euclid(100e3);
        let of_width = |width: f64| find(&|number, _| if start(number) < width { 2e3 } else { 0.0 });
        assert!(
            of_width(15e3).is_some_and(|found| (found.width.0 - 15e3).abs() < 1e3),
            "{:?}",
            of_width(15e3)
        );
        assert_eq!(of_width(10e3), None, "forty late samples");
        assert_eq!(of_width(1e3), None, "a few late samples");
        let (starts, times) = samples(|_, meets| if meets { 2e3 } else { 0.0 });
        for (period, error) in [(0.0, 20.0), (0.0, 0.0), (-1.0, 0.0), (100e3, 200e3), (f64::NAN, 0.0)] {
            let (period, error) = (Nanoseconds(period), Nanoseconds(error));
            let device = DramStallPeriod { period, error, ..DEVICE };
            assert_eq!(DramStall::find(&starts, &times, Nanoseconds(1.0), &device), None, "{device:?}");
        }
        let few =
            |count: usize| DramStall::find(&starts[..count], &times[..count], Nanoseconds(1.0), &DEVICE);
        assert_eq!(few(FEWEST - 1), None);
        assert_eq!(
            DramStall::find(&starts[1..], &times, Nanoseconds(1.0), &DEVICE),
            None,
            "a start is missing"
        );
    }

    /// Reads of 5 µs every 7.9 µs, of which those that start in the first 7 µs of a period of 100 are slow.
    fn reads(count: usize, slow: impl Fn(usize, bool) -> bool) -> (Vec<Nanoseconds>, Vec<Nanoseconds>) {
        let at = |number: usize| 7.9e3 * number as f64;
        let time = |number: usize| {
            let is_slow = slow(number, at(number).rem_euclid(100e3) < 7e3);
            Nanoseconds(5e3 + (number * 7 % 11) as f64 * 20.0 + if is_slow { 2e3 } else { 0.0 })
        };
        ((0..count).map(at).map(Nanoseconds).collect(), (0..count).map(time).collect())
    }

    #[test]
    fn a_planted_period_is_found_and_slow_reads_at_other_times_have_none() {
        let step = Nanoseconds(32.0);
        let (starts, times) = reads(1000, |_, meets| meets);
        let found = DramStallPeriod::find(&starts, &times, step).expect("it is planted");
        assert!((found.period.0 - 100e3).abs() <= found.error.0 && found.error.0 < 100.0, "{found:?}");
        assert!((found.duration.0 - 2e3).abs() < 100.0, "{found:?}");
        assert_eq!(DramStallPeriod::find(&starts[1..], &times, step), None, "a start is missing");
        assert_eq!(
            DramStallPeriod::find(&starts[..100], &times[..100], step),
            None,
            "eight slow reads are too few"
        );
        let of = |slow: &dyn Fn(usize, bool) -> bool| {
            let (starts, times) = reads(1000, slow);
            DramStallPeriod::find(&starts, &times, step)
        };
        let drawn = |number: usize| crate::random::random(number as u64);
        assert_eq!(of(&|_, _| false), None, "none is slow");
        assert_eq!(of(&|number, _| number % 5 < 2 || number % 7 == 0), None, "too many are slow");
        assert_eq!(
            of(&|number, meets| meets && drawn(number) % 5 < 2),
            None,
            "two in five that meet it are slow"
        );
        assert_eq!(of(&|number, meets| meets || number % 11 == 0), None, "as many are slow at other times");
        assert!(of(&|number, meets| meets && drawn(number) % 5 > 0).is_some(), "four in five are");
        // A late read is no longer than noise where the timer is coarse.
        assert_eq!(DramStallPeriod::find(&starts, &times, Nanoseconds(600.0)), None);
    }
}
