//! Streams and buffers of `cust`.

use cust::context::CurrentContext;
use cust::memory::{AsyncCopyDestination as _, CopyDestination as _, DeviceBuffer, DeviceCopy};
use cust::stream::{Stream, StreamFlags};

use super::{CudaStream, Gpu, Handle};
use crate::{CaseError, LaunchStream, Restore};

impl LaunchStream for Stream {
    type Source = Gpu;
    type Owned = Self;

    fn open(gpu: &mut Gpu) -> Result<Self, CaseError> {
        let stream = Self::new(StreamFlags::DEFAULT, None)
            .map_err(|error| CaseError::new(format_args!("a stream of cust: {error}")))?;
        // SAFETY: the stream was made in the current context, the GPU's own, and the case keeps it.
        unsafe { gpu.launch_on(stream.handle()) };
        Ok(stream)
    }
}

impl CudaStream for Stream {
    fn handle(&self) -> Handle {
        self.as_inner().cast()
    }
}

impl<T: DeviceCopy> Restore<Stream> for DeviceBuffer<T> {
    type Copy = Self;

    fn copy(&self, _: &Stream) -> Result<Self, CaseError> {
        // `setup` may have used other streams.
        let copied = CurrentContext::synchronize().and_then(|()| {
            // SAFETY: the whole of it is written before anything reads it.
            let mut copy = unsafe { Self::uninitialized(self.len()) }?;
            copy.copy_from(self)?;
            Ok(copy)
        });
        copied.map_err(CaseError::new)
    }

    fn restore(&mut self, copy: &Self, stream: &Stream) -> Result<(), CaseError> {
        // SAFETY: a case launches on this stream, and keeps both until it has waited for it.
        unsafe { self.async_copy_from(copy, stream) }.map_err(CaseError::new)
    }
}
