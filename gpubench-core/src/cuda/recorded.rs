//! Launches of libraries that hide their stream.

use std::fmt::Display;

use super::{CudaStream, LaunchOnStream, STREAM_FUNCTIONS};
use crate::CaseError;

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
