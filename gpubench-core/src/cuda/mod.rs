//! Streams of NVIDIA GPUs, of any binding.

#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "cust")]
mod cust;
mod recorded;

use std::sync::OnceLock;
use std::{ffi::c_void, ptr};

pub use self::recorded::Recorded;

use crate::{CaseError, LaunchStream, StreamSource};

/// A handle of the driver: a `CUstream` or a `CUcontext`.
pub type Handle = *mut c_void;

/// The functions for streams and graphs that the runtime provides, which alone knows the driver.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct StreamFunctions {
    /// Creates a stream in the current context.
    pub create: fn() -> Result<Handle, CaseError>,
    /// Destroys a stream.
    pub destroy: unsafe fn(Handle),
    /// Runs a function that instantiates one graph, on any thread. Returns the function that launches this
    /// graph.
    pub record: fn(CaptureWithLibrary<'_>) -> Result<LaunchOnStream, CaseError>,
}

/// The user's function that captures and instantiates a graph with a library.
type CaptureWithLibrary<'a> = &'a mut dyn FnMut() -> Result<(), CaseError>;
/// Launches an instantiated graph on the stream with this handle.
type LaunchOnStream = Box<dyn Fn(Handle) -> Result<(), CaseError>>;

/// The functions that the first opened GPU was created with. All GPUs use the same.
static STREAM_FUNCTIONS: OnceLock<StreamFunctions> = OnceLock::new();

/// The GPU that a case is measured on. It creates the case's stream.
#[derive(Debug)]
pub struct Gpu {
    ordinal: usize,
    context: Handle,
    calls: StreamFunctions,
    stream: Handle,
}

impl Gpu {
    /// Returns the GPU with this number and its primary context. `calls` are the runtime's functions.
    #[doc(hidden)]
    pub fn new(ordinal: usize, context: Handle, calls: StreamFunctions) -> Self {
        let calls = *STREAM_FUNCTIONS.get_or_init(|| calls);
        Self { ordinal, context, calls, stream: ptr::null_mut() }
    }

    /// Returns the number of the GPU among those that the driver lists, from 0.
    #[must_use]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// Creates a stream for the next case. The case launches on it.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn raw_stream(&mut self) -> Result<RawStream, CaseError> {
        let stream = (self.calls.create)()?;
        self.stream = stream;
        let Self { context, ordinal, calls, .. } = *self;
        Ok(RawStream { stream, context, ordinal, destroy: calls.destroy })
    }

    /// Sets the stream on which the next case launches, for a binding that creates streams itself.
    ///
    /// # Safety
    /// The stream belongs to the primary context of this GPU, and lives as long as the case: what
    /// [`LaunchStream::open`] returns must own it.
    pub unsafe fn launch_on(&mut self, stream: Handle) {
        self.stream = stream;
    }

    /// Returns the stream of the case that was opened last; null before the first.
    #[doc(hidden)]
    pub fn stream(&self) -> Handle {
        self.stream
    }
}

impl StreamSource for Gpu {
    const KIND: &'static str = "cuda";
}

/// A stream of the measured GPU as the driver's own handles, for launch functions of any binding and of C.
///
/// # Safety
///
/// The handles are pointers, and each use of them is `unsafe` code. Such code can rely on the following:
///
/// - The stream belongs to [`context`](Self::context), the primary context of GPU [`ordinal`](Self::ordinal),
///   which is current on the thread that calls the launch function, `setup`, `reset` and `check`.
/// - Stream and context live as long as the case.
///
/// In return the code must follow these rules:
///
/// - It does not destroy the stream or reset the context, and keeps the stream no longer than the case.
/// - If it uses another context or stream, it makes the first context current again and waits for the other
///   stream before the function returns.
#[derive(Debug)]
pub struct RawStream {
    stream: Handle,
    context: Handle,
    ordinal: usize,
    destroy: unsafe fn(Handle),
}

// SAFETY: the driver's functions may be called with a stream on any thread.
unsafe impl Send for RawStream {}
// SAFETY: the same; nothing here changes through a reference.
unsafe impl Sync for RawStream {}

impl RawStream {
    /// Returns the stream's handle: a `CUstream`, which the CUDA runtime calls `cudaStream_t`.
    #[must_use]
    pub fn stream(&self) -> Handle {
        self.stream
    }

    /// Returns the primary context of the GPU: a `CUcontext`.
    #[must_use]
    pub fn context(&self) -> Handle {
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
        unsafe { (self.destroy)(self.stream) };
    }
}

impl LaunchStream for RawStream {
    type Source = Gpu;
    type Owned = Self;

    fn open(gpu: &mut Gpu) -> Result<Self, CaseError> {
        gpu.raw_stream()
    }
}

/// A stream of an NVIDIA GPU, of any binding.
pub trait CudaStream: LaunchStream<Source = Gpu> {
    /// Returns the stream's handle, a `CUstream`.
    fn handle(&self) -> Handle;
}

impl CudaStream for RawStream {
    fn handle(&self) -> Handle {
        self.stream
    }
}
