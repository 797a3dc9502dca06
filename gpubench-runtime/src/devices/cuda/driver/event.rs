//! Events of the driver, and pairs of them.

use gpubench_driver::sys::{self, CUevent, CUstream};

use crate::devices::cuda::driver::{CallError, check};
use gpubench_stats::units::Nanoseconds;

/// An event that stores the time at which the stream reached it.
pub(crate) struct Event(CUevent);

impl Event {
    pub(crate) fn new() -> Result<Self, CallError> {
        let mut event = std::ptr::null_mut();
        // SAFETY: `event` is a place for a handle.
        check(unsafe { sys::cuEventCreate(&raw mut event, sys::CU_EVENT_DEFAULT) })?;
        Ok(Self(event))
    }

    /// Records the event when `stream` reaches this point.
    pub(crate) fn record(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the event lives, and the stream is the case's or the device's own.
        check(unsafe { sys::cuEventRecord(self.0, stream) })
    }

    /// Captures a node that records the event on every replay. `stream` must be under capture.
    pub(crate) fn record_as_node(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: as in `record`; the graph that this becomes part of is dropped before its events.
        check(unsafe { sys::cuEventRecordWithFlags(self.0, stream, sys::CU_EVENT_RECORD_EXTERNAL) })
    }

    /// Waits until the device has passed the event.
    pub(crate) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the event lives.
        check(unsafe { sys::cuEventSynchronize(self.0) })
    }

    /// Returns the time from `self` to `later`, in whole nanoseconds. The device must have passed both. It counts whole
    /// nanoseconds; the driver returns them as milliseconds in a `f32`.
    pub(crate) fn until(&self, later: &Self) -> Result<Nanoseconds, CallError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: both events live, and `milliseconds` is a place for a float.
        check(unsafe { sys::cuEventElapsedTime(&raw mut milliseconds, self.0, later.0) })?;
        Ok(Nanoseconds((f64::from(milliseconds) * 1e6).round()))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle. After a sticky error this fails, and there is nothing left to free.
        _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// The two events around a launch.
pub(crate) struct EventPair {
    pub(crate) start: Event,
    pub(crate) stop: Event,
}

impl EventPair {
    pub(crate) fn new() -> Result<Self, CallError> {
        Ok(Self { start: Event::new()?, stop: Event::new()? })
    }

    /// Returns the time between the two events.
    pub(crate) fn read(&self) -> Result<Nanoseconds, CallError> {
        self.start.until(&self.stop)
    }
}
