//! Streams that launch functions take, and where they come from.

use std::{any::Any, borrow::Borrow};

use crate::CaseError;

/// The source of streams for a kind of device. The runtime finds the device by [`KIND`](Self::KIND).
///
/// [`cuda::Gpu`](crate::cuda::Gpu) is the source for NVIDIA GPUs, and [`host::Stream`](crate::host::Stream) for
/// this machine's CPU. Implement the trait for the type of a device of your own.
pub trait StreamSource: Any {
    /// The kind's name on the command line and in records.
    const KIND: &'static str;
}

/// A stream type that launch functions take by reference, and the device it belongs to.
///
/// Implemented for `host::Stream` and `cuda::RawStream`, by the feature `cust` for `cust::stream::Stream`,
/// and by the feature `cudarc` for `cudarc::driver::CudaStream` and `Arc<CudaStream>`. Implement it for a
/// stream type of your own, and any function that takes one can be annotated. For a type of another crate,
/// wrap that in one of yours:
///
/// ```
/// # use gpubench_driver as _;
/// use gpubench_core::cuda::{Gpu, RawStream};
/// use gpubench_core::{CaseError, LaunchStream};
///
/// struct MyStream(RawStream);
///
/// impl LaunchStream for MyStream {
///     type Source = Gpu;
///     type Owned = Self;
///
///     fn open(gpu: &mut Gpu) -> Result<Self, CaseError> {
///         Ok(Self(gpu.raw_stream()?))
///     }
/// }
/// ```
pub trait LaunchStream: Sized + 'static {
    /// The type that creates such streams.
    type Source: StreamSource;
    /// The value that a case keeps while it launches: mostly `Self`, or a pointer, if streams exist only
    /// behind one.
    type Owned: Borrow<Self> + 'static;

    /// Returns a stream of `source`, for all launches of one case.
    ///
    /// # Errors
    /// Returns an error if the device cannot make one.
    fn open(source: &mut Self::Source) -> Result<Self::Owned, CaseError>;
}

/// The type of the parameter that `#[gpu_bench]` uses as the stream. It is the same as [`LaunchStream`], and
/// every [`LaunchStream`] implements it. It exists only for its own compiler message, about a parameter that
/// is no stream.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no stream: take one, such as `stream: &gpubench::host::Stream`, or say which parameter it is with `stream = name`",
    label = "the stream is the parameter named `stream`, else the last one",
    note = "streams are `gpubench::host::Stream`, `gpubench::cuda::RawStream`, those of `cust`, `cudarc` and `wgpu` with gpubench's feature of \
            that name and its version of that crate, and each type that implements `gpubench::LaunchStream`"
)]
pub trait StreamParameter: LaunchStream {}

#[diagnostic::do_not_recommend]
impl<S: LaunchStream> StreamParameter for S {}
