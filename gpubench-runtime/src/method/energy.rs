//! The energy of a launch. The device updates its energy counter a few times a second, so launches run
//! back-to-back for a second or more, and the result is the counter's growth from one update to a later one.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::device::{Monitor, Sampler};
use gpubench_records::EnergyMeasurement;
use gpubench_records::threads::{self, Receiver, Sender, channel};
use gpubench_stats::{Joules, Nanoseconds, Watts};

/// The shortest time that back-to-back launches run, unless less time is left for the case. They run until
/// there are enough updates of the energy counter, for at most about [`LONGEST_RUN`].
const SHORTEST_RUN: Duration = Duration::from_secs(1);
/// The time after which no further batch of back-to-back launches begins, counted from the call of
/// [`measure_energy`].
const LONGEST_RUN: Duration = Duration::from_secs(2);
/// The fewest intervals between updates of the counter that give a result.
const LEAST_UPDATE_INTERVALS: usize = 10;
/// The pause between two readings of the energy counter. An update is detected about this late at most.
const COUNTER_PERIOD: Duration = Duration::from_millis(2);
/// The shortest time between two readings of the power sensor.
const SENSOR_PERIOD: Duration = Duration::from_millis(50);
/// The target time of a batch of launches, after which the host waits (50 ms).
const BATCH_TIME: Nanoseconds = Nanoseconds(50e6);
/// The most launches of a batch.
const MAX_BATCH_LAUNCHES: f64 = 16_384.0;

/// Measures the energy of a launch: launches back-to-back while another thread reads the energy counter of
/// `monitor`. After two batches of launches, begins no further batch once `left` or [`LONGEST_RUN`] is over.
/// `each` is the approximate time of a launch, and determines the size of a batch. The error is the reason:
/// the device has no counter, the launches cannot run back-to-back, a launch fails, or there are too few
/// updates.
pub(crate) fn measure_energy(
    sampler: &mut dyn Sampler,
    each: Nanoseconds,
    left: Duration,
    mut monitor: Box<dyn Monitor>,
) -> Result<EnergyMeasurement, String> {
    monitor.energy().ok_or("the device does not count its energy")?;
    let deadline = Instant::now() + left.min(LONGEST_RUN);
    let batch = (BATCH_TIME / each.max(Nanoseconds(1.0))).clamp(1.0, MAX_BATCH_LAUNCHES) as usize;
    let mut launch = || {
        let launched = sampler.back_to_back(batch).map_err(|failure| failure.to_string())?;
        launched.ok_or_else(|| "a launch needs a reset before the next".to_owned())
    };
    // The capture, and a device that has idled since the last sample, stay outside the measurement.
    launch()?;
    let ((end, ended), (update, updates)) = (channel(), channel());
    let counter = threads::start("energy", move || read_counter(monitor, &update, &ended))
        .map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let (mut launches, mut seen) = (0, Vec::new());
    let launched = loop {
        match launch() {
            Ok(number) => launches += number,
            Err(why) => break Err(why),
        }
        seen.extend(updates.sent_messages());
        let enough = seen.len() > LEAST_UPDATE_INTERVALS && begin.elapsed() >= SHORTEST_RUN;
        if enough || Instant::now() >= deadline {
            break Ok(());
        }
    };
    let elapsed = begin.elapsed();
    drop(end);
    counter.join().map_err(|_| "the counter of energy could not be read")?;
    seen.extend(updates.messages());
    launched?;
    compute_energy(&seen, launches, elapsed)
}

/// An update of the energy counter: when it was detected, the counted energy, and the reading of the power
/// sensor, which is `None` if no reading was due or if there is no such sensor.
#[derive(Clone, Copy)]
struct CounterUpdate {
    when: Instant,
    counted: Joules,
    sensor: Option<Watts>,
}

/// Reads the energy counter every [`COUNTER_PERIOD`], and sends each update to `updates`. Returns when the
/// other end of the channel `end` is dropped.
fn read_counter(mut monitor: Box<dyn Monitor>, updates: &Sender<CounterUpdate>, end: &Receiver<()>) {
    let mut last = monitor.energy();
    let mut asked: Option<Instant> = None;
    while let Err(RecvTimeoutError::Timeout) = end.receive(Some(COUNTER_PERIOD)) {
        let now = monitor.energy();
        if let Some(counted) = now.filter(|_| now != last) {
            let when = Instant::now();
            let due = asked.is_none_or(|asked| when - asked >= SENSOR_PERIOD);
            let sensor = due.then(|| monitor.read().power).flatten();
            asked = if due { Some(when) } else { asked };
            updates.send(CounterUpdate { when, counted, sensor });
        }
        last = now;
    }
}

