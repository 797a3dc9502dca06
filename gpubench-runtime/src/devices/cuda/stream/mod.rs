//! The stream types of CUDA bindings as [`LaunchStream`](crate::device::LaunchStream)s. In: a [`Cuda`] device; out: a
//! stream of that binding in the device's primary context, on which a case launches.

#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "cust")]
mod cust;
mod raw;

use gpubench_driver::sys::CUstream;

pub use self::raw::RawStream;
use super::Cuda;
use crate::device::LaunchStream;

/// A stream of a GPU, of any binding.
pub trait CudaStream: LaunchStream<Device = Cuda> {
    /// Returns the driver's handle.
    fn handle(&self) -> CUstream;
}
