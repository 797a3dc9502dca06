//! The memory's stall: found where it is, with the time of launches at random moments, and nowhere else. The example
//! `stall_simulation` prints more of the same.

#[path = "../../examples/stall_simulation/simulated.rs"]
mod simulated;

use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{DramStall, DramStallPeriod, Modes};
use rand::SeedableRng;
use rand::rngs::StdRng;

use self::simulated::{
    LaunchNoise, STEP, SimulatedLaunch, SimulatedMemory, SimulatedSamples, noisy_samples, samples,
};

const STALLS: SimulatedMemory = SimulatedMemory { period: 100_190.0, length: 1400.0 };
const NONE: SimulatedMemory = SimulatedMemory { period: 100_190.0, length: 0.0 };
const STEPS: Nanoseconds = Nanoseconds(STEP);
const DEVICE: DramStallPeriod = DramStallPeriod {
    period: Nanoseconds(100_203.0),
    error: Nanoseconds(20.0),
    duration: Nanoseconds(1400.0),
};

fn reads(own: LaunchNoise) -> SimulatedLaunch {
    SimulatedLaunch { time: 10e3, waits: 0.9, own, between: 2500.0 }
}

fn cold(time: f64, waits: f64, own: LaunchNoise) -> SimulatedLaunch {
    SimulatedLaunch { time, waits, own, between: 51_000.0 }
}

fn period(taken: &SimulatedSamples) -> Option<DramStallPeriod> {
    DramStallPeriod::find(&taken.starts, &taken.times, STEPS)
}

fn stall(taken: &SimulatedSamples) -> Option<DramStall> {
    DramStall::find(&taken.starts, &taken.times, STEPS, &DEVICE)
}

#[test]
fn the_period_of_a_device_is_found_to_a_thousandth() {
    let rng = &mut StdRng::seed_from_u64(1);
    for true_period in [50e3, 75e3, 100_190.0] {
        for _ in 0..5 {
            let memory = SimulatedMemory { period: true_period, ..STALLS };
            let found = period(&samples(rng, &reads(LaunchNoise::Steady), memory, 32)).expect("it stalls");
            let error = (found.period.as_f64() - true_period).abs();
            assert!(error <= found.error.as_f64() && found.error.as_f64() < 1e-3 * true_period, "{found:?}");
            assert!((found.duration.as_f64() / 1400.0 - 1.0).abs() < 0.1, "{found:?}");
        }
    }
}

/// On one H200 of several, times of launches that wait for memory deviate by as much, and stalls are of 1.2 to 1.4 µs.
#[test]
fn the_period_of_a_noisier_device_is_found() {
    let rng = &mut StdRng::seed_from_u64(6);
    let memory = SimulatedMemory { length: 1300.0, ..STALLS };
    for draw in 0..40 {
        let taken = noisy_samples(rng, &reads(LaunchNoise::Steady), memory, 32, 350.0);
        let found = period(&taken).unwrap_or_else(|| panic!("draw {draw}"));
        assert!((found.period.as_f64() - memory.period).abs() <= found.error.as_f64(), "{found:?}");
    }
}

#[test]
fn the_period_does_not_depend_on_when_the_first_read_begins() {
    let rng = &mut StdRng::seed_from_u64(8);
    let mut taken = samples(rng, &reads(LaunchNoise::Steady), STALLS, 32);
    let found = period(&taken).expect("it stalls");
    // Whole nanoseconds, so that no difference is rounded.
    let later = Nanoseconds(40_000_000.0);
    taken.starts.iter_mut().for_each(|start| *start = Nanoseconds(start.as_f64().round()) + later);
    let found_later = period(&taken).expect("it stalls then too");
    assert!(
        (found_later.period.as_f64() - found.period.as_f64()).abs() <= found.error.as_f64(),
        "{found_later:?}"
    );
}

/// Where two reads of four meet a stall, half of the slow ones share a phase of twice the period.
#[test]
fn twice_a_short_period_is_not_found() {
    let rng = &mut StdRng::seed_from_u64(5);
    for _ in 0..20 {
        let memory = SimulatedMemory { period: 30e3, ..STALLS };
        assert_eq!(period(&samples(rng, &reads(LaunchNoise::Steady), memory, 32)), None);
    }
}

