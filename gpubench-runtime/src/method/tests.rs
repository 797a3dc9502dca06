//! The protocol of a measurement against a sampler in memory: order, budgets, the stop rule, failures.

mod interleaving;
mod shared;
mod stopping;

use std::thread;
use std::time::{Duration, Instant};

use super::{SHORT_LAUNCH, group_size::MIN_SAMPLES, measure};
use crate::device::{OtherTimes, SampledGroup, Sampler};
use gpubench_records::sampling::MAX_AUTOMATIC_SAMPLES;
use gpubench_records::{Failure, Method, Path, Samples, Sampling, Stage, Step, Timer};
use gpubench_stats::{DramStallPeriod, Hertz, Nanoseconds};

const STEP: Nanoseconds = Nanoseconds(32.0);
const OVERHEAD: Nanoseconds = Nanoseconds(1_000.0);

/// A deadline that no test meets.
fn later() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

/// Times launches by a formula: the time of launch number i, and what the device spends on each sample.
struct FakeSampler {
    time: fn(usize) -> f64,
    cost: Nanoseconds,
    /// The time that this machine spends on each sample.
    busy: Duration,
    timer: Timer,
    launches: usize,
    /// The sizes of the groups that were asked for.
    asked: Vec<usize>,
    back_to_back: usize,
    /// The launch that fails, if one does.
    fails_at: Option<usize>,
    /// The device's clock after this many launches, if it has counters.
    clock: Option<fn(usize) -> u64>,
    path: Path,
}

impl FakeSampler {
    fn new(time: fn(usize) -> f64) -> Self {
        let (cost, busy) = (Nanoseconds(1e6), Duration::ZERO);
        let timer = Timer { simulated: true, ..Timer::new(STEP).with_empty_span(OVERHEAD) };
        Self {
            time,
            path: Path::Host,
            cost,
            busy,
            timer,
            launches: 0,
            asked: Vec::new(),
            back_to_back: 0,
            fails_at: None,
            clock: None,
        }
    }

    /// A sampler whose launches take this many `milliseconds` of the host, and almost no time of the device.
    fn of_host(time: fn(usize) -> f64, milliseconds: u64) -> Self {
        let busy = Duration::from_millis(milliseconds);
        let timer = Timer::new(STEP).with_empty_span(OVERHEAD);
        Self { cost: Nanoseconds(2e5), busy, timer, ..Self::new(time) }
    }
}

