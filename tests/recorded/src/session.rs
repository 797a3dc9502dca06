//! A library with a session that owns its stream, as vortex has one.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DriverError};
use gpubench::cuda::Gpu;
use gpubench::{CaseError, LaunchStream, gpu_bench};

use crate::graphs::Saxpy;

/// The library's own stream. Its type is private.
pub struct Session {
    stream: Arc<CudaStream>,
}

impl Session {
    /// Makes a session on a stream of its own.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        Ok(Self { stream: context.new_stream()? })
    }

    /// Returns the stream, as most libraries do somewhere.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Runs the library's operator.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn run(&self, saxpy: &mut Saxpy) -> Result<(), DriverError> {
        saxpy.launch(&self.stream)
    }
}

/// A session as a stream that gpubench measures.
pub struct Measured(Session);

impl LaunchStream for Measured {
    type Source = Gpu;
    type Owned = Self;
    fn open(gpu: &mut Gpu) -> Result<Self, CaseError> {
        let context = CudaContext::new(gpu.ordinal()).map_err(CaseError::new)?;
        // SAFETY: a case uses one stream. Events between streams cannot be captured.
        unsafe { context.disable_event_tracking() };
        let session = Session::new(&context).map_err(CaseError::new)?;
        // SAFETY: the stream belongs to the primary context, and the session keeps it.
        unsafe { gpu.launch_on(session.stream().cu_stream().cast()) };
        Ok(Self(session))
    }
}

/// The operator.
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(args(n = [1 << 18]), setup = |n| Saxpy::new(n, session.0.stream()), cold, accumulates)]
pub fn run(saxpy: &mut Saxpy, session: &Measured) -> Result<(), DriverError> {
    session.0.run(saxpy)
}
