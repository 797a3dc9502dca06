//! Clocks and delays of the GPU's own: stamps around launches, the clock of the multiprocessors, and delays
//! for a coarse timer.

use std::{ptr, time::Duration};

use gpubench_driver::sys::{self, CUstream};

use super::driver::{CallError, DeviceMemory, check_for};
use super::kernels::{Kernels, LoadedKernel, Module};
use crate::device::DeviceError;
use gpubench_stats::{COARSE_TIMER_STEP, Hertz, Nanoseconds};

/// The number of slots of the stamp buffer: those of two graphs. A slot has the two stamps around one launch.
const STAMPED_SLOTS: usize = 128;
/// Stamps are used if the resolution of the GPU clock is at most this (64 ns). Some GPUs have a resolution of
/// 1 µs.
const COARSEST_STAMP_STEP: Nanoseconds = Nanoseconds(64.0);
/// The purpose of the memory for stamps, as error messages name it.
const STAMP_MEMORY_PURPOSE: &str = "memory for the times of launches";

/// Times launches with the clock of the GPU: a kernel before and a kernel after each launch store
/// `%globaltimer`.
///
/// The second event of a pair waits until the GPU is idle. Depending on the grid, this wait takes 0.2 µs less
/// to 0.3 µs more than after an empty launch (`docs/archive/decisions/0109`). The kernel after a launch does
/// not wait until the GPU is idle. The difference between a time by events and a time by stamps is therefore
/// the error of the events around this launch.
pub(crate) struct Stamps {
    /// Two stamps for each slot.
    memory: DeviceMemory,
    /// The resolution of the clock, 0 if it does not advance; `None` until it is read.
    step: Option<Nanoseconds>,
}

impl Stamps {
    /// Allocates the memory of the stamps. Enqueues one stamp, and a measurement of the clock resolution for
    /// [`Self::fine_step`], on `stream`. This loads both kernels now: later loads would move the code of
    /// other kernels.
    pub(crate) fn new(kernels: &Kernels, stream: CUstream) -> Result<Self, DeviceError> {
        let stamps = Self {
            memory: DeviceMemory::new(STAMP_MEMORY_PURPOSE, 2 * STAMPED_SLOTS * size_of::<u64>())?,
            step: None,
        };
        stamps.enqueue_stamp(1, kernels, stream)?;
        // Into the first slot, which no sample has used when the step is read.
        // SAFETY: the kernel takes an address, writes eight bytes there and ends by itself.
        unsafe { kernels.timer_step.launch((1, 1), stream, [stamps.memory.address()]) }?;
        Ok(stamps)
    }

    /// Returns the resolution of the clock; `None` if it is more than [`COARSEST_STAMP_STEP`], or if the
    /// clock does not advance. The first call reads the resolution from the memory of slot 0: the stream must
    /// be synchronized, and slot 0 still unused.
    pub(crate) fn fine_step(&mut self) -> Result<Option<Nanoseconds>, DeviceError> {
        let step = match self.step {
            Some(step) => step,
            None => Nanoseconds(self.read_stamps(1)?[0] as f64),
        };
        self.step = Some(step);
        Ok(Some(step).filter(|step| *step > Nanoseconds::ZERO && *step <= COARSEST_STAMP_STEP))
    }

    /// Enqueues a kernel that stores the GPU's time as stamp `index`. Slot `i` is between stamps `2 i` and
    /// `2 i + 1`.
    pub(crate) fn enqueue_stamp(
        &self,
        index: usize,
        kernels: &Kernels,
        stream: CUstream,
    ) -> Result<(), CallError> {
        assert!(index < 2 * STAMPED_SLOTS, "there is memory for this stamp");
        let address = self.memory.address() + (index * size_of::<u64>()) as u64;
        // SAFETY: the kernel takes an address, writes eight bytes there and ends by itself.
        unsafe { kernels.stamp.launch((1, 1), stream, [address]) }
    }

    /// Returns the time between the two stamps of each of the first `slots` slots, negative if the second is earlier.
    /// The stream must be synchronized.
    pub(crate) fn times_of_slots(&self, slots: usize) -> Result<Vec<Nanoseconds>, DeviceError> {
        let times = self.read_stamps(slots)?;
        let between = |pair: &[u64]| Nanoseconds(pair[1].wrapping_sub(pair[0]).cast_signed() as f64);
        Ok(times.chunks_exact(2).map(between).collect())
    }

    /// Copies the stamps of the first `slots` slots to the host.
    fn read_stamps(&self, slots: usize) -> Result<Vec<u64>, DeviceError> {
        let mut words = vec![0; 4 * slots];
        self.memory.read(STAMP_MEMORY_PURPOSE, 0, &mut words)?;
        Ok(words.chunks_exact(2).map(|word| u64::from(word[0]) | u64::from(word[1]) << 32).collect())
    }
}

