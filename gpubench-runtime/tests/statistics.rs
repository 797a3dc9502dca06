//! The statistics against known truth. In: seeded samples of distributions whose median, moments and
//! quantiles are known in closed form; out: that the summary finds them within their standard errors, that
//! the interval of the median covers it as often as it says, that the stop rule ends when it should, and that
//! drift and two modes are found where they are planted and nowhere else.

use gpubench_runtime::stats::{Decision, Drift, Modes, StopRule, Summary};
use gpubench_runtime::units::Nanoseconds;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Exp, LogNormal, Normal, Uniform};

/// One step of an H200's event timer.
const STEP: f64 = 32.0;
const DRAWS: usize = 10_000;

/// Standard normal quantiles z(p).
const Z_75: f64 = 0.674_489_750_196;
const Z_95: f64 = 1.644_853_626_951;
const Z_99: f64 = 2.326_347_874_041;

fn normal(mean: f64, deviation: f64) -> Normal<f64> {
    Normal::new(mean, deviation).expect("the deviation is finite")
}

fn log_normal(median: f64, sigma: f64) -> LogNormal<f64> {
    LogNormal::new(median.ln(), sigma).expect("sigma is finite")
}

/// Seven of ten samples around 100 ns, three around 120 ns, both with a deviation of 1 ns.
fn two_modes(rng: &mut StdRng) -> f64 {
    let centre = if uniform(1.0).sample(rng) < 0.7 { 100.0 } else { 120.0 };
    normal(centre, 1.0).sample(rng)
}

/// A time as an event pair reads it: both stamps are rounded down to a step, and the first falls anywhere
/// within one.
fn quantised(time: f64, rng: &mut StdRng) -> f64 {
    ((uniform(STEP).sample(rng) + time) / STEP).floor() * STEP
}

fn uniform(end: f64) -> Uniform<f64> {
    Uniform::new(0.0, end).expect("the end is above zero")
}

fn draw(count: usize, rng: &mut StdRng, one: &impl Fn(&mut StdRng) -> f64) -> Vec<Nanoseconds> {
    (0..count).map(|_| Nanoseconds(one(rng))).collect()
}

fn summary(samples: &[Nanoseconds], step: f64) -> Summary {
    Summary::of(samples, Nanoseconds(step)).expect("there are samples")
}

// ---- The summary against closed forms ------------------------------------------------------------------------------

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

// ---- The interval covers the true median ---------------------------------------------------------------------------

/// The share of intervals, over [`DRAWS`] sets of `count` samples, that hold `median`.
fn coverage(count: usize, step: f64, median: f64, one: impl Fn(&mut StdRng) -> f64) -> f64 {
    let mut rng = StdRng::seed_from_u64(count as u64);
    let covered =
        |_: &usize| summary(&draw(count, &mut rng, &one), step).median_ci.contains(Nanoseconds(median));
    (0..DRAWS).filter(covered).count() as f64 / DRAWS as f64
}

/// The error of a share of 95 % over 10,000 draws is 0.22 %; seen: 95.1 to 95.8 %.
fn assert_covers(median: f64, one: impl Fn(&mut StdRng) -> f64) {
    for count in [10, 30, 50, 100, 500] {
        let share = coverage(count, 0.0, median, &one);
        assert!((share - 0.95).abs() < 0.015, "{count} samples: {share}");
    }
}

#[test]
fn interval_covers_the_median_of_a_normal_distribution() {
    assert_covers(5_000.0, |rng| normal(5_000.0, 100.0).sample(rng));
}

#[test]
fn interval_covers_the_median_of_a_log_normal_distribution() {
    assert_covers(5_000.0, |rng| log_normal(5_000.0, 0.3).sample(rng));
}

#[test]
fn interval_covers_the_median_of_an_exponential_distribution() {
    let excess = Exp::new(0.001).expect("the rate is above zero");
    assert_covers(1_000.0 + 1_000.0 * std::f64::consts::LN_2, |rng| 1_000.0 + excess.sample(rng));
}

#[test]
fn interval_covers_the_median_of_two_modes() {
    assert_covers(100.565_948_822, two_modes);
}

/// The truth is the median before the timer rounds it. Seen: at least 94.5 % (500 samples, 400 ns of noise),
/// and 100 % where the floor of one step decides.
#[test]
fn interval_covers_the_median_behind_a_coarse_timer() {
    for count in [30, 100, 500] {
        for (median, noise) in [(3_000.0, 8.0), (3_000.0, 200.0), (3_000.0, 400.0), (3_008.0, 200.0)] {
            let share =
                coverage(count, STEP, median, |rng| quantised(normal(median, noise).sample(rng), rng));
            assert!(share >= 0.935, "{count} samples, {median} ± {noise} ns: {share}");
        }
    }
}

