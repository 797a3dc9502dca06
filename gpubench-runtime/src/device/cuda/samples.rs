//! One group of samples, on whichever path: reset, flush, event, launch, event, many times over. In: a launch; out: its
//! samples enqueued on the case's stream, and the event times read when the stream is done.

use std::ops::Range;
use std::time::Duration;

use cust::sys::{self, CUstream};

use super::Cuda;
use super::call::{CallError, check};
use super::event::{Event, Pair};
use crate::device::{Cache, Flush, Work};
use crate::failure::Failure;
use crate::units::Nanoseconds;

/// What goes before each hot sample, as the flush goes before each cold one: without it the GPU catches up with what feeds it
/// commands, and waits between the events. On an H200, hot launches of 2 µs then read 0.1 to 0.3 µs more, some of the time.
const SPACE: Duration = Duration::from_micros(8);

/// What both paths share: the work, what goes before it, and the events around it.
pub(super) struct Samples<'a> {
    pub(super) device: &'a mut Cuda,
    pub(super) work: &'a mut dyn Work,
    pub(super) cache: Cache,
    pub(super) flush: Flush,
    /// Around the whole group.
    pub(super) whole: Pair,
}

impl<'a> Samples<'a> {
    pub(super) fn new(
        device: &'a mut Cuda,
        work: &'a mut dyn Work,
        cache: Cache,
        flush: Flush,
    ) -> Result<Self, Failure> {
        Ok(Self { device, work, cache, flush, whole: Pair::new()? })
    }

    pub(super) fn stream(&self) -> CUstream {
        self.device.stream
    }

    /// Puts a sample on the stream for each of these pairs of events, which `record` records.
    pub(super) fn enqueue(
        &mut self,
        pairs: Range<usize>,
        record: fn(&Event, CUstream) -> Result<(), CallError>,
    ) -> Result<(), Failure> {
        let stream = self.stream();
        if self.cache == Cache::Hot {
            self.work.launch()?;
        }
        for pair in &self.device.pairs[pairs] {
            self.work.reset()?;
            if self.cache == Cache::Hot {
                self.device.kernels.delay(SPACE, stream)?;
            }
            self.device.flusher.enqueue(self.flush, &self.device.kernels, stream)?;
            record(&pair.start, stream)?;
            self.work.launch()?;
            record(&pair.stop, stream)?;
        }
        Ok(())
    }

    /// Ends a group: its last event, then the clock that it was at, and waits for all that is on the stream.
    pub(super) fn end(&self) -> Result<(), CallError> {
        let stream = self.stream();
        self.whole.stop.record(stream)?;
        self.device.clock.enqueue(&self.device.kernels, stream)?;
        self.wait()
    }

    /// Waits for all that is on the stream.
    pub(super) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the stream is the open case's.
        check(unsafe { sys::cuStreamSynchronize(self.stream()) })
    }

    /// What these pairs read, to the end of `events`.
    pub(super) fn read(&self, pairs: Range<usize>, events: &mut Vec<Nanoseconds>) -> Result<(), CallError> {
        events.reserve(pairs.len());
        for pair in &self.device.pairs[pairs] {
            events.push(pair.read()?);
        }
        Ok(())
    }
}
