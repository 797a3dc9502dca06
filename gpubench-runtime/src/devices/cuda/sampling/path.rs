//! The two paths of samples: graphs, and the stream for launches that no graph can stand for. On the stream each group is enqueued
//! anew. A delay on the GPU goes before, so that the GPU never waits for the CPU between an event and the launch.
//!
//! No delay covers a launch that takes longer to enqueue than the longest one, such as a copy from memory that is not pinned, whose
//! call waits for the stream. The GPU waits for the host within such samples, whatever goes before. So nothing does, and a group has
//! as many of them as of others: alone behind the longest delay, a copy of 32 MiB takes 7.2 ms to sample on an H200, and 3 ms among
//! four.

use std::time::{Duration, Instant};

use super::graph_path::GraphPath;
use super::samples::{Clock, SamplingState};
use crate::{device::SampledGroup, devices::cuda::driver::Event};
use gpubench_records::Failure;
use gpubench_stats::{Nanoseconds, median};

/// The path on which a case is sampled.
pub(crate) enum SamplingPath<'a> {
    Graph(GraphPath<'a>),
    Stream(SamplingState<'a>, StreamPath),
}

impl<'a> SamplingPath<'a> {
    /// Takes a group of this many samples, or of as many as the path takes at once.
    pub(crate) fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        match self {
            Self::Graph(path) => path.group(samples),
            Self::Stream(state, path) => path.group(state, samples),
        }
    }

    pub(crate) fn samples(&mut self) -> &mut SamplingState<'a> {
        match self {
            Self::Graph(path) => &mut path.samples,
            Self::Stream(state, _) => state,
        }
    }
}

/// The most launches that are enqueued at once: as many as the launch queue takes without blocking.
const LONGEST_QUEUE: usize = 64;
/// The longest delay before a group.
const LONGEST_DELAY: Duration = Duration::from_millis(2);
/// The consecutive groups for which the longest delay must be too short before delays are given up: other programs slow a host
/// now and then.
const UNCOVERED_GROUPS: usize = 2;
/// The delay before each of their hot samples, in the place of a flush: an empty launch among them and its events are enqueued meanwhile.
const UNCOVERED_SPACE: Duration = Duration::from_micros(50);
/// The longest delay before a pre-enqueued launch. Such launches are repeated until this many of them were covered by their delay,
/// or this many were not.
const LONGEST_HOLD: Duration = Duration::from_millis(100);
const HELD: usize = 3;
/// The assumed time to enqueue a group, before the first.
const FIRST_ENQUEUEING: Duration = Duration::from_micros(500);

/// Enqueues each group on the stream anew, behind a delay that lasts about as long as the enqueueing.
pub(crate) struct StreamPath {
    /// The time it took to enqueue the last group.
    enqueueing: Duration,
    /// The most places that can be enqueued within the longest delay.
    longest: usize,
    /// The consecutive groups, so far, of a sample and an empty launch after the longest delay that took longer to enqueue.
    too_long: usize,
    /// The time it takes to enqueue one launch, if that is longer than the longest delay covers: samples may then contain waits for
    /// the host.
    uncovered: Option<Duration>,
}

impl Default for StreamPath {
    fn default() -> Self {
        Self { enqueueing: FIRST_ENQUEUEING, longest: LONGEST_QUEUE, too_long: 0, uncovered: None }
    }
}

impl StreamPath {
    /// Takes a group of `count` samples, or of as many as can be enqueued during the delay.
    pub(crate) fn group(
        &mut self,
        samples: &mut SamplingState<'_>,
        count: usize,
    ) -> Result<SampledGroup, Failure> {
        let places = samples.places(count, self.longest);
        samples.device.want_pairs(places)?;
        let delay = (self.enqueueing * 3 / 2).min(LONGEST_DELAY);
        if !samples.host_work && self.uncovered.is_none() {
            samples.device.kernels.delay(delay, samples.device.stream)?;
        }
        samples.begin()?;
        let begin = Instant::now();
        samples.enqueue(0..places, Clock::Events(Event::record))?;
        self.enqueueing = begin.elapsed();
        samples.finish()?;
        let group = samples.end(0..places)?;
        if self.uncovered.is_some() {
            return Ok(group);
        }
        let each = self.enqueueing.as_secs_f64() / places as f64;
        let fitting = LONGEST_DELAY.as_secs_f64() / 1.5 / each.max(1e-9);
        self.longest = (fitting as usize).clamp(2, LONGEST_QUEUE);
        let is_covered = self.enqueueing <= LONGEST_DELAY || delay < LONGEST_DELAY;
        let is_too_long = !samples.host_work && places == samples.places(1, 2) && !is_covered;
        self.too_long = if is_too_long { self.too_long + 1 } else { 0 };
        if self.too_long == UNCOVERED_GROUPS {
            self.uncovered = Some(self.enqueueing);
            self.longest = LONGEST_QUEUE;
            samples.space = UNCOVERED_SPACE;
        }
        Ok(group)
    }

    /// Returns the event time of a launch behind a delay that covers its enqueueing, the median of a few; `None` if the samples
    /// were covered too, or if no delay is that long or the launch waits for it.
    pub(crate) fn held(&mut self, samples: &mut SamplingState<'_>) -> Result<Option<Nanoseconds>, Failure> {
        let delay = match self.uncovered.map(|enqueueing| 3 * enqueueing) {
            Some(delay) if delay <= LONGEST_HOLD => delay,
            _ => return Ok(None),
        };
        let mut events = Vec::with_capacity(HELD);
        let [mut covered, mut uncovered] = [0; 2];
        // A delay ends by itself after the longest.
        let delays = delay.as_nanos().div_ceil(LONGEST_DELAY.as_nanos());
        while covered < HELD && uncovered < HELD {
            for _ in 0..delays {
                samples.device.kernels.delay(LONGEST_DELAY, samples.device.stream)?;
            }
            let begin = Instant::now();
            samples.enqueue(0..1, Clock::Events(Event::record))?;
            // The launch itself waits for what goes before it, or other programs held up this one.
            let is_covered = begin.elapsed() < delay;
            samples.wait()?;
            if is_covered {
                covered += 1;
                events.extend(samples.read(0..1)?.events);
            } else {
                uncovered += 1;
            }
        }
        Ok(if covered == HELD { median(&events) } else { None })
    }
}
