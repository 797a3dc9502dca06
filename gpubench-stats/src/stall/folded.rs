//! Samples folded by a period: the span of its phases in which samples are slower than in all others, and how sure that is.
//!
//! The search for a periodic box of Kovács, Zucker & Mazeh, *A box-fitting algorithm in the search for periodic transits*
//! (Astronomy & Astrophysics 391, 2002), in times that are clipped, so that a few outliers do not decide.

use std::ops::{Range, RangeInclusive};

use crate::quantile::{ascending, quantile};
use crate::units::Nanoseconds;

/// Times count as this many standard deviations from their median at most.
const CLIP: f64 = 4.0;
/// The ratio of a normal distribution's standard deviation to its median absolute deviation.
const OF_DEVIATION: f64 = 1.4826;
/// The widths that are tried between the least and the greatest.
const WIDTHS: usize = 6;
/// The bins of a period.
const BINS: usize = 128;
/// Ends of a span are as likely as the best while the square of `z` is lower by no more than this: a likelihood ratio test of one
/// parameter at 95 %.
const AS_LIKELY: f64 = 3.84;
/// The times that both ends are moved in turn.
const TURNS: usize = 3;

/// A span of phases of a period, in nanoseconds: from `from` on, which is below the period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) period: f64,
    pub(super) from: f64,
    pub(super) width: f64,
    /// The number of standard errors by which samples that start in the span are slower than the others.
    pub(super) z: f64,
}

impl Span {
    /// Returns true if a sample that starts at this time starts in the span.
    pub(super) fn holds(&self, start: f64) -> bool {
        phase(start - self.from, self.period) < self.width
    }

    /// Returns the span with the larger `z`, of equals this one.
    fn or_slower(self, other: Self) -> Self {
        if other.z > self.z { other } else { self }
    }
}

/// Returns the rest of a time after the last whole period, from 0 to below a period: `rem_euclid` to a rounding error, in a tenth of
/// its time.
pub(super) fn phase(time: f64, period: f64) -> f64 {
    let left = time - (time / period) as i64 as f64 * period;
    let left = if left < 0.0 { left + period } else { left };
    if left < period { left } else { 0.0 }
}

/// Returns the number of standard errors by which `count` of `all` scores, with this `sum`, are above the others.
fn z(sum: f64, count: f64, all: f64) -> f64 {
    let others = all - count;
    if count < 1.0 || others < 1.0 { f64::NEG_INFINITY } else { sum * (all / (count * others)).sqrt() }
}

/// The start and the score of a sample.
pub(super) type Scored = (f64, f64);

/// Returns the start and the score of each sample, in the order they ran, and the standard deviation of their clipped times; nothing
/// if all are alike. Scores are clipped distances from the median, of mean 0 and variance 1. Starts are counted from halfway through
/// the samples, so that a span keeps its place there by another period. A timer read the times in steps of `step`.
pub(super) fn scored(
    starts: &[Nanoseconds],
    times: &[Nanoseconds],
    step: Nanoseconds,
) -> Option<(Vec<Scored>, Nanoseconds)> {
    let middle = quantile(&ascending(times), 0.5);
    let away: Vec<_> = times.iter().map(|time| Nanoseconds((time.as_f64() - middle).abs())).collect();
    let deviation = OF_DEVIATION * quantile(&ascending(&away), 0.5);
    let clip = CLIP * deviation.max(step.as_f64() / 2.0);
    let clipped = || times.iter().map(|time| (time.as_f64() - middle).clamp(-clip, clip));
    let count = times.len() as f64;
    let mean = clipped().sum::<f64>() / count;
    let scale = (clipped().map(|away| (away - mean).powi(2)).sum::<f64>() / count).sqrt();
    if !(scale > 0.0 && scale.is_finite()) {
        return None;
    }
    let halfway = halfway(starts)?;
    let samples = starts.iter().zip(clipped());
    let scored = samples.map(|(start, away)| ((*start - halfway).as_f64(), (away - mean) / scale));
    Some((scored.collect(), Nanoseconds(scale)))
}

/// Returns the time halfway from the first start to the last.
pub(super) fn halfway(starts: &[Nanoseconds]) -> Option<Nanoseconds> {
    Some((*starts.first()? + *starts.last()?) / 2.0)
}

