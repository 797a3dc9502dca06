//! Inputs that the option `restore` of `#[gpu_bench]` copies and puts back.

use crate::{CaseError, host::Stream};

/// An input that the option `restore` of `#[gpu_bench]` can copy and put back, on a stream of type `S`.
///
/// Implemented on `host::Stream` for slices and all that is `Clone`, on cust's stream for `DeviceBuffer`, and
/// on each stream of a GPU for cudarc's `CudaSlice`. Implement it for an input of your own:
///
/// ```
/// # use gpubench_driver as _;
/// # struct Buffer;
/// # impl Buffer {
/// #     fn clone_on(&self, _: &RawStream) -> Result<Self, CaseError> { Ok(Self) }
/// #     fn copy_on(&mut self, _: &Self, _: &RawStream) -> Result<(), CaseError> { Ok(()) }
/// # }
/// use gpubench_core::{CaseError, Restore, cuda::RawStream};
///
/// impl Restore<RawStream> for Buffer {
///     type Copy = Self;
///
///     fn copy(&self, stream: &RawStream) -> Result<Self, CaseError> {
///         self.clone_on(stream)
///     }
///
///     fn restore(&mut self, copy: &Self, stream: &RawStream) -> Result<(), CaseError> {
///         self.copy_on(copy, stream)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`restore` cannot copy `{Self}`: write a `reset`, or implement `gpubench::Restore<{S}>` for it",
    label = "on the CPU a slice or a `Clone`, on cust's stream a `DeviceBuffer`, on any CUDA stream a `CudaSlice` of `cudarc`"
)]
pub trait Restore<S: ?Sized> {
    /// The copy that gpubench keeps with the input.
    type Copy;

    /// Copies the input once after `setup`, untimed. May wait for the device.
    ///
    /// # Errors
    /// Returns an error if there is no memory for the copy.
    fn copy(&self, stream: &S) -> Result<Self::Copy, CaseError>;

    /// Enqueues the copy from `copy` to the input on `stream`. It must neither wait nor allocate, since CUDA
    /// graphs capture it.
    ///
    /// # Errors
    /// Returns the device's error.
    fn restore(&mut self, copy: &Self::Copy, stream: &S) -> Result<(), CaseError>;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync> Restore<Stream> for T {
    type Copy = T;

    fn copy(&self, _: &Stream) -> Result<T, CaseError> {
        Ok(self.clone())
    }

    fn restore(&mut self, copy: &T, stream: &Stream) -> Result<(), CaseError> {
        stream.run(|| self.clone_from(copy));
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Send + Sync> Restore<Stream> for [T] {
    type Copy = Vec<T>;

    fn copy(&self, _: &Stream) -> Result<Vec<T>, CaseError> {
        Ok(self.to_vec())
    }

    fn restore(&mut self, copy: &Vec<T>, stream: &Stream) -> Result<(), CaseError> {
        stream.run(|| self.clone_from_slice(copy));
        Ok(())
    }
}
