//! Streams of NVIDIA GPUs, of any binding, and launches of libraries that hide their stream.

use std::{ffi::c_void, fmt::Display, ptr, sync::OnceLock};

use crate::{CaseError, LaunchStream, StreamSource};

/// A handle of the driver: a `CUstream` or a `CUcontext`.
pub type Handle = *mut c_void;

/// The functions for streams and graphs, which the runtime implements with the driver.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct StreamFunctions {
    /// Creates a stream in the current context.
    pub create: fn() -> Result<Handle, CaseError>,
    /// Destroys a stream.
    pub destroy: unsafe fn(Handle),
    /// Runs a function that captures and instantiates exactly one graph, on any thread. Returns the function
    /// that launches this graph, or an error if there was no graph or several.
    pub record: fn(CaptureWithLibrary<'_>) -> Result<LaunchOnStream, CaseError>,
}

/// The user's function that captures and instantiates a graph with a library.
type CaptureWithLibrary<'a> = &'a mut dyn FnMut() -> Result<(), CaseError>;
/// Launches an instantiated graph on the stream with this handle.
type LaunchOnStream = Box<dyn Fn(Handle) -> Result<(), CaseError>>;

/// The functions that the first [`Gpu::new`] got. All GPUs use these.
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
    /// Returns the GPU with this number and this primary context. `calls` are the runtime's functions; those
    /// of the first GPU serve all later ones.
    #[doc(hidden)]
    pub fn new(ordinal: usize, context: Handle, calls: StreamFunctions) -> Self {
        let calls = *STREAM_FUNCTIONS.get_or_init(|| calls);
        Self { ordinal, context, calls, stream: ptr::null_mut() }
    }

    /// Returns the number of the GPU among those that the driver lists, from 0.
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

    /// Returns the stream that was created or set last: that of the case that was opened last. Null before
    /// the first.
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
/// - If it makes another context current, it makes [`context`](Self::context) current again before the
///   function returns. If it uses another stream, it waits for that stream before the function returns.
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
    pub fn stream(&self) -> Handle {
        self.stream
    }

    /// Returns the primary context of the GPU: a `CUcontext`.
    pub fn context(&self) -> Handle {
        self.context
    }

    /// Returns the number of the GPU among those that the driver lists, from 0.
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

/// A launch that a library captured as a CUDA graph on a stream of its own, to be measured on the given
/// stream.
///
/// ```no_run
/// # use gpubench_driver as _;
/// use gpubench_core::CaseError;
/// use gpubench_core::cuda::{RawStream, Recorded};
///
/// # struct Library;
/// # impl Library { fn capture(&self) -> Result<Buffers, String> { Ok(Buffers) } }
/// # struct Buffers;
/// // For `setup`.
/// fn recorded(library: &Library) -> Result<Recorded<Buffers>, CaseError> {
///     // SAFETY: these buffers keep the graph, and all that it uses.
///     unsafe { Recorded::capture(|| library.capture()) }
/// }
///
/// // The launch function.
/// fn launch(recorded: &Recorded<Buffers>, stream: &RawStream) -> Result<(), CaseError> {
///     recorded.launch(stream)
/// }
/// ```
pub struct Recorded<T> {
    launch: LaunchOnStream,
    kept: T,
}

impl<T> Recorded<T> {
    /// Runs `library` once and keeps its result. `library` must capture and instantiate exactly one graph, on
    /// any stream and thread.
    ///
    /// # Safety
    /// The result of `library` must keep the executable graph alive, and the memory and kernels that the
    /// graph uses.
    ///
    /// # Errors
    /// Returns the error of `library`, and an error if it instantiated no graph or several, or if no GPU is
    /// open.
    pub unsafe fn capture<E: Display>(mut library: impl FnMut() -> Result<T, E>) -> Result<Self, CaseError> {
        let missing = || CaseError::new("gpubench has not opened a GPU");
        let mut kept = None;
        let launch = (STREAM_FUNCTIONS.get().ok_or_else(missing)?.record)(&mut || {
            kept = Some(library().map_err(CaseError::new)?);
            Ok(())
        })?;
        Ok(Self { launch, kept: kept.ok_or_else(missing)? })
    }

    /// Launches the captured graph on `stream`.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn launch(&self, stream: &impl CudaStream) -> Result<(), CaseError> {
        (self.launch)(stream.handle())
    }

    /// Returns the result of the `library` function, such as the outputs that `check` reads.
    pub fn kept(&self) -> &T {
        &self.kept
    }
}

/// Streams and buffers of `cust`.
#[cfg(feature = "cust")]
mod cust_streams {
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
}

/// Streams of `cudarc`, as `&Arc<CudaStream>` or `&CudaStream`, and its slices.
#[cfg(feature = "cudarc")]
mod cudarc_streams {
    use std::sync::Arc;

    use cudarc::driver::{
        CudaContext, CudaSlice, CudaStream, DevicePtr as _, DevicePtrMut as _, DeviceRepr, DriverError,
        result,
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
            with_context_restored(|| {
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
            with_context_restored(|| {
                let own = copy.stream();
                let ((from, _from), (to, _to)) = (copy.device_ptr(own), self.device_ptr_mut(own));
                // SAFETY: both have this length, and a case keeps both until it has waited for its stream.
                unsafe { result::memcpy_dtod_async(to, from, copy.num_bytes(), stream.handle().cast()) }
            })
        }
    }

    /// Runs `work`, whose calls may bind another context to this thread. Then binds the earlier context
    /// again, if there was one, even if `work` failed.
    fn with_context_restored<T>(work: impl FnOnce() -> Result<T, DriverError>) -> Result<T, CaseError> {
        let before = result::ctx::get_current().map_err(CaseError::new)?;
        let done = work();
        if let Some(context) = before {
            // SAFETY: it was current, and nothing has destroyed it.
            unsafe { result::ctx::set_current(context) }.map_err(CaseError::new)?;
        }
        done.map_err(CaseError::new)
    }
}
