//! The end of a warm-up and of the samples: the final check, and the time of a launch that never becomes
//! steady.

use super::*;

/// When the budget ends, all samples are checked, and the result did not choose that moment: one check is
/// enough.
#[test]
fn the_last_look_is_at_all_that_a_budget_paid_for() {
    let mut ends = Vec::new();
    for hundredths_of_a_second in 10..=40 {
        let mut sampler = FakeSampler { cost: Nanoseconds(1e5), ..FakeSampler::new(noisy) };
        let sampling = Sampling { precision: 0.02, ..budget(0.01 * f64::from(hundredths_of_a_second)) };
        let (samples, _) = measured(&mut sampler, &sampling);
        assert_eq!(samples.converged, samples.time.relative_half_width() <= sampling.precision);
        let left = sampling.max_time - samples.warm_up.elapsed - samples.device_time;
        ends.push((left < 10.0 * sampler.cost, samples.converged));
    }
    // Too short a budget, one whose end makes the second look needless, and one that is not spent.
    for end in [(true, false), (true, true), (false, true)] {
        assert!(ends.contains(&end), "{ends:?}");
    }
}

/// Times that grow by 0.3 % from launch to launch agree in no two groups.
#[test]
fn a_launch_that_is_never_steady_warms_up_for_half_its_budget_or_five_times_the_warm_up() {
    for (max_time, warm_up, longest) in [(0.2, 0.0, 0.1), (6.0, 0.0, 1.0), (0.2, 0.1, 0.5)] {
        let [max_time, warm_up] = [max_time, warm_up].map(Nanoseconds::from_seconds);
        let sampling = Sampling { max_time, min_warm_up_time: warm_up, samples: Some(1), ..Sampling::USUAL };
        let mut sampler = FakeSampler::new(|launch| 1e5 * 1.003_f64.powi(launch as i32));
        let (samples, _) = measured(&mut sampler, &sampling);
        let took = samples.warm_up.elapsed.as_seconds();
        // A sample takes 1 ms, and a group 8 at most.
        assert!(!samples.warm_up.steady && (longest..longest + 0.009).contains(&took), "{took}");
    }
}

/// A clock that falls for as long as anything runs, by little from group to group.
#[test]
fn a_clock_that_never_settles_ends_its_warm_up_with_the_longest() {
    let mut sampler = FakeSampler::new(steady);
    sampler.clock = Some(|launches| 10_000_000_000 - 5_000_000 * launches as u64);
    let sampling = Sampling { max_time: Nanoseconds::from_seconds(0.4), ..Sampling::USUAL };
    let (samples, _) = measured(&mut sampler, &sampling);
    let (taken, warm_up) = (samples.event_times.len(), samples.warm_up.elapsed.as_seconds());
    assert!(samples.converged && (MIN_SAMPLES..MIN_SAMPLES + 16).contains(&taken), "{taken}");
    // Half of the budget is for the warm-up: one more such set of samples would not end within it.
    assert!(warm_up <= 0.2 && warm_up + samples.device_time.as_seconds() > 0.2, "{warm_up}");
}

/// A launch of which many samples are cheap is known to half of the width that was asked for, and another is
/// not.
#[test]
fn a_cheap_launch_is_known_better_than_it_has_to_be() {
    // 100 µs ± 1.5 %: 50 samples tell it to ± 0.4 %.
    let time = |launch: usize| 98.5e3 + 3e3 * (launch * 61 % 100) as f64 / 99.0;
    let sampling = Sampling { cpu_precision: 0.0, ..Sampling::USUAL };
    let half_width = |samples: &Samples| samples.time.relative_half_width();
    let mut cheap = FakeSampler { cost: Nanoseconds(1e5), ..FakeSampler::new(time) };
    let (samples, _) = measured(&mut cheap, &sampling);
    assert!(samples.converged && half_width(&samples) <= 0.0025, "{:?}", samples.time);
    let mut dear = FakeSampler { cost: Nanoseconds(2e6), ..FakeSampler::new(time) };
    let (samples, _) = measured(&mut dear, &sampling);
    assert!(samples.converged && half_width(&samples) > 0.003, "{:?}", samples.time);
    assert!(samples.event_times.len() <= 64, "{}", samples.event_times.len());
}

/// A budget too short for six samples is exceeded for them, up to `extended_max_time`. A CPU may take that
/// time for any samples.
#[test]
fn an_interval_may_take_longer_than_a_budget() {
    let samples_on = |path: Path, cost: f64, interval_time: f64| {
        let mut sampler = FakeSampler { path, cost: Nanoseconds(cost), ..FakeSampler::new(steady) };
        let interval_time = Nanoseconds::from_seconds(interval_time);
        let sampling = Sampling {
            extended_max_time: interval_time,
            warm_up_launches: Some(1),
            cpu_precision: 0.0,
            ..budget(0.05)
        };
        let (samples, _) = measured(&mut sampler, &sampling);
        samples.event_times.len()
    };
    let samples_of = |cost, interval_time| samples_on(Path::Device, cost, interval_time);
    assert_eq!([40e6, 60e6].map(|cost| samples_of(cost, 0.0)), [1, 1]);
    assert_eq!([40e6, 60e6].map(|cost| samples_of(cost, 0.3)), [6, 1]);
    assert!(samples_of(1e6, 0.3) < 64, "it has room");
    let [gpu, cpu] = [Path::Device, Path::Host].map(|path| samples_on(path, 4e6, 0.3));
    assert!(gpu < 30 && cpu >= 30, "other programs use a CPU too: {gpu}, {cpu}");
}
