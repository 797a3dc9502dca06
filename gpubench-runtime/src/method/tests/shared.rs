//! Launches on processors that other programs use too.

use super::*;

/// A sampler of this machine's CPU, some of whose launches others interrupt.
struct SharedSampler {
    sampler: FakeSampler,
    /// True for launches that are interrupted.
    interrupts: fn(usize) -> bool,
    marks: Vec<bool>,
    /// False until others have used the processors.
    others: bool,
}

impl SharedSampler {
    fn new(time: fn(usize) -> f64, interrupts: fn(usize) -> bool) -> Self {
        Self { sampler: FakeSampler::new(time), interrupts, marks: Vec::new(), others: true }
    }
}

impl Sampler for SharedSampler {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let first = self.sampler.launches;
        let group = self.sampler.group(samples)?;
        self.marks.extend((first..self.sampler.launches).map(self.interrupts));
        Ok(group)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        self.sampler.timer()
    }

    fn begin(&mut self, timer: Timer) -> Result<Timer, Failure> {
        self.marks.clear();
        Ok(timer)
    }

    fn interrupted(&mut self) -> Option<&[bool]> {
        self.others.then_some(&self.marks)
    }

    fn processor_wait(&mut self) -> Option<f64> {
        Some(if self.others && self.marks.contains(&true) { 0.5 } else { 0.0 })
    }

    fn method(&self) -> Method {
        Method::new(Path::Host)
    }
}

fn every_third(launch: usize) -> bool {
    launch.is_multiple_of(3)
}

/// A launch of 100 µs; every third takes 3 ms more.
fn interrupted_by_others(launch: usize) -> f64 {
    100e3 + if every_third(launch) { 3e6 } else { 0.0 }
}

#[test]
fn interrupted_samples_are_in_no_figure_and_kept() {
    let mut sampler = SharedSampler::new(interrupted_by_others, every_third);
    let sampling = Sampling { samples: Some(300), ..Sampling::USUAL };
    let (samples, _) = measured(&mut sampler, &sampling);
    assert_eq!((samples.event_times.len(), samples.interrupted_times.len()), (200, 100));
    assert!(samples.event_times.iter().all(|event| *event == Nanoseconds(101e3)));
    assert!(samples.interrupted_times.iter().all(|event| *event == Nanoseconds(3_101e3)));
    assert_eq!((samples.time.samples, samples.time.mean), (200, Nanoseconds(100e3)));
    assert_eq!(samples.modes(), None);
}

#[test]
fn sampling_ends_when_enough_undisturbed_samples_agree() {
    let mut sampler = SharedSampler::new(interrupted_by_others, every_third);
    let (samples, _) = measured(&mut sampler, &Sampling::USUAL);
    assert!(samples.converged && samples.event_times.len() >= MIN_SAMPLES, "{}", samples.event_times.len());
    assert!(samples.interrupted_times.len() < samples.event_times.len());
}

#[test]
fn all_samples_count_where_nobody_else_used_the_processors() {
    let mut sampler =
        SharedSampler { others: false, ..SharedSampler::new(interrupted_by_others, every_third) };
    let sampling = Sampling { samples: Some(300), ..Sampling::USUAL };
    let (samples, _) = measured(&mut sampler, &sampling);
    assert_eq!((samples.event_times.len(), samples.interrupted_times.len()), (300, 0));
}

#[test]
fn a_launch_that_is_always_interrupted_has_a_time_all_the_same() {
    let mut sampler = SharedSampler::new(steady, |launch| launch > 70);
    let sampling = Sampling { samples: Some(40), warm_up_launches: Some(66), ..Sampling::USUAL };
    let (samples, _) = measured(&mut sampler, &sampling);
    assert_eq!((samples.event_times.len(), samples.interrupted_times.len()), (40, 0), "five are too few");
    assert_eq!(samples.interrupted_count, 35);
}

/// If other programs run, sampling takes 0.3 s, even if the times agree: all of them may be within another
/// program's time slice.
#[test]
fn a_short_launch_goes_on_until_the_others_let_go() {
    let mut sampler =
        SharedSampler::new(|launch| if launch < 150 { 250e3 } else { 100e3 }, |launch| launch < 150);
    let sampling = Sampling { warm_up_launches: Some(0), ..Sampling::USUAL };
    let (samples, _) = measured(&mut sampler, &sampling);
    assert_eq!(samples.interrupted_count, 0);
    assert_eq!((samples.time.median, samples.interrupted_times.len()), (Nanoseconds(100e3), 150));
    let mut sampler = SharedSampler::new(steady, |_| true);
    let (samples, _) = measured(&mut sampler, &sampling);
    assert!(samples.converged && samples.interrupted_count == samples.event_times.len());
    let third = Nanoseconds::from_seconds(0.3);
    assert!(samples.device_time >= third && samples.device_time < 1.2 * third, "{:?}", samples.device_time);
}

/// A launch on the CPU whose median is known to about ± 10 % after 0.3 s, and to ± 5 % within its budget of 3
/// s, never to ± 0.5 %.
#[test]
fn a_row_of_the_cpu_goes_on_until_its_interval_is_no_wider_than_a_valid_one() {
    let noisy = |launch: usize| 50e3 + 100e3 * (launch * 7_919 % 10_007) as f64 / 10_006.0;
    let mut shared = SharedSampler::new(noisy, |_| false);
    shared.sampler.cost = Nanoseconds(3e6);
    let (on_the_cpu, _) = measured(&mut shared, &Sampling::USUAL);
    let cpu = on_the_cpu.time.relative_half_width();
    assert!(!on_the_cpu.converged && cpu <= 0.05, "{cpu}");
    assert!(
        on_the_cpu.device_time < Nanoseconds::from_seconds(2.5),
        "{:?}: it ends there",
        on_the_cpu.device_time
    );
    // Launches on a device share processors if their threads were kept waiting.
    for (waited, goes_on) in [(None, false), (Some(0.05), false), (Some(0.2), true)] {
        let sampler = FakeSampler { cost: Nanoseconds(3e6), ..FakeSampler::new(noisy) };
        let (samples, _) = measured(&mut Elsewhere { sampler, waited }, &Sampling::USUAL);
        let width = samples.time.relative_half_width();
        assert!(!samples.converged, "it has no hope of ± 0.5 %");
        assert_eq!(width <= 0.05, goes_on, "{waited:?}: {width}");
    }
}

/// A launch ten times as long, of which the budget allows a hundred: a valid width would need more.
#[test]
fn a_row_of_the_cpu_without_hope_of_a_valid_width_is_given_up() {
    let noisy = |launch: usize| 50e3 + 100e3 * (launch * 7_919 % 10_007) as f64 / 10_006.0;
    let mut shared = SharedSampler::new(noisy, |_| false);
    shared.sampler.cost = Nanoseconds(3e7);
    let (samples, _) = measured(&mut shared, &Sampling::USUAL);
    let width = samples.time.relative_half_width();
    assert!(!samples.converged && width > 0.05, "{width}");
    assert!(samples.device_time < Nanoseconds::from_seconds(1.5), "{:?}", samples.device_time);
}

/// A sampler of a device, whose threads waited for this part of their time.
struct Elsewhere {
    sampler: FakeSampler,
    waited: Option<f64>,
}

impl Sampler for Elsewhere {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        self.sampler.group(samples)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        self.sampler.timer()
    }

    fn processor_wait(&mut self) -> Option<f64> {
        self.waited
    }

    fn method(&self) -> Method {
        Method::new(Path::Device)
    }
}