/// The time for which the clock probe counts cycles. The error of its begin and end is the timer resolution
/// or the time to read the timer, whichever is less: on an H200 32 ns, which is 0.1 % of this time.
const CLOCK_PROBE_NANOSECONDS: u64 = 32_000;

/// Measures the clock of the multiprocessors with their own counters: after the last event of each group, a
/// kernel counts cycles and nanoseconds.
pub(crate) struct ClockProbe {
    /// Two words: the number of cycles, and the nanoseconds that they took. Both are 0 before the kernel
    /// runs. If the timer advances too slowly for the kernel, only the nanoseconds are 0. The words are in
    /// page-locked host memory, which has the same address on the device, so that reading them needs no copy.
    counts: *mut [u64; 2],
}

impl ClockProbe {
    /// Allocates the host memory for the counts.
    pub(crate) fn new() -> Result<Self, DeviceError> {
        let mut address = ptr::null_mut();
        // SAFETY: `address` is valid for writing an address.
        let allocated = unsafe { sys::cuMemAllocHost_v2(&raw mut address, size_of::<[u64; 2]>()) };
        check_for("memory for the clock of the multiprocessors", allocated)?;
        let mut probe = Self { counts: address.cast() };
        probe.take();
        Ok(probe)
    }

    /// Enqueues the counting kernel on `stream`.
    pub(crate) fn enqueue(&self, kernels: &Kernels, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the kernel takes a number and a pointer to two words, and terminates; the words live as
        // long as the device.
        unsafe { kernels.clock.launch((1, 1), stream, [CLOCK_PROBE_NANOSECONDS, self.counts as u64]) }
    }

    /// Returns the clock; `None` if the kernel has not run since the last call, or if the timer
    /// advanced too slowly for it. The stream must be synchronized.
    pub(crate) fn take(&mut self) -> Option<Hertz> {
        // SAFETY: the words are allocated, and the device does not write them now.
        let [cycles, nanoseconds] = unsafe {
            let counts = self.counts.read_volatile();
            self.counts.write_volatile([0; 2]);
            counts
        };
        (nanoseconds > 0).then(|| Hertz((cycles as f64 / nanoseconds as f64 * 1e9).round() as u64))
    }
}

impl Drop for ClockProbe {
    fn drop(&mut self) {
        // SAFETY: nothing else has the address.
        _ = unsafe { sys::cuMemFreeHost(self.counts.cast()) };
    }
}

/// The fractional part of the golden ratio. The fractional parts of its multiples are spread most evenly from
/// 0 to 1.
const GOLDEN_FRACTION: f64 = 0.618_033_988_749_894_9;

/// The assumed clock of multiprocessors whose clock could not be measured, in hertz.
const ASSUMED_CLOCK_HERTZ: f64 = 2e9;

/// The delay kernel of [`Dither`].
const SPIN_PTX: &str = include_str!("kernels/spin.ptx");

/// Delays for GPUs whose timer is coarse. After a delay that polls the timer, each sample would begin at the
/// same phase of a tick, and all readings would be rounded equally, by up to one tick. These delays count
/// cycles instead, and vary over a tick, so that rounding averages out (nonsubtractive dither: Widrow &
/// Kollár, *Quantization Noise*, 2008, chapter 19).
pub(crate) struct Dither {
    /// `(u64 cycles)`: one thread waits for this number of cycles, 8,000,000 at most.
    kernel: LoadedKernel,
    /// The resolution of the timer.
    step: Nanoseconds,
    /// The number of cycles per nanosecond.
    clock: f64,
}

impl Dither {
    /// Loads the delay kernel if `step`, the resolution of the timer, is above [`COARSE_TIMER_STEP`];
    /// otherwise returns `None`. `clock` is the clock of the multiprocessors; `None` stands for
    /// [`ASSUMED_CLOCK_HERTZ`].
    pub(crate) fn load(step: Nanoseconds, clock: Option<Hertz>) -> Result<Option<Self>, DeviceError> {
        if step <= COARSE_TIMER_STEP {
            return Ok(None);
        }
        let clock = clock.map_or(ASSUMED_CLOCK_HERTZ, Hertz::as_f64) * 1e-9;
        let kernel = Module::load(SPIN_PTX)?.find("gpubench_spin")?;
        Ok(Some(Self { kernel, step, clock }))
    }

    /// Keeps `stream` busy for `duration` plus a fraction of the timer resolution that depends on `number`,
    /// the number of the sample.
    pub(crate) fn delay(&self, duration: Duration, number: usize, stream: CUstream) -> Result<(), CallError> {
        let part = (number as f64 * GOLDEN_FRACTION).fract() * self.step.as_f64();
        let cycles = ((duration.as_nanos() as f64 + part) * self.clock) as u64;
        // SAFETY: the kernel takes a number, and ends by itself.
        unsafe { self.kernel.launch((1, 1), stream, [cycles]) }
    }
}
