//! Comparisons in rounds, of launches whose times are known, under noise below and above the timer's step: intervals hold the
//! truth as often as they say.

use super::*;
use gpubench_stats::{Ratio, log_ratio_of_pairs, resolution_of_pairs};

/// The pairs of a round.
const PAIRS: usize = 128;
/// The launch that both are compared with, in steps.
const TIME: f64 = 94.37;

/// Two launches, in steps of the timer.
struct Launches {
    /// The first takes so much longer.
    longer: f64,
    /// The standard deviation of a sample.
    noise: f64,
    /// The standard deviation of what a place in memory adds to the launch whose buffers lie there.
    place: f64,
    /// True if launches begin anywhere within a step; else all of a round begin at the same place of it.
    dithered: bool,
}

impl Launches {
    /// The ratio that so many pairs of rounds find.
    fn ratio(&self, pairs_of_rounds: usize, confidence: f64, rng: &mut StdRng) -> Ratio {
        let (mut rounds, mut resolution) = (Vec::new(), 0.0);
        for _ in 0..pairs_of_rounds {
            let places = [0, 1].map(|_| normal(0.0, self.place).sample(rng));
            for swapped in [false, true] {
                let [mut a, mut b] = places;
                if swapped {
                    (a, b) = (b, a);
                }
                let begins: [f64; 2] = [0, 1].map(|_| uniform(1.0).sample(rng));
                let pairs: Vec<_> = (0..PAIRS)
                    .map(|_| {
                        [(TIME + self.longer + a, begins[0]), (TIME + b, begins[1])].map(|(time, begin)| {
                            let begin = if self.dithered { uniform(1.0).sample(rng) } else { begin };
                            let time = time + normal(0.0, self.noise).sample(rng);
                            Nanoseconds(STEP * (begin + time).floor())
                        })
                    })
                    .collect();
                rounds.push(log_ratio_of_pairs(&pairs).expect("times are above zero"));
                resolution += resolution_of_pairs(&pairs, Nanoseconds(STEP)) / (2 * pairs_of_rounds) as f64;
            }
        }
        Ratio::from_rounds(&rounds, resolution, confidence).expect("there are two pairs or more")
    }

    fn truth(&self) -> f64 {
        (TIME + self.longer) / TIME
    }
}

/// The share of intervals that hold the truth, and half of their width at the median, in steps.
fn coverage(launches: &Launches, pairs_of_rounds: usize, draws: usize) -> (f64, f64) {
    let mut rng = StdRng::seed_from_u64(24);
    let mut halves = Vec::with_capacity(draws);
    let held = (0..draws).filter(|_| {
        let ratio = launches.ratio(pairs_of_rounds, 0.99, &mut rng);
        halves.push(TIME * (ratio.high - ratio.low) / 2.0);
        ratio.low <= launches.truth() && launches.truth() <= ratio.high
    });
    let held = held.count() as f64 / draws as f64;
    halves.sort_unstable_by(f64::total_cmp);
    (held, halves[draws / 2])
}

/// Of 4,000 intervals of 99 % each, between 98.6 and 100 % did. Here chance may take three standard errors.
#[test]
fn intervals_of_rounds_hold_the_truth() {
    let draws = 300;
    for dithered in [true, false] {
        for noise in [0.5, 1.0, 2.0, 7.0] {
            for (pairs_of_rounds, longer) in [(4, 0.0), (8, 0.3), (32, 0.5)] {
                let launches = Launches { longer, noise, place: 1.0, dithered };
                let (held, half) = coverage(&launches, pairs_of_rounds, draws);
                assert!(held >= 0.972, "{dithered} {noise} {pairs_of_rounds}: {held}");
                if noise >= 1.0 && pairs_of_rounds == 32 {
                    assert!(half < 0.4, "{noise} steps of noise resolve less than a step: {half}");
                }
            }
        }
    }
}

/// Without noise nothing tells the rounding from a difference: only a whole step holds the truth, whether launches begin
/// anywhere within a step or all at the same place of it.
#[test]
fn without_noise_intervals_are_a_step_wide() {
    for dithered in [true, false] {
        for (noise, longer) in [(0.0, 0.0), (0.0, 0.5), (0.1, 0.9), (0.25, 0.3)] {
            let launches = Launches { longer, noise, place: 0.0, dithered };
            let (held, half) = coverage(&launches, 16, 100);
            assert!(
                held >= 0.99 && (0.99..1.1).contains(&half),
                "{dithered} {noise} {longer}: {held}, {half}"
            );
        }
    }
}