// ---- Samples that are not independent ------------------------------------------------------------------------------

/// Gaussian samples of deviation 1 around zero, each correlated with the one before by `phi`: AR(1).
fn correlated(count: usize, phi: f64, rng: &mut StdRng) -> Vec<f64> {
    let standard = normal(0.0, 1.0);
    let mut last = standard.sample(rng);
    let next = |_| {
        let this = last;
        last = phi * last + (1.0 - phi * phi).sqrt() * standard.sample(rng);
        this
    };
    (0..count).map(next).collect()
}

fn around(time: f64, noise: f64, samples: &[f64]) -> Vec<Nanoseconds> {
    samples.iter().map(|sample| Nanoseconds(time * (1.0 + noise * sample))).collect()
}

/// What one sample of [`correlated`] is worth: the signs of Gaussian samples that are correlated by r are
/// correlated by (2/π)·asin r (Sheppard 1899).
fn worth(phi: f64) -> f64 {
    let signs = |lag: i32| std::f64::consts::FRAC_2_PI * phi.powi(lag).asin();
    1.0 / (1.0 + 2.0 * (1..1000).map(signs).sum::<f64>())
}

/// Seen: too few by up to 3.2 %, too many by up to 0.3 %.
#[test]
fn effective_samples_are_those_of_the_correlation_of_signs() {
    for (count, draws) in [(5_000, 100), (60_000, 20)] {
        for phi in [0.0, 0.3, 0.6, 0.9] {
            let mut rng = StdRng::seed_from_u64(7);
            let mut found = || {
                let samples = around(5_000.0, 0.01, &correlated(count, phi, &mut rng));
                summary(&samples, 0.0).effective_samples.expect("a live summary") / count as f64
            };
            let mean = (0..draws).map(|_| found()).sum::<f64>() / f64::from(draws);
            let error = mean / worth(phi) - 1.0;
            assert!(error.abs() < 0.05, "{count} samples, φ = {phi}: {mean} is not {}", worth(phi));
        }
    }
}

/// The share of intervals that hold the median of [`correlated`] samples, as they ran and in random order
/// (which is what takes them for independent), and the mean worth of a sample.
fn correlated_coverage(count: usize, phi: f64) -> (f64, f64, f64) {
    let draws = 2_000;
    let mut rng = StdRng::seed_from_u64(8);
    let (mut covered, mut naive, mut effective) = (0, 0, 0.0);
    for _ in 0..draws {
        let mut samples = around(5_000.0, 0.01, &correlated(count, phi, &mut rng));
        let found = summary(&samples, 0.0);
        covered += usize::from(found.median_ci.contains(Nanoseconds(5_000.0)));
        effective += found.effective_samples.expect("a live summary") / count as f64;
        samples.shuffle(&mut rng);
        naive += usize::from(summary(&samples, 0.0).median_ci.contains(Nanoseconds(5_000.0)));
    }
    let share = |count: usize| count as f64 / f64::from(draws);
    (share(covered), share(naive), effective / f64::from(draws))
}

/// Seen, and beside it what the same samples give when they are taken for independent: φ = 0.3, 93.8 % (90 %) of
/// 100 samples and 95.3 % (89 %) of 1000; φ = 0.6, 94.4 % (76 %) of 100, 94.7 % (75 %) of 200 and 95.7 % (77 %)
/// of 1000; φ = 0.9, 90.3 % (42 %) of 200, which are worth 15, and 94.3 % (43 %) of 1000.
#[test]
fn interval_covers_the_median_of_correlated_samples() {
    for (count, phi, least) in [
        (100, 0.3, 0.92),
        (200, 0.3, 0.93),
        (1000, 0.3, 0.93),
        (100, 0.6, 0.92),
        (200, 0.6, 0.93),
        (500, 0.6, 0.935),
        (1000, 0.6, 0.935),
        (200, 0.9, 0.89),
        (1000, 0.9, 0.92),
    ] {
        let (covered, naive, _) = correlated_coverage(count, phi);
        assert!((least..0.97).contains(&covered), "{count} samples, φ = {phi}: {covered}");
        assert!(naive < 0.91, "{count} samples, φ = {phi}, taken for independent: {naive}");
    }
}

