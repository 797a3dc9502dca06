//! The protocol of a measurement against a sampler in memory: order, budgets, the stop rule, failures.

use super::{MAX_SAMPLES, MIN_SAMPLES, measure};
use crate::device::Sampler;
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::method::{Method, Path, Timer};
use gpubench_records::samples::Samples;
use gpubench_records::sampling::Sampling;
use gpubench_stats::units::Nanoseconds;

const STEP: Nanoseconds = Nanoseconds(32.0);
const OVERHEAD: Nanoseconds = Nanoseconds(1_000.0);

/// Times launches by a formula: the time of launch number i, and what the device spends on each sample.
struct FakeSampler {
    time: fn(usize) -> f64,
    cost: Nanoseconds,
    launches: usize,
    /// The sizes of the groups that were asked for.
    asked: Vec<usize>,
    back_to_back: usize,
    /// The launch that fails, if one does.
    fails_at: Option<usize>,
}

impl FakeSampler {
    fn new(time: fn(usize) -> f64) -> Self {
        let cost = Nanoseconds(1e6);
        Self { time, cost, launches: 0, asked: Vec::new(), back_to_back: 0, fails_at: None }
    }
}

impl Sampler for FakeSampler {
    fn group(&mut self, samples: usize, events: &mut Vec<Nanoseconds>) -> Result<Nanoseconds, Failure> {
        self.asked.push(samples);
        for _ in 0..samples {
            if self.fails_at == Some(self.launches) {
                return Err(Failure::new(Stage::Launch, "out of paper"));
            }
            events.push(Nanoseconds((self.time)(self.launches)) + OVERHEAD);
            self.launches += 1;
        }
        Ok(self.cost * samples as f64)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        Ok(Timer::new(STEP).with_floor(OVERHEAD))
    }

    fn method(&self) -> Method {
        Method::new(Path::Host)
    }

    fn in_a_row(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        self.back_to_back += 1;
        Ok(Some(Nanoseconds(7.0)))
    }
}

/// A launch of 100 µs that never varies.
fn steady(_: usize) -> f64 {
    100e3
}

/// A launch of 100 µs ± 50 %: its interval needs many samples.
fn noisy(launch: usize) -> f64 {
    50e3 + 100e3 * (launch * 61 % 100) as f64 / 99.0
}

fn measured(sampler: &mut FakeSampler, sampling: &Sampling) -> (Samples, Vec<Step>) {
    let mut steps = Vec::new();
    let samples = measure(sampler, sampling, None, &mut |step| steps.push(step)).expect("nothing fails");
    (samples, steps)
}

#[test]
fn launches_of_the_warm_up_are_no_samples() {
    // The first hundred launches take ten times as long.
    let mut sampler = FakeSampler::new(|launch| if launch < 100 { 1e6 } else { 100e3 });
    let sampling = Sampling { warm_up: Nanoseconds::from_seconds(0.2), ..Sampling::USUAL };
    let (samples, steps) = measured(&mut sampler, &sampling);
    assert!(samples.warm_up.steady && samples.warm_up.launches >= 200, "{:?}", samples.warm_up);
    assert!(samples.events.iter().all(|event| *event == Nanoseconds(101e3)));
    assert_eq!(samples.time.median, Nanoseconds(100e3), "the overhead is taken off");
    let first_sample = steps.iter().position(|step| matches!(step, Step::Samples(0))).expect("they begin");
    assert!(steps[..first_sample].iter().all(|step| matches!(step, Step::WarmUp(_))));
    assert!(matches!(steps.last(), Some(Step::Afterwards(taken)) if *taken == samples.events.len()));
}

#[test]
fn a_steady_launch_ends_at_the_second_look_with_enough_samples() {
    let (samples, _) = measured(&mut FakeSampler::new(steady), &Sampling::USUAL);
    let taken = samples.events.len();
    assert!(samples.converged && taken >= MIN_SAMPLES, "{taken}");
    // Two looks at groups of 8: no more than that is taken.
    assert!(taken <= MIN_SAMPLES + 16, "{taken}");
}

#[test]
fn a_budget_of_device_time_ends_what_does_not_converge() {
    let sampling = Sampling {
        precision: 1e-4,
        max_time: Nanoseconds::from_seconds(0.1),
        warm_up: Nanoseconds::from_seconds(0.01),
        ..Sampling::USUAL
    };
    let (samples, _) = measured(&mut FakeSampler::new(noisy), &sampling);
    assert!(!samples.converged);
    // A sample takes 1 ms of the device: 100 of them, and at most the rest of a group.
    assert!((100..=116).contains(&samples.events.len()), "{}", samples.events.len());
    assert_eq!(samples.elapsed, Nanoseconds(1e6) * samples.events.len() as f64);
}

#[test]
fn a_least_time_is_sampled_though_the_median_is_known() {
    let sampling = Sampling { min_time: Nanoseconds::from_seconds(0.2), ..Sampling::USUAL };
    let (samples, _) = measured(&mut FakeSampler::new(steady), &sampling);
    assert!(samples.converged && (200..=216).contains(&samples.events.len()), "{}", samples.events.len());
}

#[test]
fn exactly_as_many_samples_and_warm_up_launches_as_asked_for() {
    for wanted in [1, 7, 100, MAX_SAMPLES + 5] {
        let sampling = Sampling { samples: Some(wanted), warm_up_launches: Some(13), ..Sampling::USUAL };
        let mut sampler = FakeSampler::new(noisy);
        let (samples, _) = measured(&mut sampler, &sampling);
        assert_eq!((samples.events.len(), samples.warm_up.launches), (wanted, 13));
        assert_eq!(sampler.launches, wanted + 13);
        assert_eq!(sampler.asked.iter().sum::<usize>(), wanted + 13, "nothing is asked for twice");
    }
}

#[test]
fn no_case_keeps_more_samples_than_the_most() {
    let mut sampler = FakeSampler::new(noisy);
    sampler.cost = Nanoseconds(1.0);
    let sampling = Sampling { precision: 1e-9, warm_up: Nanoseconds::from_seconds(0.0), ..Sampling::USUAL };
    let (samples, _) = measured(&mut sampler, &sampling);
    assert_eq!(samples.events.len(), MAX_SAMPLES);
    assert!(!samples.converged);
}

#[test]
fn short_launches_are_timed_back_to_back_too() {
    for (time, asked) in [((|_| 4_900.0) as fn(usize) -> f64, 1), (|_| 5_100.0, 0)] {
        let mut sampler = FakeSampler::new(time);
        let (samples, _) = measured(&mut sampler, &Sampling::USUAL);
        assert_eq!(sampler.back_to_back, asked);
        assert_eq!(samples.back_to_back, (asked == 1).then_some(Nanoseconds(7.0)));
    }
}

#[test]
fn a_failure_says_how_far_the_case_had_come() {
    let mut sampler = FakeSampler::new(steady);
    sampler.fails_at = Some(20);
    let sampling = Sampling { warm_up_launches: Some(8), ..Sampling::USUAL };
    let mut last = None;
    let failed = measure(&mut sampler, &sampling, None, &mut |step| last = Some(step));
    assert_eq!(failed.expect_err("launch 20 fails").to_string(), "launch: out of paper");
    assert!(matches!(last, Some(Step::Samples(1..=12))), "{last:?}");
}
