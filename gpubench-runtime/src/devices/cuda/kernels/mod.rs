//! The kernels that a measurement itself needs. In: this device's capability; out: functions to launch. Their sources
//! and PTX lie in `kernels/`; `scripts/ptx` builds the PTX from the sources.

pub(crate) mod empty;
pub(crate) mod module;
pub(crate) mod spin;

use std::time::Duration;

use gpubench_driver::sys::CUstream;

use crate::device::DeviceError;
use crate::devices::cuda::driver::CallError;
use crate::devices::cuda::kernels::empty::EmptyKernels;
use crate::devices::cuda::kernels::module::{LoadedKernel, Module};

const MEASURE: &str = include_str!("measure.ptx");
const DISCARD: &str = include_str!("discard.ptx");

/// The kernels, loaded.
pub(crate) struct Kernels {
    /// `(const uint4* buffer, u64 vectors, u32* sink)`: reads all of `buffer`.
    pub(crate) read_sweep: LoadedKernel,
    /// `(void* buffer, u64 lines)`: discards lines of 128 bytes; from compute capability 8.0.
    pub(crate) discard: Option<LoadedKernel>,
    /// `(u64 nanoseconds)`: one thread waits for that time, 2 ms at most.
    delay: LoadedKernel,
    /// `(u64* at)`: one thread stores `%globaltimer`.
    stamp: LoadedKernel,
    /// `(u64* step)`: one thread stores the smallest step of `%globaltimer`.
    timer_step: LoadedKernel,
    /// `(u64 nanoseconds, u64* read)`: one thread counts cycles for that time, 2 ms at most.
    pub(crate) clock: LoadedKernel,
    /// Kernels that do nothing.
    pub(crate) empty: EmptyKernels,
    // The functions belong to these modules.
    _modules: Vec<Module>,
}

impl Kernels {
    pub(crate) fn load(can_discard: bool) -> Result<Self, DeviceError> {
        let measure = Module::load(MEASURE)?;
        let discard = if can_discard { Some(Module::load(DISCARD)?) } else { None };
        Ok(Self {
            read_sweep: measure.find("gpubench_read_sweep")?,
            delay: measure.find("gpubench_delay")?,
            stamp: measure.find("gpubench_stamp")?,
            timer_step: measure.find("gpubench_timer_step")?,
            clock: measure.find("gpubench_clock")?,
            empty: EmptyKernels::load()?,
            discard: discard.as_ref().map(|module| module.find("gpubench_discard")).transpose()?,
            _modules: std::iter::once(measure).chain(discard).collect(),
        })
    }

    /// Keeps `stream` busy for `duration`, 2 ms at most.
    pub(crate) fn delay(&self, duration: Duration, stream: CUstream) -> Result<(), CallError> {
        let mut nanoseconds = duration.as_nanos() as u64;
        // SAFETY: the kernel takes a number, and ends by itself.
        unsafe { self.delay.launch((1, 1), stream, &mut [(&raw mut nanoseconds).cast()]) }
    }

    /// Stores the smallest step of the GPU's timer at `at`, which has room for a `u64`; 0 if the timer does not advance.
    pub(crate) fn timer_step(&self, mut at: u64, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the kernel takes an address, writes eight bytes there and ends by itself.
        unsafe { self.timer_step.launch((1, 1), stream, &mut [(&raw mut at).cast()]) }
    }

    /// Stores the time at `at`, which has room for a `u64`, when `stream` reaches this point.
    pub(crate) fn stamp(&self, mut at: u64, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the kernel takes an address, writes eight bytes there and ends by itself.
        unsafe { self.stamp.launch((1, 1), stream, &mut [(&raw mut at).cast()]) }
    }
}
