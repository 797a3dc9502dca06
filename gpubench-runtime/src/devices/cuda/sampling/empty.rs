//! A launch that does nothing, as work to be sampled: alone to calibrate the timer, and in turn with the launches of a case.

use gpubench_driver::sys::CUstream;

use crate::device::Work;
use crate::devices::cuda::kernels::LoadedKernel;
use gpubench_records::failure::Failure;

/// Launches of one block of 32 threads that do nothing.
#[derive(Clone, Copy)]
pub(crate) struct Empty {
    pub(crate) kernel: LoadedKernel,
    pub(crate) stream: CUstream,
}

impl Work for Empty {
    fn launch(&mut self) -> Result<(), Failure> {
        // SAFETY: the kernel takes no arguments.
        Ok(unsafe { self.kernel.launch((1, 32), self.stream, &mut []) }?)
    }
}
