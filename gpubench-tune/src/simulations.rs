//! Races against known truth: how often a race of variants with planted times, noise and places names the
//! truth.

use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal, Uniform};

use crate::race::{PAIRS_OF_A_STEP, Race};
use crate::tuning::{Standing, TunedVariant};
use gpubench_stats::Nanoseconds;

/// Returns a normal distribution.
fn normal(mean: f64, deviation: f64) -> Normal<f64> {
    Normal::new(mean, deviation).expect("the deviation is finite")
}

/// Returns the uniform distribution from 0 to `end`.
fn uniform(end: f64) -> Uniform<f64> {
    Uniform::new(0.0, end).expect("the end is above zero")
}

/// The standard deviation of a round's logarithm from noise.
const NOISE: f64 = 0.003;
/// The standard deviation of a round's logarithm from the places of the inputs. The second round of a pair
/// deviates by the same amount in the other direction.
const PLACE: f64 = 0.01;

/// The noise of variants, in addition to that of places.
#[derive(Clone, Copy, Debug)]
enum NoiseModel {
    /// All variants have the same noise.
    Alike,
    /// Each variant has another noise: its logarithm is normal with this standard deviation.
    Differ(f64),
    /// This fraction of the pairs of rounds is disturbed by ten times the noise, to either side.
    Disturbed(f64),
    /// One variant has five times the noise of all others.
    One,
}

/// Simulates a race of variants with these true times and equal noise. `band` is the equivalence margin.
/// Returns the variants with their standings, and the number of steps.
fn raced(times: &[f64], band: f64, rng: &mut StdRng) -> (Vec<TunedVariant>, usize) {
    raced_with(NoiseModel::Alike, times, band, rng)
}

/// Simulates a race as [`raced`] does, with this kind of noise.
fn raced_with(noise: NoiseModel, times: &[f64], band: f64, rng: &mut StdRng) -> (Vec<TunedVariant>, usize) {
    let deviations: Vec<f64> = (0..times.len())
        .map(|number| match noise {
            NoiseModel::Differ(by) => NOISE * normal(0.0, by).sample(rng).exp(),
            NoiseModel::One if number == 1 => 5.0 * NOISE,
            _ => NOISE,
        })
        .collect();
    let variants = times
        .iter()
        .map(|time| {
            let coarse = Some(Nanoseconds(time * normal(0.0, 0.02).sample(rng).exp()));
            TunedVariant { coarse_time: coarse, ..TunedVariant::new(Vec::new(), None) }
        })
        .collect();
    let mut race = Race::new(variants, band);
    let mut steps = 0;
    while let Some(duel) = race.next_duel() {
        let log = (times[duel.contender] / times[duel.leader]).ln();
        let deviation =
            f64::midpoint(deviations[duel.contender].powi(2), deviations[duel.leader].powi(2)).sqrt();
        let mut rounds = Vec::with_capacity(2 * PAIRS_OF_A_STEP);
        for _ in 0..PAIRS_OF_A_STEP {
            let place = normal(0.0, PLACE).sample(rng);
            let disturbed = match noise {
                NoiseModel::Disturbed(part) if uniform(1.0).sample(rng) < part => {
                    10.0 * normal(0.0, NOISE).sample(rng)
                }
                _ => 0.0,
            };
            rounds.push(log + place + disturbed + normal(0.0, deviation).sample(rng));
            rounds.push(log - place + disturbed + normal(0.0, deviation).sample(rng));
        }
        race.add_rounds(duel, &rounds, 1e-4);
        steps += 1;
    }
    (race.finish(), steps)
}

/// Returns true if all variants but the best have this standing.
fn all_are(placings: &[TunedVariant], standing: Standing) -> bool {
    let others = placings.iter().filter(|placing| placing.standing != Standing::Best);
    others.map(|placing| placing.standing).all(|one| one == standing)
}

/// Returns the fraction of `races` simulated races for which `is_right` returns true.
fn share(races: usize, mut is_right: impl FnMut(&mut StdRng) -> bool) -> f64 {
    let mut rng = StdRng::seed_from_u64(28);
    (0..races).filter(|_| is_right(&mut rng)).count() as f64 / races as f64
}

