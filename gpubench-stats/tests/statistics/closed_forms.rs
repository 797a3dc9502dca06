//! The summary against closed forms: what is found in many draws of a known distribution, and what it must be.

use super::*;

struct Truth {
    mean: f64,
    deviation: f64,
    /// Fourth central moment over the squared variance; it sets the error of a standard deviation.
    kurtosis: f64,
    /// The 5th, 50th, 95th and 99th percentile, each with the density there, which sets its error.
    quantiles: [(f64, f64); 4],
}

/// Fails where a figure is further than five standard errors (one in two million) from the truth.
fn assert_near(truth: &Truth, one: impl Fn(&mut StdRng) -> f64) {
    let count = 200_000;
    let found = summary(&draw(count, &mut StdRng::seed_from_u64(1), &one), 0.0);
    let root = (count as f64).sqrt();
    let near = |what: &str, found: Nanoseconds, truth: f64, error: f64| {
        assert!((found.0 - truth).abs() < 5.0 * error, "{what}: {} is not {truth} ± {error}", found.0);
    };
    near("mean", found.mean, truth.mean, truth.deviation / root);
    let deviation_error = truth.deviation / 2.0 * (truth.kurtosis - 1.0).sqrt() / root;
    near("deviation", found.standard_deviation, truth.deviation, deviation_error);
    let quantiles = [(0.05_f64, found.p5), (0.5, found.median), (0.95, found.p95), (0.99, found.p99)];
    for ((p, found), (truth, density)) in quantiles.into_iter().zip(truth.quantiles) {
        near(&format!("p = {p}"), found, truth, (p * (1.0 - p)).sqrt() / (density * root));
    }
}

/// The density of a standard normal variable.
fn density(z: f64) -> f64 {
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

#[test]
fn finds_the_figures_of_a_normal_distribution() {
    let quantiles = [-Z_95, 0.0, Z_95, Z_99].map(|z| (5_000.0 + 100.0 * z, density(z) / 100.0));
    let truth = Truth { mean: 5_000.0, deviation: 100.0, kurtosis: 3.0, quantiles };
    assert_near(&truth, |rng| normal(5_000.0, 100.0).sample(rng));

    let samples = draw(200_000, &mut StdRng::seed_from_u64(2), &|rng| normal(5_000.0, 100.0).sample(rng));
    let error = 0.5 / (density(Z_75) / 100.0 * 200_000_f64.sqrt());
    assert!((summary(&samples, 0.0).iqr.0 - 200.0 * Z_75).abs() < 5.0 * error);
}

#[test]
fn finds_the_figures_of_a_log_normal_distribution() {
    let (median, sigma) = (5_000.0, 0.3_f64);
    let grow = (sigma * sigma).exp();
    let mean = median * grow.sqrt();
    let quantiles = [-Z_95, 0.0, Z_95, Z_99].map(|z| {
        let time = median * (sigma * z).exp();
        (time, density(z) / (sigma * time))
    });
    let kurtosis = grow.powi(4) + 2.0 * grow.powi(3) + 3.0 * grow.powi(2) - 3.0;
    let truth = Truth { mean, deviation: mean * (grow - 1.0).sqrt(), kurtosis, quantiles };
    assert_near(&truth, |rng| log_normal(median, sigma).sample(rng));
}

/// The modes do not overlap, so that each quantile is one of a single mode: p/0.7 of the first, (p − 0.7)/0.3
/// of the second, with z(1/14), z(5/7), z(5/6) and z(29/30).
#[test]
fn finds_the_figures_of_two_modes() {
    let first = |z: f64| (100.0 + z, 0.7 * density(z));
    let second = |z: f64| (120.0 + z, 0.3 * density(z));
    let quantiles =
        [first(-1.465_233_793), first(0.565_948_822), second(0.967_421_566), second(1.833_914_636)];
    let moments = [(0.7, -6.0_f64), (0.3, 14.0)]; // weight, distance from the mean of 106 ns
    let variance = 1.0 + moments.map(|(w, d)| w * d.powi(2)).iter().sum::<f64>();
    let fourth: f64 = moments.map(|(w, d)| w * (d.powi(4) + 6.0 * d.powi(2) + 3.0)).iter().sum();
    let kurtosis = fourth / variance.powi(2);
    assert_near(&Truth { mean: 106.0, deviation: variance.sqrt(), kurtosis, quantiles }, two_modes);
}

/// 3004 ns are 93⅞ steps: one sample in eight reads 93 steps and the others 94.
#[test]
fn finds_the_figures_of_a_constant_time_on_a_coarse_timer() {
    let found = summary(&draw(100_000, &mut StdRng::seed_from_u64(3), &|rng| quantised(3_004.0, rng)), STEP);
    assert_eq!((found.min.0, found.median.0, found.max.0, found.iqr.0), (2_976.0, 3_008.0, 3_008.0, 0.0));
    assert_eq!((found.median_ci.low.0, found.median_ci.high.0), (2_976.0, 3_040.0));
    let deviation = STEP * (7.0_f64 / 64.0).sqrt();
    assert!((found.mean.0 - 3_004.0).abs() < 5.0 * deviation / 100_000_f64.sqrt());
    assert!((found.standard_deviation.0 - deviation).abs() < 0.1);
}