/// Computes the energy of a launch from `launches` launches that took `elapsed`, and the updates of the
/// counter meanwhile. Returns a sentence as an error if there are fewer than [`LEAST_UPDATE_INTERVALS`]
/// intervals.
fn compute_energy(
    updates: &[CounterUpdate],
    launches: usize,
    elapsed: Duration,
) -> Result<EnergyMeasurement, String> {
    let between = updates.len().saturating_sub(1);
    let ([first, .., last], LEAST_UPDATE_INTERVALS..) = (updates, between) else {
        return Err(format!(
            "the device's counter of energy was updated {between} times in {:.1} s, and less than {LEAST_UPDATE_INTERVALS} say little",
            elapsed.as_secs_f64()
        ));
    };
    let counted = Nanoseconds::from(last.when - first.when);
    let power = (last.counted - first.counted).over(counted);
    let elapsed = Nanoseconds::from(elapsed);
    let readings: Vec<Watts> = updates.iter().filter_map(|update| update.sensor).collect();
    let sensor =
        (!readings.is_empty()).then(|| readings.iter().copied().sum::<Watts>() / readings.len() as f64);
    let per_launch = power.during(elapsed) / launches as f64;
    Ok(EnergyMeasurement {
        per_launch,
        power,
        sensor_power: sensor,
        launches,
        wall_time: elapsed,
        updates: between,
        counter_time: counted,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::device::SampledGroup;
    use gpubench_records::conditions::Reading;
    use gpubench_records::failure::{Failure, Stage};
    use gpubench_records::method::{Method, Timer};

    /// Makes `number` updates, `period` apart, at a constant `watts`.
    fn updates(number: u64, watts: f64, period: Duration) -> Vec<CounterUpdate> {
        let begin = Instant::now();
        let update = |index: u64| CounterUpdate {
            when: begin + period * index as u32,
            counted: Joules(1e6 + watts * period.as_secs_f64() * index as f64),
            sensor: Some(Watts(watts + 1.0)),
        };
        (0..number).map(update).collect()
    }

    #[test]
    fn a_launch_takes_the_power_over_the_launches_of_a_second() {
        let updates = updates(11, 700.0, Duration::from_millis(100));
        let measured =
            compute_energy(&updates, 5000, Duration::from_millis(1250)).expect("there are updates enough");
        assert!((measured.power.0 - 700.0).abs() < 1e-6, "{measured:?}");
        // 700 W for 0.25 ms each.
        assert!((measured.per_launch.0 - 0.175).abs() < 1e-9, "{measured:?}");
        assert_eq!((measured.updates, measured.counter_time), (10, Nanoseconds(1e9)));
        assert!((measured.sensor_power.expect("it told").0 - 701.0).abs() < 1e-6);
    }

    /// A device that counts energy, and a sampler whose launches cannot run back-to-back, or fail.
    struct EnergyCounter;
    struct FailingSampler(Option<Failure>);

    impl Monitor for EnergyCounter {
        fn read(&mut self) -> Reading {
            Reading::default()
        }

        fn energy(&mut self) -> Option<Joules> {
            Some(Joules(1.0))
        }
    }

    impl Sampler for FailingSampler {
        fn group(&mut self, _: usize) -> Result<SampledGroup, Failure> {
            unreachable!("it is not sampled")
        }

        fn timer(&mut self) -> Result<Timer, Failure> {
            unreachable!("it is not sampled")
        }

        fn method(&self) -> Method {
            unreachable!("it is not sampled")
        }

        fn back_to_back(&mut self, _: usize) -> Result<Option<usize>, Failure> {
            self.0.clone().map_or(Ok(None), Err)
        }
    }

    #[test]
    fn launches_that_cannot_follow_one_another_are_refused_in_words() {
        let refused = |failure| {
            measure_energy(
                &mut FailingSampler(failure),
                Nanoseconds(1e6),
                LONGEST_RUN,
                Box::new(EnergyCounter),
            )
        };
        assert_eq!(refused(None), Err("a launch needs a reset before the next".to_owned()));
        let failure = Failure::new(Stage::Launch, "out of paper");
        assert_eq!(refused(Some(failure)), Err("launch: out of paper".to_owned()));
    }

    /// A counter that grows by 700 W, and is updated once per `period`.
    struct Grows {
        begin: Instant,
        period: Duration,
        sensor_reads: Arc<AtomicUsize>,
    }

    impl Monitor for Grows {
        fn read(&mut self) -> Reading {
            self.sensor_reads.fetch_add(1, Ordering::Relaxed);
            Reading { power: Some(Watts(690.0)), ..Reading::default() }
        }

        fn energy(&mut self) -> Option<Joules> {
            let updates = (self.begin.elapsed().as_secs_f64() / self.period.as_secs_f64()).floor();
            Some(Joules(1e6 + 700.0 * self.period.as_secs_f64() * updates))
        }
    }

    /// Launches of 1 ms each, as this machine's clock has it.
    #[derive(Default)]
    struct Sleeps {
        launches: usize,
        calls: usize,
    }

    impl Sampler for Sleeps {
        fn group(&mut self, _: usize) -> Result<SampledGroup, Failure> {
            unreachable!("it is not sampled")
        }

        fn timer(&mut self) -> Result<Timer, Failure> {
            unreachable!("it is not sampled")
        }

        fn method(&self) -> Method {
            unreachable!("it is not sampled")
        }

        fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
            thread::sleep(Duration::from_millis(launches as u64));
            self.launches += launches;
            self.calls += 1;
            Ok(Some(launches))
        }
    }

    fn measured(period: Duration, longest: Duration) -> (Result<EnergyMeasurement, String>, Sleeps, usize) {
        let (mut sampler, sensor_reads) = (Sleeps::default(), Arc::default());
        let counter = Grows { begin: Instant::now(), period, sensor_reads: Arc::clone(&sensor_reads) };
        let energy = measure_energy(&mut sampler, Nanoseconds(1e6), longest, Box::new(counter));
        (energy, sampler, sensor_reads.load(Ordering::Relaxed))
    }

    /// 50 launches of 1 ms are waited for together. The first of these are no part of it, and it ends after a
    /// second.
    #[test]
    fn launches_go_on_for_a_second_while_the_counter_grows() {
        let (energy, sampler, sensor_reads) = measured(Duration::from_millis(20), Duration::from_secs(9));
        let measured = energy.expect("there are updates enough");
        assert_eq!(sampler.launches, 50 * sampler.calls);
        assert_eq!(measured.launches, sampler.launches - 50);
        let second = Nanoseconds::from(SHORTEST_RUN);
        assert!(measured.wall_time >= second && measured.wall_time < 1.9 * second, "{measured:?}");
        assert!(measured.updates >= LEAST_UPDATE_INTERVALS && measured.updates <= 80, "{measured:?}");
        // The counter's steps and readings that come late leave some per cent, and more on a busy machine.
        assert!((measured.power.0 / 700.0 - 1.0).abs() < 0.2, "{measured:?}");
        let per_launch = measured.power.during(measured.wall_time) / measured.launches as f64;
        assert_eq!(measured.per_launch, per_launch);
        assert_eq!(measured.sensor_power, Some(Watts(690.0)));
        // Every third update is 50 ms after the last one that was read.
        assert!((2..=measured.updates / 2).contains(&sensor_reads), "{sensor_reads} of {measured:?}");
    }

    /// Of a counter that is updated ten times a second, ten updates take longer than a second: launches go on
    /// until they have come.
    #[test]
    fn launches_wait_for_a_slow_counter() {
        let (energy, _, _) = measured(Duration::from_millis(100), Duration::from_secs(9));
        let measured = energy.expect("there are updates enough");
        assert!(measured.updates >= LEAST_UPDATE_INTERVALS, "{measured:?}");
    }

    /// Too few updates come within what is left: launches go on until then, and no longer.
    #[test]
    fn what_is_left_of_a_budget_ends_launches() {
        let begin = Instant::now();
        let (energy, _, _) = measured(Duration::from_millis(100), Duration::from_millis(400));
        let took = begin.elapsed();
        let why = energy.expect_err("there are too few");
        assert!(why.contains("was updated ") && why.contains("less than 10 say little"), "{why}");
        assert!((0.4..1.5).contains(&took.as_secs_f64()), "{took:?}");
    }

    #[test]
    fn few_updates_are_refused_with_their_number() {
        let period = Duration::from_millis(200);
        let refused =
            |number| compute_energy(&updates(number, 700.0, period), 9, Duration::from_secs(2)).err();
        assert_eq!(
            refused(10).as_deref(),
            Some("the device's counter of energy was updated 9 times in 2.0 s, and less than 10 say little")
        );
        assert_eq!(refused(11), None);
        assert!([0, 1].map(refused).iter().all(Option::is_some));
    }
}