impl Sampler for FakeSampler {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        self.asked.push(samples);
        let mut group = SampledGroup::new(Vec::new(), self.cost * samples as f64);
        for _ in 0..samples {
            if self.fails_at == Some(self.launches) {
                return Err(Failure::new(Stage::Launch, "out of paper"));
            }
            group.events.push(Nanoseconds((self.time)(self.launches)) + OVERHEAD);
            self.launches += 1;
        }
        thread::sleep(self.busy * samples as u32);
        group.clock = self.clock.map(|clock| Hertz(clock(self.launches)));
        Ok(group)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        Ok(self.timer)
    }

    fn method(&self) -> Method {
        Method::new(self.path)
    }

    fn other_times(&mut self, time: Nanoseconds) -> Result<OtherTimes, Failure> {
        let is_short = time < SHORT_LAUNCH;
        self.back_to_back += usize::from(is_short);
        let back_to_back = is_short.then_some(Nanoseconds(7.0));
        Ok(OtherTimes { back_to_back, ..OtherTimes::default() })
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

fn measured(sampler: &mut dyn Sampler, sampling: &Sampling) -> (Samples, Vec<Step>) {
    let mut steps = Vec::new();
    let samples =
        measure(sampler, sampling, later(), None, &mut |step| steps.push(step)).expect("nothing fails");
    (samples, steps)
}

#[test]
fn launches_of_the_warm_up_are_no_samples() {
    // The first hundred launches take ten times as long.
    let mut sampler = FakeSampler::new(|launch| if launch < 100 { 1e6 } else { 100e3 });
    let sampling = Sampling { min_warm_up_time: Nanoseconds::from_seconds(0.2), ..Sampling::USUAL };
    let (samples, steps) = measured(&mut sampler, &sampling);
    assert!(samples.warm_up.steady && samples.warm_up.launches >= 200, "{:?}", samples.warm_up);
    assert!(samples.event_times.iter().all(|event| *event == Nanoseconds(101e3)));
    assert_eq!(samples.time.median, Nanoseconds(100e3), "the overhead is taken off");
    let first_sample = steps.iter().position(|step| matches!(step, Step::Samples(0))).expect("they begin");
    assert!(steps[..first_sample].iter().all(|step| matches!(step, Step::WarmUp(_))));
    assert!(matches!(steps.last(), Some(Step::Afterwards(taken)) if *taken == samples.event_times.len()));
}

/// Times that agree are not enough while the clock is on its way.
#[test]
fn a_warm_up_lasts_until_the_clock_is_steady() {
    let mut sampler = FakeSampler::new(steady);
    sampler.clock = Some(|launches| 1_000_000_000 + 10_000_000 * launches.min(100) as u64);
    let sampling = Sampling { samples: Some(64), ..Sampling::USUAL };
    let (samples, _) = measured(&mut sampler, &sampling);
    assert!(samples.warm_up.steady && samples.warm_up.launches >= 100, "{:?}", samples.warm_up);
    sampler = FakeSampler::new(steady);
    let (samples, _) = measured(&mut sampler, &sampling);
    assert!(samples.warm_up.steady && samples.warm_up.launches < 50, "{:?}", samples.warm_up);
}

/// The clock of a launch that draws much power falls after a while: what was sampled before is no sample.
#[test]
fn samples_are_warm_up_while_the_clock_moves() {
    let mut sampler = FakeSampler::new(steady);
    sampler.clock = Some(|launches| 2_000_000_000 - 1_000_000 * launches.min(100) as u64);
    let sampling = Sampling { min_time: Nanoseconds::from_seconds(0.06), ..Sampling::USUAL };
    let (samples, _) = measured(&mut sampler, &sampling);
    let all = samples.warm_up.launches + samples.event_times.len();
    assert_eq!(sampler.launches, all, "each launch is one or the other");
    assert_eq!(samples.warm_up.elapsed + samples.device_time, Nanoseconds(1e6) * all as f64);
    let clock = samples.device_clock.expect("it has counters");
    assert!(clock.during.low.as_f64() >= 1.9e9 && clock.during.high.as_f64() < 1.92e9, "{clock:?}");
    let before = clock.before.expect("it was read in the warm-up");
    assert!(before.high > clock.during.high && clock.after == clock.during.low, "{clock:?}");
    assert!(before.low.as_f64() < 1.95e9, "what was sampled before is read before: {clock:?}");
    // Unless the user says what is warm-up.
    let fixed = Sampling { warm_up_launches: Some(8), samples: Some(64), ..sampling };
    let mut sampler = FakeSampler { clock: sampler.clock, ..FakeSampler::new(steady) };
    let (samples, _) = measured(&mut sampler, &fixed);
    assert_eq!((samples.warm_up.launches, samples.event_times.len()), (8, 64));
}

#[test]
fn a_steady_launch_ends_at_the_second_check_with_enough_samples() {
    let (samples, _) = measured(&mut FakeSampler::new(steady), &Sampling::USUAL);
    let taken = samples.event_times.len();
    assert!(samples.converged && taken >= MIN_SAMPLES, "{taken}");
    // Two checks of groups of 8: no more samples are taken.
    assert!(taken <= MIN_SAMPLES + 16, "{taken}");
}

#[test]
fn a_budget_of_device_time_ends_what_does_not_converge() {
    let sampling = Sampling {
        precision: 1e-4,
        max_time: Nanoseconds::from_seconds(0.1),
        min_warm_up_time: Nanoseconds::from_seconds(0.01),
        ..Sampling::USUAL
    };
    let (samples, _) = measured(&mut FakeSampler::new(noisy), &sampling);
    assert!(!samples.converged);
    // A sample takes 1 ms of the device: 100 of them, but for what the warm-up took beyond its own time.
    assert!((90..=105).contains(&samples.event_times.len()), "{}", samples.event_times.len());
    assert_eq!(samples.device_time, Nanoseconds(1e6) * samples.event_times.len() as f64);
}

#[test]
fn a_least_time_is_sampled_though_the_median_is_known() {
    let sampling = Sampling { min_time: Nanoseconds::from_seconds(0.2), ..Sampling::USUAL };
    let (samples, _) = measured(&mut FakeSampler::new(steady), &sampling);
    assert!(
        samples.converged && (200..=216).contains(&samples.event_times.len()),
        "{}",
        samples.event_times.len()
    );
}

#[test]
fn exactly_as_many_samples_and_warm_up_launches_as_asked_for() {
    for wanted in [1, 7, 100, MAX_AUTOMATIC_SAMPLES + 5] {
        let sampling = Sampling { samples: Some(wanted), warm_up_launches: Some(13), ..Sampling::USUAL };
        let mut sampler = FakeSampler::new(noisy);
        let (samples, _) = measured(&mut sampler, &sampling);
        assert_eq!((samples.event_times.len(), samples.warm_up.launches), (wanted, 13));
        assert_eq!(sampler.launches, wanted + 13);
        assert_eq!(sampler.asked.iter().sum::<usize>(), wanted + 13, "nothing is asked for twice");
    }
}

#[test]
fn no_case_keeps_more_samples_than_the_most() {
    let mut sampler = FakeSampler::new(noisy);
    sampler.cost = Nanoseconds(1.0);
    let sampling = Sampling {
        precision: 1e-9,
        cpu_precision: 0.0,
        min_warm_up_time: Nanoseconds::from_seconds(0.0),
        ..Sampling::USUAL
    };
    let (samples, _) = measured(&mut sampler, &sampling);
    assert_eq!(samples.event_times.len(), MAX_AUTOMATIC_SAMPLES);
    assert!(!samples.converged);
}

#[test]
fn short_launches_are_timed_back_to_back_too() {
    for (time, asked) in [((|_| 4_900.0) as fn(usize) -> f64, 1), (|_| 5_000.0, 0), (|_| 5_100.0, 0)] {
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
    let failed = measure(&mut sampler, &sampling, later(), None, &mut |step| last = Some(step));
    assert_eq!(failed.expect_err("launch 20 fails").to_string(), "launch: out of paper");
    assert!(matches!(last, Some(Step::Samples(1..=12))), "{last:?}");
}

/// Sampling according to the stop rule for at most this many seconds, after a warm-up of a tenth of that,
/// five times that at most.
fn budget(seconds: f64) -> Sampling {
    Sampling {
        precision: 1e-9,
        max_time: Nanoseconds::from_seconds(seconds),
        min_warm_up_time: Nanoseconds::from_seconds(seconds / 10.0),
        ..Sampling::USUAL
    }
}

/// A launch that waits for its stream takes the device nothing while it waits.
#[test]
fn a_budget_holds_by_this_machines_clock_too() {
    let mut sampler = FakeSampler::of_host(noisy, 5);
    let begin = Instant::now();
    let (samples, _) = measured(&mut sampler, &budget(0.2));
    let took = begin.elapsed().as_secs_f64();
    assert!(!samples.converged && samples.event_times.len() >= 5, "{}", samples.event_times.len());
    // The warm-up never becomes steady: it ends after half of the budget.
    assert!((0.2..0.6).contains(&took), "{took} s");
    assert!(samples.wall_time < Nanoseconds::from_seconds(0.4), "{:?}", samples.wall_time);
}

#[test]
fn a_group_ends_within_its_budget() {
    let (samples, _) = measured(&mut FakeSampler::new(noisy), &budget(0.1));
    // A sample takes 1 ms of the device, and a group mostly 8. The rest of the warm-up counts too.
    assert!((85..=100).contains(&samples.event_times.len()), "{}", samples.event_times.len());
}

/// The budget of 3 s is for all launches: the checked one, the warm-up, the samples, and two on fresh inputs.
/// It allows six samples of a launch of 0.3 s, one of 0.6 s after the warm-up, and only the warm-up of a
/// longer one.
#[test]
fn all_launches_of_a_case_count() {
    type LaunchTimes = (fn(usize) -> f64, usize, usize);
    let cases: [LaunchTimes; 5] =
        [(|_| 0.3e9, 6, 1), (|_| 0.5e9, 2, 1), (|_| 0.6e9, 1, 1), (|_| 2e9, 1, 0), (|_| 100e9, 1, 0)];
    for (time, taken, warm_up) in cases {
        let seconds = time(0) / 1e9;
        let mut sampler = FakeSampler::new(time);
        sampler.cost = Nanoseconds(time(0));
        let (samples, _) = measured(&mut sampler, &Sampling::USUAL);
        assert_eq!(sampler.asked, vec![1; taken + warm_up], "{seconds} s");
        assert_eq!((samples.warm_up.launches, samples.event_times.len()), (warm_up, taken), "{seconds} s");
        assert_eq!(samples.converged, taken >= 6, "{seconds} s");
    }
}

/// A number of samples that the user set is given up where the rest would not be over before the deadline.
#[test]
fn a_deadline_keeps_the_samples_that_are_there() {
    let mut sampler = FakeSampler::of_host(steady, 10);
    let sampling = Sampling { samples: Some(1000), min_warm_up_time: Nanoseconds::ZERO, ..Sampling::USUAL };
    let (begin, limit) = (Instant::now(), Duration::from_millis(300));
    let samples = measure(&mut sampler, &sampling, begin + limit, None, &mut |_| ()).expect("nothing fails");
    assert!(
        !samples.converged && (1..60).contains(&samples.event_times.len()),
        "{}",
        samples.event_times.len()
    );
    assert!(begin.elapsed() < limit, "{:?}", begin.elapsed());
}

/// Who asks for a long warm-up gets all samples besides.
#[test]
fn a_warm_up_that_was_asked_for_costs_no_samples() {
    for sampling in [
        Sampling { min_warm_up_time: Nanoseconds::from_seconds(10.0), ..budget(1.0) },
        Sampling { warm_up_launches: Some(10_000), ..budget(1.0) },
    ] {
        let sampling = Sampling { min_time: sampling.max_time, ..sampling };
        let (samples, _) = measured(&mut FakeSampler::new(noisy), &sampling);
        assert!(samples.warm_up.elapsed >= Nanoseconds::from_seconds(10.0), "{:?}", samples.warm_up);
        assert!(samples.event_times.len() >= 1_000, "{}", samples.event_times.len());
    }
}

/// What a broken clock reads, as numbers of a launch.
const BROKEN: [fn(usize) -> f64; 4] = [
    |launch| if launch % 100 == 50 { -5_000.0 } else { 100e3 },
    |launch| if launch % 3 == 0 { f64::NAN } else { 100e3 },
    |launch| if launch % 7 == 0 { f64::INFINITY } else { 100e3 },
    |launch| if launch % 2 == 0 { f64::NEG_INFINITY } else { 1e300 },
];

/// Readings that are no times hang nothing, and what is stored can be read again.
#[test]
fn what_no_clock_gives_is_counted() {
    let fixed = Sampling { samples: Some(200), ..Sampling::USUAL };
    for (number, time) in BROKEN.into_iter().enumerate() {
        for sampling in [fixed, budget(0.3)] {
            let measured = measure(&mut FakeSampler::new(time), &sampling, later(), None, &mut |_| ());
            let samples = match measured {
                Ok(samples) => samples,
                Err(failure) => {
                    assert_eq!(number, 3, "{failure}");
                    assert!(failure.to_string().starts_with("sampling: broken clock: "), "{failure}");
                    continue;
                }
            };
            let faults = samples.clock_faults.expect("there are some");
            assert_eq!(faults.negative > 0, number == 0, "{faults}");
            assert_eq!(faults.no_times > 0, number > 0, "{faults}");
            assert!(samples.event_times.iter().all(|event| event.is_finite()));
            let json = serde_json::to_string(&samples).expect("JSON");
            assert_eq!(serde_json::from_str::<Samples>(&json).expect("it is read"), samples);
        }
    }
}

#[test]
fn the_time_of_a_group_may_be_none() {
    for cost in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e6, 1e300, 0.0] {
        let mut sampler = FakeSampler::of_host(noisy, 1);
        sampler.cost = Nanoseconds(cost);
        let (samples, _) = measured(&mut sampler, &budget(0.1));
        let faults = samples.clock_faults.expect("there are some");
        // No time allows no sample.
        let found = if cost == 0.0 { faults.overfull_groups } else { faults.untimed_groups };
        assert_eq!(found, faults.groups, "{cost}: {faults}");
        assert!(samples.device_time.is_finite() && samples.warm_up.elapsed.is_finite(), "{cost}");
        assert!(!samples.event_times.is_empty());
    }
}

#[test]
fn a_group_is_no_longer_than_this_machines_clock_saw() {
    let mut sampler = FakeSampler::new(steady);
    sampler.timer.simulated = false;
    sampler.cost = Nanoseconds(1e9);
    let (samples, _) = measured(&mut sampler, &Sampling::USUAL);
    let faults = samples.clock_faults.expect("there are some");
    assert_eq!((faults.too_long_groups, faults.overfull_groups), (faults.groups, 0), "{faults}");
}

#[test]
fn a_timer_that_reads_no_times_is_refused() {
    for broken in [f64::NAN, f64::INFINITY, -1.0] {
        for index in 0..3 {
            let mut sampler = FakeSampler::new(steady);
            let timer = &mut sampler.timer;
            *[&mut timer.resolution, &mut timer.overhead, &mut timer.empty_span][index] = Nanoseconds(broken);
            let failed = measure(&mut sampler, &Sampling::USUAL, later(), None, &mut |_| ());
            let failed = failed.expect_err("it is no timer").to_string();
            assert!(failed.starts_with("sampling: broken clock: the timer's step is "), "{failed}");
            assert_eq!(sampler.launches, 0);
        }
    }
}

#[test]
fn a_sampler_that_takes_none_fails() {
    struct EmptySampler;

    impl Sampler for EmptySampler {
        fn group(&mut self, _: usize) -> Result<SampledGroup, Failure> {
            Ok(SampledGroup::new(Vec::new(), Nanoseconds(1.0)))
        }

        fn timer(&mut self) -> Result<Timer, Failure> {
            Ok(Timer::new(STEP))
        }

        fn method(&self) -> Method {
            Method::new(Path::Host)
        }
    }

    let sampling = Sampling { samples: Some(3), ..Sampling::USUAL };
    let failed = measure(&mut EmptySampler, &sampling, later(), None, &mut |_| ());
    assert_eq!(failed.expect_err("there are none").to_string(), "sampling: took no samples");
}

/// A busy machine must not change what a simulation gives, and a second of it is the end all the same.
#[test]
fn a_simulated_device_has_this_machines_time_beyond_its_budget() {
    let mut sampler = FakeSampler::of_host(noisy, 3);
    (sampler.cost, sampler.timer.simulated) = (Nanoseconds(1e6), true);
    let (samples, _) = measured(&mut sampler, &budget(0.1));
    assert!((85..=100).contains(&samples.event_times.len()), "{}", samples.event_times.len());
    let mut sampler = FakeSampler::of_host(noisy, 20);
    (sampler.cost, sampler.timer.simulated) = (Nanoseconds(1e5), true);
    let (samples, _) =
        measured(&mut sampler, &Sampling { min_warm_up_time: Nanoseconds::ZERO, ..budget(0.1) });
    assert!(
        !samples.converged && samples.wall_time < Nanoseconds::from_seconds(3.0),
        "{:?}",
        samples.wall_time
    );
}

/// A sampler whose groups each have an overhead of their own, in nanoseconds.
struct OwnOverheads(FakeSampler, usize);

impl Sampler for OwnOverheads {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let mut group = self.0.group(samples)?;
        self.1 += 1;
        let own = Nanoseconds(50.0 * (self.1 % 5) as f64);
        group.events.iter_mut().for_each(|event| *event += own);
        group.empty_events = vec![OVERHEAD + own];
        Ok(group)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        let mut timer = self.0.timer;
        timer.marginal_empty_launch = Some(Nanoseconds::ZERO);
        Ok(timer)
    }

    fn method(&self) -> Method {
        self.0.method()
    }
}

