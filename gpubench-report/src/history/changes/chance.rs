//! The chance of a step as strong as a change where there is none. In: the strongest step of each of many orders of a series' noise; out: a
//! part of one.
//!
//! A change is stronger than all orders, which alone would say of each the same: less than one in their number. The tail of their strengths
//! tells how much less: a generalized Pareto distribution (Knijnenburg, Wessels, Reinders & Shmulevich, *Bioinformatics* 25, 2009).

/// The part of the orders, the strongest, that the tail is fitted to.
const TAIL: f64 = 0.25;

/// The least chance that a change is said to have: less would be a guess about the tail alone.
pub const LEAST_CHANCE: f64 = 1e-6;

/// The tail of the strengths of steps by chance.
pub(super) struct Tail {
    /// The strength behind which it begins, and the part of orders there.
    begin: f64,
    part: f64,
    /// The generalized Pareto distribution of the excesses.
    scale: f64,
    shape: f64,
}

impl Tail {
    /// Fits the tail of `strongest`, which ascend.
    pub(super) fn of(strongest: &[f64]) -> Self {
        let count = (TAIL * strongest.len() as f64) as usize;
        let (below, tail) = strongest.split_at(strongest.len() - count);
        let begin = below.last().copied().unwrap_or_default();
        let excesses: Vec<f64> = tail.iter().map(|strength| strength - begin).collect();
        let (scale, shape) = pareto(&excesses);
        Self { begin, part: (count + 1) as f64 / (strongest.len() + 1) as f64, scale, shape }
    }

    /// Returns the chance of a step of this strength or more anywhere in a series without a change.
    pub(super) fn chance(&self, strength: f64) -> f64 {
        let excess = (strength - self.begin).max(0.0) / self.scale;
        let above = if self.shape > 0.0 {
            (1.0 + self.shape * excess).powf(-1.0 / self.shape)
        } else {
            (-excess).exp()
        };
        self.part * above
    }
}

/// Returns the scale and the shape of the generalized Pareto distribution of `excesses`, which ascend, by their probability-weighted
/// moments (Hosking & Wallis, *Technometrics* 29, 1987). A shape below zero, by which no step could be stronger than some limit, counts as zero.
fn pareto(excesses: &[f64]) -> (f64, f64) {
    let count = excesses.len() as f64;
    let mean = excesses.iter().sum::<f64>() / count;
    let weight = |number: usize| 1.0 - (number as f64 + 0.65) / count;
    let weighted =
        excesses.iter().enumerate().map(|(number, excess)| weight(number) * excess).sum::<f64>() / count;
    let shape = 2.0 - mean / (mean - 2.0 * weighted);
    if shape > 0.0 {
        (2.0 * mean * weighted / (mean - 2.0 * weighted), shape)
    } else {
        (mean.max(f64::MIN_POSITIVE), 0.0)
    }
}

/// Returns the part of the orders of a stretch, which has `left` values before a step and `right` behind it, in which the fewer of them are
/// together at one end. Their step is as strong, so that no test by orders can find less: of ten values, the last two are such in 1 of 22.
pub(super) fn together(left: usize, right: usize) -> f64 {
    let (few, all) = (left.min(right), left + right);
    let part = (0..few).fold(2.0, |part, number| part * (few - number) as f64 / (all - number) as f64);
    part.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strengths at the middle of each of 199 equal parts of this distribution.
    fn strengths(quantile: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..199).map(|number| quantile((f64::from(number) + 0.5) / 199.0)).collect()
    }

    /// Of an exponential tail each unit is a factor of e less; of one that falls as a power, chances are as the distribution's own.
    #[test]
    fn chances_beyond_all_orders_are_those_of_the_tail() {
        let exponential = Tail::of(&strengths(|part| 3.0 - (1.0 - part).ln()));
        let power = Tail::of(&strengths(|part| 3.0 * (1.0 - part).powf(-0.25)));
        for (found, expected) in [
            (exponential.chance(3.0 + 1e3_f64.ln()), 1e-3),
            (exponential.chance(3.0 + 1e5_f64.ln()), 1e-5),
            (power.chance(3.0 * 1e3_f64.powf(0.25)), 1e-3),
            (power.chance(3.0 * 1e5_f64.powf(0.25)), 1e-5),
        ] {
            let factor = found / expected;
            assert!((0.3..3.0).contains(&factor), "{found} for {expected}");
        }
    }

    /// A tail that ends, as that of a uniform distribution, has chances beyond its end.
    #[test]
    fn no_strength_is_impossible() {
        let uniform = Tail::of(&strengths(|part| 3.0 + part));
        assert!(uniform.chance(4.0) > uniform.chance(6.0) && uniform.chance(6.0) > 0.0);
        assert!(Tail::of(&[1.0; 199]).chance(2.0) < 1e-6, "equal strengths have no tail");
    }

    #[test]
    fn few_values_can_be_together_by_chance() {
        let expected =
            [((8, 2), 2.0 / 45.0), ((2, 8), 2.0 / 45.0), ((10, 3), 2.0 / 286.0), ((2, 2), 1.0 / 3.0)];
        for ((left, right), expected) in expected {
            assert!((together(left, right) - expected).abs() < 1e-12, "{left} and {right}");
        }
    }
}
