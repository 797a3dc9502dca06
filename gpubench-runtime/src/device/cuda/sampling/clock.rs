//! The clock of the multiprocessors by the device's own counters: cycles against nanoseconds, counted by a kernel that goes
//! behind each group, and behind its last event. In: a stream; out: hertz, once the stream was waited for.

use cust::memory::LockedBuffer;
use cust::sys::CUstream;

use crate::device::DeviceError;
use crate::device::cuda::driver::CallError;
use crate::device::cuda::kernels::{Kernels, driver_error};

/// How long cycles are counted. Begin and end are off by a step of the timer or by a read of it, whichever is less: on an
/// H200 32 ns, which is 0.1 % of this.
const DURATION: u64 = 32_000;

/// Counts cycles, and has the last count.
pub(crate) struct ClockProbe {
    /// Cycles, and the nanoseconds that they took, or 0. The host's own memory, so that no copy is needed to read it.
    read: LockedBuffer<u64>,
}

impl ClockProbe {
    pub(crate) fn new() -> Result<Self, DeviceError> {
        let read = LockedBuffer::new(&0, 2);
        Ok(Self {
            read: read.map_err(|error| driver_error("memory for the clock of the multiprocessors", error))?,
        })
    }

    /// Counts when `stream` gets here.
    pub(crate) fn enqueue(&self, kernels: &Kernels, stream: CUstream) -> Result<(), CallError> {
        let mut duration = DURATION;
        // What page-locked memory the driver hands out has the same address on the device.
        let mut read = self.read.as_ptr().cast_mut();
        let arguments = &mut [(&raw mut duration).cast(), (&raw mut read).cast()];
        // SAFETY: the kernel takes a number and a place for two, and ends by itself; the place lives as long as the device.
        unsafe { kernels.clock.launch((1, 1), stream, arguments) }
    }

    /// The clock in hertz, if cycles were counted since this was last asked. The stream must have been waited for.
    pub(crate) fn take(&mut self) -> Option<u64> {
        let place = self.read.as_mut_ptr();
        // SAFETY: both are part of the buffer, and nothing on the device writes them now.
        let (cycles, nanoseconds) = unsafe { (place.read_volatile(), place.add(1).read_volatile()) };
        self.read.fill(0);
        (nanoseconds > 0).then(|| (cycles as f64 / nanoseconds as f64 * 1e9).round() as u64)
    }
}
