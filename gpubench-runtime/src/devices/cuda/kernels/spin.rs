//! The kernel that waits for a number of cycles.

use gpubench_driver::sys::CUstream;

use crate::device::DeviceError;
use crate::devices::cuda::driver::CallError;
use crate::devices::cuda::kernels::module::{LoadedKernel, Module};

const SPIN: &str = include_str!("spin.ptx");

/// `(u64 cycles)`: one thread waits for that number of cycles, 8,000,000 at most.
pub(crate) struct SpinKernel {
    kernel: LoadedKernel,
    // The kernel belongs to this module.
    _module: Module,
}

impl SpinKernel {
    pub(crate) fn load() -> Result<Self, DeviceError> {
        let module = Module::load(SPIN)?;
        Ok(Self { kernel: module.find("gpubench_spin")?, _module: module })
    }

    /// Keeps `stream` busy for this number of cycles.
    pub(crate) fn launch(&self, mut cycles: u64, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: the kernel takes a number, and ends by itself.
        unsafe { self.kernel.launch((1, 1), stream, &mut [(&raw mut cycles).cast()]) }
    }
}
