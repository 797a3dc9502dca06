//! A launch that does nothing, as work to be sampled: alone to calibrate the timer, and in turn with the launches of a case.

use gpubench_driver::sys::CUstream;

use crate::device::Work;
use crate::devices::cuda::Cuda;
use crate::devices::cuda::kernels::empty::EmptyKernel;
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Path};

/// Launches of one block of 32 threads that do nothing.
#[derive(Clone, Copy)]
pub(crate) struct Empty {
    pub(crate) kernel: EmptyKernel,
    pub(crate) stream: CUstream,
}

impl Empty {
    /// Launches of a kernel that does nothing at all.
    pub(crate) fn bare(device: &Cuda) -> Self {
        Self { kernel: device.kernels.empty.bare(), stream: device.stream }
    }

    /// Launches beside samples on this path and in this state of the caches.
    pub(crate) fn beside(device: &Cuda, path: Path, cache: Cache) -> Self {
        Self { kernel: device.kernels.empty.beside(path, cache), stream: device.stream }
    }
}

impl Work for Empty {
    fn launch(&mut self) -> Result<(), Failure> {
        Ok(self.kernel.launch((1, 32), self.stream)?)
    }
}
