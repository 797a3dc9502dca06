//! The ends of a span of phases, to the sample. In: a span in bins; out: the span whose `z` is largest, and how narrow and how wide
//! it may be.

use std::ops::Range;

use super::span::{Span, phase, z};

/// Ends of a span are as likely as the best while the square of `z` is lower by no more than this: a likelihood ratio test of one
/// parameter at 95 %.
const AS_LIKELY: f64 = 3.84;
/// The times that both ends are moved in turn.
const TURNS: usize = 3;

/// A span with its best ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edges {
    pub(super) span: Span,
    /// The widths that are as likely.
    pub(super) widths: Range<f64>,
}

impl Edges {
    /// Returns the span with its ends between samples where its `z` is largest.
    pub(super) fn of(starts: &[f64], scores: &[f64], span: Span) -> Option<Self> {
        // Phases from the middle of the others on, so that the span does not wrap around.
        let origin = span.from - (span.period - span.width) / 2.0;
        let phases = starts.iter().map(|start| phase(start - origin, span.period));
        let mut samples: Vec<(f64, f64)> = phases.zip(scores.iter().copied()).collect();
        samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let sums: Vec<f64> = std::iter::once(0.0)
            .chain(samples.iter().scan(0.0, |sum, (_, score)| {
                *sum += score;
                Some(*sum)
            }))
            .collect();
        let all = samples.len();
        let z_of = |first: usize, end: usize| z(sums[end] - sums[first], (end - first) as f64, all as f64);
        let place = |phase: f64| samples.partition_point(|sample| sample.0 < phase);
        let low = (span.period - span.width) / 2.0;
        let (mut first, mut end) = (place(low), place(low + span.width));
        if first >= end {
            return None;
        }
        for _ in 0..TURNS {
            let before = (first, end);
            first = best(0..end, |first| z_of(first, end));
            end = best(first + 1..all + 1, |end| z_of(first, end));
            if before == (first, end) {
                break;
            }
        }
        let found = z_of(first, end);
        // An end lies anywhere between two samples.
        let before = |place: usize| if place == 0 { 0.0 } else { samples[place - 1].0 };
        let at = |place: usize| if place == all { span.period } else { samples[place].0 };
        let likely = |places: Range<usize>, best: usize, z: &dyn Fn(usize) -> f64| {
            let likely =
                places.filter(|place| z(*place) > 0.0 && z(*place).powi(2) >= found.powi(2) - AS_LIKELY);
            likely.fold(before(best)..at(best), |range, place| {
                range.start.min(before(place))..range.end.max(at(place))
            })
        };
        let begins = likely(0..end, first, &|first| z_of(first, end));
        let ends = likely(first + 1..all + 1, end, &|end| z_of(first, end));
        let (from, until) = (f64::midpoint(before(first), at(first)), f64::midpoint(before(end), at(end)));
        let from_phase = phase(origin + from, span.period);
        Some(Self {
            span: Span { from: from_phase, width: until - from, z: found, ..span },
            widths: (ends.start - begins.end).max(0.0)..(ends.end - begins.start).min(span.period),
        })
    }
}

/// Returns the place with the largest `z`, the last one of equals.
fn best(places: Range<usize>, z: impl Fn(usize) -> f64) -> usize {
    places.max_by(|a, b| z(*a).total_cmp(&z(*b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: f64 = 1000.0;

    /// Samples every 10 ns of the period, of which those that start from `from` on for `width` are slow.
    fn planted(from: f64, width: f64) -> (Vec<f64>, Vec<f64>) {
        let starts: Vec<f64> = (0..300).map(|number| 5.0 + 10.0 * f64::from(number)).collect();
        let slow = Span { period: PERIOD, from, width, z: 0.0 };
        let part = width / PERIOD;
        // Of mean 0 and variance 1.
        let (high, low) = (((1.0 - part) / part).sqrt(), -(part / (1.0 - part)).sqrt());
        let scores = starts.iter().map(|start| if slow.holds(*start) { high } else { low }).collect();
        (starts, scores)
    }

    /// The first search has bins: its span is a little off, and the ends are found between two samples.
    #[test]
    fn ends_are_found_to_the_sample() {
        for from in [0.0, 200.0, 850.0] {
            for (off, wider) in [(0.0, 0.0), (-30.0, 50.0), (40.0, -60.0)] {
                let (starts, scores) = planted(from, 300.0);
                let rough = Span { period: PERIOD, from: from + off, width: 300.0 + wider, z: 0.0 };
                let Edges { span, widths } = Edges::of(&starts, &scores, rough).expect("it holds samples");
                let away = (span.from - from + PERIOD / 2.0).rem_euclid(PERIOD) - PERIOD / 2.0;
                assert!(away.abs() < 1e-9 && (0.0..PERIOD).contains(&span.from), "{from}, {off}: {span:?}");
                assert!((span.width - 300.0).abs() < 1e-9 && span.period == PERIOD, "{span:?}");
                // All samples are told apart by it.
                assert!((span.z - 300.0_f64.sqrt()).abs() < 1e-9, "{span:?}");
                // Each end lies between two samples of three periods; a few samples more or less are as likely.
                assert!(widths.start < 300.0 && 300.0 < widths.end, "{widths:?}");
                assert!((widths.start + widths.end - 600.0).abs() < 20.0 && widths.end < 360.0, "{widths:?}");
            }
        }
    }

    #[test]
    fn a_span_without_samples_has_no_ends() {
        let (starts, scores) = ([5.0, 6.0], [1.0, -1.0]);
        assert_eq!(
            Edges::of(&starts, &scores, Span { period: PERIOD, from: 500.0, width: 10.0, z: 0.0 }),
            None
        );
    }
}