/// Seen: 96.0, 95.7 and 95.5 % of the intervals of 30, 100 and 1000 samples hold the median, and a sample is
/// worth 0.90, 0.94 and 0.98 on average.
#[test]
fn independent_samples_stay_nearly_as_many() {
    for (count, least) in [(30, 0.89), (100, 0.93), (1000, 0.97)] {
        let (covered, _, effective) = correlated_coverage(count, 0.0);
        assert!((0.94..0.965).contains(&covered), "{count} samples: {covered}");
        assert!(effective > least, "{count} samples: each worth {effective}");
    }
}

#[test]
fn alternating_samples_promise_no_more_than_independent_ones() {
    let (covered, _, effective) = correlated_coverage(200, -0.6);
    assert!(covered > 0.98 && (0.999..=1.0).contains(&effective), "{covered}, {effective}");
}

// ---- Drift and two modes -------------------------------------------------------------------------------------------

/// How the samples of a case may come: so many, in order.
type Series<'a> = &'a dyn Fn(usize, &mut StdRng) -> Vec<Nanoseconds>;

/// The shares of 2,000 series that show a drift and two modes.
fn shown(count: usize, step: f64, series: Series) -> (f64, f64) {
    let draws = 2_000;
    let mut rng = StdRng::seed_from_u64(9);
    let (mut drifts, mut modes) = (0, 0);
    for _ in 0..draws {
        let times = series(count, &mut rng);
        drifts += usize::from(Drift::of(&times, Nanoseconds(step)).is_some());
        modes += usize::from(Modes::of(&times, Nanoseconds(step)).is_some());
    }
    (drifts as f64 / draws as f64, modes as f64 / draws as f64)
}

/// Of independent samples at most 0.05 % were seen to drift and 0.3 % (60 uniform ones) to have two modes; of
/// correlated ones (φ = 0.6) 0.7 % to drift at 60 samples, 0.4 % at 100 and less beyond.
#[test]
fn steady_series_of_one_mode_show_neither() {
    let exponential = Exp::new(1.0).expect("the rate is above zero");
    let shapes: [(&str, f64, Series); 8] = [
        ("normal", 0.0, &|count, rng| draw(count, rng, &|rng| normal(1e4, 1e3).sample(rng))),
        ("log-normal", 0.0, &|count, rng| draw(count, rng, &|rng| log_normal(1e4, 0.3).sample(rng))),
        ("exponential", 0.0, &|count, rng| draw(count, rng, &|rng| 1e3 * (1.0 + exponential.sample(rng)))),
        ("uniform", 0.0, &|count, rng| draw(count, rng, &|rng| 1e3 + uniform(1e3).sample(rng))),
        ("ties", STEP, &|count, rng| draw(count, rng, &|rng| quantised(normal(2e3, 16.0).sample(rng), rng))),
        ("coarse", STEP, &|count, rng| {
            draw(count, rng, &|rng| quantised(2e3 + 100.0 * exponential.sample(rng), rng))
        }),
        ("correlated", 0.0, &|count, rng| around(1e4, 0.1, &correlated(count, 0.6, rng))),
        ("correlated, coarse", STEP, &|count, rng| {
            let times = around(2e3, 0.05, &correlated(count, 0.6, rng));
            times.into_iter().map(|time| Nanoseconds(quantised(time.0, rng))).collect()
        }),
    ];
    for (shape, step, series) in shapes {
        for count in [30, 60, 100, 300, 1000] {
            let (drifts, modes) = shown(count, step, series);
            let most = if count == 60 && shape == "correlated" { 0.012 } else { 0.005 };
            assert!(drifts <= most, "{shape}, {count} samples: {drifts} drift");
            assert!(modes <= 0.005, "{shape}, {count} samples: {modes} have two modes");
        }
    }
}

/// Times of 10 µs with 0.5 % of noise, and what `planted` adds, as a fraction, over 0..1.
fn moved(count: usize, rng: &mut StdRng, planted: impl Fn(f64) -> f64) -> Vec<Nanoseconds> {
    let noise = normal(0.0, 0.005);
    let time = |i| 1e4 * (1.0 + planted(i as f64 / count as f64) + noise.sample(rng));
    (0..count).map(time).map(Nanoseconds).collect()
}

