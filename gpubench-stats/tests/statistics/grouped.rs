//! Medians of groups: below the step of the timer, and with intervals that speak for other processes.

use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Groups, Median};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_distr::{Distribution, Uniform};

use super::{STEP, normal};

/// The reading of a launch that takes `time` and begins anywhere within a step.
fn read(rng: &mut StdRng, time: f64) -> Nanoseconds {
    let begin = Uniform::new(0.0, STEP).expect("a range").sample(rng);
    Nanoseconds(STEP * ((begin + time) / STEP).floor() - STEP * (begin / STEP).floor())
}

/// Noise of 1 to 7 steps, and times that lie anywhere between two ticks.
#[test]
fn a_part_of_a_step_is_resolved() {
    let rng = &mut StdRng::seed_from_u64(3);
    let groups = Groups { sizes: &[2_000; 10], shared_error: Nanoseconds::ZERO };
    for spread in [1.0, 3.0, 7.0] {
        for tenth in 0..10 {
            let time = 3_000.0 + STEP * f64::from(tenth) / 10.0;
            let noise = normal(time, spread * STEP);
            let times: Vec<_> = (0..20_000)
                .map(|_| {
                    let time = noise.sample(rng);
                    read(rng, time)
                })
                .collect();
            let found = Median::of_groups(&times, groups, Nanoseconds(STEP), 0.95).expect("ten groups").time;
            let error = (found.as_f64() - time).abs();
            // Three standard errors of the median of so many.
            assert!(error < 0.03 * spread * STEP, "{error} ns at {spread} steps of noise, {tenth} tenths");
        }
    }
}

/// Processes whose graphs each move times by 50 ns, and whose overhead is 10 ns off: 95 of 100 intervals of the difference of two
/// processes hold the true one, which is none. Intervals that take samples for independent hold it less often.
#[test]
fn intervals_speak_for_other_processes() {
    let rng = &mut StdRng::seed_from_u64(5);
    let mut process = |groups: usize| {
        let shared = normal(0.0, 10.0).sample(rng);
        let mut times = Vec::new();
        for _ in 0..groups {
            let noise = normal(3_000.0 + shared + normal(0.0, 50.0).sample(rng), 150.0);
            for _ in 0..32 {
                let time = noise.sample(rng);
                times.push(read(rng, time));
            }
        }
        let groups = Groups { sizes: &vec![32; groups], shared_error: Nanoseconds(10.0) };
        let grouped = Median::of_groups(&times, groups, Nanoseconds(STEP), 0.95).expect("enough groups");
        [grouped, Median::of(&times, Nanoseconds(STEP), 0.95).expect("enough samples")]
    };
    for groups in [8, 16] {
        let mut held = [0; 2];
        for _ in 0..1000 {
            let (a, b) = (process(groups), process(groups));
            for which in 0..2 {
                let [a, b] = [a[which], b[which]];
                let apart = (a.time - b.time).abs().as_f64();
                let half = a.interval.half_width().as_f64().hypot(b.interval.half_width().as_f64());
                held[which] += usize::from(apart <= half);
            }
        }
        assert!((940..=985).contains(&held[0]), "{groups} groups: {held:?}");
        assert!(held[1] < 940, "{groups} groups: {held:?}");
    }
}

/// Launches of 12 or 13.4 µs, half of each. If they alternate, each group has its median in the middle, where no sample is.
#[test]
fn two_modes_of_equal_shares_are_both_in_the_interval() {
    let rng = &mut StdRng::seed_from_u64(9);
    let mut process = |alternate: bool| {
        let mut one = |number: usize| {
            let is_slow = if alternate {
                number % 2 == 1
            } else {
                Uniform::new(0.0, 1.0).expect("a range").sample(rng) < 0.5
            };
            let time = normal(if is_slow { 13_400.0 } else { 12_000.0 }, 40.0).sample(rng);
            read(rng, time)
        };
        let times: Vec<_> = (0..288).map(&mut one).collect();
        let groups = Groups { sizes: &[32; 9], shared_error: Nanoseconds(10.0) };
        Median::of_groups(&times, groups, Nanoseconds(STEP), 0.95).expect("nine groups").interval
    };
    let mut held = |alternate| {
        (0..200)
            .filter(|_| {
                let found = process(alternate);
                found.low.as_f64() < 12_100.0 && found.high.as_f64() > 13_300.0
            })
            .count()
    };
    assert_eq!(held(true), 200);
    assert!(held(false) >= 180);
}