/// What a group's graph adds to its samples, its own overhead takes off again.
#[test]
fn each_group_has_its_own_overhead() {
    let (samples, _) = measured(&mut OwnOverheads(FakeSampler::new(steady), 0), &Sampling::USUAL);
    assert!(samples.groups >= 8 && samples.overheads.len() == samples.groups, "{samples:?}");
    let times = samples.times();
    assert!(times.iter().all(|time| (*time - times[0]).abs() < Nanoseconds(1e-6)), "{times:?}");
    assert!(samples.converged && samples.time.groups == Some(samples.groups));
}

/// A launch that would need an hour for its interval to narrow: its sampling ends after a third of a second,
/// not after its budget.
#[test]
fn what_would_need_hours_is_given_up() {
    let (samples, _) = measured(
        &mut FakeSampler::new(noisy),
        &Sampling { precision: 1e-3, cpu_precision: 0.0, ..Sampling::USUAL },
    );
    assert!(!samples.converged, "{:?}", samples.time);
    let spent = samples.device_time;
    assert!((0.3..0.6).contains(&spent.as_seconds()), "{spent:?}");
}

/// A sampler that returns when its samples began. Some readings of its clock are invalid.
struct Started {
    sampler: FakeSampler,
    broken: bool,
}

impl Sampler for Started {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let first = self.sampler.launches;
        let mut group = self.sampler.group(samples)?;
        // Each sample begins 200 µs after the previous one.
        let start = |launch: usize| Nanoseconds(2e5 * launch as f64);
        group.starts = (first..self.sampler.launches).map(start).collect();
        if self.broken {
            group.events[0] = Nanoseconds(f64::NAN);
        }
        Ok(group)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        self.sampler.timer()
    }

    fn method(&self) -> Method {
        self.sampler.method()
    }
}

