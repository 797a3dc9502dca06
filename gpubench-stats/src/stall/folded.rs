//! The search for a periodic delay in samples: its period, and the window of phases in which delayed samples start.
//!
//! The best period and window explain most of the variance of the times (Kovács, Zucker & Mazeh, *A box-fitting algorithm in the
//! search for periodic transits*, Astronomy & Astrophysics 391, 2002). They are searched in few samples and few bins of the period,
//! and then around the best in more and more.

use std::ops::{Range, RangeInclusive};

use crate::quantile::{ascending, quantile};
use crate::{trimmed::moments, units::Nanoseconds};

/// The samples and the bins of the first search, the factor from one search to the next, and the bins of the last one.
const FIRST: usize = 256;
const FIRST_BINS: usize = 32;
const FINER: usize = 4;
const LAST_BINS: usize = 1024;
/// The distance from the best period, in steps, and from the ends of the best window, in bins, that the next search covers.
const PERIODS_AROUND: f64 = 2.0;
const BINS_AROUND: usize = 3;
/// The part of `z` by which windows of the same samples differ, from errors of rounding.
const ALIKE: f64 = 1e-6;
/// Distances from the median count up to this many standard deviations, so that a few outliers do not decide.
const CLIP: f64 = 4.0;

/// Samples in the order they ran.
pub(super) struct Samples {
    starts: Vec<f64>,
    /// The distances of the times from their median.
    excess: Vec<f64>,
    pub(super) median: f64,
    /// The standard deviation, which times below the median tell.
    pub(super) deviation: f64,
}

/// A window of the phases of a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) period: f64,
    pub(super) from: f64,
    pub(super) width: f64,
    /// The number of standard errors by which samples in the window are slower than the others.
    pub(super) z: f64,
}

impl Window {
    /// Returns the time from the start of the window to the start of a sample; less than the width if it starts in the window.
    fn phase(&self, start: f64) -> f64 {
        (start - self.from).rem_euclid(self.period)
    }

    /// Returns the times of samples that start in the window, and the others.
    pub(super) fn split(&self, starts: &[Nanoseconds], times: &[Nanoseconds]) -> [Vec<Nanoseconds>; 2] {
        let both = starts.iter().zip(times);
        let (inside, outside): (Vec<_>, Vec<_>) =
            both.partition(|(start, _)| self.phase(start.as_f64()) < self.width);
        [inside, outside].map(|part| part.into_iter().map(|(_, time)| *time).collect())
    }
}

impl Samples {
    /// Prepares samples, whose times a timer read in steps of `step`.
    pub(super) fn new(starts: &[Nanoseconds], times: &[Nanoseconds], step: Nanoseconds) -> Self {
        let sorted = ascending(times);
        let median = quantile(&sorted, 0.5);
        Self {
            starts: starts.iter().map(|start| start.as_f64()).collect(),
            excess: times.iter().map(|time| time.as_f64() - median).collect(),
            median,
            deviation: (median - quantile(&sorted, 0.16)).max(step.as_f64() / 2.0),
        }
    }

    /// Returns the time from the first start to the last of the first `count` samples.
    pub(super) fn length(&self, count: usize) -> f64 {
        self.starts[count - 1] - self.starts[0]
    }

    /// Returns the window with the largest `z` of all `periods`. Times count up to `delay` from their median. The first search is for
    /// windows of one of `widths`; then they may become narrower.
    ///
    /// Each search tries periods so close together that over its samples the phase moves by one bin.
    pub(super) fn search(
        &self,
        mut periods: RangeInclusive<f64>,
        widths: &RangeInclusive<f64>,
        delay: f64,
    ) -> Option<Window> {
        let clip = delay.min(CLIP * self.deviation);
        let clipped: Vec<f64> = self.excess.iter().map(|excess| excess.min(clip).max(-clip)).collect();
        let (mean, variance) = moments(&clipped).filter(|(_, variance)| *variance > 0.0)?;
        let scores: Vec<f64> = clipped.iter().map(|excess| (excess - mean) / variance.sqrt()).collect();
        let (mut count, mut bins) = (scores.len().min(FIRST), FIRST_BINS);
        let mut found = None;
        loop {
            let step = |period: f64| period * (period / self.length(count) / bins as f64).max(1e-9);
            let next = |period: &f64| {
                let next = period + step(*period);
                (*period < next && next <= *periods.end()).then_some(next)
            };
            let mut windows: Vec<Window> = std::iter::successors(Some(*periods.start()), next)
                .filter_map(|period| {
                    let samples = self.starts.iter().zip(&scores).take(count);
                    best_window(samples, (period, bins), widths, found.as_ref())
                })
                .collect();
            // The middle one of those that hold the same samples.
            let most = windows.iter().map(|window| window.z).fold(0.0, f64::max);
            windows.retain(|window| window.z >= most * (1.0 - ALIKE));
            let best = *windows.get(windows.len() / 2)?;
            if count == scores.len() && bins == LAST_BINS {
                return Some(best);
            }
            let around = PERIODS_AROUND * step(best.period);
            periods = best.period - around..=best.period + around;
            found = Some(best);
            (count, bins) = (scores.len().min(FINER * count), LAST_BINS.min(FINER * bins));
        }
    }

