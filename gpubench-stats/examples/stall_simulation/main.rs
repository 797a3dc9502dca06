//! How often the memory's stall is found where it is and where it is not, and how true times become by it. Prints the
//! tables.
//!
//! ```sh
//! cargo run --release -p gpubench-stats --example stall_simulation -- 1000
//! ```

#![expect(clippy::print_stdout, reason = "a program that prints its results")]

mod simulated;

use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{DramStall, DramStallPeriod, Modes, interpolated_median};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use simulated::{LaunchNoise, STEP, SimulatedLaunch, SimulatedMemory, samples};

const STALLS: SimulatedMemory = SimulatedMemory { period: 100_190.0, length: 1400.0 };
const NONE: SimulatedMemory = SimulatedMemory { period: 100_190.0, length: 0.0 };
const STEPS: Nanoseconds = Nanoseconds(STEP);

/// The groups of a case that ends as soon as it may.
const GROUPS: usize = 8;

fn main() {
    let draws = std::env::args().nth(1).and_then(|draws| draws.parse().ok()).unwrap_or(1000);
    let rng = &mut StdRng::seed_from_u64(7);
    periods(rng, draws);
    rows(rng, draws);
    no_stalls(rng, draws);
    modes(rng, draws);
}

/// Reads of half an L2, 32 groups of 32 of them.
fn reads(own: LaunchNoise) -> SimulatedLaunch {
    SimulatedLaunch { time: 10e3, waits: 0.9, own, between: 2500.0 }
}

/// A cold case: an empty launch with its flush goes between two samples.
fn cold(time: f64, waits: f64, own: LaunchNoise) -> SimulatedLaunch {
    SimulatedLaunch { time, waits, own, between: 51_000.0 }
}

fn periods(rng: &mut StdRng, draws: usize) {
    println!("The period of a device: {draws} draws of 1,024 reads of 10 µs");
    println!("period      found  within error  largest error");
    for period in [30e3, 40e3, 50e3, 75e3, 100_190.0, 150e3, 240e3] {
        let memory = SimulatedMemory { period, ..STALLS };
        let (mut found, mut within, mut largest): (usize, usize, f64) = (0, 0, 0.0);
        for _ in 0..draws {
            let taken = samples(rng, &reads(LaunchNoise::Steady), memory, 32);
            if let Some(it) = DramStallPeriod::find(&taken.starts, &taken.times, STEPS) {
                found += 1;
                let error = (it.period.as_f64() - period).abs();
                within += usize::from(error <= it.error.as_f64());
                largest = largest.max(error);
            }
        }
        println!("{period:8.0}  {found:7}  {within:12}  {largest:10.1} ns");
    }
    println!("no stalls, reads that are      found");
    for own in OWN {
        let found = (0..draws)
            .filter(|_| {
                let taken = samples(rng, &reads(own), NONE, 32);
                DramStallPeriod::find(&taken.starts, &taken.times, STEPS).is_some()
            })
            .count();
        println!("{:28}  {found:6}", format!("{own:?}"));
    }
}

const OWN: [LaunchNoise; 12] = [
    LaunchNoise::Steady,
    LaunchNoise::Alike(0.6),
    LaunchNoise::Alike(0.9),
    LaunchNoise::Every(2),
    LaunchNoise::Every(3),
    LaunchNoise::Every(8),
    LaunchNoise::Every(12),
    LaunchNoise::Chance(0.05),
    LaunchNoise::Chance(0.15),
    LaunchNoise::Chance(0.5),
    LaunchNoise::Bursts(5.0),
    LaunchNoise::Bursts(50.0),
];

/// The period that a device's reads gave, somewhat wrong.
fn known(rng: &mut StdRng) -> DramStallPeriod {
    DramStallPeriod {
        period: Nanoseconds(STALLS.period + rng.random_range(-20.0..20.0)),
        error: Nanoseconds(20.0),
        duration: Nanoseconds(STALLS.length),
    }
}

