//! The stretches of a series that are looked at for a change, and the strongest step within each. In: values; out: steps.
//!
//! Stretches of many lengths at many places (seeded binary segmentation, Kovács et al., *Biometrika* 110, 2023): a change that was
//! soon undone is plain in a short one and lost in a long one. Together they are O(n·log n) values.

/// The fewest values on each side of a step: one value alone is an outlier.
pub(super) const LEAST: usize = 2;
/// Stretches up to this length begin at each value.
const DENSE: usize = 8;

/// A step within the values `begin..end`: those from `at` on differ from those before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) begin: usize,
    pub(super) at: usize,
    pub(super) end: usize,
    /// The distance of the two means, in standard errors of it.
    pub(super) strength: f64,
}

/// The sums of the first values of a series, and of their squares.
pub(super) struct Sums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    pub(super) fn of(values: &[f64]) -> Self {
        let sums = |of: &dyn Fn(f64) -> f64| {
            let mut sum = 0.0;
            let sums = values.iter().map(|value| {
                sum += of(*value);
                sum
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Self { values: sums(&|value| value), squares: sums(&|value| value * value) }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() - 1
    }

    /// Returns the mean of the values `begin..end`.
    pub(super) fn mean(&self, begin: usize, end: usize) -> f64 {
        (self.values[end] - self.values[begin]) / (end - begin) as f64
    }

    /// Returns the sum of the squared distances of the values `begin..end` from their mean.
    pub(super) fn scatter(&self, begin: usize, end: usize) -> f64 {
        let sum = self.values[end] - self.values[begin];
        let squares = self.squares[end] - self.squares[begin];
        (squares - sum * sum / (end - begin) as f64).max(0.0)
    }

    /// Returns the variance of the values `begin..end` around the means of the two sides of `at`, and no less than that of the noise.
    fn variance(&self, begin: usize, at: usize, end: usize, noise: f64) -> f64 {
        let within = self.scatter(begin, at) + self.scatter(at, end);
        (within / (end - begin - 2) as f64).max(noise * noise)
    }

    /// Returns the standard error of the distance of the means of the two sides of `at`: of one variance for both sides or, if that
    /// is more, of a variance for each (Welch). One outlier beside one other value is then no level.
    pub(super) fn error(&self, begin: usize, at: usize, end: usize, noise: f64) -> f64 {
        let side = |begin, end| {
            let length = (end - begin) as f64;
            (self.scatter(begin, end) / (length - 1.0)).max(noise * noise) / length
        };
        let parts = 1.0 / (at - begin) as f64 + 1.0 / (end - at) as f64;
        let common = self.variance(begin, at, end, noise) * parts;
        common.max(side(begin, at) + side(at, end)).sqrt()
    }

    /// Returns the strongest step within `begin..end`, which has at least twice [`LEAST`] values.
    pub(super) fn strongest(&self, begin: usize, end: usize, noise: f64) -> Step {
        let weights = weights(end - begin);
        let mut most = (begin + LEAST, -1.0);
        for (left, weight) in (LEAST..).zip(&weights) {
            let between = self.excess(begin, end, left).powi(2) * weight;
            if between > most.1 {
                most = (begin + left, between);
            }
        }
        let (at, _) = most;
        let strength = self.size(begin, at, end).abs() / self.error(begin, at, end, noise);
        Step { begin, at, end, strength }
    }

    /// Returns the distance of the means of the two sides of `at`.
    pub(super) fn size(&self, begin: usize, at: usize, end: usize) -> f64 {
        self.mean(at, end) - self.mean(begin, at)
    }

    /// Returns the excess of the first `left` values from `begin` over as many of the mean of `begin..end`.
    fn excess(&self, begin: usize, end: usize, left: usize) -> f64 {
        self.values[begin + left] - self.values[begin] - left as f64 * self.mean(begin, end)
    }

    /// Returns the most scatter that there is between the sides of a step within `begin..end`.
    fn most_between(&self, begin: usize, end: usize, weights: &[f64]) -> f64 {
        let mean = self.mean(begin, end);
        let first = self.values[begin] + LEAST as f64 * mean;
        // Four at once, so that none waits for the one before.
        let mut most = [0.0_f64; 4];
        let (sums, weights) = (self.values[begin + LEAST..=end - LEAST].chunks(4), weights.chunks(4));
        for (number, (sums, weights)) in sums.zip(weights).enumerate() {
            let first = first + (4 * number) as f64 * mean;
            for (lane, ((most, sum), weight)) in most.iter_mut().zip(sums).zip(weights).enumerate() {
                let excess = sum - (first + lane as f64 * mean);
                *most = most.max(excess * excess * weight);
            }
        }
        most.into_iter().fold(0.0, f64::max)
    }

    /// Returns the most that the strength of a step with this scatter between its sides can be. All of the stretch is the same for each
    /// step, so that the one with the most between its sides leaves the least within them.
    fn most_strength(&self, begin: usize, end: usize, between: f64, noise: f64) -> f64 {
        let within = (self.scatter(begin, end) - between).max(0.0) / (end - begin - 2) as f64;
        (between.max(0.0) / within.max(noise * noise)).sqrt()
    }

    /// Returns the strength of the strongest step of all stretches.
    pub(super) fn most(&self, noise: f64) -> f64 {
        let mut most = 0.0_f64;
        for length in lengths(self.len()) {
            let weights = weights(length);
            for begin in begins(self.len(), length) {
                let end = begin + length;
                let between = self.most_between(begin, end, &weights);
                if self.most_strength(begin, end, between, noise) > most {
                    most = most.max(self.strongest(begin, end, noise).strength);
                }
            }
        }
        most
    }

    /// Returns the strongest step of each stretch.
    pub(super) fn steps(&self, noise: f64) -> Vec<Step> {
        let stretches = lengths(self.len())
            .into_iter()
            .flat_map(|length| begins(self.len(), length).map(move |begin| (begin, begin + length)));
        stretches.map(|(begin, end)| self.strongest(begin, end, noise)).collect()
    }

    /// Returns the first and the last place that `step` may have, with a confidence of 95 %: those which twice the logarithm of the
    /// likelihood separates from its own by less than [`SEPARATION`].
    pub(super) fn places(&self, step: &Step, noise: f64) -> (usize, usize) {
        let Step { begin, at, end, .. } = *step;
        let variance = self.variance(begin, at, end, noise);
        let within = |at| self.scatter(begin, at) + self.scatter(at, end);
        let least = within(at);
        let may = |at: &usize| (within(*at) - least) / variance < SEPARATION;
        let mut places = (begin + LEAST..=end - LEAST).filter(may);
        let first = places.next().unwrap_or(at);
        (first, places.next_back().unwrap_or(first).max(at))
    }
}

/// The distance of two places for a change that are told apart with a confidence of 95 %: −2·ln(1 − √0.95) (Hansen, *Econometrica*
/// 68, 2000).
const SEPARATION: f64 = 7.352_277;

/// Returns the weight of the squared excess of each number of values on the left, from [`LEAST`] on, in a stretch of this length.
fn weights(length: usize) -> Vec<f64> {
    let weight = |left: usize| length as f64 / (left as f64 * (length - left) as f64);
    (LEAST..=length - LEAST).map(weight).collect()
}

/// Returns the places at which stretches of this length begin.
fn begins(all: usize, length: usize) -> impl Iterator<Item = usize> {
    let stride = if length <= DENSE { 1 } else { length / 2 };
    let last = all - length;
    (0..last).step_by(stride).chain([last])
}

/// Returns the lengths of stretches of a series of `length` values: all of it, then each shorter than the one before by the root of
/// two.
fn lengths(length: usize) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut exact = length as f64;
    while exact.round() as usize >= 2 * LEAST {
        let rounded = exact.round() as usize;
        if lengths.last() != Some(&rounded) {
            lengths.push(rounded);
        }
        exact *= std::f64::consts::FRAC_1_SQRT_2;
    }
    lengths
}
