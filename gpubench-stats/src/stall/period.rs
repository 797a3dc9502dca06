//! The period at which the memory of a device is held up. In: the starts and the times of reads of memory; out: the period, if
//! there is one.
//!
//! Few reads are slow. So the search is one of points on a line: by which period do they fall into the same phase?

use std::ops::RangeInclusive;

use super::folded::{BINS, Folded, binned, scores, windows};
use super::span::Span;
use crate::quantile::{ascending, quantile};
use crate::{median, units::Nanoseconds};

/// The periods that are looked for.
const PERIODS: RangeInclusive<f64> = 25e3..=250e3;
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
    /// Nothing if slow reads come at other times: then as many as here share a phase of a period once in a million times, the search
    /// over all periods included; or if less than six in ten reads in that phase are slow, or slow reads in it: half of them are where the
    /// period is half as long.
    pub fn find(starts: &[Nanoseconds], times: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        if times.len() < FEWEST || starts.len() != times.len() {
            return None;
        }
        let sorted = ascending(times);
        let middle = Nanoseconds(quantile(&sorted, 0.5));
        let deviation = (middle.as_f64() - quantile(&sorted, 0.16)).max(step.as_f64() / 2.0);
        let limit = middle.as_f64() + (SLOW_DEVIATIONS * deviation).max(SLOW_STEPS * step.as_f64());
        let is_slow = |time: &Nanoseconds| time.as_f64() > limit;
        let both = || starts.iter().map(|start| start.as_f64()).zip(times);
        let slow: Vec<f64> = both().filter(|(_, time)| is_slow(time)).map(|(start, _)| start).collect();
        if slow.len() < FEWEST || slow.len() as f64 > MOST_OF_ALL * times.len() as f64 {
            return None;
        }
        let all: Vec<f64> = starts.iter().map(|start| start.as_f64()).collect();
        let delay = both().filter(|(_, time)| is_slow(time)).map(|(_, time)| *time - middle);
        let length = median(&delay.collect::<Vec<_>>())?;
        // A read that starts in a stall, or ends behind its begin, is slow.
        let width = middle + length;
        let candidate = most_together(&slow[..slow.len().min(MOST)], width.as_f64())?;
        let (scores, _) = scores(times, step)?;
        let folded = Folded { starts: &all, scores: &scores };
        let span = best_multiple(&folded, candidate, width.as_f64());
        let (inside, slow_inside) = both()
            .filter(|(start, _)| span.holds(*start))
            .fold((0_usize, 0_usize), |(inside, slow), (_, time)| {
                (inside + 1, slow + usize::from(is_slow(time)))
            });
        let explained = slow_inside as f64 / (inside.max(slow.len()) as f64).max(1.0);
        let error = 8.0 * folded.resolution(span.period, &widths(width.as_f64(), span.period));
        (explained >= EXPLAINED).then_some(Self {
            period: Nanoseconds(span.period),
            error: Nanoseconds(error),
            duration: length,
        })
    }
}

/// Returns the part of a period that slow reads start in, somewhat narrower and wider.
fn widths(width: f64, period: f64) -> RangeInclusive<f64> {
    0.5 * width / period..=(1.2 * width / period).min(0.9)
}

/// Returns the period by which most of these starts share a phase, give or take `width`, if that is no chance.
fn most_together(starts: &[f64], width: f64) -> Option<f64> {
    let length = starts.last()? - starts.first()?;
    let (longest, shortest) = (1.0 / PERIODS.start(), 1.0 / PERIODS.end());
    // The phase of the last start moves by a quarter of the width of the shortest period from one try to the next.
    let apart = width / PERIODS.start() / 4.0 / length;
    let tries = ((longest - shortest) / apart).ceil();
    let mut best = (f64::INFINITY, 0.0);
    for number in 0..=tries as usize {
        let period = 1.0 / (shortest + number as f64 * apart);
        let together = (width / period * BINS as f64).ceil().max(1.0) as usize;
        if 4 * together > BINS {
            continue;
        }
        let count = most_in_a_window(starts, period, together);
        let chance = tail(starts.len(), count, together as f64 / BINS as f64);
        // Any of the bins may begin the window.
        let chance = chance * BINS as f64 * tries;
        if chance < best.0 {
            best = (chance, period);
        }
    }
    (best.0 < SIGNIFICANCE).then_some(best.1)
}

