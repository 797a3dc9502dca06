//! Clocks and delays of the GPU's own: stamps around launches, the clock of the multiprocessors, and delays for a coarse timer.

use std::time::Duration;

use gpubench_driver::sys::CUstream;

use super::driver::{CallError, DeviceMemory, PinnedWords};
use super::kernels::{Kernels, SpinKernel};
use crate::device::DeviceError;
use gpubench_stats::{COARSE_TIMER_STEP, Hertz, Nanoseconds};

/// The most samples between stamps: those of two graphs.
const SLOTS: usize = 128;
/// Stamps are used if the clock's resolution is at most this. Some GPUs have a resolution of 1 µs.
const COARSEST: Nanoseconds = Nanoseconds(64.0);
const PURPOSE: &str = "memory for the times of launches";

/// The time of launches by the GPU's own clock: a kernel before and a kernel after each launch store `%globaltimer`.
///
/// The second event of a pair waits until the GPU is idle. Depending on the grid, that takes 0.2 µs less to 0.3 µs more than after an
/// empty launch (`docs/archive/decisions/0109`). The kernel after a launch does not wait for that. The difference between events and stamps is
/// therefore the error of events around this launch.
pub(crate) struct Stamps {
    memory: DeviceMemory,
    step: Option<Nanoseconds>,
}

impl Stamps {
    /// Allocates the memory, and measures the clock's step on `stream`. Launches both kernels, since loading them later would move the code
    /// of other kernels.
    pub(crate) fn new(kernels: &Kernels, stream: CUstream) -> Result<Self, DeviceError> {
        let stamps = Self { memory: DeviceMemory::new(PURPOSE, 2 * SLOTS * size_of::<u64>())?, step: None };
        stamps.enqueue(1, kernels, stream)?;
        // Into the first slot, which no sample has used when the step is read.
        kernels.timer_step(stamps.memory.address(), stream)?;
        Ok(stamps)
    }

    /// Returns true if the clock is fine enough. The stream must be synchronized before the first call.
    pub(crate) fn are_fine(&mut self) -> Result<bool, DeviceError> {
        if self.step.is_none() {
            let step = self.times(1)?[0];
            self.step = Some(Nanoseconds(if step > 0 { step as f64 } else { f64::INFINITY }));
        }
        Ok(self.step() <= COARSEST)
    }

    /// Returns the step of the clock.
    pub(crate) fn step(&self) -> Nanoseconds {
        self.step.unwrap_or(Nanoseconds(f64::INFINITY))
    }

    /// Stores the time when `stream` reaches this point. Sample `i` is between stamps `2 i` and `2 i + 1`.
    pub(crate) fn enqueue(
        &self,
        number: usize,
        kernels: &Kernels,
        stream: CUstream,
    ) -> Result<(), CallError> {
        assert!(number < 2 * SLOTS, "there is memory for this stamp");
        kernels.stamp(self.memory.address() + (number * size_of::<u64>()) as u64, stream)
    }

    /// Returns the time between the stamps of each of the first `slots` slots. The stream must be synchronized.
    pub(crate) fn read(&self, slots: usize) -> Result<Vec<Nanoseconds>, DeviceError> {
        let times = self.times(slots)?;
        Ok(times.chunks_exact(2).map(|pair| time_between(pair[0], pair[1])).collect())
    }

    fn times(&self, slots: usize) -> Result<Vec<u64>, DeviceError> {
        let mut words = vec![0; 4 * slots];
        self.memory.read(PURPOSE, 0, &mut words)?;
        Ok(words.chunks_exact(2).map(|word| u64::from(word[0]) | u64::from(word[1]) << 32).collect())
    }
}

/// Returns the time from one stamp to another.
fn time_between(from: u64, to: u64) -> Nanoseconds {
    Nanoseconds(to.wrapping_sub(from).cast_signed() as f64)
}

/// The nanoseconds for which cycles are counted. The error of begin and end is the timer's resolution or the time to read it, whichever is
/// less: on an H200 32 ns, which is 0.1 % of this.
const DURATION: u64 = 32_000;

/// The clock of the multiprocessors according to the device's own counters: after each group and its last event, a kernel counts cycles and
/// nanoseconds.
pub(crate) struct ClockProbe {
    /// Cycles, and the nanoseconds that they took; 0 if none were counted. In host memory, so that reading needs no copy.
    read: PinnedWords,
}

impl ClockProbe {
    pub(crate) fn new() -> Result<Self, DeviceError> {
        Ok(Self { read: PinnedWords::new("memory for the clock of the multiprocessors")? })
    }

    /// Counts when `stream` reaches this point.
    pub(crate) fn enqueue(&self, kernels: &Kernels, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the kernel takes a number and a pointer to two words, and terminates; the words live as long as the device.
        unsafe { kernels.clock.launch((1, 1), stream, [DURATION, self.read.address() as u64]) }
    }

    /// Returns the clock in hertz, if cycles were counted since the last call. The stream must be synchronized.
    pub(crate) fn take(&mut self) -> Option<u64> {
        let [cycles, nanoseconds] = self.read.take();
        (nanoseconds > 0).then(|| (cycles as f64 / nanoseconds as f64 * 1e9).round() as u64)
    }
}

/// The fractional part of the golden ratio: its multiples are spread most evenly over a step.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The clock of the multiprocessors in hertz, where their own counters have no reading. The delay is shorter on a slower GPU.
const ASSUMED_CLOCK: f64 = 2e9;

/// Delays for GPUs whose timer is coarse. After a delay that polls the timer, each sample would begin at the same phase of a tick, and all
/// readings would be rounded equally, by up to one tick. These delays count cycles instead, and vary over a tick, so that rounding averages
/// out (nonsubtractive dither: Widrow & Kollár, *Quantization Noise*, 2008, chapter 19).
pub(crate) struct Dither {
    kernel: SpinKernel,
    step: Nanoseconds,
    /// The cycles in a nanosecond.
    clock: f64,
}

impl Dither {
    /// Loads the kernel if a timer of this resolution needs it, for multiprocessors with this clock in hertz.
    pub(crate) fn load(step: Nanoseconds, clock: Option<Hertz>) -> Result<Option<Self>, DeviceError> {
        if step <= COARSE_TIMER_STEP {
            return Ok(None);
        }
        let clock = clock.map_or(ASSUMED_CLOCK, Hertz::as_f64) * 1e-9;
        Ok(Some(Self { kernel: SpinKernel::load()?, step, clock }))
    }

    /// Keeps `stream` busy for `duration` and a fraction of a step that depends on the `number` of the sample.
    pub(crate) fn delay(&self, duration: Duration, number: usize, stream: CUstream) -> Result<(), CallError> {
        let part = (number as f64 * GOLDEN).fract() * self.step.as_f64();
        self.kernel.launch(((duration.as_nanos() as f64 + part) * self.clock) as u64, stream)
    }
}
