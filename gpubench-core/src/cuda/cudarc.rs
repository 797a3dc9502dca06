//! Streams of `cudarc`, as `&Arc<CudaStream>` or `&CudaStream`, and its slices.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr as _, DevicePtrMut as _, DeviceRepr, DriverError, result,
};

use super::{Gpu, Handle};
use crate::{CaseError, LaunchStream, Restore};

impl LaunchStream for CudaStream {
    type Source = Gpu;
    type Owned = Arc<Self>;

    fn open(gpu: &mut Gpu) -> Result<Arc<Self>, CaseError> {
        let failed = |error: DriverError| CaseError::new(format_args!("a stream of cudarc: {error}"));
        // It retains the primary context, which is the GPU's own.
        let context = CudaContext::new(gpu.ordinal()).map_err(failed)?;
        // Events between streams, by which cudarc orders the uses of a slice, cannot be captured.
        // SAFETY: a case launches on one stream, which alone uses what its setup allocates. A launch function that uses
        // others makes them wait by itself.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed)?;
        // SAFETY: the stream was made in the GPU's own context, and the case keeps it.
        unsafe { gpu.launch_on(super::CudaStream::handle(&*stream)) };
        Ok(stream)
    }
}

impl super::CudaStream for CudaStream {
    fn handle(&self) -> Handle {
        self.cu_stream().cast()
    }
}

impl LaunchStream for Arc<CudaStream> {
    type Source = Gpu;
    type Owned = Self;

    fn open(gpu: &mut Gpu) -> Result<Self, CaseError> {
        CudaStream::open(gpu)
    }
}

impl super::CudaStream for Arc<CudaStream> {
    fn handle(&self) -> Handle {
        super::CudaStream::handle(&**self)
    }
}

impl<T: DeviceRepr, S: super::CudaStream> Restore<S> for CudaSlice<T> {
    type Copy = Self;

    fn copy(&self, _: &S) -> Result<Self, CaseError> {
        // `setup` may have used other streams than the slice's, and the case launches on another.
        in_its_context(|| {
            self.stream().context().synchronize()?;
            let copy = self.try_clone()?;
            self.stream().synchronize()?;
            Ok(copy)
        })
    }

    fn restore(&mut self, copy: &Self, stream: &S) -> Result<(), CaseError> {
        if self.len() != copy.len() {
            return Err(CaseError::new("a launch changed the length of an input that `restore` names"));
        }
        in_its_context(|| {
            let own = copy.stream();
            let ((from, _from), (to, _to)) = (copy.device_ptr(own), self.device_ptr_mut(own));
            // SAFETY: both have this length, and a case keeps both until it has waited for its stream.
            unsafe { result::memcpy_dtod_async(to, from, copy.num_bytes(), stream.handle().cast()) }
        })
    }
}

/// Runs `work`, whose calls may bind another context to this thread. Then binds the context again that was
/// current before, if there was one.
fn in_its_context<T>(work: impl FnOnce() -> Result<T, DriverError>) -> Result<T, CaseError> {
    let before = result::ctx::get_current().map_err(CaseError::new)?;
    let done = work();
    if let Some(context) = before {
        // SAFETY: it was current, and nothing has destroyed it.
        unsafe { result::ctx::set_current(context) }.map_err(CaseError::new)?;
    }
    done.map_err(CaseError::new)
}
