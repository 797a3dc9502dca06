//! A pair of events around a launch.

use cust::error::CudaResult;
use cust::event::{Event, EventFlags};
use cust::stream::Stream;

/// Two events around a launch.
pub(crate) struct Pair {
    pub(crate) start: Event,
    pub(crate) stop: Event,
}

impl Pair {
    pub(crate) fn new() -> CudaResult<Self> {
        Ok(Self { start: Event::new(EventFlags::DEFAULT)?, stop: Event::new(EventFlags::DEFAULT)? })
    }

    /// Records an event before and an event after the work that `launch` enqueues on `stream`.
    pub(crate) fn around(&self, stream: &Stream, launch: impl FnOnce() -> CudaResult<()>) -> CudaResult<()> {
        self.start.record(stream)?;
        launch()?;
        self.stop.record(stream)
    }

    /// Waits for the second event, and returns the time between both in nanoseconds.
    pub(crate) fn read(&self) -> CudaResult<f64> {
        self.stop.synchronize()?;
        nanoseconds(&self.start, &self.stop)
    }
}

/// Returns the time between two completed events in nanoseconds.
pub(crate) fn nanoseconds(start: &Event, stop: &Event) -> CudaResult<f64> {
    Ok(f64::from(stop.elapsed_time_f32(start)?) * 1e6)
}