/// Returns the largest number of starts in so many bins of the period, one behind the other.
fn most_in_a_window(starts: &[f64], period: f64, bins: usize) -> usize {
    let all = binned(starts.iter().map(|start| (*start, 0.0)), period);
    windows(&all, bins).map(|(_, _, count)| count as usize).max().unwrap_or_default()
}

/// Returns the span of the best of a period and its multiples: points that share a phase of a period share one of each part of it,
/// and reads that are not slow tell them apart.
fn best_multiple(folded: &Folded<'_>, period: f64, width: f64) -> Span {
    let multiples = (1..).map(|times| f64::from(times) * period).take_while(|period| period <= PERIODS.end());
    let spans = multiples.map(|period| {
        let widths = widths(width, period);
        let around = 4.0 * folded.resolution(period, &widths);
        folded.search(period - around..=period + around, &widths)
    });
    spans.max_by(|a, b| a.z.total_cmp(&b.z)).unwrap_or_else(|| folded.best(period, &widths(width, period)))
}

/// Returns a bound on the chance that `count` or more of `all` points fall into a part of so much: that of Chernoff and Hoeffding.
fn tail(all: usize, count: usize, part: f64) -> f64 {
    let share = count as f64 / all as f64;
    if share <= part {
        return 1.0;
    }
    let rest = if share < 1.0 { (1.0 - share) * ((1.0 - share) / (1.0 - part)).ln() } else { 0.0 };
    (-(all as f64) * (share * (share / part).ln() + rest)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chance that so many of all or more fall into the part, exactly.
    fn exact(all: u32, count: u32, part: f64) -> f64 {
        let of = |k: u32| {
            let ways: f64 = (0..k).map(|i| f64::from(all - i) / f64::from(k - i)).product();
            ways * part.powi(k.cast_signed()) * (1.0 - part).powi((all - k).cast_signed())
        };
        (count..=all).map(of).sum()
    }

    #[test]
    fn the_bound_is_no_less_than_the_chance_and_near_it() {
        for (all, count, part) in [(20, 15, 0.25), (20, 20, 0.25), (100, 40, 0.1), (30, 16, 0.5)] {
            let (bound, chance) = (tail(all, count, part), exact(all as u32, count as u32, part));
            assert!(
                bound >= chance * (1.0 - 1e-9) && bound < 20.0 * chance,
                "{count} of {all}: {bound}, {chance}"
            );
        }
        assert!((tail(20, 20, 0.25) - 0.25_f64.powi(20)).abs() < 1e-20, "all of them: exactly");
        assert_eq!([tail(20, 5, 0.25), tail(20, 0, 0.25)], [1.0; 2], "as many as chance gives");
    }

    #[test]
    fn a_window_may_reach_over_the_end_of_the_period() {
        let bin = 10.0;
        let period = BINS as f64 * bin;
        let at = |bins: &[usize]| -> Vec<f64> {
            bins.iter()
                .enumerate()
                .map(|(turn, place)| turn as f64 * period + (*place as f64 + 0.5) * bin)
                .collect()
        };
        assert_eq!(most_in_a_window(&at(&[10, 11, 12, 40]), period, 3), 3);
        assert_eq!(most_in_a_window(&at(&[10, 12, 13]), period, 3), 2);
        assert_eq!(most_in_a_window(&at(&[BINS - 1, 0, 1, 30]), period, 3), 3);
        assert_eq!(most_in_a_window(&at(&[0, 1, 30]), period, 2), 2);
        assert_eq!(most_in_a_window(&at(&[BINS - 2, BINS - 1, 30]), period, 2), 2);
    }

    /// Slow reads of about every fourth stall, up to 1.8 µs behind its begin; and some that share no phase.
    #[test]
    fn starts_that_share_a_phase_have_its_period() {
        let period = 100e3;
        let starts: Vec<f64> = (0..40)
            .map(|turn| f64::from(4 * turn + turn * turn % 5) * period + f64::from(turn % 7) * 300.0)
            .collect();
        let found = most_together(&starts, 4e3).expect("forty of forty");
        // Or a part of it, by which they share a phase too.
        let times = period / found;
        assert!((times - times.round()).abs() < 0.02 && PERIODS.contains(&found), "{found}");
        let spread: Vec<f64> = (0..40).map(|turn| f64::from(turn * turn) * 7919.0).collect();
        assert_eq!(most_together(&spread, 4e3), None);
        assert_eq!(most_together(&[], 4e3), None);
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