    /// Returns the likely widths of the window: its ends lie between samples in it and others, or one usual distance further.
    pub(super) fn widths(&self, window: &Window) -> Range<f64> {
        let none = f64::INFINITY..f64::NEG_INFINITY;
        let (mut inside, mut outside) = (none.clone(), none);
        for start in &self.starts {
            let phase = window.phase(*start);
            let side = if phase < window.width { &mut inside } else { &mut outside };
            *side = side.start.min(phase)..side.end.max(phase);
        }
        let usual = window.period / self.starts.len().min(LAST_BINS) as f64;
        let (least, rest) = (inside.end - inside.start, outside.end - outside.start);
        (least - usual).max(0.0)..(window.period - rest + usual).min(window.period)
    }
}

/// Returns the window with the largest `z` of those of one of `widths`, around the one that was found with fewer bins.
fn best_window<'a>(
    samples: impl Iterator<Item = (&'a f64, &'a f64)>,
    (period, bins): (f64, usize),
    widths: &RangeInclusive<f64>,
    found: Option<&Window>,
) -> Option<Window> {
    let sums = sums(samples, period, bins);
    let all = sums[bins].1;
    let bin = period / bins as f64;
    let in_bins = |width: f64| (width / bin).round() as usize;
    let (mut firsts, mut lengths) = (0..bins, in_bins(*widths.start())..in_bins(*widths.end()) + 1);
    if let Some(found) = found {
        let (first, length, around) = (bins + in_bins(found.from), in_bins(found.width), FINER * BINS_AROUND);
        firsts = first - around..first + around + 1;
        lengths = length.saturating_sub(around)..lengths.end.min(length + around + 1);
    }
    let lengths = lengths.start.clamp(1, bins - 1)..lengths.end.clamp(2, bins);
    // The square of the largest z, over the number of samples.
    let (mut best, mut at) = (0.0, None);
    for first in firsts.map(|first| first % bins) {
        for length in lengths.clone() {
            let (before, end) = (sums[first], sums[first + length]);
            let (sum, inside) = (end.0 - before.0, end.1 - before.1);
            let explained = sum * sum.abs() / (inside * (all - inside));
            if explained > best && explained.is_finite() {
                (best, at) = (explained, Some((first, length)));
            }
        }
    }
    at.map(|(first, length)| Window {
        period,
        from: first as f64 * bin,
        width: length as f64 * bin,
        z: (best * all).sqrt(),
    })
}

