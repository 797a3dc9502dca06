//! Finds the strongest steps in ranges of a series, and the strength of steps in noise that has no change.
//!
//! Ranges have many lengths and positions (seeded binary segmentation, Kovács et al., *Biometrika* 110, 2023): a
//! short change is plain in a short range and lost in a long one. All ranges together have O(n·log n) values.

use gpubench_stats::{median_of, random};

/// The least number of values on each side of a step. A single value is an outlier.
const MIN_SIDE_LENGTH: usize = 2;
/// Ranges of at most this length begin at every value. The beginnings of longer ranges are half a length
/// apart.
const MAX_DENSE_LENGTH: usize = 8;

/// A step within the values `begin..end`: those from `at` on have another level than those before.
pub(super) struct LevelStep {
    pub begin: usize,
    pub at: usize,
    pub end: usize,
    /// The difference of the two means over its standard error.
    pub strength: f64,
}

/// The sums of the first n values of a series, and of their squares, for each n.
pub(super) struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
    /// The standard deviation of the noise of the series, from [`noise_deviation`].
    noise: f64,
}

impl PrefixSums {
    /// Computes the sums, and the noise of the series.
    pub(super) fn new(values: &[f64]) -> Self {
        let sums = |of: &dyn Fn(f64) -> f64| {
            let mut sum = 0.0;
            let sums = values.iter().map(|value| {
                sum += of(*value);
                sum
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Self {
            values: sums(&|value| value),
            squares: sums(&|value| value * value),
            noise: noise_deviation(values),
        }
    }

    /// Returns the number of values of the series.
    pub(super) fn len(&self) -> usize {
        self.values.len() - 1
    }

    /// Returns the mean of the values `begin..end`.
    fn mean(&self, begin: usize, end: usize) -> f64 {
        (self.values[end] - self.values[begin]) / (end - begin) as f64
    }

    /// Returns the sum of the squared deviations of the values `begin..end` from their mean.
    fn squared_deviations(&self, begin: usize, end: usize) -> f64 {
        let sum = self.values[end] - self.values[begin];
        let squares = self.squares[end] - self.squares[begin];
        (squares - sum * sum / (end - begin) as f64).max(0.0)
    }

    /// Returns the variance of the values `begin..end` around the means of the two sides of `at`, at least that
    /// of the noise.
    fn variance(&self, begin: usize, at: usize, end: usize) -> f64 {
        let within = self.squared_deviations(begin, at) + self.squared_deviations(at, end);
        (within / (end - begin - 2) as f64).max(self.noise * self.noise)
    }

    /// Returns the standard error of the difference of the means of the two sides of `at`. It is the larger
    /// of two estimates: with one variance for both sides, and with a variance for each side (Welch). So an
    /// outlier next to a single other value is no level.
    pub(super) fn standard_error(&self, begin: usize, at: usize, end: usize) -> f64 {
        let side = |begin, end| {
            let length = (end - begin) as f64;
            (self.squared_deviations(begin, end) / (length - 1.0)).max(self.noise * self.noise) / length
        };
        let parts = 1.0 / (at - begin) as f64 + 1.0 / (end - at) as f64;
        let common = self.variance(begin, at, end) * parts;
        common.max(side(begin, at) + side(at, end)).sqrt()
    }

    /// Returns the strongest step within `begin..end`, which must have at least twice [`MIN_SIDE_LENGTH`]
    /// values.
    pub(super) fn strongest_step(&self, begin: usize, end: usize) -> LevelStep {
        let (mean, length) = (self.mean(begin, end), end - begin);
        let mut most = (begin + MIN_SIDE_LENGTH, -1.0);
        for at in begin + MIN_SIDE_LENGTH..=end - MIN_SIDE_LENGTH {
            let left = (at - begin) as f64;
            let excess = self.values[at] - self.values[begin] - left * mean;
            let between = excess.powi(2) / (left * (length as f64 - left));
            if between > most.1 {
                most = (at, between);
            }
        }
        let (at, _) = most;
        let strength = self.step_size(begin, at, end).abs() / self.standard_error(begin, at, end);
        LevelStep { begin, at, end, strength }
    }

    /// Returns the difference of the means of the two sides of `at`.
    pub(super) fn step_size(&self, begin: usize, at: usize, end: usize) -> f64 {
        self.mean(at, end) - self.mean(begin, at)
    }

    /// Returns the strongest step of each range. The ranges have the lengths of [`range_lengths`].
    pub(super) fn range_steps(&self) -> impl Iterator<Item = LevelStep> {
        range_lengths(self.len()).flat_map(move |length| {
            let stride = if length <= MAX_DENSE_LENGTH { 1 } else { length / 2 };
            let last = self.len() - length;
            let begins = (0..last).step_by(stride).chain([last]);
            begins.map(move |begin| self.strongest_step(begin, begin + length))
        })
    }

    /// Returns the first and the last index that `step` may have, with a confidence of 95 %. An index is
    /// possible if its likelihood differs from that of the step's own index by less than
    /// [`LIKELIHOOD_DISTANCE`].
    pub(super) fn index_interval(&self, step: &LevelStep) -> (usize, usize) {
        let LevelStep { begin, at, end, .. } = *step;
        let variance = self.variance(begin, at, end);
        let within = |at| self.squared_deviations(begin, at) + self.squared_deviations(at, end);
        let least = within(at);
        let mut places = (begin + MIN_SIDE_LENGTH..=end - MIN_SIDE_LENGTH)
            .filter(|at| (within(*at) - least) / variance < LIKELIHOOD_DISTANCE);
        let first = places.next().unwrap_or(at);
        (first, places.next_back().unwrap_or(first).max(at))
    }
}

/// Twice the logarithm of the likelihood ratio of two indices that differ with a confidence of 95 %: −2·ln(1 −
/// √0.95) (Hansen, *Econometrica* 68, 2000).
const LIKELIHOOD_DISTANCE: f64 = 7.352_277;

/// Returns the lengths of the ranges in a series of `length` values: all of it, and then each shorter by a
/// factor of √2, down to twice [`MIN_SIDE_LENGTH`].
fn range_lengths(length: usize) -> impl Iterator<Item = usize> {
    let exact =
        std::iter::successors(Some(length as f64), |exact| Some(exact * std::f64::consts::FRAC_1_SQRT_2));
    exact.map(|exact| exact.round() as usize).take_while(|length| *length >= 2 * MIN_SIDE_LENGTH)
}

/// The lower limit of the noise of a series, a standard deviation of logarithms of times. Equal readings of a
/// clock with few digits seem to have no noise.
const MIN_NOISE: f64 = 1e-4;

/// The number of random permutations of a series' noise. Steps of the series are compared with the strongest
/// step of each permutation.
pub(super) const PERMUTATIONS: usize = 199;

/// The most neighbours on each side from which the level at a value is estimated.
const MAX_NEIGHBOURS: usize = 5;

/// Quantiles of absolute values, each with its value in the standard normal distribution. The second is for
/// values in clusters: most neighbours are in the same cluster, so that the first quantile sees only the
/// noise within a cluster.
const NOISE_QUANTILES: [(f64, f64); 2] = [(0.5, 0.674_490), (0.75, 1.150_349)];

/// Returns the standard deviation of `values` around a level that may change, from the differences of
/// neighbours; at least [`MIN_NOISE`].
fn noise_deviation(values: &[f64]) -> f64 {
    let mut differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    if differences.is_empty() {
        return MIN_NOISE;
    }
    let last = (differences.len() - 1) as f64;
    // A difference has the variance of both.
    let deviation = |(part, of_normal): (f64, f64)| {
        let place = (part * last).round() as usize;
        let (_, difference, _) = differences.select_nth_unstable_by(place, f64::total_cmp);
        *difference / (of_normal * std::f64::consts::SQRT_2)
    };
    NOISE_QUANTILES.map(deviation).into_iter().fold(MIN_NOISE, f64::max)
}

/// Returns the difference of each value from the median of its neighbours and itself, which removes levels and
/// slow drifts. A level of few values remains, since it may be outliers.
pub(super) fn residuals(values: &[f64]) -> Vec<f64> {
    let reach = (values.len() / 8).clamp(1, MAX_NEIGHBOURS);
    let level = |at: usize| {
        let mut near = values[at.saturating_sub(reach)..values.len().min(at + reach + 1)].to_vec();
        median_of(&mut near).unwrap_or(values[at])
    };
    values.iter().enumerate().map(|(at, value)| value - level(at)).collect()
}

/// Returns the strength of the strongest step in each of [`PERMUTATIONS`] permutations of these residuals, in
/// ascending order. Steps from noise alone are as strong in any order of the values.
pub(super) fn permutation_strengths(residuals: &[f64]) -> Vec<f64> {
    let mut residuals = residuals.to_vec();
    let mut strongest: Vec<f64> = (0..PERMUTATIONS as u64)
        .map(|order| {
            shuffle(&mut residuals, order);
            PrefixSums::new(&residuals).range_steps().map(|step| step.strength).fold(0.0, f64::max)
        })
        .collect();
    strongest.sort_unstable_by(f64::total_cmp);
    strongest
}

/// Permutes `values` at random; all permutations are equally likely (Fisher and Yates). The same seed gives
/// the same permutation.
fn shuffle(values: &mut [f64], seed: u64) {
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