fn rows(rng: &mut StdRng, draws: usize) {
    println!(
        "\nTimes of launches: {draws} draws of {GROUPS} groups of 32; ns beyond the mean at random times"
    );
    println!("time, waits      found  free   bias   RMS  95 % holds   median alone: bias   RMS");
    for waits in [1.0, 0.5] {
        for time in [2e3, 3e3, 6e3, 12e3, 25e3, 40e3, 49e3, 60e3, 75e3, 98e3, 120e3, 240e3, 500e3, 2e6] {
            let launch = cold(time, waits, LaunchNoise::Steady);
            let truth = time + STALLS.mean_delay(waits * time);
            let (mut found, mut free, mut held) = (0, 0, 0);
            let (mut errors, mut plain) = (Vec::new(), Vec::new());
            for _ in 0..draws {
                let taken = samples(rng, &launch, STALLS, GROUPS);
                let device = known(rng);
                free += usize::from(DramStallPeriod::find(&taken.starts, &taken.times, STEPS).is_some());
                let stall = DramStall::find(&taken.starts, &taken.times, STEPS, &device);
                found += usize::from(stall.is_some());
                let stall_corrected = stall.map(|stall| stall.stall_corrected(&taken.starts, &taken.times));
                let times = stall_corrected.as_ref().unwrap_or(&taken.times);
                let error = stall.map_or(Nanoseconds::ZERO, |stall| stall.error);
                let median = taken.median(times, error).expect("groups");
                let (low, high) = (median.interval.low.as_f64(), median.interval.high.as_f64());
                held += usize::from((low..=high).contains(&truth));
                errors.push(median.time.as_f64() - truth);
                plain.push(interpolated_median(&taken.times, STEPS).unwrap_or_default().as_f64() - truth);
            }
            let ([bias, rms], [plain_bias, plain_rms]) = (moments(&errors), moments(&plain));
            println!(
                "{time:9.0} {waits:4}  {found:7} {free:5} {bias:6.0} {rms:5.0} {:10.1} % {plain_bias:20.0} {plain_rms:6.0}",
                100.0 * held as f64 / draws as f64
            );
        }
    }
}

fn no_stalls(rng: &mut StdRng, draws: usize) {
    println!(
        "\nLaunches that do not wait for the memory, on a GPU with stalls: found, with the device's period and without"
    );
    for time in [3e3, 12e3, 60e3] {
        for own in OWN {
            let (mut found, mut free, mut moved): (usize, usize, f64) = (0, 0, 0.0);
            for _ in 0..draws {
                let taken = samples(rng, &cold(time, 0.0, own), NONE, GROUPS);
                free += usize::from(DramStallPeriod::find(&taken.starts, &taken.times, STEPS).is_some());
                let device = known(rng);
                if let Some(stall) = DramStall::find(&taken.starts, &taken.times, STEPS, &device) {
                    found += 1;
                    let stall_corrected = stall.stall_corrected(&taken.starts, &taken.times);
                    let by = |times: &[Nanoseconds]| interpolated_median(times, STEPS).unwrap_or_default();
                    moved = moved.max((by(&stall_corrected) - by(&taken.times)).abs().as_f64());
                }
            }
            println!(
                "{time:9.0}  {:16} {found:6} {free:6}  moved by up to {moved:5.0} ns",
                format!("{own:?}")
            );
        }
    }
}

/// The mean, and the root of the mean square.
fn moments(errors: &[f64]) -> [f64; 2] {
    let count = errors.len() as f64;
    let mean = errors.iter().sum::<f64>() / count;
    [mean, (errors.iter().map(|error| error * error).sum::<f64>() / count).sqrt()]
}

const TWO: [LaunchNoise; 6] = [
    LaunchNoise::Steady,
    LaunchNoise::Chance(0.3),
    LaunchNoise::Chance(0.5),
    LaunchNoise::Every(2),
    LaunchNoise::Every(3),
    LaunchNoise::Bursts(50.0),
];

/// The draws whose samples have two modes before and after the stall is taken out.
fn modes(rng: &mut StdRng, draws: usize) {
    println!("\nTwo modes told of launches that wait for the memory: before, and with the stall taken out");
    for time in [3e3, 12e3, 49e3, 60e3, 75e3, 120e3] {
        for own in TWO {
            let (mut before, mut after, mut found) = (0, 0, 0);
            for _ in 0..draws {
                let taken = samples(rng, &cold(time, 1.0, own), STALLS, GROUPS);
                let stall = DramStall::find(&taken.starts, &taken.times, STEPS, &known(rng));
                found += usize::from(stall.is_some());
                let stall_corrected = stall.map(|stall| stall.stall_corrected(&taken.starts, &taken.times));
                before += usize::from(Modes::find(&taken.times, STEPS).is_some());
                after += usize::from(
                    Modes::find(stall_corrected.as_ref().unwrap_or(&taken.times), STEPS).is_some(),
                );
            }
            println!("{time:9.0}  {:16} {before:6} {after:6}   stall found {found:6}", format!("{own:?}"));
        }
    }
}
