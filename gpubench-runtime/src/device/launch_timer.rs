//! The interface to devices that time one launch at a time with their own clock. Launches that are too short for
//! the clock are timed in batches, several back-to-back launches per sample.
//! [`single_launch_sampler`](super::single_launch_sampler) makes samplers of it.

use std::time::{Duration, Instant};

use gpubench_records::{Failure, Flush, Path, Timer};
use gpubench_stats::{Nanoseconds, median};

use crate::device::Work;

/// The most readings of the timer with nothing between start and end, to which [`read_empty_spans`] goes on.
const MOST_EMPTY_READINGS: usize = 1_001;
/// The fewest readings of the timer with nothing between start and end. [`read_empty_spans`] takes them even
/// if they need longer than [`EMPTY_READINGS_BUDGET`].
const FEWEST_EMPTY_READINGS: usize = 101;
/// The time after which [`read_empty_spans`] takes no more than [`FEWEST_EMPTY_READINGS`].
const EMPTY_READINGS_BUDGET: Duration = Duration::from_millis(20);

/// A device that times one launch at a time with its own clock. It needs no `Sampler` of its own: its
/// [`Device`](super::Device) implementation calls [`sampler`](super::single_launch_sampler::sampler) and
/// [`pair_sampler`](super::single_launch_sampler::pair_sampler), which reset, flush and interleave.
#[expect(unused_variables, reason = "defaults use none")]
pub trait LaunchTimer {
    /// The path that results of this device report.
    const PATH: Path = Path::Device;
    /// The flushes of the cache that the device supports, the preferred ones first. Cold samples use the
    /// first one that is not [refused](Self::refuses), unless the user chooses one. A device without any
    /// flush takes no cold samples.
    const FLUSHES: &'static [Flush] = &[];

    /// True if launches may follow one another back-to-back. Then a hot sample of a short launch without a
    /// reset consists of several launches, enough to last at least 10 µs and 100 steps of the timer:
    /// [`Self::time`] gets work that launches several times.
    const BATCHES: bool = false;

    /// Launches `work` once, waits for it, and returns its time. The time begins after all earlier work, such
    /// as a reset, has ended.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure>;

    /// Returns the time of an empty launch, which is subtracted from each sample in addition to the overhead
    /// of the timer; 0 is the default. Called once per case, before its samples.
    fn empty_launch_time(&mut self) -> Nanoseconds {
        Nanoseconds::ZERO
    }

    /// Makes ready what launches need; for example, wakes threads. Called before each sample, after its
    /// flush; between back-to-back samples, it may be left out while [`Self::is_ready`] returns true. Returns
    /// false if other programs use something that launches need: the sample then counts as interrupted. The
    /// default does nothing and returns true.
    fn make_ready(&mut self) -> bool {
        true
    }

    /// Returns true, the default, if a launch can begin without [`Self::make_ready`]. Must not wait. Called
    /// between back-to-back samples.
    fn is_ready(&mut self) -> bool {
        true
    }

    /// Appends, for each thread that runs launches, how long it has run and how long it has waited for a
    /// processor so far. Each call appends the same threads in the same order. A wait in progress need not be
    /// counted before it ends. Appends nothing, the default, if no thread of this machine runs launches, or
    /// if the operating system does not count these times.
    ///
    /// Called between samples, so it should take microseconds. A sample during which a thread waited is left
    /// out if [other programs](Self::others_time) used the processors.
    fn thread_times(&mut self, times: &mut Vec<ThreadTime>) {}

    /// Makes each thread of [`Self::thread_times`] run once, so that a wait in progress ends and is counted.
    /// Called once, after the samples. The default does nothing.
    fn end_waits(&mut self) {}

    /// Returns the time that other programs have used so far on the processors that launches run on. Only the
    /// difference of two calls has a meaning, since the time may be counted from any moment. Returns `None`,
    /// the default, if the operating system does not count it.
    fn others_time(&mut self) -> Option<Nanoseconds> {
        None
    }

    /// Returns the reason, as a phrase, why samples of `work` cannot use `flush`, which is one of
    /// [`Self::FLUSHES`]; `None`, the default, if they can. Called once per case, before its samples.
    fn refuses(&mut self, flush: Flush, work: &dyn Work) -> Option<String> {
        None
    }

