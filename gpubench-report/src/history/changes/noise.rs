//! The noise of a series: the spread of neighbours, and the strength that no step of noise alone reaches.

use super::intervals::Sums;
use gpubench_stats::{median_of, shuffle};

/// No series has less noise than this part of its values. Repeated readings of a clock with few digits look as if they had none.
pub(super) const SMALLEST_NOISE: f64 = 1e-4;

/// The orders that the values are put in, to see what noise does.
pub(super) const ORDERS: usize = 199;

/// The most neighbours on each side that the level at a value is taken from.
const MOST_NEIGHBOURS: usize = 5;

/// The quantiles of a normal variable without its sign that deviations are taken from, each with its value. The second one sees values that
/// come in clusters, most neighbours of which are of the same: there the first is the noise within a cluster.
const QUANTILES: [(f64, f64); 2] = [(0.5, 0.674_490), (0.75, 1.150_349)];

/// Returns the standard deviation of `values` around a level that may change. Neighbours share a level, but for few.
pub(super) fn noise(values: &[f64]) -> f64 {
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
            let mut most = 0.0_f64;
            Sums::new(&residuals).each_step(|step| most = most.max(step.strength));
            most
        })
        .collect();
    strongest.sort_unstable_by(f64::total_cmp);
    strongest
}
