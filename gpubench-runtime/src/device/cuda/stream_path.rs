//! Groups put on the stream anew each time, for launches that no graph can stand for. A delay on the GPU goes before, so
//! that it never waits for the CPU between an event and the launch. In: samples to take; out: their event times.

use std::time::{Duration, Instant};

use super::call::CallError;
use super::event::Event;
use super::samples::Samples;
use crate::failure::Failure;
use crate::units::Nanoseconds;

/// No more is enqueued at once than the launch queue takes without blocking.
const LONGEST_QUEUE: usize = 64;
/// The longest that a group is held back.
const LONGEST_DELAY: Duration = Duration::from_millis(2);
/// What enqueueing a group is taken to last before one has been.
const FIRST_ENQUEUEING: Duration = Duration::from_micros(500);

/// Puts each group on the stream anew, behind a delay that lasts about as long as that takes.
pub(super) struct StreamPath<'a> {
    pub(super) samples: Samples<'a>,
    /// What it took to enqueue the last group.
    enqueueing: Duration,
    /// The most samples that can be enqueued within the longest delay.
    longest: usize,
}

impl<'a> StreamPath<'a> {
    pub(super) fn new(samples: Samples<'a>) -> Self {
        Self { samples, enqueueing: FIRST_ENQUEUEING, longest: LONGEST_QUEUE }
    }

    /// Takes a group of this many samples, or of as many as can be enqueued while the GPU is held back.
    pub(super) fn group(
        &mut self,
        samples: usize,
        events: &mut Vec<Nanoseconds>,
    ) -> Result<Nanoseconds, Failure> {
        let samples = samples.min(self.longest);
        self.samples.device.want_pairs(samples)?;
        self.delay()?;
        self.samples.whole.start.record(self.samples.stream())?;
        let begin = Instant::now();
        self.samples.enqueue(0..samples, Event::record)?;
        self.enqueueing = begin.elapsed();
        self.samples.whole.stop.record(self.samples.stream())?;
        let each = self.enqueueing.as_secs_f64() / samples as f64;
        let fitting = LONGEST_DELAY.as_secs_f64() / 1.5 / each.max(1e-9);
        self.longest = (fitting as usize).clamp(1, LONGEST_QUEUE);
        self.samples.wait()?;
        self.samples.read(0..samples, events)?;
        Ok(self.samples.whole.read()?)
    }

    fn delay(&self) -> Result<(), CallError> {
        let mut nanoseconds = (self.enqueueing * 3 / 2).min(LONGEST_DELAY).as_nanos() as u64;
        let arguments = &mut [(&raw mut nanoseconds).cast()];
        // SAFETY: the kernel takes a number, and ends by itself.
        unsafe { self.samples.device.kernels.delay.launch((1, 1), self.samples.stream(), arguments) }
    }
}