    /// Flushes the cache with `flush`, which is one of [`Self::FLUSHES`] and was not
    /// [refused](Self::refuses). Called before each cold sample of `work`. The default does nothing and
    /// returns `Ok`, which suits a device without flushes.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    fn flush(&mut self, flush: Flush, work: &dyn Work) -> Result<(), Failure> {
        Ok(())
    }

    /// Measures the resolution and the empty-span reading of the timer. By default, times work that does
    /// nothing many times with [`Self::time`]: the median is the empty-span reading, and the smallest
    /// difference between two readings is the resolution, or 1 ns if all readings are equal.
    ///
    /// # Errors
    /// Returns an error if the timer does not work.
    fn timer(&mut self) -> Result<Timer, Failure> {
        let mut readings = read_empty_spans(|work| self.time(work))?;
        let empty_span = median(&readings).unwrap_or_default();
        gpubench_stats::sort_by(&mut readings, Nanoseconds::total_cmp);
        let differences = readings.windows(2).map(|pair| (pair[1] - pair[0]).0);
        let step = differences.filter(|difference| *difference > 0.0).reduce(f64::min);
        Ok(Timer::new(Nanoseconds(step.unwrap_or(1.0))).with_empty_span(empty_span))
    }
}

/// How long a thread has run and waited so far; or several threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadTime {
    /// The time on a processor.
    pub ran: Nanoseconds,
    /// The time in which the thread could have run, but waited because other threads ran on the processors.
    pub waited: Nanoseconds,
}

impl ThreadTime {
    /// Returns the part of the time since `earlier` in which the thread waited: wait ÷ (run + wait). Returns
    /// `None` if the thread did not run since then, or if a time is lower than then, as it is after the
    /// thread has ended.
    pub(super) fn waited_since(self, earlier: Self) -> Option<f64> {
        let [ran, waited] = [self.ran - earlier.ran, self.waited - earlier.waited];
        // A thread that has ended takes its counts with it.
        let counted = ran > Nanoseconds::ZERO && waited >= Nanoseconds::ZERO;
        counted.then(|| waited / (ran + waited))
    }
}

/// Calls `time` many times with work that does nothing, and returns the readings. Takes at least
/// [`FEWEST_EMPTY_READINGS`], and then more until there are [`MOST_EMPTY_READINGS`] or
/// [`EMPTY_READINGS_BUDGET`] is over. Returns the first error of `time`.
pub(crate) fn read_empty_spans(
    mut time: impl FnMut(&mut dyn Work) -> Result<Nanoseconds, Failure>,
) -> Result<Vec<Nanoseconds>, Failure> {
    let begin = Instant::now();
    let mut readings = Vec::with_capacity(MOST_EMPTY_READINGS);
    while readings.len() < FEWEST_EMPTY_READINGS
        || (readings.len() < MOST_EMPTY_READINGS && begin.elapsed() < EMPTY_READINGS_BUDGET)
    {
        readings.push(time(&mut || Ok(()))?);
    }
    Ok(readings)
}

/// A sample shorter than this many steps of the timer consists of several launches, so that the resolution of
/// the timer is at most 1 % of a sample.
const LEAST_TIMER_STEPS: f64 = 100.0;
/// A sample shorter than this (10 µs) consists of several launches, since reading a clock takes some tens of
/// nanoseconds, and varies by a few.
const SHORTEST_SAMPLE: Nanoseconds = Nanoseconds(1e4);
/// The most launches of a sample, even if their time together is too short for the timer. This many empty
/// launches take longer than the resolution of a timer that counts microseconds.
const LARGEST_BATCH: usize = 1 << 16;
/// The number of times that each batch size is timed. The fastest one counts, since other work on the machine
/// makes launches look longer.
const TIMINGS_PER_BATCH_SIZE: usize = 3;

/// Returns true if a sample with this event time, less the overhead of `timer`, takes less than 10 µs or less
/// than 100 steps of the timer.
pub(super) fn is_too_short(event: Nanoseconds, timer: Timer) -> bool {
    event - timer.overhead < SHORTEST_SAMPLE.max(LEAST_TIMER_STEPS * timer.resolution)
}

/// Times `launches` back-to-back launches of `work` together. Returns the event time divided by `launches`.
pub(super) fn time_per_launch<D: LaunchTimer>(
    device: &mut D,
    work: &mut dyn Work,
    launches: usize,
) -> Result<Nanoseconds, Failure> {
    match launches {
        1 => device.time(work),
        _ => Ok(device.time(&mut || work.launch_times(launches))? / launches as f64),
    }
}