/// Returns the slowest span of a period, in bins; its width is one of `widths`, in parts of the period.
pub(super) fn slowest(samples: &[Scored], period: f64, widths: &RangeInclusive<f64>) -> Span {
    let mut bins = [(0.0, 0.0); BINS];
    for (start, score) in samples {
        let bin = phase(*start, period) / period * BINS as f64;
        let (sum, count) = &mut bins[(bin as usize).min(BINS - 1)];
        *sum += score;
        *count += 1.0;
    }
    let bin = period / BINS as f64;
    let in_bins = |part: f64| ((part * BINS as f64).round() as usize).clamp(1, BINS - 1);
    let (least, greatest) = (in_bins(*widths.start()), in_bins(*widths.end()));
    let apart = ((greatest - least) / (WIDTHS - 1)).max(1);
    let mut best = Span { period, from: 0.0, width: 0.0, z: f64::NEG_INFINITY };
    for width in (least..greatest).step_by(apart).chain([greatest]) {
        let (mut sum, mut count) =
            bins[..width].iter().fold((0.0, 0.0), |all, bin| (all.0 + bin.0, all.1 + bin.1));
        for from in 0..BINS {
            let z = z(sum, count, samples.len() as f64);
            best = best.or_slower(Span { period, from: from as f64 * bin, width: width as f64 * bin, z });
            let (leaves, enters) = (bins[from], bins[(from + width) % BINS]);
            sum += enters.0 - leaves.0;
            count += enters.1 - leaves.1;
        }
    }
    best
}

/// Returns the slowest span of the periods that are `around` from this one at most. They are so close together that over all samples
/// a phase moves by a quarter of the least width.
pub(super) fn search(samples: &[Scored], period: f64, around: f64, widths: &RangeInclusive<f64>) -> Span {
    let apart = resolution(samples, period, widths).max(period * 1e-9);
    let tries = (around / apart).ceil() as i32;
    let spans = (-tries..=tries).map(|number| slowest(samples, period + f64::from(number) * apart, widths));
    spans.fold(slowest(samples, period, widths), Span::or_slower)
}

/// Returns the time from the first start to the last.
pub(super) fn length(samples: &[Scored]) -> f64 {
    samples.last().zip(samples.first()).map_or(0.0, |(last, first)| last.0 - first.0)
}

/// Returns by how much the period changes if the phase moves by a quarter of the least width over all samples.
pub(super) fn resolution(samples: &[Scored], period: f64, widths: &RangeInclusive<f64>) -> f64 {
    let narrow = widths.start().min(1.0 - widths.end()).max(2.0 / BINS as f64);
    period * narrow / 4.0 / (length(samples) / period).max(1.0)
}

