//! The clock of the multiprocessors by the device's own counters: a kernel counts cycles against nanoseconds, after
//! each group and its last event. In: a stream; out: hertz, once the stream has been waited for.

use gpubench_driver::sys::CUstream;

use crate::device::DeviceError;
use crate::devices::cuda::driver::CallError;
use crate::devices::cuda::driver::memory::PinnedWords;
use crate::devices::cuda::kernels::Kernels;

/// The nanoseconds for which cycles are counted. Begin and end are off by a step of the timer or by a read of it,
/// whichever is less: on an H200 32 ns, which is 0.1 % of this.
const DURATION: u64 = 32_000;

/// Counts cycles, and holds the last count.
pub(crate) struct ClockProbe {
    /// Cycles, and the nanoseconds that they took; 0 if none were counted. It lies in host memory, so that no copy is
    /// needed to read it.
    read: PinnedWords,
}

impl ClockProbe {
    pub(crate) fn new() -> Result<Self, DeviceError> {
        Ok(Self { read: PinnedWords::new("memory for the clock of the multiprocessors")? })
    }

    /// Counts when `stream` reaches this point.
    pub(crate) fn enqueue(&self, kernels: &Kernels, stream: CUstream) -> Result<(), CallError> {
        let mut duration = DURATION;
        let mut read = self.read.address();
        let arguments = &mut [(&raw mut duration).cast(), (&raw mut read).cast()];
        // SAFETY: the kernel takes a number and a place for two, and ends by itself; the place lives as long as the
        // device.
        unsafe { kernels.clock.launch((1, 1), stream, arguments) }
    }

    /// Returns the clock in hertz, if cycles were counted since the last call. The stream must have been waited for.
    pub(crate) fn take(&mut self) -> Option<u64> {
        let [cycles, nanoseconds] = self.read.take();
        (nanoseconds > 0).then(|| (cycles as f64 / nanoseconds as f64 * 1e9).round() as u64)
    }
}
