//! Batches of launches that are too short for their timer: a sample times several back-to-back launches
//! together.

use super::{Work, launch_timer::LaunchTimer};
use gpubench_records::{Failure, Timer};
use gpubench_stats::Nanoseconds;

/// The shortest sample in units of the resolution of the timer, which is then at most 1 % of the sample.
const LEAST_TIMER_STEPS: f64 = 100.0;
/// The shortest sample (1 µs): reading a clock takes some tens of nanoseconds, and varies by a few.
const SHORTEST_SAMPLE: Nanoseconds = Nanoseconds(1e3);
/// The most launches of a batch. This many empty launches take longer than a resolution of a microsecond.
const LARGEST_BATCH: usize = 1 << 16;
/// The number of times that each batch size is timed. The fastest one counts, since other work on the machine
/// makes launches look longer.
const TIMINGS_PER_BATCH_SIZE: usize = 3;

/// Returns true if a sample with this event time is too short for the timer, so that a sample needs several
/// launches.
pub(super) fn is_too_short(event: Nanoseconds, timer: Timer) -> bool {
    event - timer.overhead < SHORTEST_SAMPLE.max(LEAST_TIMER_STEPS * timer.resolution)
}

/// Times `launches` back-to-back launches of `work` together. Returns the event time divided by their number.
pub(super) fn time_per_launch<D: LaunchTimer>(
    device: &mut D,
    work: &mut dyn Work,
    launches: usize,
) -> Result<Nanoseconds, Failure> {
    match launches {
        1 => device.time(work),
        _ => Ok(device.time(&mut || (0..launches).try_for_each(|_| work.launch()))? / launches as f64),
    }
}

/// Returns the smallest power of two of launches that together are long enough for `timer`, at most
/// [`LARGEST_BATCH`]. Launches each size several times to find out.
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

    use super::*;
    use crate::device::SampleOptions;
    use crate::device::single_launch_sampler::sampler;
    use gpubench_records::method::{Cache, Flush};

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
        for (each, batch) in [(0.8, 2048), (7.3, 256), (100.0, 16), (900.0, 2)] {
            let (launches, time, _) = sampled::<true>(each, Cache::Hot, false);
            assert_eq!(launches, Some(batch), "{each} ns");
            assert!((time / each - 1.0).abs() < 0.01, "{time} ns of {each} ns");
        }
    }

    #[test]
    fn a_launch_that_is_long_enough_is_launched_no_more_than_asked_for() {
        // Two groups with a launch before each.
        let (batch, time, launches) = sampled::<true>(1_100.0, Cache::Hot, false);
        assert_eq!((batch, launches), (None, 122));
        assert!((time / 1_100.0 - 1.0).abs() < 0.01, "{time}");
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
        struct Fails;
        impl Work for Fails {
            fn launch(&mut self) -> Result<(), Failure> {
                Err(Failure::new(gpubench_records::failure::Stage::Launch, "out of paper"))
            }
        }
        let mut device = Stepping::<true>(Time::default());
        assert!(smallest_sufficient_batch(&mut device, &mut Fails, Timer::new(Nanoseconds(10.0))).is_err());
    }
}
