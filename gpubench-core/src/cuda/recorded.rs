//! Launches of libraries that hide their stream.

use std::fmt::Display;

use super::{CudaStream, LaunchOnStream, STREAM_FUNCTIONS};
use crate::CaseError;

/// A launch that a library captured as a CUDA graph on a stream of its own, to be measured on the given stream.
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
    /// Runs `library`, which captures one graph on any stream and thread and makes it ready to run, and keeps its result.
    ///
    /// # Safety
    /// The result keeps that executable, and the memory and the kernels that it uses.
    ///
    /// # Errors
    /// Returns the error of `library`. Fails if it made no graph ready to run, or several.
    pub unsafe fn capture<E: Display>(mut library: impl FnMut() -> Result<T, E>) -> Result<Self, CaseError> {
        let missing = || CaseError::new("gpubench has not opened a GPU");
        let mut kept = None;
        let launch = (STREAM_FUNCTIONS.get().ok_or_else(missing)?.record)(&mut || {
            kept = Some(library().map_err(CaseError::new)?);
            Ok(())
        })?;
        Ok(Self { launch, kept: kept.ok_or_else(missing)? })
    }

    /// Launches what was captured on `stream`.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn launch(&self, stream: &impl CudaStream) -> Result<(), CaseError> {
        (self.launch)(stream.handle())
    }

    /// Returns the result of the library, such as the outputs that `check` reads.
    pub fn kept(&self) -> &T {
        &self.kept
    }
}
