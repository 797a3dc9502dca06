//! Streams of `cust`.

use cust::stream::{Stream, StreamFlags};
use gpubench_driver::sys::CUstream;

use super::CudaStream;
use crate::device::{DeviceError, LaunchStream};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::{CallError, Cause};

impl LaunchStream for Stream {
    type Device = Cuda;
    type Owned = Self;

    fn over(device: &mut Cuda) -> Result<Self, DeviceError> {
        let stream = Self::new(StreamFlags::DEFAULT, None).map_err(|error| {
            DeviceError::from(CallError::For {
                purpose: "a stream of cust".to_owned(),
                cause: Cause::of(error as u32),
            })
        })?;
        // SAFETY: the stream was made in the current context, the device's own, and the case keeps it.
        unsafe { device.launch_on(stream.handle()) };
        Ok(stream)
    }
}

impl CudaStream for Stream {
    fn handle(&self) -> CUstream {
        self.as_inner().cast()
    }
}
