//! Changes of a series of positive values in the order of time: where its level moved, by how much, and how certain that is.
//!
//! Steps are searched in stretches of many lengths (`intervals`), and the strength that a step needs comes of the series' own noise in
//! other orders, a permutation test. The strongest step is a change; stretches with it inside are left; then the next. Each
//! change is then placed anew between its neighbours, and tested again there.

mod intervals;
mod shuffle;

use self::intervals::{ORDERS, Step, Sums, residuals, strengths_by_chance};
use gpubench_stats::{CONFIDENCE, student_quantile};

/// The part of orders of a series' noise that may have a step as strong as a change. Of series without a change, at most twice this part
/// is said to have one, by simulation with skewed noise.
pub const FALSE_ALARMS: f64 = 0.005;

/// The fewest values in which a change is looked for. In fewer, skewed noise has too many false alarms.
pub const SHORTEST_SERIES: usize = 20;

/// A change of the level of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The first value of the new level.
    pub at: usize,
    /// The first and the last value that the new level may begin with, with a confidence of 95 %.
    pub between: (usize, usize),
    /// The new level over the one before it.
    pub ratio: f64,
    /// The ends of the interval of `ratio`, with a confidence of 95 %.
    pub interval: [f64; 2],
    /// The first value of the level before it, and the end of the new level: the places of the changes beside it.
    pub levels: (usize, usize),
}

/// Returns the changes of a series of positive values, in the order of time.
pub fn changes(values: &[f64]) -> Vec<Change> {
    if values.len() < SHORTEST_SERIES || values.iter().any(|value| !value.is_finite() || *value <= 0.0) {
        return Vec::new();
    }
    // Ratios are differences of logarithms; those from the first value are small numbers, whose sums are exact.
    let logs: Vec<f64> = values.iter().map(|value| (value / values[0]).ln()).collect();
    let series = Sums::new(&logs);
    // Few series of normal values reach this strength: where nothing does, no orders are tried.
    let usual = (2.0 * (logs.len() as f64).ln()).sqrt() + 0.5;
    let mut found: Vec<Step> = series.steps().filter(|step| step.strength > usual).collect();
    found.sort_by(|one, other| other.strength.total_cmp(&one.strength));
    if found.is_empty() {
        return Vec::new();
    }
    let by_chance = strengths_by_chance(&residuals(&logs));
    // One of the orders is that of the series itself.
    let allowed = (FALSE_ALARMS * (ORDERS + 1) as f64) as usize;
    let needed = by_chance[ORDERS - allowed];
    series.placed(chosen(&found), needed).iter().map(|step| series.change(step)).collect()
}

/// Returns the places of those of `found`, the strongest first, whose stretch has no stronger one inside, in the order of time.
fn chosen(found: &[Step]) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for step in found {
        if !chosen.iter().any(|at| step.begin < *at && *at < step.end) {
            chosen.push(step.at);
        }
    }
    chosen.sort_unstable();
    chosen
}

impl Sums {
    /// Returns the strongest step between each two neighbours of these places, without those that are then not strong enough.
    fn placed(&self, mut places: Vec<usize>, needed: f64) -> Vec<Step> {
        loop {
            for number in 0..places.len() {
                places[number] = self.between(&places, number).at;
            }
            let steps: Vec<Step> = (0..places.len()).map(|number| self.between(&places, number)).collect();
            let weakest =
                (0..steps.len()).min_by(|one, other| steps[*one].strength.total_cmp(&steps[*other].strength));
            match weakest {
                Some(weakest) if steps[weakest].strength <= needed => _ = places.remove(weakest),
                _ => return steps,
            }
        }
    }

    /// Returns the strongest step between the neighbours of the place of this number.
    fn between(&self, places: &[usize], number: usize) -> Step {
        let begin = if number == 0 { 0 } else { places[number - 1] };
        let end = places.get(number + 1).copied().unwrap_or(self.len());
        self.strongest(begin, end)
    }

    fn change(&self, step: &Step) -> Change {
        let Step { begin, at, end, .. } = *step;
        let size = self.size(begin, at, end);
        let error = self.error(begin, at, end);
        let half = student_quantile(CONFIDENCE, end - begin - 2) * error;
        Change {
            at,
            between: self.places(step),
            ratio: size.exp(),
            interval: [size - half, size + half].map(f64::exp),
            levels: (begin, end),
        }
    }
}

#[cfg(test)]
mod tests;
