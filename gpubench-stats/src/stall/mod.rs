//! The periodic stall of a device's memory, in the samples of a case. In: the starts of samples, their times, and the
//! [`DramStallPeriod`] of the device; out: a [`DramStall`], with which samples it slowed, and by how much it slows a launch at a
//! random moment.
//!
//! A launch that waits for memory for the time b takes longer by the length of the stall L if one begins meanwhile, and by a part
//! of that if it starts in one: on the average by L·(b + L/2) over the period.

mod edges;
mod folded;
mod period;
mod span;

use std::ops::RangeInclusive;

pub use self::period::DramStallPeriod;

use self::edges::Edges;
use self::folded::{Folded, scores};
use self::span::Span;
use crate::quantile::{ascending, quantile};
use crate::{summary::median_below_step, units::Nanoseconds};

/// The fewest samples in which a stall is looked for.
const FEWEST: usize = 30;
/// The fewest standard errors by which samples that met the stall are slower.
const LEAST_Z: f64 = 6.0;
/// If even the longest stall would make fewer standard errors than this, none is looked for. Such times, those of transfers above all,
/// vary by much more than a stall, and a search for one in them takes the longest.
const LEAST_EFFECT: f64 = 1.0;
/// The period of a case is that of its device to this fraction, and to the error of that.
const SAME_PERIOD: f64 = 5e-4;
/// A launch waits for memory for at least this part of its time, and appears to for at most this.
const WAITS: RangeInclusive<f64> = 0.4..=1.1;
/// A stall slows a launch by at least this part of what it slows a read by, and at most by this; and three in four of the samples
/// that meet it by at least so much of that.
const SLOWS: RangeInclusive<f64> = 0.5..=1.5;
const MOSTLY: (f64, f64) = (0.25, 0.3);
/// So many samples start in the span at least, and it is not narrower than this part of the narrowest that was looked for: a few late
/// samples are no stall.
const FEWEST_DELAYED: usize = 4;
const NARROWEST: f64 = 0.75;
/// The samples of the first search for the period, and by how much the next ones have more.
const FIRST: usize = 512;
const MORE: usize = 4;
/// How often the period is looked for closer, each time to a quarter; and the most samples for which that is done, since each try
/// sorts them.
const SHARPER: u32 = 3;
const MOST_TO_SHARPEN: usize = 1 << 14;
/// The least and the greatest part of a period that is looked for.
const PARTS: RangeInclusive<f64> = 0.015..=0.985;

crate::stored! {
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
        /// The standard error of the mean delay, which is `share` of `length`.
        pub error: Nanoseconds,
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
        let (scores, deviation) = scores(times, step)?;
        // The standard errors of the longest stall, if half of the samples meet it.
        let most_z = *SLOWS.end() * (device.duration / deviation) * (times.len() as f64).sqrt() / 2.0;
        if most_z < LEAST_EFFECT {
            return None;
        }
        let starts: Vec<f64> = starts.iter().map(|start| start.as_f64()).collect();
        let middle = median_below_step(times, step)?;
        let parts = parts(middle, device)?;
        let folded = Folded { starts: &starts, scores: &scores };
        let span = search(&folded, &parts, device);
        let Edges { span, widths } = sharpened(&folded, span, &parts)?;
        let of = |delayed: bool| -> Vec<Nanoseconds> {
            let part = starts.iter().zip(times).filter(|(start, _)| span.holds(**start) == delayed);
            part.map(|(_, time)| *time).collect()
        };
        let (inside, outside) = (of(true), of(false));
        let (slow, fast) = (median_below_step(&inside, step)?, median_below_step(&outside, step)?);
        let length = slow - fast;
        let least = quantile(&ascending(&inside), MOSTLY.0) - fast.as_f64();
        let is_span = inside.len() >= FEWEST_DELAYED && span.width >= NARROWEST * parts.start() * span.period;
        let is_met = SLOWS.contains(&(length / device.duration)) && least >= MOSTLY.1 * length.as_f64();
        if span.z < LEAST_Z || !is_span || !is_met {
            return None;
        }
        let period = Nanoseconds(span.period);
        // That of a launch which waits for memory all its time, if samples allow that: it is known better than the ends of the span.
        let whole = ((fast + length / 2.0) / period).fract();
        let (least, greatest) = (widths.start / span.period, widths.end / span.period);
        let share = if (least..=greatest).contains(&whole) { whole } else { span.width / span.period };
        Some(Self {
            period,
            delay: length,
            from: Nanoseconds(span.from),
            width: Nanoseconds(span.width),
            delayed_fraction: share,
            error: length * ((greatest - least) / 4.0),
        })
    }

    /// Returns the mean delay of launches at random times.
    pub fn mean_delay(&self) -> Nanoseconds {
        self.delayed_fraction * self.delay
    }

    /// Returns these times as they would be if each sample had met the mean delay and no stall.
    pub fn stall_corrected(&self, starts: &[Nanoseconds], times: &[Nanoseconds]) -> Vec<Nanoseconds> {
        let Self { period, from, width, delay: length, .. } = *self;
        let span = Span { period: period.as_f64(), from: from.as_f64(), width: width.as_f64(), z: 0.0 };
        let delay = |start: &Nanoseconds| if span.holds(start.as_f64()) { length } else { Nanoseconds::ZERO };
        let mean = self.mean_delay();
        times.iter().zip(starts).map(|(time, start)| *time - delay(start) + mean).collect()
    }
}