/// Returns the span with its ends between samples where its `z` is largest, and the widths that are as likely; nothing if no sample
/// starts in it.
pub(super) fn with_ends(samples: &[Scored], span: Span) -> Option<(Span, Range<f64>)> {
    let Span { period, from, width, .. } = span;
    // Phases from the middle of the others on, so that the span does not wrap around.
    let low = (period - width) / 2.0;
    let origin = from - low;
    let mut samples: Vec<Scored> =
        samples.iter().map(|(start, score)| (phase(start - origin, period), *score)).collect();
    samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // An end before a sample lies anywhere after the one before it.
    let (mut phases, mut sums) = (vec![0.0], vec![0.0]);
    for (phase, score) in &samples {
        phases.push(*phase);
        sums.push(sums[sums.len() - 1] + score);
    }
    phases.push(period);
    let all = samples.len();
    let z_of = |first: usize, end: usize| z(sums[end] - sums[first], (end - first) as f64, all as f64);
    let place = |phase: f64| samples.partition_point(|sample| sample.0 < phase);
    let best = |places: Range<usize>, z: &dyn Fn(usize) -> f64| {
        places.max_by(|a, b| z(*a).total_cmp(&z(*b))).unwrap_or_default()
    };
    let (mut first, mut end) = (place(low), place(low + width));
    if first >= end {
        return None;
    }
    for _ in 0..TURNS {
        first = best(0..end, &|first| z_of(first, end));
        end = best(first + 1..all + 1, &|end| z_of(first, end));
    }
    let found = z_of(first, end);
    let least = (found.powi(2) - AS_LIKELY).max(0.0).sqrt();
    let likely = |places: Range<usize>, z: &dyn Fn(usize) -> f64| {
        let mut likely = places.filter(|place| z(*place) >= least);
        let first = likely.next()?;
        Some(phases[first]..phases[likely.last().unwrap_or(first) + 1])
    };
    let begins = likely(0..end, &|first| z_of(first, end))?;
    let ends = likely(first + 1..all + 1, &|end| z_of(first, end))?;
    let [from, until] = [first, end].map(|place| f64::midpoint(phases[place], phases[place + 1]));
    let best = Span { from: phase(origin + from, period), width: until - from, z: found, ..span };
    Some((best, (ends.start - begins.end).max(0.0)..(ends.end - begins.start).min(period)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: f64 = 1280.0;

    /// Starts every nanosecond for this many periods, and scores that are high in this part of each.
    fn planted(periods: usize, part: Range<f64>) -> Vec<Scored> {
        let starts = (0..periods * PERIOD as usize).map(|start| start as f64);
        let is_slow = |start: f64| part.contains(&(start.rem_euclid(PERIOD) / PERIOD));
        starts.map(|start| (start, if is_slow(start) { 3.0 } else { -1.0 })).collect()
    }

    #[test]
    fn a_span_may_reach_over_the_end_of_the_period() {
        let span = Span { period: 100.0, from: 90.0, width: 20.0, z: 0.0 };
        let held = [89.0, 90.0, 109.0, 110.0, 190.0, 205.0, 250.0, -5.0].map(|start| span.holds(start));
        assert_eq!(held, [false, true, true, false, true, true, false, true]);
    }

    #[test]
    fn a_phase_is_the_rest_of_a_division() {
        let times = [0.0, 1.0, 99.9, 100.0, 250.0, 1e9 + 3.0, -5.0, -100.0, -250.0];
        let found = times.map(|time| phase(time, 100.0));
        assert_eq!(found, [0.0, 1.0, 99.9, 0.0, 50.0, 3.0, 95.0, 0.0, 50.0]);
        // Periods that divide nothing evenly, and times beside whole ones.
        for number in 0..100_000_u32 {
            let (time, period) = (f64::from(number) * 33.37 * 0.999_999_9, 33.37);
            let (found, exact) = (phase(time, period), time.rem_euclid(period));
            let away = (found - exact).abs();
            assert!(
                (0.0..period).contains(&found) && away.min(period - away) < 1e-8,
                "{time}: {found}, {exact}"
            );
        }
    }

    /// By hand: of 100 scores with a sum of 0 the 20 in the span have a sum of 40. The mean of those has the variance 1/20, the mean of
    /// the others 1/80, and they differ by 2 + 0.5.
    #[test]
    fn z_is_the_difference_of_two_means_over_its_error() {
        let by_hand = 2.5 / (1.0_f64 / 20.0 + 1.0 / 80.0).sqrt();
        assert!((z(40.0, 20.0, 100.0) - by_hand).abs() < 1e-12);
        assert!((z(-40.0, 20.0, 100.0) + by_hand).abs() < 1e-12, "faster ones");
        assert!((z(3.0, 1.0, 2.0) - 3.0 / 0.5_f64.sqrt()).abs() < 1e-12, "one on each side will do");
        assert_eq!([z(0.0, 0.0, 9.0), z(0.0, 9.0, 9.0)], [f64::NEG_INFINITY; 2], "nothing on one side");
    }

    /// By hand: the median is 10, the median deviation 1, and 1000 counts as 10 + 4 · 1.4826.
    #[test]
    fn scores_are_clipped_and_have_mean_0_and_variance_1() {
        let starts: Vec<Nanoseconds> = (0..9).map(|number| Nanoseconds(f64::from(number))).collect();
        let times = [9.0, 10.0, 11.0, 10.0, 1000.0, 9.0, 11.0, 10.0, 11.0].map(Nanoseconds);
        let (found, _) = scored(&starts, &times, Nanoseconds(0.1)).expect("they differ");
        assert_eq!((found[0].0, found[8].0), (-4.0, 4.0), "from the middle on");
        let found: Vec<f64> = found.iter().map(|sample| sample.1).collect();
        // 5.9304 once, −1 twice and 1 three times, whose mean is 0.7700 and mean square 4.4633.
        let count = found.len() as f64;
        let variance = found.iter().map(|score| score * score).sum::<f64>() / count;
        assert!(found.iter().sum::<f64>().abs() < 1e-9 && (variance - 1.0).abs() < 1e-9, "{found:?}");
        let over = (found[4] - found[1]) / (found[2] - found[1]);
        assert!((over - 4.0 * OF_DEVIATION).abs() < 1e-9, "{over}");
        // A step of the timer is no outlier where all others are alike.
        let mut ticks = [Nanoseconds(320.0); 9];
        ticks[3] = Nanoseconds(352.0);
        let (found, _) = scored(&starts, &ticks, Nanoseconds(32.0)).expect("one differs");
        assert!((found[3].1 - found[0].1 - 9.0 / 8.0_f64.sqrt()).abs() < 1e-9, "{found:?}");
        assert_eq!(scored(&starts, &[Nanoseconds(3.0); 9], Nanoseconds(1.0)), None);
    }

    #[test]
    fn the_slowest_span_is_the_planted_one() {
        // From 0.25 on a quarter; and one that reaches over the end of the period.
        for (part, from, width) in [(0.25..0.5, 320.0, 320.0), (0.0..0.25, 0.0, 320.0)] {
            let found = slowest(&planted(3, part), PERIOD, &(0.05..=0.25));
            assert_eq!((found.from, found.width, found.period), (from, width, PERIOD));
        }
        let mut samples = planted(3, 0.125..0.875);
        samples.iter_mut().for_each(|(_, score)| *score = -*score);
        let found = slowest(&samples, PERIOD, &(0.25..=0.5));
        assert_eq!((found.from, found.width), (0.875 * PERIOD, 0.25 * PERIOD));
    }

    /// From 0.1 to 0.3, to a bin.
    #[test]
    fn widths_are_tried_from_the_least_to_the_greatest() {
        for part in [0.1, 0.18, 0.3] {
            let found = slowest(&planted(2, 0.5..0.5 + part), PERIOD, &(0.1..=0.3));
            assert!((found.width / PERIOD - part).abs() <= 1.0 / BINS as f64, "{part}: {found:?}");
        }
    }

    #[test]
    fn the_period_is_found_within_the_range() {
        let samples = planted(40, 0.25..0.5);
        let widths = 0.2..=0.3;
        let apart = resolution(&samples, PERIOD, &widths);
        let found = search(&samples, PERIOD - 1.0, 8.0, &widths);
        assert!((found.period - PERIOD).abs() <= apart, "{found:?}");
        assert!((found.from / PERIOD - 0.25).abs() < 0.05 && (found.width / PERIOD - 0.25).abs() < 0.05);
    }

    /// By hand: over 10 periods the phase moves by 10 times the change, which is a quarter of 0.2 periods.
    #[test]
    fn a_period_is_resolved_to_a_quarter_of_the_least_width() {
        let samples = [100.0, 500.0, 1100.0].map(|start| (start, 0.0));
        let near = |period: f64, widths, expected: f64| {
            let found = resolution(&samples, period, &widths);
            assert!((found - expected).abs() < 1e-12, "{found}");
        };
        near(100.0, 0.2..=0.5, 100.0 * 0.05 / 10.0);
        near(100.0, 0.2..=0.9, 100.0 * 0.025 / 10.0);
        near(100.0, 0.0..=0.5, 100.0 * (2.0 / BINS as f64 / 4.0) / 10.0);
        near(5000.0, 0.2..=0.5, 5000.0 * 0.05);
    }

    /// Samples every 10 ns, of which those that start from `from` on for `width` are slow. The first search has bins: its span is a
    /// little off, and the ends are found between two samples.
    #[test]
    fn ends_are_found_to_the_sample() {
        let (period, width) = (1000.0, 300.0_f64);
        let part = width / period;
        // Of mean 0 and variance 1.
        let (high, low) = (((1.0 - part) / part).sqrt(), -(part / (1.0 - part)).sqrt());
        for from in [0.0, 200.0, 850.0] {
            let slow = Span { period, from, width, z: 0.0 };
            let starts = (0..300).map(|number| 5.0 + 10.0 * f64::from(number));
            let samples: Vec<Scored> =
                starts.map(|start| (start, if slow.holds(start) { high } else { low })).collect();
            for (off, wider) in [(0.0, 0.0), (-30.0, 50.0), (40.0, -60.0)] {
                let rough = Span { from: from + off, width: width + wider, ..slow };
                let (span, widths) = with_ends(&samples, rough).expect("it holds samples");
                let away = (span.from - from + period / 2.0).rem_euclid(period) - period / 2.0;
                assert!(away.abs() < 1e-9 && (0.0..period).contains(&span.from), "{from}, {off}: {span:?}");
                assert!((span.width - width).abs() < 1e-9 && span.period == period, "{span:?}");
                // All samples are told apart by it.
                assert!((span.z - 300.0_f64.sqrt()).abs() < 1e-9, "{span:?}");
                // Each end lies between two samples of three periods; a few samples more or less are as likely.
                assert!(widths.start < width && width < widths.end, "{widths:?}");
                assert!((widths.start + widths.end - 600.0).abs() < 20.0 && widths.end < 360.0, "{widths:?}");
            }
        }
        let empty = Span { period, from: 500.0, width: 10.0, z: 0.0 };
        assert_eq!(with_ends(&[(5.0, 1.0), (6.0, -1.0)], empty), None, "no sample starts in it");
    }
}