/// Returns the number of launches that a sample needs to be long enough for `timer`: the smallest sufficient
/// power of two, at most [`LARGEST_BATCH`]. Launches each size several times to find out.
pub(super) fn smallest_sufficient_batch<D: LaunchTimer>(
    device: &mut D,
    work: &mut dyn Work,
    timer: Timer,
) -> Result<usize, Failure> {
    let mut launches = 1;
    while launches < LARGEST_BATCH {
        let mut fastest = time_per_launch(device, work, launches)?;
        for _ in 1..TIMINGS_PER_BATCH_SIZE {
            fastest = fastest.min(time_per_launch(device, work, launches)?);
        }
        if !is_too_short(launches as f64 * fastest, timer) {
            break;
        }
        launches *= 2;
    }
    Ok(launches)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use gpubench_records::method::{Cache, Flush};

    use super::*;
    use crate::device::SampleOptions;
    use crate::device::single_launch_sampler::sampler;

    /// A time that launches move.
    type Time = Rc<Cell<f64>>;

    /// A device whose clock steps by 10 ns. Reading it takes 3 ns.
    struct Stepping<const BATCHES: bool>(Time);

    impl<const BATCHES: bool> LaunchTimer for Stepping<BATCHES> {
        const FLUSHES: &'static [Flush] = &[Flush::Read];
        const BATCHES: bool = BATCHES;

        fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
            let read = || {
                self.0.set(self.0.get() + 3.0);
                10.0 * (self.0.get() / 10.0).floor()
            };
            let start = read();
            work.launch()?;
            Ok(Nanoseconds(read() - start))
        }
    }

    /// A launch that takes the time `each`.
    struct Takes {
        each: f64,
        time: Time,
        resets: bool,
        launches: usize,
    }

    impl Work for Takes {
        fn resets(&self) -> bool {
            self.resets
        }

        fn launch(&mut self) -> Result<(), Failure> {
            self.launches += 1;
            self.time.set(self.time.get() + self.each);
            Ok(())
        }
    }

    /// Samples a launch that takes the time `each`, after a warm-up of 20. Returns its batch, the mean of 100
    /// times, and the number of launches.
    fn sampled<const BATCHES: bool>(each: f64, cache: Cache, resets: bool) -> (Option<usize>, f64, usize) {
        let time = Time::default();
        let mut device = Stepping::<BATCHES>(Rc::clone(&time));
        let mut work = Takes { each, time, resets, launches: 0 };
        let mut sampler =
            sampler(&mut device, &mut work, &SampleOptions::new(cache)).expect("it can be sampled");
        sampler.group(20).expect("nothing fails");
        let timer_of_one = Timer::new(Nanoseconds(10.0)).with_empty_span(Nanoseconds(3.0));
        let timer = sampler.begin(timer_of_one).expect("nothing fails");
        let events = sampler.group(100).expect("nothing fails").events;
        let batch = sampler.method().batch;
        assert_eq!(timer, timer_of_one.of_batch(batch.unwrap_or(1)));
        drop(sampler);
        let mean = events.iter().copied().sum::<Nanoseconds>() / events.len() as f64;
        (batch, (mean - timer.overhead).0, work.launches)
    }

    #[test]
    fn a_launch_below_the_step_is_timed_to_a_part_of_it() {
        for (each, batch) in [(0.8, 16_384), (7.3, 2048), (100.0, 128), (900.0, 16)] {
            let (launches, time, _) = sampled::<true>(each, Cache::Hot, false);
            assert_eq!(launches, Some(batch), "{each} ns");
            assert!((time / each - 1.0).abs() < 0.01, "{time} ns of {each} ns");
        }
    }

    #[test]
    fn a_launch_that_is_long_enough_is_launched_no_more_than_asked_for() {
        // Two groups with a launch before each.
        let (batch, time, launches) = sampled::<true>(10_100.0, Cache::Hot, false);
        assert_eq!((batch, launches), (None, 122));
        assert!((time / 10_100.0 - 1.0).abs() < 0.01, "{time}");
    }

    #[test]
    fn what_goes_before_a_sample_goes_before_one_launch() {
        assert_eq!(sampled::<true>(50.0, Cache::Cold, false).0, None);
        assert_eq!(sampled::<true>(50.0, Cache::Hot, true).0, None);
    }

    #[test]
    fn a_device_batches_only_if_it_says_so() {
        assert_eq!(sampled::<false>(50.0, Cache::Hot, false).0, None);
    }

    #[test]
    fn a_launch_that_takes_no_time_ends_the_search() {
        let (launches, time, _) = sampled::<true>(0.0, Cache::Hot, false);
        assert_eq!(launches, Some(LARGEST_BATCH));
        assert!(time.abs() < 0.01, "{time}");
    }

    #[test]
    fn a_failed_launch_ends_the_search() {
        struct FailingWork;
        impl Work for FailingWork {
            fn launch(&mut self) -> Result<(), Failure> {
                Err(Failure::new(gpubench_records::failure::Stage::Launch, "out of paper"))
            }
        }
        let mut device = Stepping::<true>(Time::default());
        assert!(
            smallest_sufficient_batch(&mut device, &mut FailingWork, Timer::new(Nanoseconds(10.0))).is_err()
        );
    }
}
