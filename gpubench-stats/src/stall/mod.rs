//! The periodic stall of a device's memory: its period in reads of memory, and the samples of a case that it
//! delays.
//!
//! A launch that waits for memory for the time b takes longer by the length of the stall L if one begins
//! meanwhile, and by a part of that if it starts in one: on the average by L·(b + L/2) over the period.
//!
//! The period and the window of phases in which delayed samples start are those that explain most of the
//! variance of the times (Kovács, Zucker & Mazeh, *A box-fitting algorithm in the search for periodic
//! transits*, Astronomy & Astrophysics 391, 2002).

use std::{iter::successors, ops::RangeInclusive};

use crate::estimators::{ascending, moments, quantile};
use crate::units::{Nanoseconds, Range};
use crate::{median, summary::interpolated_median};

/// The shortest and the longest period that the search covers, in nanoseconds. The search starts at four
/// times the time of a read and its stall, if that is longer than the shortest period.
const PERIOD_RANGE_NS: [f64; 2] = [25e3, 250e3];
/// A slow read takes longer than the median by more than this many standard deviations, and by more than
/// [`SLOW_STEPS`].
const SLOW_DEVIATIONS: f64 = 2.25;
/// A slow read takes longer than the median by more than this many steps of the timer, and by more than
/// [`SLOW_DEVIATIONS`].
const SLOW_STEPS: f64 = 4.0;
/// The minimum number of slow reads. With fewer, no period is found.
const MIN_SLOW_READS: usize = 16;
/// The maximum fraction of all reads that are slow. With more, no period is found.
const MAX_SLOW_FRACTION: f64 = 0.4;
/// The minimum fraction of the reads in the window that are slow, and the minimum fraction of all slow reads
/// that start in the window. Below either, no period is found.
const MIN_EXPLAINED_FRACTION: f64 = 0.6;

/// The minimum number of samples of a case. With fewer, no stall is searched in them.
const MIN_CASE_SAMPLES: usize = 30;
/// The maximum difference between the period of a case and that of its device, as a fraction of the period.
/// The possible error of the device's period is allowed in addition.
const RELATIVE_PERIOD_TOLERANCE: f64 = 5e-4;
/// The minimum number of standard errors by which samples in the window are slower than the others. Below it,
/// the samples show no stall.
const MIN_Z: f64 = 5.8;
/// The minimum number of samples in the window, and of samples outside of it. With fewer, the samples show no
/// stall.
const MIN_SAMPLES_EACH_SIDE: usize = 4;
/// The smallest and the largest fraction of its time that a launch is assumed to wait for memory. They limit
/// the width of the window in which delayed samples start.
const MEMORY_WAIT_FRACTIONS: [f64; 2] = [0.3, 1.1];
/// The allowed delay of a launch by a stall, relative to the delay of a read. With any other delay, the
/// samples show no stall.
const RELATIVE_DELAYS: RangeInclusive<f64> = 0.5..=1.5;
/// The minimum delay of the lower quartile of the samples in the window, as a fraction of their median delay.
const MIN_QUARTILE_DELAY: f64 = 0.3;

/// The first, coarsest search for a period of stalls: the number of samples that it uses, which are the
/// earliest ones, and the number of bins into which it divides a period.
const COARSEST_SEARCH: (usize, usize) = (256, 32);
/// The factor by which each search has more samples and more bins than the search before, up to all samples
/// and [`LAST_BINS`].
const SEARCH_REFINEMENT: usize = 4;
/// The number of bins into which the last, finest search divides a period. A bin is the resolution of phases.
const LAST_BINS: usize = 1024;
/// The distance from the best period so far that the next search covers on each side, in steps of the search
/// that found this period.
const PERIOD_STEPS_AROUND: f64 = 2.0;
/// The most by which the next search moves the start of the best window so far, and by which it changes the
/// window's length, in bins of the next search.
const BINS_AROUND: usize = 3 * SEARCH_REFINEMENT;
/// The relative difference of `z` up to which two windows count as equally good: they hold the same samples,
/// and differ by rounding. The middle one of all such windows is chosen.
const Z_TOLERANCE: f64 = 1e-6;
/// The maximum distance from the median with which a sample counts, in standard deviations, so that a few
/// outliers do not decide. Samples further away count as if they were at this distance.
const CLIP_DEVIATIONS: f64 = 4.0;

