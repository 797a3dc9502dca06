//! Streams of cuda-core as streams that gpubench measures.

use std::ops::Deref;
use std::sync::Arc;

use gpubench::cuda::Gpu;
use gpubench::{CaseError, LaunchStream};

/// A stream of cuda-core in the primary context. It derefs to what launch functions take.
pub struct Stream(Arc<cuda_core::Stream>);

impl LaunchStream for Stream {
    type Source = Gpu;
    type Owned = Self;

    fn open(gpu: &mut Gpu) -> Result<Self, CaseError> {
        let stream = Arc::new(gpu.raw_stream()?);
        let context = cuda_core::Context::new(stream.ordinal()).map_err(CaseError::new)?;
        // SAFETY: the stream belongs to the primary context, and its owner is kept.
        Ok(Self(unsafe { cuda_core::Stream::borrow_with_owner(stream.stream().cast(), &context, stream) }))
    }
}

impl Deref for Stream {
    type Target = Arc<cuda_core::Stream>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
