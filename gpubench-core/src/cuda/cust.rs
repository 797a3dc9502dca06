//! Streams of `cust`.

use cust::stream::{Stream, StreamFlags};

use super::{CudaStream, Gpu, Handle};
use crate::{CaseError, LaunchStream};

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