#[test]
fn identical_variants_are_ties() {
    for variants in [2, 12] {
        let right = share(400, |rng| all_are(&raced(&vec![100.0; variants], 0.005, rng).0, Standing::Tie));
        assert!(right >= 0.99, "{variants} variants: {right}");
    }
}

#[test]
fn a_variant_that_is_one_percent_better_wins() {
    for variants in [2, 12] {
        let mut times = vec![100.0; variants];
        times[variants - 1] = 99.0;
        let right = share(400, |rng| {
            let (placings, _) = raced(&times, 0.005, rng);
            placings[variants - 1].standing == Standing::Best && all_are(&placings, Standing::Slower)
        });
        assert!(right >= 0.95, "{variants} variants: {right}");
    }
}

/// All ratios of a race hold the truth together, the best is within the band of the truth, and no tie is
/// beyond it.
#[test]
fn a_race_is_wrong_anywhere_in_one_of_a_hundred_at_most() {
    let kinds = [
        NoiseModel::Alike,
        NoiseModel::Differ(0.3),
        NoiseModel::Differ(1.0),
        NoiseModel::Disturbed(0.02),
        NoiseModel::Disturbed(0.1),
        NoiseModel::One,
    ];
    for noise in kinds {
        let mut steps = 0;
        let right = share(RACES, |rng| {
            let times: Vec<f64> = (0..16).map(|_| 100.0 + uniform(4.0).sample(rng)).collect();
            let (placings, taken) = raced_with(noise, &times, BAND, rng);
            steps += taken;
            is_right(&times, &placings)
        });
        assert!(right >= 0.99, "{noise:?}: {right}");
        // Each by its own noise they take 50.
        let steps = steps as f64 / RACES as f64;
        assert!(!matches!(noise, NoiseModel::Alike) || steps < 45.0, "{steps} steps");
    }
}

/// The number of races for each kind of noise.
const RACES: usize = 600;
/// The equivalence margin of these races.
const BAND: f64 = 0.005;

/// Returns true if the standings and ratios agree with the true `times`: the best is within the margin of the
/// fastest, unless some variant is undecided, each interval holds the true ratio, no tie is slower than the
/// margin, and no slower variant is as fast as the best.
fn is_right(times: &[f64], placings: &[TunedVariant]) -> bool {
    let best = placings.iter().position(|one| one.standing == Standing::Best).expect("there is one");
    let fastest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let undecided = placings.iter().any(|one| one.standing == Standing::Undecided);
    let near = undecided || times[best] <= fastest * (1.0 + BAND) * (1.0 + 1e-12);
    let holds = |(number, placing): (usize, &TunedVariant)| {
        let truth = times[number] / times[best];
        placing.ratio.is_none_or(|ratio| ratio.low <= truth && truth <= ratio.high)
            && (placing.standing != Standing::Tie || truth <= 1.0 + BAND)
            && (placing.standing != Standing::Slower || truth > 1.0)
    };
    near && placings.iter().enumerate().all(holds)
}

/// The race spends its steps where they decide: 300 variants between 0 and 50 % apart take fewer than three
/// steps each on average, of the 16 that all would take.
#[test]
fn a_race_takes_a_fifth_of_comparing_all_to_the_end() {
    let mut rng = StdRng::seed_from_u64(7);
    let times: Vec<f64> = (0..300).map(|number| 100.0 + f64::from(number) / 6.0).collect();
    let (placings, steps) = raced(&times, 0.005, &mut rng);
    assert!(times[placings.iter().position(|one| one.standing == Standing::Best).expect("one")] < 100.51);
    assert!(5 * steps < 16 * times.len(), "{steps} steps");
}

/// The first leader had the least of single times that deviate by 2 %. Of four variants at most 0.8 % apart
/// the race mostly names one that is within the band of the best, and those that it does not name are
/// undecided or ties.
#[test]
fn luck_in_a_single_time_is_no_lead() {
    let times = [100.0, 100.16, 100.54, 100.78];
    let near = share(400, |rng| {
        let (placings, _) = raced(&times, 0.005, rng);
        let best = placings.iter().position(|one| one.standing == Standing::Best).expect("there is one");
        best < 2 && placings[..2].iter().all(|one| one.standing != Standing::Slower)
    });
    assert!(near >= 0.95, "{near}");
}