/// Seen: the slope of 2 % in 95.6 % of 100 samples and all of 1000, the step in all, the warm-up in 99.6 %.
#[test]
fn planted_drift_is_found() {
    let planted: [(&str, usize, Series); 6] = [
        ("2 % up", 100, &|count, rng| moved(count, rng, |t| 0.02 * t)),
        ("2 % up", 1000, &|count, rng| moved(count, rng, |t| 0.02 * t)),
        ("2 % down", 100, &|count, rng| moved(count, rng, |t| -0.02 * t)),
        ("a step of 3 %", 60, &|count, rng| moved(count, rng, |t| if t < 0.5 { 0.0 } else { 0.03 })),
        ("a step of 3 %", 1000, &|count, rng| moved(count, rng, |t| if t < 0.5 { 0.0 } else { 0.03 })),
        ("10 % of warm-up", 100, &|count, rng| moved(count, rng, |t| 0.1 * (-4.0 * t).exp())),
    ];
    for (effect, count, series) in planted {
        let (drifts, _) = shown(count, 0.0, series);
        assert!(drifts >= 0.95, "{effect}, {count} samples: found in {drifts}");
    }
}

/// 5 % apart, with noise of 0.5 %. Seen: in 98.8 % of 100 samples where one mode holds a fifth of them, else in
/// all.
#[test]
fn planted_modes_are_found() {
    let mixed = |count: usize, rng: &mut StdRng, share_high: f64| {
        let slow: Vec<bool> = (0..count).map(|_| uniform(1.0).sample(rng) < share_high).collect();
        let mut slow = slow.into_iter().map(|slow| f64::from(u8::from(slow)) * 500.0);
        draw(count, rng, &|rng| normal(1e4, 50.0).sample(rng))
            .into_iter()
            .map(|time| Nanoseconds(time.0 + slow.next().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    for count in [100, 1000] {
        for share_high in [0.2, 0.5, 0.8] {
            let (drifts, fine) = shown(count, 0.0, &|count, rng| mixed(count, rng, share_high));
            let (_, coarse) = shown(count, STEP, &|count, rng| {
                let times = mixed(count, rng, share_high);
                times.into_iter().map(|time| Nanoseconds(quantised(time.0, rng))).collect()
            });
            assert!(fine >= 0.95 && coarse >= 0.95, "{count} samples, {share_high}: {fine}, {coarse}");
            assert!(drifts <= 0.005, "{count} samples, {share_high}: {drifts} drift");
        }
    }
    let found = Modes::of(&mixed(1000, &mut StdRng::seed_from_u64(10), 0.2), Nanoseconds(0.0));
    let found = found.expect("two modes");
    assert!((found.low.0 - 1e4).abs() < 15.0 && (found.high.0 - 1.05e4).abs() < 25.0, "{found:?}");
    assert!((found.share_high - 0.2).abs() < 0.05, "{found:?}");
}

// ---- The stop rule -------------------------------------------------------------------------------------------------

/// Samples in groups of `group` until the rule ends, or `None` after 10,000 of them.
fn until_stop(group: usize, rng: &mut StdRng, one: &impl Fn(&mut StdRng) -> f64) -> Option<Summary> {
    let mut rule = StopRule::new(0.005, 30);
    let mut samples = Vec::new();
    while samples.len() < 10_000 {
        samples.extend(draw(group, rng, one));
        let so_far = summary(&samples, STEP);
        if rule.check(&so_far, Nanoseconds(STEP)) == Decision::Converged {
            return Some(so_far);
        }
    }
    None
}

#[test]
fn stops_at_the_second_check_where_the_timer_is_the_limit() {
    let mut rng = StdRng::seed_from_u64(4);
    let stop =
        |rng: &mut StdRng, one: &dyn Fn(&mut StdRng) -> f64| until_stop(10, rng, &one).map(|s| s.samples);
    assert_eq!(stop(&mut rng, &|_| 3_008.0), Some(40), "nothing but ties");
    for jitter in [1.0, 5.0, 10.0, 20.0] {
        let row = |rng: &mut StdRng| quantised(normal(3_000.0, jitter).sample(rng), rng);
        for _ in 0..200 {
            assert_eq!(stop(&mut rng, &row), Some(40), "3 µs with a jitter of {jitter} ns");
        }
    }
}

#[test]
fn does_not_stop_on_noise() {
    let mut rng = StdRng::seed_from_u64(5);
    assert!(until_stop(50, &mut rng, &|rng| log_normal(1e6, 0.5).sample(rng)).is_none());
}

/// A half-width of 0.5 % takes (1.96·√(π/2)·σ/0.5 %)² samples of a relative noise σ: 24 at 1 % (so the
/// minimum of 30 decides), 97 at 2 %, 217 at 3 %. The stop comes a little later, with the second check, and
/// now and then by luck earlier, which costs coverage. Seen over 4,000 runs, at σ = 1 %, 2 %, 3 %:
/// 36, 96, 209 samples and 94.8, 92.6, 93.4 % for a check after each sample; 58, 130, 249 samples and 94.8,
/// 94.3, 93.8 % for groups of 16. Independent samples that look correlated by chance cost 2 to 7 % more.
#[test]
fn stops_after_the_samples_that_the_noise_needs_and_still_covers() {
    let runs = 2_000;
    for group in [1, 16] {
        for (sigma, needed) in [(0.01, 30.0), (0.02, 97.0), (0.03, 217.0)] {
            let mut rng = StdRng::seed_from_u64(6);
            let stops: Vec<Summary> = (0..runs)
                .filter_map(|_| until_stop(group, &mut rng, &|rng| log_normal(1e6, sigma).sample(rng)))
                .collect();
            assert_eq!(stops.len(), runs, "every run ends");
            let mean = stops.iter().map(|s| s.samples as f64).sum::<f64>() / runs as f64;
            let late = needed * 1.2 + 2.0 * group as f64;
            assert!((needed * 0.9..late).contains(&mean), "σ = {sigma}, groups of {group}: {mean} samples");
            let covered = stops.iter().filter(|s| s.median_ci.contains(Nanoseconds(1e6))).count() as f64;
            assert!(covered / runs as f64 >= 0.905, "σ = {sigma}, groups of {group}: {covered} of {runs}");
        }
    }
}

// ---- What holds for any samples ------------------------------------------------------------------------------------

fn times() -> impl Strategy<Value = Vec<f64>> {
    let continuous = proptest::collection::vec(0.0..1e9, 1..200);
    let ties = proptest::collection::vec((90_u32..110).prop_map(|steps| f64::from(steps) * STEP), 1..200);
    prop_oneof![continuous, ties]
}

fn of(times: &[f64], step: f64) -> Summary {
    summary(&times.iter().copied().map(Nanoseconds).collect::<Vec<_>>(), step)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn figures_are_in_order(times in times(), step in 0.0..100.0) {
        let found = of(&times, step);
        let ascending = [found.min, found.p5, found.median, found.p95, found.p99, found.max];
        prop_assert!(ascending.is_sorted(), "{found:?}");
        prop_assert!(found.median_ci.contains(found.median), "{found:?}");
        prop_assert!(found.median_ci.half_width().0 >= step - 1e-6);
        prop_assert!(found.mean.0 >= found.min.0 && found.mean.0 <= found.max.0 * (1.0 + 1e-15));
        prop_assert!(found.iqr.0 >= 0.0 && found.standard_deviation.0 >= 0.0);
    }

    #[test]
    fn order_of_the_samples_changes_only_the_interval(
        (times, shuffled) in times().prop_flat_map(|times| (Just(times.clone()), Just(times).prop_shuffle())),
    ) {
        let (before, after) = (of(&times, STEP), of(&shuffled, STEP));
        let (median_ci, effective_samples) = (before.median_ci, before.effective_samples);
        prop_assert_eq!(before, Summary { median_ci, effective_samples, ..after });
    }

    #[test]
    fn effective_samples_are_one_to_all(times in times()) {
        let effective = of(&times, STEP).effective_samples.expect("a live summary");
        prop_assert!((1.0..=times.len() as f64).contains(&effective), "{effective}");
    }

    /// With a power of two every figure scales to the last bit, and the step with it.
    #[test]
    fn another_unit_of_time_changes_only_the_unit(times in times(), exponent in -20..20) {
        let factor = 2_f64.powi(exponent);
        let scaled: Vec<f64> = times.iter().map(|time| time * factor).collect();
        let (before, after) = (of(&times, STEP), of(&scaled, STEP * factor));
        for (before, after) in [
            (before.median, after.median),
            (before.median_ci.low, after.median_ci.low),
            (before.median_ci.high, after.median_ci.high),
            (before.mean, after.mean),
            (before.standard_deviation, after.standard_deviation),
            (before.iqr, after.iqr),
            (before.p5, after.p5),
            (before.p99, after.p99),
        ] {
            prop_assert_eq!(before.0 * factor, after.0);
        }
        prop_assert_eq!(before.cv, after.cv);
    }
}
