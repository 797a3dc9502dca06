//! Student's t distribution, for means of few values. In: a confidence and degrees of freedom; out: how many
//! standard errors lie to either side of the mean.
//!
//! The closed forms of Abramowitz & Stegun, *Handbook of Mathematical Functions*, 26.7.3 and 26.7.4, for
//! whole degrees of freedom, inverted by bisection.

use std::f64::consts::FRAC_2_PI;

use crate::bisection::bisect;

/// Returns the t for which a variable of Student's distribution lies within ± t with probability
/// `confidence`, which is between 0 and 1. `freedom` is the number of degrees of freedom, at least 1.
pub fn quantile(confidence: f64, freedom: usize) -> f64 {
    let mut high = 1.0;
    while within(high, freedom) < confidence {
        high *= 2.0;
    }
    bisect((0.0, high), 0.0, |t| within(t, freedom) < confidence)
}

/// Returns the probability that a variable of Student's distribution is above `t`. `freedom` is the number of
/// degrees of freedom, at least 1. Probabilities below 10⁻¹⁵ are not exact.
pub fn above(t: f64, freedom: usize) -> f64 {
    let outside = (1.0 - within(t.abs(), freedom)).max(0.0) / 2.0;
    if t < 0.0 { 1.0 - outside } else { outside }
}

/// Returns the probability that a variable of Student's distribution with `freedom` degrees of freedom lies
/// within ± `t`.
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    // cos θ + ⅔·cos³θ + … or 1 + ½·cos²θ + …, up to the power `freedom` − 2.
    let mut power = freedom % 2;
    let mut term = if power == 1 { cosine } else { 1.0 };
    let mut sum = 0.0;
    while power + 2 <= freedom {
        sum += term;
        term *= cosine * cosine * (power + 1) as f64 / (power + 2) as f64;
        power += 2;
    }
    if freedom.is_multiple_of(2) { sine * sum } else { FRAC_2_PI * (angle + sine * sum) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the tables of any textbook.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (confidence, freedom, expected) in [
            (0.95, 1, 12.706),
            (0.95, 2, 4.303),
            (0.95, 3, 3.182),
            (0.95, 10, 2.228),
            (0.99, 1, 63.657),
            (0.99, 4, 4.604),
            (0.99, 7, 3.499),
            (0.99, 30, 2.750),
            (0.999, 3, 12.924),
            (0.999, 60, 3.460),
        ] {
            let found = quantile(confidence, freedom);
            assert!((found - expected).abs() < 6e-4, "{confidence} at {freedom}: {found}");
        }
    }

    #[test]
    fn probabilities_are_those_of_the_quantiles() {
        for (t, freedom, expected) in [(6.314, 1, 0.05), (2.353, 3, 0.05), (3.169, 10, 0.005), (0.0, 5, 0.5)]
        {
            assert!((above(t, freedom) - expected).abs() < 1e-4, "{t} at {freedom}");
            assert!((above(-t, freedom) - (1.0 - expected)).abs() < 1e-4, "{t} at {freedom}");
        }
    }

    #[test]
    fn many_degrees_of_freedom_are_a_normal_distribution() {
        assert!((quantile(0.95, 100_000) - 1.959_96).abs() < 1e-4);
        assert!((quantile(0.99, 100_000) - 2.575_83).abs() < 1e-4);
    }
}