crate::stored! {
    /// The periodic DRAM stall of a device: at each period, reads of memory are delayed for a while.
    #[derive(Copy)]
    pub struct DramStallPeriod {
        /// The time from one stall to the next.
        pub period: Nanoseconds,
        /// The most by which the period may be wrong.
        pub error: Nanoseconds,
        /// The time for which a read of memory is held up.
        pub duration: Nanoseconds,
    }

    /// The DRAM stall in the samples of a case.
    #[derive(Copy)]
    pub struct DramStall {
        /// The time from one stall to the next.
        pub period: Nanoseconds,
        /// The time by which a stall delays a launch.
        pub delay: Nanoseconds,
        /// The first time since the first sample started at which samples begin to be delayed that start
        /// then. It returns with the period.
        pub from: Nanoseconds,
        /// The time from then on in which samples start that are delayed.
        pub width: Nanoseconds,
        /// The part of launches at random times that a stall delays. Of launches longer than the period: that
        /// meet one stall more than the others.
        pub delayed_fraction: f64,
        /// The standard error of the mean delay.
        pub error: Nanoseconds,
    }
}

impl DramStallPeriod {
    /// Finds a period between 25 and 250 µs in reads of memory. `starts` and `times` are those of the reads,
    /// in the order they ran; `step` is the resolution of the timer. The period is at least four times as
    /// long as a read and a stall together.
    ///
    /// Returns `None` if fewer than 16 reads or more than 40 % of them are slow, if fewer than six in ten
    /// reads in the best window of the best period are slow, or if fewer than six in ten slow reads start in
    /// that window. These limits also exclude half of the true period: only half of the reads in its window
    /// are slow.
    pub fn find(starts: &[Nanoseconds], times: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        // The search refines phases, which a distant origin would move with the period.
        let starts: Vec<Nanoseconds> = starts.iter().map(|start| *start - starts[0]).collect();
        let samples = TimedSamples::new(&starts, times, step, MIN_SLOW_READS)?;
        let limit = samples.median + (SLOW_DEVIATIONS * samples.deviation).max(SLOW_STEPS * step.as_f64());
        let is_slow = |time: &Nanoseconds| time.as_f64() > limit;
        let slow: Vec<Nanoseconds> = times.iter().copied().filter(is_slow).collect();
        let are_some =
            slow.len() >= MIN_SLOW_READS && slow.len() as f64 <= MAX_SLOW_FRACTION * times.len() as f64;
        let duration = median(&slow).filter(|_| are_some)?.as_f64() - samples.median;
        // A read that starts in a stall, or ends after its begin, is slow.
        let width = samples.median + duration;
        let periods = [PERIOD_RANGE_NS[0].max(4.0 * width), PERIOD_RANGE_NS[1]];
        let window = samples.search(periods, [0.5 * width, 1.2 * width], duration)?;
        let [(_, inside), _] = window.split(&starts, times);
        let slow_inside = inside.iter().filter(|time| is_slow(time)).count();
        let explained = slow_inside as f64 / inside.len().max(slow.len()) as f64;
        (explained >= MIN_EXPLAINED_FRACTION).then_some(Self {
            period: Nanoseconds(window.period),
            // By this error the phase moves by the width of the window over all reads.
            error: Nanoseconds(width * window.period / starts[starts.len() - 1].as_f64()),
            duration: Nanoseconds(duration),
        })
    }
}

impl DramStall {
    /// Finds the stall in the `times` of samples that started at `starts`, in the order they ran. `step` is
    /// the resolution of the timer. The period of the case is searched near that of the device, `device`.
    /// Returns `None` for fewer than 30 samples, and if the samples show no clear stall, such as those of a
    /// launch that does not wait for memory.
    pub fn find(
        starts: &[Nanoseconds],
        times: &[Nanoseconds],
        step: Nanoseconds,
        device: &DramStallPeriod,
    ) -> Option<Self> {
        let samples = TimedSamples::new(starts, times, step, MIN_CASE_SAMPLES)?;
        let (period, duration) = (device.period.as_f64(), device.duration.as_f64());
        let error = device.error.as_f64() + RELATIVE_PERIOD_TOLERANCE * period;
        // The widths of the window in which launches of this time may start and meet one stall more than others.
        let [least, most] = MEMORY_WAIT_FRACTIONS.map(|waits| waits * samples.median + duration / 2.0);
        let widths = if most < period { [least, most] } else { [0.0, period] };
        let window = samples.search([period - error, period + error], widths, duration)?;
        let [(phases, inside), (other_phases, outside)] = window.split(starts, times);
        let (slow, fast) = (interpolated_median(&inside, step)?, interpolated_median(&outside, step)?);
        let delay = slow - fast;
        let least = Nanoseconds(quantile(&ascending(&inside), 0.25)) - fast;
        let is_delayed =
            RELATIVE_DELAYS.contains(&(delay / device.duration)) && least >= MIN_QUARTILE_DELAY * delay;
        let is_wide = window.width >= widths[0] && inside.len().min(outside.len()) >= MIN_SAMPLES_EACH_SIDE;
        let [least, most] = window.likely_fractions(&phases, &other_phases);
        let middle = f64::midpoint(least, most);
        // A launch that waits for memory all its time tells the fraction better than the ends of the window, if samples allow that.
        let whole = ((fast + delay / 2.0) / Nanoseconds(window.period)).fract();
        (window.z >= MIN_Z && is_wide && is_delayed).then_some(Self {
            period: Nanoseconds(window.period),
            delay,
            from: Nanoseconds(window.from),
            width: Nanoseconds(window.width),
            delayed_fraction: if (least..=most).contains(&whole) { whole } else { middle },
            error: delay * ((most - least) / 4.0),
        })
    }

