//! The interface to devices that time one launch at a time with their own clock.
//! [`single_launch_sampler`](super::single_launch_sampler) makes samplers of it.

use std::time::{Duration, Instant};

use super::Work;
use gpubench_records::{Failure, Flush, Path, Timer};
use gpubench_stats::{Nanoseconds, median};

/// The most readings of the timer with nothing between start and end.
const MOST_EMPTY_READINGS: usize = 10_001;
/// The fewest readings of the timer with nothing between start and end, even after [`EMPTY_READINGS_BUDGET`].
const FEWEST_EMPTY_READINGS: usize = 101;
/// The time after which no readings beyond the fewest are taken.
const EMPTY_READINGS_BUDGET: Duration = Duration::from_millis(20);

/// A device that times one launch at a time with its own clock. It needs no `Sampler` of its own: its
/// [`Device`](super::Device) implementation calls [`sampler`](super::single_launch_sampler::sampler) and
/// [`pair_sampler`](super::single_launch_sampler::pair_sampler), which reset, flush and interleave.
pub trait LaunchTimer {
    /// The path that results of this device report.
    const PATH: Path = Path::Device;
    /// The flushes of the cache that the device supports, the preferred ones first. Cold samples use the
    /// first one that is not [refused](Self::refuses), unless the user chooses one. A device without any
    /// flush takes no cold samples.
    const FLUSHES: &'static [Flush] = &[];

    /// True if launches may follow one another back-to-back. Then [`Self::time`] is also called with work
    /// that launches several times. A hot sample of a short launch without a reset contains enough launches
    /// to last at least 1 µs and 100 steps of the timer.
    const BATCHES: bool = false;

    /// Launches `work` once, waits for it, and returns its time. The time begins after all earlier work, such
    /// as a reset, has ended.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure>;

    /// Returns the time of an empty launch, which is subtracted from the time of each launch. Called once per
    /// case, before its samples.
    fn empty_launch_time(&mut self) -> Nanoseconds {
        Nanoseconds::ZERO
    }

    /// Prepares what launches need, such as sleeping threads. Called before each sample, after its flush.
    /// Returns false if other programs use something that launches need: the sample then counts as
    /// interrupted.
    fn make_ready(&mut self) -> bool {
        true
    }

    /// Returns true if a launch can begin without [`Self::make_ready`]. Does not wait. Called between
    /// back-to-back samples.
    fn is_ready(&mut self) -> bool {
        true
    }

    /// Appends, for each thread that runs launches, how long it ran and how long it waited for a processor so
    /// far. Each call appends the same threads in the same order. A wait may be counted only once it has
    /// ended. Appends nothing, the default, if no thread of this machine runs launches, or if the operating
    /// system does not count run and wait times.
    ///
    /// Called between samples, so it should take microseconds. A sample during which a thread waited is left
    /// out if [other programs](Self::others_time) used the processors.
    fn thread_times(&mut self, times: &mut Vec<ThreadTime>) {
        _ = times;
    }

    /// Makes each thread of [`Self::thread_times`] run once, so that a wait in progress ends and counts.
    /// Called once, after the samples. The default does nothing.
    fn end_waits(&mut self) {}

    /// Returns the time that other programs have used so far on the processors that launches run on. The
    /// origin is arbitrary: only the difference of two calls has a meaning. Returns `None`, the default, if
    /// the operating system does not count it.
    fn others_time(&mut self) -> Option<Nanoseconds> {
        None
    }

    /// Returns the reason, as a phrase, why samples of `work` cannot use `flush`, which is one of
    /// [`Self::FLUSHES`]; `None`, the default, if they can. Called once per case, before its samples.
    fn refuses(&mut self, flush: Flush, work: &dyn Work) -> Option<String> {
        _ = (flush, work);
        None
    }

    /// Flushes the cache with `flush`, which is one of [`Self::FLUSHES`] and was not
    /// [refused](Self::refuses). Called before each cold sample of `work`.
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    fn flush(&mut self, flush: Flush, work: &dyn Work) -> Result<(), Failure> {
        _ = (flush, work);
        Ok(())
    }

    /// Measures the resolution and the empty-span reading of the timer. The default times work that does
    /// nothing many times with [`Self::time`]: the resolution is the smallest difference between two of these
    /// readings.
    ///
    /// # Errors
    /// Returns an error if the timer does not work.
    fn timer(&mut self) -> Result<Timer, Failure> {
        let mut readings = read_empty_spans(|work| self.time(work))?;
        let empty_span = median(&readings).unwrap_or_default();
        readings.sort_by(Nanoseconds::total_cmp);
        let differences = readings.windows(2).map(|pair| (pair[1] - pair[0]).0);
        let step = differences.filter(|difference| *difference > 0.0).reduce(f64::min);
        Ok(Timer::new(Nanoseconds(step.unwrap_or(1.0))).with_empty_span(empty_span))
    }
}

/// How long a thread, or several threads together, ran and waited so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadTime {
    /// The time on a processor.
    pub ran: Nanoseconds,
    /// The time in which the thread could run but waited for a processor, since other threads ran there.
    pub waited: Nanoseconds,
}

impl ThreadTime {
    /// Returns the fraction of the time since `earlier` that the thread waited: wait ÷ (run + wait). Returns
    /// `None` if the thread did not run since then, or if it has ended.
    pub(super) fn waited_since(self, earlier: Self) -> Option<f64> {
        let [ran, waited] = [self.ran - earlier.ran, self.waited - earlier.waited];
        // A thread that has ended takes its counts with it.
        let counted = ran > Nanoseconds::ZERO && waited >= Nanoseconds::ZERO;
        counted.then(|| waited / (ran + waited))
    }
}

/// Calls `time` many times with work that does nothing, and returns the readings: [`FEWEST_EMPTY_READINGS`],
/// and more until [`EMPTY_READINGS_BUDGET`] is over.
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
