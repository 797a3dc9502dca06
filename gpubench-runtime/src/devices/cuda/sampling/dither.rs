//! Delays for GPUs whose timer is coarse. A delay that polls the timer ends on a tick, so that each sample behind it would begin at the
//! same place of a step. Its readings would then all be rounded alike, by up to a step. These delays count cycles instead, and vary over a
//! step, so that rounding averages out (nonsubtractive dither: Widrow & Kollár, *Quantization Noise*, 2008, chapter 19).

use std::time::Duration;

use gpubench_driver::sys::CUstream;

use crate::device::DeviceError;
use crate::devices::cuda::driver::CallError;
use crate::devices::cuda::kernels::spin::SpinKernel;
use gpubench_stats::COARSE;
use gpubench_stats::units::{Hertz, Nanoseconds};

/// The fractional part of the golden ratio: its multiples are spread most evenly over a step.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The clock of the multiprocessors in hertz, where their own counters have no reading. The delay is shorter on a slower GPU.
const ASSUMED_CLOCK: f64 = 2e9;

/// Delays of a duration and a part of a step.
pub(crate) struct Dither {
    kernel: SpinKernel,
    step: Nanoseconds,
    /// The cycles in a nanosecond.
    clock: f64,
}

impl Dither {
    /// Loads the kernel if a timer of this resolution needs it, for multiprocessors with this clock in hertz.
    pub(crate) fn load(step: Nanoseconds, clock: Option<Hertz>) -> Result<Option<Self>, DeviceError> {
        if step <= COARSE {
            return Ok(None);
        }
        let clock = clock.map_or(ASSUMED_CLOCK, Hertz::as_f64) * 1e-9;
        Ok(Some(Self { kernel: SpinKernel::load()?, step, clock }))
    }

    /// Keeps `stream` busy for `duration` and the part of a step that belongs to the sample of this `number`.
    pub(crate) fn delay(&self, duration: Duration, number: usize, stream: CUstream) -> Result<(), CallError> {
        let part = (number as f64 * GOLDEN).fract() * self.step.as_f64();
        self.kernel.launch(((duration.as_nanos() as f64 + part) * self.clock) as u64, stream)
    }
}
