//! Driver functions that the launch functions of this program call directly.

use std::ptr::null_mut;

use gpubench_driver::sys::{self, CUcontext, CUdeviceptr, CUstream};

use crate::gpu::{Array, Done, called};

/// Copies bytes from one array to another.
pub(crate) fn copy(to: &Array, from: &Array, bytes: u64, stream: CUstream) -> Done {
    // SAFETY: both arrays have so many bytes.
    let code = unsafe { sys::cuMemcpyDtoDAsync_v2(to.at, from.at, bytes as usize, stream) };
    called("cuMemcpyDtoDAsync", code)
}

/// Calls a function of the host that does nothing.
pub(crate) fn call_host(stream: CUstream) -> Done {
    unsafe extern "C" fn nothing() {}

    // SAFETY: the function takes a pointer by C's rules, and does not look at it.
    called("cuLaunchHostFunc", unsafe { sys::cuLaunchHostFunc(stream, Some(nothing), null_mut()) })
}

/// Tells whether a stream is being captured.
pub(crate) fn is_captured(stream: CUstream) -> bool {
    let mut status = sys::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is alive, and `status` a place for the answer.
    let code = unsafe { sys::cuStreamIsCapturing(stream, &raw mut status) };
    code == sys::CUDA_SUCCESS && status != sys::CU_STREAM_CAPTURE_STATUS_NONE
}

/// Allocates this number of bytes in the order of a stream.
pub(crate) fn allocate_for(bytes: usize, stream: CUstream) -> Done<CUdeviceptr> {
    let mut at = 0;
    // SAFETY: `at` is a place for an address.
    called("cuMemAllocAsync", unsafe { sys::cuMemAllocAsync(&raw mut at, bytes, stream) })?;
    Ok(at)
}

/// Frees in the order of a stream.
pub(crate) fn free_for(at: CUdeviceptr, stream: CUstream) -> Done {
    // SAFETY: nobody uses it.
    called("cuMemFreeAsync", unsafe { sys::cuMemFreeAsync(at, stream) })
}

/// Frees at once.
pub(crate) fn free(at: CUdeviceptr) -> Done {
    // SAFETY: nobody uses it.
    called("cuMemFree", unsafe { sys::cuMemFree_v2(at) })
}

/// Sets an array to a value.
pub(crate) fn set(array: &Array, x: f32, stream: CUstream) -> Done {
    // SAFETY: the array has n words.
    let code = unsafe { sys::cuMemsetD32Async(array.at, x.to_bits(), array.n as usize, stream) };
    called("cuMemsetD32Async", code)
}

/// Copies an element from memory that is not pinned, which no graph does.
pub(crate) fn copy_pageable(to: &Array, from: &[f32], stream: CUstream) -> Done {
    // SAFETY: both have an element.
    let code = unsafe { sys::cuMemcpyHtoDAsync_v2(to.at, from.as_ptr().cast(), 4, stream) };
    called("cuMemcpyHtoDAsync", code)
}

/// Waits for a stream.
pub(crate) fn synchronize(stream: CUstream) -> Done {
    // SAFETY: the stream is alive.
    called("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(stream) })
}

/// Asks a stream again and again, at most so often, until it has nothing left to do.
pub(crate) fn spin(stream: CUstream, most: usize) -> Done {
    for _ in 0..most {
        // SAFETY: the stream is alive.
        match unsafe { sys::cuStreamQuery(stream) } {
            sys::CUDA_ERROR_NOT_READY => {}
            code => return called("cuStreamQuery", code),
        }
    }
    Ok(())
}

/// Has the host wait otherwise for the device than before: `CU_CTX_SCHED_BLOCKING_SYNC`.
pub(crate) fn set_flags() -> Done {
    // SAFETY: the context is current.
    called("cuCtxSetFlags", unsafe { sys::cuCtxSetFlags(4) })
}

/// Gives up what is kept in the L2.
pub(crate) fn reset_persisting() -> Done {
    // SAFETY: the context is current.
    called("cuCtxResetPersistingL2Cache", unsafe { sys::cuCtxResetPersistingL2Cache() })
}

/// A handle, to be used in another thread.
#[derive(Clone, Copy)]
pub(crate) struct Sent<T>(pub(crate) T);

// SAFETY: the driver's functions may be called with a context or a stream on any thread.
unsafe impl<T> Send for Sent<T> {}

/// Makes a context current in this thread.
pub(crate) fn enter(context: CUcontext) -> Done {
    // SAFETY: it is alive.
    called("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(context) })
}
