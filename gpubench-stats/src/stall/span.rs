//! Samples folded by a period: the span of its phases in which samples are slower than in all others, and how sure that is.

use crate::quantile::{ascending, quantile};
use crate::units::Nanoseconds;

/// Times count as this many standard deviations from their median at most, so that a few outliers do not decide.
const CLIP: f64 = 4.0;
/// The ratio of a normal distribution's standard deviation to its median absolute deviation.
const OF_DEVIATION: f64 = 1.4826;

/// A span of phases of a period, in nanoseconds: from `from` on, which is below the period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) period: f64,
    pub(super) from: f64,
    pub(super) width: f64,
    /// The most by which the width may be wrong, since ends lie anywhere between two samples.
    pub(super) slack: f64,
    /// The number of standard errors by which samples that start in the span are slower than the others.
    pub(super) z: f64,
    /// The sum of its scores beyond the threshold: the larger, the likelier the span.
    pub(super) gain: f64,
}

impl Span {
    /// Returns true if a sample that starts at this time starts in the span.
    pub(super) fn holds(&self, start: f64) -> bool {
        phase(start - self.from, self.period) < self.width
    }
}

/// The starts of samples in the order they ran, and how slow each is.
pub(super) struct Folded<'a> {
    pub(super) starts: &'a [f64],
    /// Clipped distances from the median, of mean 0 and variance 1.
    pub(super) scores: &'a [f64],
    /// The score halfway between those of fast and of slow samples.
    pub(super) threshold: f64,
    /// The largest part of a period that a span may be.
    pub(super) widest: f64,
}

impl Folded<'_> {
    /// Returns the first so many samples.
    pub(super) fn first(&self, count: usize) -> Folded<'_> {
        Folded { starts: &self.starts[..count], scores: &self.scores[..count], ..*self }
    }

    /// Returns the span of phases for which the sum of scores beyond the threshold is largest: the likeliest one, if stalls are that
    /// long. It may reach over the end of the period.
    pub(super) fn slowest(&self, period: f64) -> Span {
        let phases = self.starts.iter().map(|start| phase(*start, period));
        let mut samples: Vec<(f64, f64)> = phases.zip(self.scores.iter().copied()).collect();
        samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let all = samples.len();
        // Below a threshold of less than the mean, the others are the shorter run: the fastest ones.
        let sign = if self.threshold < 0.0 { -1.0 } else { 1.0 };
        let (mut sum, mut first, mut best) = (0.0, 0, (0.0, 0, 0));
        for number in 0..2 * all {
            sum += sign * (samples[number % all].1 - self.threshold);
            if sum <= 0.0 {
                (sum, first) = (0.0, number + 1);
            } else if sum > best.0 && number - first < all {
                best = (sum, first, number + 1);
            }
        }
        let (_, first, end) = best;
        let scores: f64 = (first..end).map(|number| samples[number % all].1).sum();
        let z = z(sign * scores, (end - first) as f64, all as f64);
        let between = |number: usize| {
            let (before, after) = (samples[(number + all - 1) % all].0, samples[number % all].0);
            let gap = phase(after - before, period);
            (phase(before + gap / 2.0, period), gap / 2.0)
        };
        let ends = [between(first), between(end)];
        let [(from, before), (until, after)] = if sign > 0.0 { ends } else { [ends[1], ends[0]] };
        Span { period, from, width: phase(until - from, period), slack: before + after, z, gain: best.0 }
    }

    /// Returns the slowest span of the best period, of those that are `apart` from each other and `around` from `period` at most. Of
    /// several that are as good, as where each tells all samples apart, returns the one in the middle.
    pub(super) fn search(&self, period: f64, around: f64, apart: f64) -> Span {
        let tries = (around / apart).ceil() as i32;
        let spans = (-tries..=tries).map(|number| self.slowest(period + f64::from(number) * apart));
        let mut spans: Vec<Span> =
            spans.filter(|span| span.width - span.slack <= self.widest * span.period).collect();
        let best = spans.iter().map(|span| span.gain).fold(f64::NEG_INFINITY, f64::max);
        spans.retain(|span| span.gain >= best);
        spans.get(spans.len() / 2).copied().unwrap_or_else(|| self.slowest(period))
    }

    /// Returns by how much the period changes if a phase moves by a quarter of this part of the period over all samples.
    pub(super) fn resolution(&self, period: f64, part: f64) -> f64 {
        let length = self.starts.last().zip(self.starts.first()).map_or(0.0, |(last, first)| last - first);
        period * part / 4.0 / (length / period).max(1.0)
    }
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

