//! Samples folded by a period. In: the starts of samples and their times; out: the span of phases in which samples are slower than
//! in all others, and how sure that is.
//!
//! The search for a periodic box of Kovács, Zucker & Mazeh, *A box-fitting algorithm in the search for periodic transits*
//! (Astronomy & Astrophysics 391, 2002), in times that are clipped, so that a few outliers do not decide.

use std::ops::RangeInclusive;

use super::edges::Edges;
use super::span::{Span, phase, z};
use crate::quantile::{ascending, quantile};
use crate::units::Nanoseconds;

/// Times count as this many standard deviations from their median at most.
const CLIP: f64 = 4.0;
/// The ratio of a normal distribution's standard deviation to its median absolute deviation.
const OF_DEVIATION: f64 = 1.4826;
/// The widths that are tried between the least and the greatest.
const WIDTHS: usize = 6;
/// The bins of a period.
pub(super) const BINS: usize = 128;

/// The starts of samples and what their times say, in the order they ran.
pub(super) struct Folded<'a> {
    pub(super) starts: &'a [f64],
    /// Clipped distances from the median, of mean 0 and variance 1.
    pub(super) scores: &'a [f64],
}

/// Returns the clipped distances of `times` from their median, of mean 0 and variance 1, and the standard deviation that they had
/// before; nothing if all are alike. A timer read them in steps of `step`.
pub(super) fn scores(times: &[Nanoseconds], step: Nanoseconds) -> Option<(Vec<f64>, Nanoseconds)> {
    let middle = quantile(&ascending(times), 0.5);
    let away: Vec<_> = times.iter().map(|time| Nanoseconds((time.as_f64() - middle).abs())).collect();
    let deviation = OF_DEVIATION * quantile(&ascending(&away), 0.5);
    let clip = CLIP * deviation.max(step.as_f64() / 2.0);
    let mut scores: Vec<f64> = times.iter().map(|time| (time.as_f64() - middle).clamp(-clip, clip)).collect();
    let count = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / count;
    let scale = variance.sqrt();
    if !(scale > 0.0 && scale.is_finite()) {
        return None;
    }
    scores.iter_mut().for_each(|score| *score = (*score - mean) / scale);
    Some((scores, Nanoseconds(scale)))
}

/// The sum of scores and the number of samples in each bin of a period.
type Bins = [(f64, f64); BINS];

/// Collects samples with their starts and scores in the bins of a period.
pub(super) fn binned(samples: impl Iterator<Item = (f64, f64)>, period: f64) -> Bins {
    let mut bins = [(0.0, 0.0); BINS];
    for (start, score) in samples {
        let bin = phase(start, period) / period * BINS as f64;
        let (sum, count) = &mut bins[(bin as usize).min(BINS - 1)];
        *sum += score;
        *count += 1.0;
    }
    bins
}

/// Returns the first bin of each window of `width` bins, with its sum of scores and its number of samples.
pub(super) fn windows(bins: &Bins, width: usize) -> impl Iterator<Item = (usize, f64, f64)> {
    let first = bins[..width].iter().fold((0.0, 0.0), |(sum, count), bin| (sum + bin.0, count + bin.1));
    (0..BINS).scan(first, move |window, from| {
        let (sum, count) = *window;
        let (leaves, enters) = (bins[from], bins[(from + width) % BINS]);
        *window = (sum + enters.0 - leaves.0, count + enters.1 - leaves.1);
        Some((from, sum, count))
    })
}