/// Returns the sum of scores and the number of samples before each bin of two periods, so that a window may pass the end of the first.
fn sums<'a>(samples: impl Iterator<Item = (&'a f64, &'a f64)>, period: f64, bins: usize) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); 2 * bins + 1];
    let frequency = 1.0 / period;
    for (start, score) in samples {
        let turns = start * frequency;
        // `fract` takes ten times as long.
        let bin = (turns - turns as i64 as f64) * bins as f64;
        let (sum, number) = &mut sums[1 + (bin as usize).min(bins - 1)];
        *sum += score;
        *number += 1.0;
    }
    for end in 1..sums.len() {
        let (before, more) = if end <= bins { (end - 1, end) } else { (bins, end - bins) };
        sums[end] = (sums[before].0 + sums[more].0, sums[before].1 + sums[more].1);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: f64 = 100e3;

    /// Samples every 7.9 µs of about 100 ns, of which those that start in the window are 50 ns slower.
    fn planted(count: usize, from: f64, width: f64) -> (Vec<Nanoseconds>, Vec<Nanoseconds>) {
        let starts: Vec<f64> = (0..count).map(|number| 7.9e3 * number as f64).collect();
        let is_slow = |start: f64| (start - from).rem_euclid(PERIOD) < width;
        let time = |(number, start): (usize, &f64)| {
            Nanoseconds(100.0 + (number % 3) as f64 + if is_slow(*start) { 50.0 } else { 0.0 })
        };
        let times = starts.iter().enumerate().map(time).collect();
        (starts.into_iter().map(Nanoseconds).collect(), times)
    }

    fn found(count: usize, from: f64, width: f64, widths: RangeInclusive<f64>) -> (Window, Range<f64>) {
        let (starts, times) = planted(count, from, width);
        let samples = Samples::new(&starts, &times, Nanoseconds(1.0));
        let window = samples.search(99.9e3..=100.1e3, &widths, 50.0).expect("it is planted");
        (window, samples.widths(&window))
    }

    /// The first search has bins of 3 µs and 256 samples, so a window between two bins and a period between two steps are found later.
    #[test]
    fn a_planted_window_is_found() {
        for (from, width) in [(0.0, 20e3), (13_700.0, 8e3), (90e3, 30e3), (40e3, 70e3)] {
            for count in [1000, 5000] {
                let (window, widths) = found(count, from, width, 5e3..=80e3);
                // This step moves the phase of the last sample by half a bin.
                let most = PERIOD * PERIOD / (7.9e3 * count as f64) / 64.0;
                assert!((window.period - PERIOD).abs() < most, "{from}, {width}, {count}: {window:?}");
                let away = (window.from - from + PERIOD / 2.0).rem_euclid(PERIOD) - PERIOD / 2.0;
                assert!(away.abs() < 600.0 && (0.0..PERIOD).contains(&window.from), "{from}: {window:?}");
                assert!(widths.start <= width && width <= widths.end, "{width}: {widths:?}");
                assert!(widths.end - widths.start < 2e3, "{width}: {widths:?}");
            }
        }
    }

    #[test]
    fn a_window_is_no_wider_than_wanted_but_may_be_narrower() {
        let (window, _) = found(1000, 20e3, 30e3, 5e3..=20e3);
        assert!((19e3..=21e3).contains(&window.width), "{window:?}");
        let (window, _) = found(1000, 20e3, 30e3, 40e3..=80e3);
        assert!((29e3..=31e3).contains(&window.width), "{window:?}");
    }

    #[test]
    fn samples_are_split_by_the_window_which_may_pass_the_end_of_the_period() {
        let window = Window { period: 100.0, from: 90.0, width: 20.0, z: 0.0 };
        let starts = [89.0, 90.0, 109.0, 110.0, 190.0, 205.0, 250.0, -5.0].map(Nanoseconds);
        let [inside, outside] = window.split(&starts, &starts);
        assert_eq!(inside, [90.0, 109.0, 190.0, 205.0, -5.0].map(Nanoseconds));
        assert_eq!(outside, [89.0, 110.0, 250.0].map(Nanoseconds));
    }

    /// By hand: of 10 scores with a sum of 0 the 2 in the window have a sum of 4. The mean of those has the variance 1/2, the mean of
    /// the others 1/8, and they differ by 2 + 0.5.
    #[test]
    fn z_is_the_difference_of_two_means_over_its_error() {
        let starts: Vec<f64> = (0..10).map(|number| 10.0 * f64::from(number) + 5.0).collect();
        let scores: Vec<f64> = (0..10).map(|number| if number % 10 < 2 { 2.0 } else { -0.5 }).collect();
        let best = |widths| best_window(starts.iter().zip(&scores), (100.0, 10), &widths, None);
        let window = best(10.0..=50.0).expect("two are slow");
        assert_eq!((window.from, window.width), (0.0, 20.0));
        assert!((window.z - 2.5 / (1.0_f64 / 2.0 + 1.0 / 8.0).sqrt()).abs() < 1e-6, "{window:?}");
        let alike = [0.0; 10];
        assert!(best_window(starts.iter().zip(&alike), (100.0, 10), &(10.0..=50.0), None).is_none());
    }

    /// A late sample counts as much as one that is delayed by four standard deviations.
    #[test]
    fn outliers_do_not_decide() {
        let (starts, mut times) = planted(1000, 20e3, 20e3);
        times[0] = Nanoseconds(1e9);
        let samples = Samples::new(&starts, &times, Nanoseconds(1.0));
        let window = samples.search(99.9e3..=100.1e3, &(1e3..=80e3), 1e9).expect("it is planted");
        assert!((window.from - 20e3).abs() < 600.0 && (window.width - 20e3).abs() < 600.0, "{window:?}");
    }
}