/// Returns what is left of a time behind the last whole period, from 0 to below a period: `rem_euclid` to a rounding error, in a tenth of
/// its time.
fn phase(time: f64, period: f64) -> f64 {
    let left = time - (time / period) as i64 as f64 * period;
    let left = if left < 0.0 { left + period } else { left };
    if left < period { left } else { 0.0 }
}

/// Returns the number of standard errors by which `count` of `all` scores, with this `sum`, are above the others.
fn z(sum: f64, count: f64, all: f64) -> f64 {
    let others = all - count;
    if count < 1.0 || others < 1.0 { f64::NEG_INFINITY } else { sum * (all / (count * others)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: f64 = 1280.0;

    /// Starts every nanosecond for so many periods, and scores that are high in this part of each.
    fn planted(periods: usize, part: std::ops::Range<f64>) -> (Vec<f64>, Vec<f64>) {
        let starts: Vec<f64> = (0..periods * PERIOD as usize).map(|start| start as f64).collect();
        let is_slow = |start: &f64| part.contains(&(start.rem_euclid(PERIOD) / PERIOD));
        let share = part.end - part.start;
        let scores = starts.iter().map(|start| if is_slow(start) { 1.0 - share } else { -share }).collect();
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

    /// To the sample: the first slow one starts at `from`, and the ends lie half a nanosecond before a sample.
    #[test]
    fn the_slowest_span_is_the_planted_one() {
        for (part, from, width) in [
            (0.25..0.5, 320.0, 320.0),
            (0.0..0.25, 0.0, 320.0),
            (0.5..0.6, 640.0, 128.0),
            (0.25..0.95, 320.0, 896.0),
        ] {
            let part_end = part.end;
            let (starts, scores) = planted(3, part);
            let threshold = 0.5 - (part_end - from / PERIOD);
            let found = Folded { starts: &starts, scores: &scores, threshold, widest: 1.0 }.slowest(PERIOD);
            let away = (found.from - from + 0.5 + PERIOD / 2.0).rem_euclid(PERIOD) - PERIOD / 2.0;
            assert!(away.abs() < 1e-9 && (found.width - width).abs() < 1e-9, "{found:?}");
            // All samples are told apart by it.
            let share = width / PERIOD;
            let (slow, fast) = (3.0 * width, 3.0 * (PERIOD - width));
            let z = 1.0 / (1.0 / slow + 1.0 / fast).sqrt();
            assert!((found.z - z).abs() < 1e-6 * z, "{share}: {found:?}");
        }
        // One that reaches over the end of the period.
        let (starts, scores) = planted(3, 0.125..0.875);
        let slow: Vec<f64> = scores.iter().map(|score| -score).collect();
        let found = Folded { starts: &starts, scores: &slow, threshold: 0.25, widest: 1.0 }.slowest(PERIOD);
        assert_eq!((found.from, found.width), (0.875 * PERIOD - 0.5, 0.25 * PERIOD));
    }

    #[test]
    fn the_period_is_found_within_the_range() {
        let (starts, scores) = planted(40, 0.25..0.5);
        let folded = Folded { starts: &starts, scores: &scores, threshold: 0.25, widest: 1.0 };
        let apart = folded.resolution(PERIOD, 0.2);
        let found = folded.search(PERIOD - 1.3, 9.0, apart);
        assert!((found.period - PERIOD).abs() <= apart, "{found:?}");
        assert!((found.from / PERIOD - 0.25).abs() < 0.05 && (found.width / PERIOD - 0.25).abs() < 0.05);
    }

    /// By hand: over 10 periods the phase moves by 10 times the change, which is a quarter of 0.2 periods.
    #[test]
    fn a_period_is_resolved_to_a_quarter_of_a_part() {
        let (starts, scores) = ([100.0, 500.0, 1100.0], [0.0; 3]);
        let folded = Folded { starts: &starts, scores: &scores, threshold: 0.0, widest: 1.0 };
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        near(folded.resolution(100.0, 0.2), 100.0 * 0.05 / 10.0);
        near(folded.first(2).resolution(100.0, 0.2), 100.0 * 0.05 / 4.0);
        near(folded.resolution(5000.0, 0.2), 5000.0 * 0.05);
    }

    #[test]
    fn a_span_may_reach_over_the_end_of_the_period() {
        let span = Span { period: 100.0, from: 90.0, width: 20.0, slack: 0.0, z: 0.0, gain: 0.0 };
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
}