    /// Returns the mean delay that stalls add to launches at random times.
    pub fn mean_delay(&self) -> Nanoseconds {
        self.delayed_fraction * self.delay
    }

    /// Returns the `times` of samples, in which the mean delay of launches at random times replaces the delay
    /// of each sample. `starts` are the starts of the samples.
    pub fn stall_corrected(&self, starts: &[Nanoseconds], times: &[Nanoseconds]) -> Vec<Nanoseconds> {
        let [period, width] = [self.period, self.width].map(Nanoseconds::as_f64);
        let is_delayed = |start: Nanoseconds| (start - self.from).as_f64().rem_euclid(period) < width;
        let delay = |start| if is_delayed(start) { self.delay } else { Nanoseconds::ZERO };
        times.iter().zip(starts).map(|(time, start)| *time - delay(*start) + self.mean_delay()).collect()
    }
}

/// Samples prepared for the search, in the order they ran. All values are in nanoseconds.
struct TimedSamples {
    /// The start of each sample, and the difference between its time and the median.
    each: Vec<(f64, f64)>,
    median: f64,
    /// The standard deviation, estimated from times below the median; at least half a step of the timer.
    deviation: f64,
}

impl TimedSamples {
    /// Prepares samples for the search. `step` is the resolution of the timer. Returns `None` if there are
    /// fewer samples than `fewest`, or if the numbers of starts and times differ.
    fn new(starts: &[Nanoseconds], times: &[Nanoseconds], step: Nanoseconds, fewest: usize) -> Option<Self> {
        let sorted = Some(ascending(times)).filter(|it| it.len() >= fewest && it.len() == starts.len())?;
        let median = quantile(&sorted, 0.5);
        let deviation = (median - quantile(&sorted, 0.16)).max(step.as_f64() / 2.0);
        let each = starts.iter().zip(times).map(|(start, time)| (start.as_f64(), time.as_f64() - median));
        Some(Self { each: each.collect(), median, deviation })
    }

    /// Returns the window with the largest `z` of all periods from `first` to `last`. `widths` are the
    /// minimum and the maximum width of windows in the first search; later searches may find narrower ones.
    /// Distances from the median count up to `delay` and [`CLIP_DEVIATIONS`] at most. Returns `None` if all
    /// times are equal or no window holds slower samples than the rest.
    ///
    /// Periods are tried in steps by which the phase of the last sample moves by one bin.
    fn search(&self, [mut first, mut last]: [f64; 2], widths: [f64; 2], delay: f64) -> Option<PhaseWindow> {
        let clip = delay.min(CLIP_DEVIATIONS * self.deviation);
        let clipped: Vec<f64> = self.each.iter().map(|(_, excess)| excess.min(clip).max(-clip)).collect();
        let (mean, variance) = moments(&clipped).filter(|(_, variance)| *variance > 0.0)?;
        let score = |((start, _), excess): (&(f64, f64), f64)| (*start, (excess - mean) / variance.sqrt());
        let scored: Vec<(f64, f64)> = self.each.iter().zip(clipped).map(score).collect();
        let (mut count, mut bins, mut found) = (0, 0, None);
        while (count, bins) != (scored.len(), LAST_BINS) {
            count = (SEARCH_REFINEMENT * count).max(COARSEST_SEARCH.0).min(scored.len());
            bins = (SEARCH_REFINEMENT * bins).clamp(COARSEST_SEARCH.1, LAST_BINS);
            let samples @ [(begin, _), .., (end, _)] = &scored[..count] else { return None };
            let step = |period: f64| period * (period / (end - begin) / bins as f64).max(1e-9);
            let next = |period: &f64| Some(period + step(*period)).filter(|it| it > period && *it <= last);
            let best = |period| best_window(&cumulative_sums(samples, period, bins), period, widths, found);
            let mut windows: Vec<PhaseWindow> = successors(Some(first), next).filter_map(best).collect();
            // The middle one of those that hold the same samples.
            let most = windows.iter().map(|window| window.z).fold(0.0, f64::max);
            windows.retain(|window| window.z >= most * (1.0 - Z_TOLERANCE));
            let best = *windows.get(windows.len() / 2)?;
            let around = PERIOD_STEPS_AROUND * step(best.period);
            (first, last, found) = (best.period - around, best.period + around, Some(best));
        }
        found
    }
}