/// Returns the parts of a period in which a launch of this time may start and meet a stall more than otherwise.
fn parts(middle: Nanoseconds, device: &DramStallPeriod) -> Option<RangeInclusive<f64>> {
    let periods = |time: Nanoseconds| (time + device.duration / 2.0) / device.period;
    let (least, greatest) = (periods(*WAITS.start() * middle), periods(*WAITS.end() * middle));
    if !(least > 0.0 && greatest.is_finite()) {
        return None;
    }
    // A launch of a period or more may meet one stall more than otherwise in any part.
    let (least, greatest) = if greatest < 1.0 { (least, greatest) } else { (0.0, 1.0) };
    let within = |part: f64| part.clamp(*PARTS.start(), *PARTS.end());
    Some(within(least)..=within(greatest))
}

/// Searches the period in the first samples, and then closer in more of them.
fn search(folded: &Folded<'_>, parts: &RangeInclusive<f64>, device: &DramStallPeriod) -> Span {
    let period = device.period.as_f64();
    let around = device.error.as_f64() + SAME_PERIOD * period;
    let mut range = period - around..=period + around;
    let (mut count, all) = (FIRST, folded.starts.len());
    loop {
        let these = folded.first(count.min(all));
        let span = these.search(range, parts);
        if count >= all {
            return span;
        }
        let around = 2.0 * these.resolution(span.period, parts);
        range = span.period - around..=span.period + around;
        count *= MORE;
    }
}

/// Returns the ends of the span by the period that makes it sharpest. In bins the phase is left to move by a part of the span, which
/// then seems wider than it is.
fn sharpened(folded: &Folded<'_>, span: Span, parts: &RangeInclusive<f64>) -> Option<Edges> {
    let apart = folded.resolution(span.period, parts);
    let of = |period: f64| folded.edges(Span { period, from: folded.moved(&span, period), ..span });
    let mut best = of(span.period)?;
    let rounds = if folded.starts.len() <= MOST_TO_SHARPEN { SHARPER } else { 0 };
    for round in 1..=rounds {
        let apart = apart / f64::from(1 << (2 * round));
        let around = best.span.period;
        for number in [-4, -3, -2, -1, 1, 2, 3, 4] {
            if let Some(edges) = of(around + f64::from(number) * apart)
                && edges.span.z > best.span.z
            {
                best = edges;
            }
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DramStallPeriod =
        DramStallPeriod { period: Nanoseconds(100e3), error: Nanoseconds(20.0), duration: Nanoseconds(2e3) };

    #[track_caller]
    fn has_parts(time: f64, expected: [f64; 2]) {
        let found = parts(Nanoseconds(time), &DEVICE).expect("it has a time");
        let away = [found.start() - expected[0], found.end() - expected[1]];
        assert!(away.iter().all(|away| away.abs() < 1e-12), "{time}: {found:?}");
    }

    /// A launch meets the stall that begins while it waits, and half of one in which it starts.
    #[test]
    fn the_part_of_starts_that_meet_the_stall_is_the_time_of_a_launch_in_periods() {
        // By hand: 0.4 · 50 + 1 to 1.1 · 50 + 1 µs of 100.
        has_parts(50e3, [0.21, 0.56]);
        has_parts(1e3, [0.015, 0.021]);
        // 1.1 · 89 + 1 µs are just below a period; from there on it may be any part.
        has_parts(89e3, [0.366, 0.985]);
        for time in [91e3, 110e3, 250e3, 1e6] {
            has_parts(time, [0.015, 0.985]);
        }
        for time in [f64::NAN, f64::INFINITY, -1e5] {
            assert_eq!(parts(Nanoseconds(time), &DEVICE), None, "{time}");
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
        let few =
            |count: usize| DramStall::find(&starts[..count], &times[..count], Nanoseconds(1.0), &DEVICE);
        assert_eq!(few(FEWEST - 1), None);
        assert_eq!(
            DramStall::find(&starts[1..], &times, Nanoseconds(1.0), &DEVICE),
            None,
            "a start is missing"
        );
    }
}
