//! Groups enqueued on the stream anew each time, for launches that no graph can stand for. A delay on the GPU goes
//! before, so that the GPU never waits for the CPU between an event and the launch. In: the number of samples; out:
//! their event times.

use std::time::{Duration, Instant};

use crate::device::cuda::driver::event::Event;
use crate::device::cuda::sampling::samples::SamplingState;
use gpubench_records::failure::Failure;
use gpubench_stats::units::Nanoseconds;

/// The most launches that are enqueued at once: as many as the launch queue takes without blocking.
const LONGEST_QUEUE: usize = 64;
/// The longest delay before a group.
const LONGEST_DELAY: Duration = Duration::from_millis(2);
/// The assumed time to enqueue a group, before the first.
const FIRST_ENQUEUEING: Duration = Duration::from_micros(500);

/// Enqueues each group on the stream anew, behind a delay that lasts about as long as the enqueueing.
pub(crate) struct StreamPath {
    /// The time it took to enqueue the last group.
    enqueueing: Duration,
    /// The most samples that can be enqueued within the longest delay.
    longest: usize,
}

impl Default for StreamPath {
    fn default() -> Self {
        Self { enqueueing: FIRST_ENQUEUEING, longest: LONGEST_QUEUE }
    }
}

impl StreamPath {
    /// Takes a group of `count` samples, or of as many as can be enqueued during the delay.
    pub(crate) fn group(
        &mut self,
        samples: &mut SamplingState<'_>,
        count: usize,
        events: &mut Vec<Nanoseconds>,
    ) -> Result<Nanoseconds, Failure> {
        let count = samples.in_pairs(count.min(self.longest));
        samples.device.want_pairs(count)?;
        let delay = (self.enqueueing * 3 / 2).min(LONGEST_DELAY);
        samples.device.kernels.delay(delay, samples.stream())?;
        samples.whole.start.record(samples.stream())?;
        let begin = Instant::now();
        samples.enqueue(0..count, Event::record)?;
        self.enqueueing = begin.elapsed();
        samples.end()?;
        let each = self.enqueueing.as_secs_f64() / count as f64;
        let fitting = LONGEST_DELAY.as_secs_f64() / 1.5 / each.max(1e-9);
        self.longest = (fitting as usize).clamp(1, LONGEST_QUEUE);
        samples.read(0..count, events)?;
        Ok(samples.whole.read()?)
    }
}