impl Folded<'_> {
    /// Returns the first so many samples.
    pub(super) fn first(&self, count: usize) -> Folded<'_> {
        Folded { starts: &self.starts[..count], scores: &self.scores[..count] }
    }

    /// Returns the time from the first start to the last.
    pub(super) fn length(&self) -> f64 {
        self.starts.last().zip(self.starts.first()).map_or(0.0, |(last, first)| last - first)
    }

    /// Returns the span with the largest `z`, in bins of the period; its width is one of `widths`, in parts of the period.
    pub(super) fn best(&self, period: f64, widths: &RangeInclusive<f64>) -> Span {
        let bins = binned(self.starts.iter().copied().zip(self.scores.iter().copied()), period);
        let (all, bin) = (self.scores.len() as f64, period / BINS as f64);
        let in_bins = |part: f64| ((part * BINS as f64).round() as usize).clamp(1, BINS - 1);
        let (least, greatest) = (in_bins(*widths.start()), in_bins(*widths.end()));
        let apart = ((greatest - least) / (WIDTHS - 1)).max(1);
        let spans = (least..greatest).step_by(apart).chain([greatest]).flat_map(|width| {
            windows(&bins, width).map(move |(from, sum, count)| Span {
                period,
                from: from as f64 * bin,
                width: width as f64 * bin,
                z: z(sum, count, all),
            })
        });
        let none = Span { period, from: 0.0, width: 0.0, z: f64::NEG_INFINITY };
        spans.fold(none, |best, span| if span.z > best.z { span } else { best })
    }

    /// Returns the span of the best period within `range`. Periods are tried so close together that over all samples a phase
    /// moves by a quarter of the least width.
    pub(super) fn search(&self, range: RangeInclusive<f64>, widths: &RangeInclusive<f64>) -> Span {
        let (least, greatest) = (*range.start(), *range.end());
        let apart = (self.resolution(least, widths)).max(least * 1e-9);
        let tries = ((greatest - least) / apart).ceil() as usize;
        let periods =
            (0..=tries).map(|number| least + (greatest - least) * number as f64 / tries.max(1) as f64);
        let middle = self.best(f64::midpoint(least, greatest), widths);
        periods
            .map(|period| self.best(period, widths))
            .fold(middle, |best, span| if span.z > best.z { span } else { best })
    }

    /// Returns the ends of a span to the sample.
    pub(super) fn edges(&self, span: Span) -> Option<Edges> {
        Edges::of(self.starts, self.scores, span)
    }

    /// Returns where a span begins by another period, so that it holds the same samples halfway through.
    pub(super) fn moved(&self, span: &Span, period: f64) -> f64 {
        let middle = self.starts.first().copied().unwrap_or_default() + self.length() / 2.0;
        let passed = ((middle - span.from) / span.period).floor();
        phase(span.from + passed * (span.period - period), period)
    }

    /// Returns by how much the period changes if the phase moves by a quarter of the least width over all samples.
    pub(super) fn resolution(&self, period: f64, widths: &RangeInclusive<f64>) -> f64 {
        let periods = (self.length() / period).max(1.0);
        let narrow = widths.start().min(1.0 - widths.end()).max(2.0 / BINS as f64);
        period * narrow / 4.0 / periods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: f64 = 1280.0;

    /// Starts every nanosecond for so many periods, and scores that are high in this part of each.
    fn planted(periods: usize, part: std::ops::Range<f64>) -> (Vec<f64>, Vec<f64>) {
        let starts: Vec<f64> = (0..periods * PERIOD as usize).map(|start| start as f64).collect();
        let is_slow = |start: &f64| part.contains(&(start.rem_euclid(PERIOD) / PERIOD));
        let scores = starts.iter().map(|start| if is_slow(start) { 3.0 } else { -1.0 }).collect();
        (starts, scores)
    }

    /// By hand: the median is 10, the median deviation 1, and 1000 counts as 10 + 4 · 1.4826.
    #[test]
    fn scores_are_clipped_and_have_mean_0_and_variance_1() {
        let times = [9.0, 10.0, 11.0, 10.0, 1000.0, 9.0, 11.0, 10.0, 11.0].map(Nanoseconds);
        let (found, _) = scores(&times, Nanoseconds(0.1)).expect("they differ");
        // 5.9304 once, −1 twice and 1 three times, whose mean is 0.7700 and mean square 4.4633.
        let count = found.len() as f64;
        let variance = found.iter().map(|score| score * score).sum::<f64>() / count;
        assert!(found.iter().sum::<f64>().abs() < 1e-9 && (variance - 1.0).abs() < 1e-9, "{found:?}");
        let over = (found[4] - found[1]) / (found[2] - found[1]);
        assert!((over - 4.0 * OF_DEVIATION).abs() < 1e-9, "{over}");
        // A step of the timer is no outlier where all others are alike.
        let mut ticks = [Nanoseconds(320.0); 9];
        ticks[3] = Nanoseconds(352.0);
        let (found, _) = scores(&ticks, Nanoseconds(32.0)).expect("one differs");
        assert!((found[3] - found[0] - 9.0 / 8.0_f64.sqrt()).abs() < 1e-9, "{found:?}");
        assert_eq!(scores(&[Nanoseconds(3.0); 9], Nanoseconds(1.0)), None);
    }

    #[test]
    fn the_best_span_is_the_planted_one() {
        // From 0.25 on a quarter; and one that reaches over the end of the period.
        for (part, from, width) in [(0.25..0.5, 320.0, 320.0), (0.0..0.25, 0.0, 320.0)] {
            let (starts, scores) = planted(3, part);
            let found = Folded { starts: &starts, scores: &scores }.best(PERIOD, &(0.05..=0.25));
            assert_eq!((found.from, found.width, found.period), (from, width, PERIOD));
        }
        let (starts, scores) = planted(3, 0.125..0.875);
        let slow: Vec<f64> = scores.iter().map(|score| -score).collect();
        let found = Folded { starts: &starts, scores: &slow }.best(PERIOD, &(0.25..=0.5));
        assert_eq!((found.from, found.width), (0.875 * PERIOD, 0.25 * PERIOD));
    }

    /// From 0.1 to 0.3, to a bin.
    #[test]
    fn widths_are_tried_from_the_least_to_the_greatest() {
        for part in [0.1, 0.18, 0.3] {
            let (starts, scores) = planted(2, 0.5..0.5 + part);
            let found = Folded { starts: &starts, scores: &scores }.best(PERIOD, &(0.1..=0.3));
            assert!((found.width / PERIOD - part).abs() <= 1.0 / BINS as f64, "{part}: {found:?}");
        }
    }

    #[test]
    fn the_period_is_found_within_the_range() {
        let (starts, scores) = planted(40, 0.25..0.5);
        let folded = Folded { starts: &starts, scores: &scores };
        let widths = 0.2..=0.3;
        let apart = folded.resolution(PERIOD, &widths);
        let found = folded.search(PERIOD - 9.0..=PERIOD + 7.0, &widths);
        assert!((found.period - PERIOD).abs() <= apart, "{found:?}");
        assert!((found.from / PERIOD - 0.25).abs() < 0.05 && (found.width / PERIOD - 0.25).abs() < 0.05);
    }

    /// By hand: over 10 periods the phase moves by 10 times the change, which is a quarter of 0.2 periods.
    #[test]
    fn a_period_is_resolved_to_a_quarter_of_the_least_width() {
        let (starts, scores) = ([100.0, 500.0, 1100.0], [0.0; 3]);
        let folded = Folded { starts: &starts, scores: &scores };
        assert_eq!((folded.length(), folded.starts.len(), folded.first(2).length()), (1000.0, 3, 400.0));
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        near(folded.resolution(100.0, &(0.2..=0.5)), 100.0 * 0.05 / 10.0);
        near(folded.resolution(100.0, &(0.2..=0.9)), 100.0 * 0.025 / 10.0);
        near(folded.resolution(100.0, &(0.0..=0.5)), 100.0 * (2.0 / BINS as f64 / 4.0) / 10.0);
        near(folded.resolution(5000.0, &(0.2..=0.5)), 5000.0 * 0.05);
    }

    /// The stall that begins last before the middle begins there by either period.
    #[test]
    fn a_span_keeps_its_place_halfway_through_by_another_period() {
        let starts = [1000.0, 2000.0, 3000.0];
        let folded = Folded { starts: &starts, scores: &[0.0; 3] };
        let span = Span { period: 100.0, from: 30.0, width: 10.0, z: 0.0 };
        for period in [99.0, 100.0, 101.5] {
            let moved = folded.moved(&span, period);
            assert!((0.0..period).contains(&moved), "{moved}");
            let away = (1930.0 - moved) / period;
            assert!((away - away.round()).abs() < 1e-9, "{period}: {moved}");
        }
    }
}
