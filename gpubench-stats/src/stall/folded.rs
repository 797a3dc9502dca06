//! Samples folded by a period. In: the starts of samples and their times; out: the span of phases in which samples are slower than
//! in all others, and how sure that is.
//!
//! The search for a periodic box of Kovács, Zucker & Mazeh, *A box-fitting algorithm in the search for periodic transits*
//! (Astronomy & Astrophysics 391, 2002), in times that are clipped, so that a few outliers do not decide.

use std::ops::RangeInclusive;

use super::edges::Edges;
use super::span::{Span, z};
use crate::quantile::{ascending, quantile};
use crate::units::Nanoseconds;

/// Times count as this many standard deviations from their median at most.
const CLIP: f64 = 4.0;
/// The ratio of a normal distribution's standard deviation to its median absolute deviation.
const OF_DEVIATION: f64 = 1.4826;
/// The bins of a period.
const BINS: usize = 128;
/// The widths that are tried between the least and the greatest, evenly.
const WIDTHS: usize = 6;

/// The starts of samples and what their times say, in the order they ran.
pub(super) struct Folded<'a> {
    starts: &'a [f64],
    /// Clipped distances from the median, of mean 0 and variance 1.
    scores: &'a [f64],
}

/// Returns the clipped distances of `times` from their median, of mean 0 and variance 1; nothing if all are alike. A timer read
/// them in steps of `step`.
pub(super) fn scores(times: &[Nanoseconds], step: Nanoseconds) -> Option<Vec<f64>> {
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
    Some(scores)
}

impl<'a> Folded<'a> {
    pub(super) fn new(starts: &'a [f64], scores: &'a [f64]) -> Self {
        Self { starts, scores }
    }

    /// Returns the first so many samples.
    pub(super) fn first(&self, count: usize) -> Self {
        Self { starts: &self.starts[..count], scores: &self.scores[..count] }
    }

    /// Returns the number of samples.
    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the time from the first start to the last.
    pub(super) fn length(&self) -> f64 {
        self.starts.last().zip(self.starts.first()).map_or(0.0, |(last, first)| last - first)
    }

    /// Returns the span with the largest `z`, in bins of the period; its width is one of `widths`, in parts of the period.
    pub(super) fn best(&self, period: f64, widths: &RangeInclusive<f64>) -> Span {
        let mut bins = [(0.0, 0.0); BINS];
        for (start, score) in self.starts.iter().zip(self.scores) {
            let phase = start.rem_euclid(period) / period * BINS as f64;
            let (sum, count) = &mut bins[(phase as usize).min(BINS - 1)];
            *sum += score;
            *count += 1.0;
        }
        let all = self.scores.len() as f64;
        let mut best = Span { period, from: 0.0, width: 0.0, z: f64::NEG_INFINITY };
        let (least, greatest) = (widths.start() * BINS as f64, widths.end() * BINS as f64);
        let mut last = 0;
        for number in 0..WIDTHS {
            let width = least + (greatest - least) * number as f64 / (WIDTHS - 1) as f64;
            let width = (width.round() as usize).clamp(1, BINS - 1);
            if width == last {
                continue;
            }
            last = width;
            let (mut sum, mut count) =
                bins[..width].iter().fold((0.0, 0.0), |(sum, count), bin| (sum + bin.0, count + bin.1));
            for from in 0..BINS {
                let z = z(sum, count, all);
                if z > best.z {
                    let bin = period / BINS as f64;
                    best = Span { period, from: from as f64 * bin, width: width as f64 * bin, z };
                }
                let (leaves, enters) = (bins[from], bins[(from + width) % BINS]);
                sum += enters.0 - leaves.0;
                count += enters.1 - leaves.1;
            }
        }
        best
    }

    /// Returns the span of the best period within `range`. Periods are tried so close together that over all samples a phase
    /// moves by a quarter of the least width.
    pub(super) fn search(&self, range: RangeInclusive<f64>, widths: &RangeInclusive<f64>) -> Span {
        let (least, greatest) = (*range.start(), *range.end());
        let apart = (self.resolution(least, widths)).max(least * 1e-9);
        let tries = ((greatest - least) / apart).ceil() as usize;
        let mut best = self.best(f64::midpoint(least, greatest), widths);
        for number in 0..=tries {
            let found = self.best(least + (greatest - least) * number as f64 / tries.max(1) as f64, widths);
            if found.z > best.z {
                best = found;
            }
        }
        best
    }

    /// Returns the ends of a span to the sample.
    pub(super) fn edges(&self, span: Span) -> Option<Edges> {
        Edges::of(self.starts, self.scores, span)
    }

    /// Returns where a span begins by another period, so that it holds the same samples halfway through.
    pub(super) fn moved(&self, span: &Span, period: f64) -> f64 {
        let middle = self.starts.first().copied().unwrap_or_default() + self.length() / 2.0;
        let passed = ((middle - span.from) / span.period).floor();
        (span.from + passed * (span.period - period)).rem_euclid(period)
    }

    /// Returns by how much the period changes if the phase moves by a quarter of the least width over all samples.
    pub(super) fn resolution(&self, period: f64, widths: &RangeInclusive<f64>) -> f64 {
        let periods = (self.length() / period).max(1.0);
        let narrow = widths.start().min(1.0 - widths.end()).max(2.0 / BINS as f64);
        period * narrow / 4.0 / periods
    }
}
