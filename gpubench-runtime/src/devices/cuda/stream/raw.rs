//! A stream without a binding: the driver's handles, for C, for other bindings and for stream types of one's own.

use gpubench_driver::sys::{self, CUcontext, CUstream};

use super::CudaStream;
use crate::device::{DeviceError, LaunchStream};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::check_for;

/// A stream of the measured GPU as the driver's own handles, for launch functions of any binding and of C.
///
/// # Safety
///
/// The handles are pointers, and what is done with them is `unsafe` where it is done. That code may rely on these promises,
/// and keeps the others:
///
/// - The stream belongs to [`context`](Self::context), the primary context of GPU [`ordinal`](Self::ordinal), which is
///   current on the thread that calls the launch function, `setup`, `reset` and `check`.
/// - Both live as long as the case. Nothing destroys the stream or resets the context, and nothing that outlives the case
///   keeps the stream.
/// - Another context or stream may be used, if the first is current again and the second is waited for when the function
///   returns.
#[derive(Debug)]
pub struct RawStream {
    stream: CUstream,
    context: CUcontext,
    ordinal: usize,
}

// SAFETY: the driver's functions may be called with a stream on any thread.
unsafe impl Send for RawStream {}
// SAFETY: the same; nothing here changes through a reference.
unsafe impl Sync for RawStream {}

impl RawStream {
    /// Makes a stream in the current context, which is that of GPU `ordinal`.
    pub(crate) fn new(context: CUcontext, ordinal: usize) -> Result<Self, DeviceError> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: `stream` is a place for a handle.
        check_for("a stream", unsafe { sys::cuStreamCreate(&raw mut stream, sys::CU_STREAM_DEFAULT) })?;
        Ok(Self { stream, context, ordinal })
    }

    /// Returns the stream's handle: a `CUstream`, which the CUDA runtime calls `cudaStream_t`.
    #[must_use]
    pub fn stream(&self) -> CUstream {
        self.stream
    }

    /// Returns the primary context of the GPU.
    #[must_use]
    pub fn context(&self) -> CUcontext {
        self.context
    }

    /// Returns the number of the GPU among those that the driver lists, from 0.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        // SAFETY: nothing else destroys it. Its work goes on, and after a sticky error there is nothing left to destroy.
        _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
    }
}

impl LaunchStream for RawStream {
    type Device = Cuda;
    type Owned = Self;

    fn over(device: &mut Cuda) -> Result<Self, DeviceError> {
        device.raw_stream()
    }
}

impl CudaStream for RawStream {
    fn handle(&self) -> CUstream {
        self.stream
    }
}