#[test]
fn a_device_without_stalls_has_no_period() {
    let rng = &mut StdRng::seed_from_u64(2);
    let all = [
        LaunchNoise::Steady,
        LaunchNoise::Alike(0.6),
        LaunchNoise::Every(3),
        LaunchNoise::Every(12),
        LaunchNoise::Chance(0.1),
        LaunchNoise::Bursts(50.0),
    ];
    for own in all {
        for _ in 0..5 {
            assert_eq!(period(&samples(rng, &reads(own), NONE, 32)), None, "{own:?}");
        }
    }
    assert_eq!(DramStallPeriod::find(&[], &[], STEPS), None);
    for bad in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        let bad = [Nanoseconds(bad); 1000];
        assert_eq!(DramStallPeriod::find(&bad, &bad, STEPS), None);
        assert_eq!(DramStall::find(&bad, &bad, STEPS, &DEVICE), None);
    }
}

/// The mean of 40 processes is that of launches at random moments to a few nanoseconds, whatever the median is.
#[test]
fn times_are_those_of_random_moments() {
    let rng = &mut StdRng::seed_from_u64(3);
    for time in [6e3, 12e3, 25e3, 60e3, 75e3, 120e3] {
        let expected = time + STALLS.mean_delay(time);
        let (mut held, mut sum) = (0, 0.0);
        for _ in 0..40 {
            let taken = samples(rng, &cold(time, 1.0, LaunchNoise::Steady), STALLS, 8);
            let stall = stall(&taken).unwrap_or_else(|| panic!("{time} ns of memory"));
            let stall_corrected = stall.stall_corrected(&taken.starts, &taken.times);
            assert_eq!(Modes::find(&stall_corrected, STEPS), None, "{time} ns");
            let median = taken.median(&stall_corrected, stall.error).expect("eight groups");
            sum += median.time.as_f64() - expected;
            let interval = median.interval.low.as_f64()..=median.interval.high.as_f64();
            held += usize::from(interval.contains(&expected));
        }
        let bias = sum / 40.0;
        assert!(bias.abs() < 20.0, "{time}: {bias} ns off");
        assert!(held >= 34, "{time}: {held} of 40 intervals hold the mean");
    }
}

/// A stall delays launches that start in a span as long as they wait. Its period is known to a few nanoseconds, since samples take
/// hundreds of them.
#[test]
fn a_stall_is_found_where_it_is() {
    let rng = &mut StdRng::seed_from_u64(6);
    let (mut periods, mut shares) = (Vec::new(), Vec::new());
    for time in [6e3, 12e3, 25e3, 60e3] {
        for _ in 0..40 {
            let taken = samples(rng, &cold(time, 1.0, LaunchNoise::Steady), STALLS, 8);
            let stall = stall(&taken).unwrap_or_else(|| panic!("{time} ns of memory"));
            periods.push((stall.period.as_f64() - STALLS.period).abs());
            let true_share = (time + STALLS.length / 2.0) / STALLS.period;
            shares.push((stall.delayed_fraction / true_share - 1.0).abs());
        }
    }
    for errors in [&mut periods, &mut shares] {
        errors.sort_by(f64::total_cmp);
    }
    // Half of all, and nine in ten.
    assert!(periods[80] < 2.2 && periods[144] < 5.5, "{periods:?} ns");
    assert!(shares[80] < 0.0012 && shares[144] < 0.013, "{shares:?}");
}

/// A launch that does not wait for the memory has no stall, and its own two modes stay what they are.
#[test]
fn modes_of_a_launch_are_its_own() {
    let rng = &mut StdRng::seed_from_u64(4);
    for own in [LaunchNoise::Chance(0.5), LaunchNoise::Every(2), LaunchNoise::Bursts(50.0)] {
        for _ in 0..20 {
            assert_eq!(stall(&samples(rng, &cold(12e3, 0.0, own), NONE, 8)), None, "{own:?}");
        }
    }
    // Modes and stalls are equally long here, and the noise is a sixth of that: now and then one passes for the other.
    for own in [LaunchNoise::Chance(0.5), LaunchNoise::Every(2), LaunchNoise::Every(3)] {
        let told = (0..40).filter(|_| {
            let taken = samples(rng, &cold(12e3, 1.0, own), STALLS, 8);
            let stall_corrected =
                stall(&taken).map(|stall| stall.stall_corrected(&taken.starts, &taken.times));
            Modes::find(&stall_corrected.unwrap_or(taken.times), STEPS).is_some()
        });
        let told = told.count();
        assert!(told >= 38, "{own:?}: {told} of 40");
    }
}
