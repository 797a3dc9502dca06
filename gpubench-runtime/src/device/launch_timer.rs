//! The interface to devices that time one launch at a time with their own clock. [`single_launch_sampler`](super::single_launch_sampler)
//! makes samplers of it.

use std::time::{Duration, Instant};

use super::Work;
use gpubench_records::{Failure, Flush, Path, Timer};
use gpubench_stats::{Nanoseconds, median};

/// The most readings of the timer with nothing between them, the fewest, and the time that any more may take.
const MOST_EMPTY_READINGS: usize = 10_001;
const FEWEST_EMPTY_READINGS: usize = 101;
const EMPTY_READINGS_BUDGET: Duration = Duration::from_millis(20);

/// A device that times one launch at a time by its own clock. It needs no `Sampler` of its own: its
/// [`Device`](super::Device) returns [`sampler`](super::single_launch_sampler::sampler) and
/// [`pair_sampler`](super::single_launch_sampler::pair_sampler), which reset, flush and interleave.
pub trait LaunchTimer {
    /// The path of its samples, as it is shown and recorded.
    const PATH: Path = Path::Device;
    /// The ways in which it can flush its cache. The usual one is the first that is not [refused](Self::refuses). A device without any takes no
    /// cold samples.
    const FLUSHES: &'static [Flush] = &[];

    /// True if launches may follow one another back-to-back. Then [`Self::time`] is also called with work that launches several
    /// times, and a hot sample of a short launch without a reset has as many launches as make it 1 µs and 100 steps of the timer long.
    const BATCHES: bool = false;

    /// Launches `work` once, waits for it, and returns its time. That begins when all earlier work has ended, such as a
    /// reset.
    ///
    /// # Errors
    /// Returns the launch's own error, or the error that occurred on the device.
    fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure>;

    /// Returns the time of an empty launch, which is subtracted from the time of each launch. Called once for the samples of a case.
    fn empty_launch_time(&mut self) -> Nanoseconds {
        Nanoseconds::ZERO
    }

    /// Makes the resources of launches ready, such as sleeping threads. Called before each sample, after its flush. Returns false if launches
    /// need a resource that other programs use: the sample then counts as interrupted.
    fn make_ready(&mut self) -> bool {
        true
    }

    /// Returns true if these resources are ready, without waiting. Called between back-to-back samples.
    fn is_ready(&mut self) -> bool {
        true
    }

    /// Appends the time that each thread that launches run on ran so far, and waited for a processor: the same threads in each call. A
    /// wait may count once it has ended. Appends nothing if launches run on no thread of this machine, or if the system does not count.
    ///
    /// Called between samples, so it should take microseconds. Samples of which a thread waited while [other programs](Self::others_time)
    /// used the processors are left out.
    fn thread_times(&mut self, times: &mut Vec<ThreadTime>) {
        _ = times;
    }

    /// Has each of those threads run, so that a wait that is under way ends and counts. Called once after the samples.
    fn end_waits(&mut self) {}

    /// Returns the time that other programs have used on the processors of those threads so far, if the system counts it.
    fn others_time(&mut self) -> Option<Nanoseconds> {
        None
    }

    /// Returns why samples of `work` cannot have this flush, which is one of [`Self::FLUSHES`]: nothing if they can, which is the default. Called
    /// once for the samples of a case.
    fn refuses(&mut self, flush: Flush, work: &dyn Work) -> Option<String> {
        _ = (flush, work);
        None
    }

    /// Flushes the cache before a sample of `work` in this way, which is one of [`Self::FLUSHES`] and was not [refused](Self::refuses).
    ///
    /// # Errors
    /// Returns the error that occurred on the device.
    fn flush(&mut self, flush: Flush, work: &dyn Work) -> Result<(), Failure> {
        _ = (flush, work);
        Ok(())
    }

    /// Measures the timer: its resolution and its empty-span reading. The default uses [`Self::time`]: the resolution is the smallest
    /// difference of two readings around nothing.
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

/// The time of a thread that had work, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadTime {
    /// The time in which they ran.
    pub ran: Nanoseconds,
    /// The time in which they waited for a processor, since others ran there.
    pub waited: Nanoseconds,
}

impl ThreadTime {
    /// Returns the part of the time since `earlier` in which threads with work waited; nothing if none had any.
    pub(super) fn waited_since(self, earlier: Self) -> Option<f64> {
        let [ran, waited] = [self.ran - earlier.ran, self.waited - earlier.waited];
        // A thread that has ended takes its counts with it.
        let counted = ran > Nanoseconds::ZERO && waited >= Nanoseconds::ZERO;
        counted.then(|| waited / (ran + waited))
    }
}

/// Returns readings of the timer with nothing between them.
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
