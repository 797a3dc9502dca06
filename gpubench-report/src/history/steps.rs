//! The stretches of a series in which a change is searched, the strongest step within each, and the strength that no step of noise alone
//! reaches.
//!
//! Stretches of many lengths at many places (seeded binary segmentation, Kovács et al., *Biometrika* 110, 2023): a change that was
//! soon undone is plain in a short one and lost in a long one. Together they are O(n·log n) values.

use gpubench_stats::{median_of, random};

/// The fewest values on each side of a step: one value alone is an outlier.
const LEAST: usize = 2;
/// Stretches up to this length begin at each value.
const DENSE: usize = 8;

/// A step within the values `begin..end`: those from `at` on differ from those before.
pub(super) struct LevelStep {
    pub begin: usize,
    pub at: usize,
    pub end: usize,
    /// The distance of the two means, in standard errors of it.
    pub strength: f64,
}

/// The sums of the first values of a series, and of their squares.
pub(super) struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
    /// The standard deviation of the noise of the series.
    noise: f64,
}

impl PrefixSums {
    pub(super) fn new(values: &[f64]) -> Self {
        let sums = |of: &dyn Fn(f64) -> f64| {
            let mut sum = 0.0;
            let sums = values.iter().map(|value| {
                sum += of(*value);
                sum
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Self { values: sums(&|value| value), squares: sums(&|value| value * value), noise: noise(values) }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() - 1
    }

    /// Returns the mean of the values `begin..end`.
    fn mean(&self, begin: usize, end: usize) -> f64 {
        (self.values[end] - self.values[begin]) / (end - begin) as f64
    }

    /// Returns the sum of the squared distances of the values `begin..end` from their mean.
    fn scatter(&self, begin: usize, end: usize) -> f64 {
        let sum = self.values[end] - self.values[begin];
        let squares = self.squares[end] - self.squares[begin];
        (squares - sum * sum / (end - begin) as f64).max(0.0)
    }

    /// Returns the variance of the values `begin..end` around the means of the two sides of `at`, and no less than that of the noise.
    fn variance(&self, begin: usize, at: usize, end: usize) -> f64 {
        let within = self.scatter(begin, at) + self.scatter(at, end);
        (within / (end - begin - 2) as f64).max(self.noise * self.noise)
    }

    /// Returns the standard error of the distance of the means of the two sides of `at`: of one variance for both sides or, if that
    /// is more, of a variance for each (Welch). One outlier beside one other value is then no level.
    pub(super) fn error(&self, begin: usize, at: usize, end: usize) -> f64 {
        let side = |begin, end| {
            let length = (end - begin) as f64;
            (self.scatter(begin, end) / (length - 1.0)).max(self.noise * self.noise) / length
        };
        let parts = 1.0 / (at - begin) as f64 + 1.0 / (end - at) as f64;
        let common = self.variance(begin, at, end) * parts;
        common.max(side(begin, at) + side(at, end)).sqrt()
    }

    /// Returns the strongest step within `begin..end`, which has at least twice [`LEAST`] values.
    pub(super) fn strongest(&self, begin: usize, end: usize) -> LevelStep {
        let (mean, length) = (self.mean(begin, end), end - begin);
        let mut most = (begin + LEAST, -1.0);
        for at in begin + LEAST..=end - LEAST {
            let left = (at - begin) as f64;
            let excess = self.values[at] - self.values[begin] - left * mean;
            let between = excess.powi(2) / (left * (length as f64 - left));
            if between > most.1 {
                most = (at, between);
            }
        }
        let (at, _) = most;
        let strength = self.size(begin, at, end).abs() / self.error(begin, at, end);
        LevelStep { begin, at, end, strength }
    }

    /// Returns the distance of the means of the two sides of `at`.
    pub(super) fn size(&self, begin: usize, at: usize, end: usize) -> f64 {
        self.mean(at, end) - self.mean(begin, at)
    }

    /// Returns the strongest step of each stretch.
    pub(super) fn steps(&self) -> impl Iterator<Item = LevelStep> {
        lengths(self.len()).flat_map(move |length| {
            let stride = if length <= DENSE { 1 } else { length / 2 };
            let last = self.len() - length;
            let begins = (0..last).step_by(stride).chain([last]);
            begins.map(move |begin| self.strongest(begin, begin + length))
        })
    }

    /// Returns the first and the last place that `step` may have, with a confidence of 95 %: those which twice the logarithm of the
    /// likelihood separates from its own by less than [`SEPARATION`].
    pub(super) fn places(&self, step: &LevelStep) -> (usize, usize) {
        let LevelStep { begin, at, end, .. } = *step;
        let variance = self.variance(begin, at, end);
        let within = |at| self.scatter(begin, at) + self.scatter(at, end);
        let least = within(at);
        let mut places =
            (begin + LEAST..=end - LEAST).filter(|at| (within(*at) - least) / variance < SEPARATION);
        let first = places.next().unwrap_or(at);
        (first, places.next_back().unwrap_or(first).max(at))
    }
}

/// The distance of two distinct places for a change, with a confidence of 95 %: −2·ln(1 − √0.95) (Hansen, *Econometrica*
/// 68, 2000).
const SEPARATION: f64 = 7.352_277;

/// Returns the lengths of stretches of a series of `length` values: all of it, then each shorter than the one before by the root of
/// two.
fn lengths(length: usize) -> impl Iterator<Item = usize> {
    let exact =
        std::iter::successors(Some(length as f64), |exact| Some(exact * std::f64::consts::FRAC_1_SQRT_2));
    exact.map(|exact| exact.round() as usize).take_while(|length| *length >= 2 * LEAST)
}

/// No series has less noise than this part of its values. Repeated readings of a clock with few digits look as if they had none.
const SMALLEST_NOISE: f64 = 1e-4;

/// The orders that the values are put in, to see what noise does.
pub(super) const ORDERS: usize = 199;

/// The most neighbours on each side that the level at a value is taken from.
const MOST_NEIGHBOURS: usize = 5;

/// The quantiles of a normal variable without its sign that deviations are taken from, each with its value. The second one sees values that
/// come in clusters, most neighbours of which are of the same: there the first is the noise within a cluster.
const QUANTILES: [(f64, f64); 2] = [(0.5, 0.674_490), (0.75, 1.150_349)];

/// Returns the standard deviation of `values` around a level that may change. Neighbours share a level, but for few.
fn noise(values: &[f64]) -> f64 {
    let mut differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    if differences.is_empty() {
        return SMALLEST_NOISE;
    }
    let last = (differences.len() - 1) as f64;
    // A difference has the variance of both.
    let deviation = |(part, of_normal): (f64, f64)| {
        let place = (part * last).round() as usize;
        let (_, difference, _) = differences.select_nth_unstable_by(place, f64::total_cmp);
        *difference / (of_normal * std::f64::consts::SQRT_2)
    };
    QUANTILES.map(deviation).into_iter().fold(SMALLEST_NOISE, f64::max)
}

/// Returns the distance of each value from the median of its neighbours and itself: what is left without levels and slow drifts.
/// A level of few values is left as the outliers that it may be.
pub(super) fn residuals(values: &[f64]) -> Vec<f64> {
    let reach = (values.len() / 8).clamp(1, MOST_NEIGHBOURS);
    let level = |at: usize| {
        let mut near = values[at.saturating_sub(reach)..values.len().min(at + reach + 1)].to_vec();
        median_of(&mut near).unwrap_or(values[at])
    };
    values.iter().enumerate().map(|(at, value)| value - level(at)).collect()
}

/// Returns the strongest step of each of many orders of these residuals, in ascending order. Noise has no order: a step that comes
/// of noise is as strong as those are.
pub(super) fn strengths_by_chance(residuals: &[f64]) -> Vec<f64> {
    let mut residuals = residuals.to_vec();
    let mut strongest: Vec<f64> = (0..ORDERS as u64)
        .map(|order| {
            shuffle(&mut residuals, order);
            PrefixSums::new(&residuals).steps().map(|step| step.strength).fold(0.0, f64::max)
        })
        .collect();
    strongest.sort_unstable_by(f64::total_cmp);
    strongest
}

/// Puts `values` in another order, each order as likely, which `seed` chooses (Fisher and Yates).
pub(super) fn shuffle(values: &mut [f64], seed: u64) {
    for last in (1..values.len()).rev() {
        let drawn = random(random(seed).wrapping_add(last as u64));
        // The high half of the product: a number from 0 to `last`.
        let other = ((u128::from(drawn) * (last as u128 + 1)) >> 64) as usize;
        values.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// 6,000 draws: each of six orders comes 1,000 times with a standard deviation of 29.
    #[test]
    fn each_order_is_as_likely() {
        let mut orders: HashMap<Vec<u8>, usize> = HashMap::new();
        for seed in 0..6_000 {
            let mut values = [1.0, 2.0, 3.0];
            shuffle(&mut values, seed);
            *orders.entry(values.map(|value| value as u8).to_vec()).or_default() += 1;
        }
        assert_eq!(orders.len(), 6, "{orders:?}");
        assert!(orders.values().all(|count| (850..1150).contains(count)), "{orders:?}");
    }
}
