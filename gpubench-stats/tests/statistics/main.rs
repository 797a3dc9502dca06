//! The statistics against known truth.

mod closed_forms;
mod correlation;
mod coverage;
mod findings;
mod grouped;
mod properties;
mod rounds;
mod stall;
mod stop_rule;

use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Drift, Modes, StopRule, Summary};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Exp, LogNormal, Normal, Uniform};

/// One step of an H200's event timer.
const STEP: f64 = 32.0;
const DRAWS: usize = 4_000;

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
