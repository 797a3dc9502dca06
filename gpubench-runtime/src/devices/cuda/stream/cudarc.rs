//! Streams of `cudarc`, as `&Arc<CudaStream>` or `&CudaStream`.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DriverError};
use gpubench_driver::sys::CUstream;

use crate::device::{DeviceError, LaunchStream};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::{CallError, Cause};

impl LaunchStream for CudaStream {
    type Device = Cuda;
    type Owned = Arc<Self>;

    fn over(device: &mut Cuda) -> Result<Arc<Self>, DeviceError> {
        let failed = |error: DriverError| {
            let cause = Cause::of(error.0 as u32);
            DeviceError::from(CallError::For { purpose: "a stream of cudarc".to_owned(), cause })
        };
        // It retains the primary context, which is the device's own.
        let context = CudaContext::new(device.ordinal()).map_err(failed)?;
        // Events between streams, by which cudarc orders the uses of a slice, cannot be captured.
        // SAFETY: a case launches on one stream, which alone uses what its setup allocates. A launch function that uses
        // others makes them wait by itself.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed)?;
        // SAFETY: the stream was made in the device's own context, and the case keeps it.
        unsafe { device.launch_on(super::CudaStream::handle(&*stream)) };
        Ok(stream)
    }
}

impl super::CudaStream for CudaStream {
    fn handle(&self) -> CUstream {
        self.cu_stream().cast()
    }
}

impl LaunchStream for Arc<CudaStream> {
    type Device = Cuda;
    type Owned = Self;

    fn over(device: &mut Cuda) -> Result<Self, DeviceError> {
        CudaStream::over(device)
    }
}

impl super::CudaStream for Arc<CudaStream> {
    fn handle(&self) -> CUstream {
        super::CudaStream::handle(&**self)
    }
}