/// A part of each period: samples that start in it are delayed. Times are in nanoseconds.
///
/// `from` is the time from the origin of the starts to the window in the first period, and `width` the length
/// of the window, which may pass the end of the period.
#[derive(Clone, Copy, Debug)]
struct PhaseWindow {
    period: f64,
    from: f64,
    width: f64,
    /// The number of standard errors by which samples in the window are slower than the others.
    z: f64,
}

impl PhaseWindow {
    /// Splits samples into those that start in the window, and the others. Returns two lists for each part:
    /// the phase of each sample, which is the time from the start of the window to its start modulo the
    /// period, and its time.
    fn split(&self, starts: &[Nanoseconds], times: &[Nanoseconds]) -> [(Vec<f64>, Vec<Nanoseconds>); 2] {
        let phases = starts.iter().map(|start| (start.as_f64() - self.from).rem_euclid(self.period));
        let both = phases.zip(times.iter().copied());
        let (inside, outside): (Vec<_>, Vec<_>) = both.partition(|(phase, _)| *phase < self.width);
        [inside, outside].map(|side| side.into_iter().unzip())
    }

    /// Returns the smallest and the largest likely width of the window, as fractions of the period. `inside`
    /// and `outside` are the phases of samples in the window and of the others. The smallest width is the
    /// range of phases inside, less one mean distance of phases. The largest is the gap in the phases
    /// outside, plus one mean distance.
    fn likely_fractions(&self, inside: &[f64], outside: &[f64]) -> [f64; 2] {
        let length = |phases: &[f64]| Range::of(phases.iter()).map_or(0.0, |range| range.high - range.low);
        let usual = self.period / (inside.len() + outside.len()).min(LAST_BINS) as f64;
        let least = (length(inside) - usual).max(0.0);
        [least, (self.period - length(outside) + usual).min(self.period)].map(|width| width / self.period)
    }
}

/// Returns the window with the largest `z` for this `period`. `sums` are the [`cumulative_sums`] of all bins.
/// Without `found`, the width of windows is in the range `widths`. With `found`, the best window of the
/// search before, windows start near it and are about as wide, at most the larger of `widths`. `None` if no
/// window holds slower samples than the rest.
fn best_window(
    sums: &[(f64, f64)],
    period: f64,
    widths: [f64; 2],
    found: Option<PhaseWindow>,
) -> Option<PhaseWindow> {
    let bins = sums.len() / 2;
    let (all, bin) = (sums[bins].1, period / bins as f64);
    let in_bins = |width: f64| (width / bin).round() as usize;
    let around = |place: usize| place.saturating_sub(BINS_AROUND)..place + BINS_AROUND + 1;
    let firsts = found.map_or(0..bins, |found| around(bins + in_bins(found.from)));
    let [least, most] = widths.map(in_bins);
    let lengths = found.map_or(least..most + 1, |found| around(in_bins(found.width)));
    let lengths = lengths.start.clamp(1, bins - 1)..lengths.end.min(most + 1).clamp(2, bins);
    // Until the end, its `z` is the square of it over the number of samples.
    let mut best = PhaseWindow { period, from: 0.0, width: 0.0, z: 0.0 };
    for first in firsts.map(|first| first % bins) {
        for length in lengths.clone() {
            let (before, end) = (sums[first], sums[first + length]);
            let (sum, inside) = (end.0 - before.0, end.1 - before.1);
            let explained = sum * sum.abs() / (inside * (all - inside));
            if explained > best.z && explained.is_finite() {
                let [from, width] = [first, length].map(|bins| bins as f64 * bin);
                best = PhaseWindow { from, width, z: explained, ..best };
            }
        }
    }
    (best.z > 0.0).then(|| PhaseWindow { z: (best.z * all).sqrt(), ..best })
}

/// Returns cumulative sums over the bins of two equal successive periods, so that a window may pass the end
/// of the first period. Entry i is the sum of scores and the number of samples in the first i bins, from 0
/// to 2 · `bins`. `samples` are pairs of a start and a score; the phase of the start determines the bin.
fn cumulative_sums(samples: &[(f64, f64)], period: f64, bins: usize) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); 2 * bins + 1];
    let frequency = 1.0 / period;
    for (start, score) in samples {
        let turns = start * frequency;
        // `fract` takes ten times as long.
        let bin = (turns - turns as i64 as f64) * bins as f64;
        let sum = &mut sums[1 + (bin as usize).min(bins - 1)];
        *sum = (sum.0 + score, sum.1 + 1.0);
    }
    for end in 1..sums.len() {
        let (before, more) = if end <= bins { (end - 1, end) } else { (bins, end - bins) };
        sums[end] = (sums[before].0 + sums[more].0, sums[before].1 + sums[more].1);
    }
    sums
}

#[cfg(test)]
mod tests;
