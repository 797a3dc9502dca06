//! The period at which the memory of a device is held up, from the starts and the times of reads of memory.
//!
//! Few reads are slow. So the search is one of points on a line: by which period do they fall into the same phase?

use std::f64::consts::TAU;
use std::ops::RangeInclusive;

use super::folded::{length, resolution, scored, search};
use crate::median;
use crate::quantile::{ascending, quantile};
use crate::units::Nanoseconds;

/// The periods that are looked for.
const PERIODS: [f64; 2] = [25e3, 250e3];
/// A slow read takes longer than the median by so many standard deviations, and by so many steps of the timer.
const SLOW_DEVIATIONS: f64 = 2.25;
const SLOW_STEPS: f64 = 4.0;
/// The fewest slow reads, the largest part of all that they are, and the most that are looked at.
const FEWEST: usize = 16;
const MOST_OF_ALL: f64 = 0.4;
const MOST: usize = 256;
/// The chance of such a period where there is none.
const SIGNIFICANCE: f64 = 1e-6;
/// Of the reads in the span of phases, and of the slow reads, at least so many are both.
const EXPLAINED: f64 = 0.6;

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
}

impl DramStallPeriod {
    /// Finds the period between 25 and 250 µs in reads of memory, with their starts and times in the order they ran; each takes a
    /// quarter of the period at most. A timer read the times in steps of `step`.
    ///
    /// Nothing if slow reads come at other times: then they gather around a phase of a period as much as here once in a million times,
    /// the search over all periods included; or if less than six in ten reads in that phase are slow, or slow reads in it: half of them
    /// are where the period is half as long.
    pub fn find(starts: &[Nanoseconds], times: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        if times.len() < FEWEST || starts.len() != times.len() {
            return None;
        }
        let sorted = ascending(times);
        let middle = Nanoseconds(quantile(&sorted, 0.5));
        let deviation = (middle.as_f64() - quantile(&sorted, 0.16)).max(step.as_f64() / 2.0);
        let limit = middle.as_f64() + (SLOW_DEVIATIONS * deviation).max(SLOW_STEPS * step.as_f64());
        let (samples, _) = scored(starts, times, step)?;
        let reads = samples.iter().zip(times).filter(|(_, time)| time.as_f64() > limit);
        let (slow, delays): (Vec<f64>, Vec<_>) =
            reads.map(|((start, _), time)| (start, *time - middle)).unzip();
        if slow.len() < FEWEST || slow.len() as f64 > MOST_OF_ALL * times.len() as f64 {
            return None;
        }
        let duration = median(&delays)?;
        // A read that starts in a stall, or ends after its begin, is slow.
        let width = (middle + duration).as_f64();
        let candidate = gathering_period(&slow[..slow.len().min(MOST)], width)?;
        // Starts that share a phase of a period share one of each part of it, and reads that are not slow tell them apart.
        let multiples =
            (1..).map(|times| f64::from(times) * candidate).take_while(|period| *period <= PERIODS[1]);
        let spans = multiples.map(|period| {
            // A frequency is known to a quarter of a turn over all reads.
            let around = period.powi(2) / (4.0 * length(&samples));
            search(&samples, period, around, &widths(width, period))
        });
        let span = spans.max_by(|a, b| a.z.total_cmp(&b.z))?;
        let inside = samples.iter().filter(|(start, _)| span.holds(*start)).count();
        let slow_inside = slow.iter().filter(|start| span.holds(**start)).count();
        let explained = slow_inside as f64 / inside.max(slow.len()) as f64;
        let error = Nanoseconds(8.0 * resolution(&samples, span.period, &widths(width, span.period)));
        (explained >= EXPLAINED).then_some(Self { period: Nanoseconds(span.period), error, duration })
    }
}

/// Returns the part of a period that slow reads start in, somewhat narrower and wider.
fn widths(width: f64, period: f64) -> RangeInclusive<f64> {
    0.5 * width / period..=(1.2 * width / period).min(0.9)
}

/// Returns the period by which these starts gather most around one phase, if that is no chance: the test of Rayleigh for points on a
/// circle, at frequencies so close together that the phase of the last start moves by a quarter from one to the next. Periods are at
/// least four times as long as the span of phases.
fn gathering_period(starts: &[f64], width: f64) -> Option<f64> {
    let length = starts.last()? - starts.first()?;
    let (least, greatest) = (1.0 / PERIODS[1], 1.0 / PERIODS[0].max(4.0 * width));
    let apart = 1.0 / (4.0 * length);
    let tries = ((greatest - least) / apart).ceil();
    let gathered = |frequency: f64| {
        let angles = starts.iter().map(|start| (TAU * frequency * start).sin_cos());
        let (sine, cosine) = angles.fold((0.0, 0.0), |sum, (sine, cosine)| (sum.0 + sine, sum.1 + cosine));
        (sine * sine + cosine * cosine) / starts.len() as f64
    };
    let frequencies = (0..=tries as usize).map(|number| least + number as f64 * apart);
    let (most, frequency) =
        frequencies.map(|frequency| (gathered(frequency), frequency)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (tries * (-most).exp() < SIGNIFICANCE).then_some(1.0 / frequency)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slow reads of about every fourth stall, up to 1.8 µs behind its begin; and some that share no phase.
    #[test]
    fn starts_that_share_a_phase_have_its_period() {
        let period = 100e3;
        let starts: Vec<f64> = (0..40)
            .map(|turn| f64::from(4 * turn + turn * turn % 5) * period + f64::from(turn % 7) * 300.0)
            .collect();
        let found = gathering_period(&starts, 4e3).expect("forty of forty");
        // Or a part of it, by which they share a phase too.
        let times = period / found;
        assert!(
            (times - times.round()).abs() < 0.02 && (PERIODS[0]..=PERIODS[1]).contains(&found),
            "{found}"
        );
        let spread: Vec<f64> = (0..40).map(|turn| f64::from(turn * turn) * 7919.0).collect();
        assert_eq!(gathering_period(&spread, 4e3), None);
        assert_eq!(gathering_period(&[], 4e3), None);
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

    #[test]
    fn slow_reads_start_in_a_part_of_the_period() {
        assert_eq!(widths(10e3, 100e3), 0.05..=0.12);
        assert_eq!(widths(90e3, 100e3), 0.45..=0.9, "never in all of it");
    }
}