#[test]
fn samples_are_kept_with_their_starts() {
    for broken in [false, true] {
        let mut sampler = Started { sampler: FakeSampler::new(steady), broken };
        let sampling = Sampling { samples: Some(64), ..Sampling::USUAL };
        let (samples, _) = measured(&mut sampler, &sampling);
        assert_eq!(samples.start_intervals.len(), samples.event_times.len());
        let starts = samples.starts();
        assert_eq!(starts[0], Nanoseconds::ZERO);
        // Behind a reading that is no time the next one begins twice as late.
        let steps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]).as_f64()).collect();
        assert!(steps.iter().all(|step| *step == 2e5 || (broken && *step == 4e5)), "{steps:?}");
        assert_eq!(steps.contains(&4e5), broken);
        assert_eq!((samples.dram_stall, samples.stall_corrected()), (None, samples.times()));
    }
    let (samples, _) = measured(&mut FakeSampler::new(steady), &Sampling::USUAL);
    assert!(samples.start_intervals.is_empty() && samples.starts().is_empty());
}

/// A launch of 60 µs on a device that holds memory up for 2 µs every 100: six samples of ten take 2 µs
/// longer, and all take 1.2 on the average.
#[test]
fn a_stall_of_the_memory_is_in_the_time_by_its_mean() {
    let mut fake = FakeSampler::new(|launch| {
        // As in `starts`, in a period that samples fall into anywhere.
        let phase = (2e5 * launch as f64).rem_euclid(101_300.0);
        60e3 + if phase < 61_780.0 { 2e3 } else { 0.0 }
    });
    let (period, error, length) = (Nanoseconds(101_310.0), Nanoseconds(20.0), Nanoseconds(2e3));
    fake.timer.dram_stall_period = Some(DramStallPeriod { period, error, duration: length });
    let (samples, _) = measured(&mut Started { sampler: fake, broken: false }, &Sampling::USUAL);
    let stall = samples.dram_stall.expect("it waits for memory");
    assert!((stall.delayed_fraction - 0.61).abs() < 0.03 && (stall.delay - length).abs() < STEP, "{stall:?}");
    let expected = Nanoseconds(60e3 + 0.61 * 2e3);
    assert!((samples.time.median - expected).abs() < 2.0 * STEP, "{:?}", samples.time);
    assert!(samples.converged && samples.modes().is_none(), "{stall:?}");
    assert_eq!((samples.time.min, samples.time.max), (Nanoseconds(60e3), Nanoseconds(62e3)));
}
