//! Functions that the forwarders in `table` call after a driver function that enqueues, waits, loads code or
//! switches the context. Each gets the driver's result and arguments. It adds a [`DriverCall`] to the watch
//! and a [`StreamOp`](crate::StreamOp) to the collected operations, if there are any.

#![expect(unsafe_code, reason = "calls the driver, and takes the arguments of C functions")]

use std::ffi::c_uint;

use crate::calls::{
    DriverCall, Enqueued, KernelLaunch, Shape, StreamOp, add_call, add_code_load, add_enqueued,
    add_failed_call, add_if_successful, add_poll, add_stream_op, called_function, stream_used,
    watched_context,
};
use crate::kernel_info::{self, is_capturing};
use crate::result::set_detail;
use crate::types::{
    CUDA_ERROR_NOT_READY, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUcontext, CUevent, CUfunction,
    CUlaunchConfig, CUstream,
};
use crate::watch::{kernel_name, kernel_number};

/// The number of first calls of a watch for whose kernels the driver is queried about their properties.
const MAX_CALLS_WITH_KERNEL_INFO: usize = 8;

/// Adds an asynchronous copy of `bytes` bytes on a stream.
pub(crate) unsafe fn add_copy(code: u32, stream: CUstream, bytes: usize) {
    add_enqueued(code, stream, Enqueued::Copy(bytes as u64));
}

/// Adds an asynchronous copy, perhaps to the host or to an array, of `bytes` bytes on a stream.
pub(crate) unsafe fn add_copy_out(code: u32, stream: CUstream, bytes: usize) {
    add_enqueued(code, stream, Enqueued::CopyOut(bytes as u64));
}

/// Adds a memset of `bytes` bytes on a stream.
pub(crate) unsafe fn add_memset(code: u32, stream: CUstream, bytes: usize) {
    add_enqueued(code, stream, Enqueued::Memset(bytes as u64));
}

/// Adds a memset on the NULL stream, for which the host does not wait.
pub(crate) unsafe fn add_null_stream_memset(code: u32, bytes: usize) {
    add_enqueued(code, std::ptr::null_mut(), Enqueued::Memset(bytes as u64));
}

/// Adds a call of a host function on a stream.
pub(crate) unsafe fn add_host_function(code: u32, stream: CUstream) {
    add_enqueued(code, stream, Enqueued::HostFunction);
}

/// Adds a copy on the NULL stream for which the host waits.
pub(crate) unsafe fn add_blocking_copy(code: u32) {
    add_blocking_work(code, Enqueued::Copy(0));
}

/// Adds a copy on the NULL stream, perhaps to the host or to an array, for which the host waits.
pub(crate) unsafe fn add_blocking_copy_out(code: u32) {
    add_blocking_work(code, Enqueued::CopyOut(0));
}

/// Adds work on the NULL stream, and the host's wait for it.
fn add_blocking_work(code: u32, work: Enqueued) {
    add_enqueued(code, std::ptr::null_mut(), work);
    let stream = stream_used(std::ptr::null_mut()) as u64;
    add_if_successful(code, |call| DriverCall::Waited { stream: Some(stream), call });
}

/// Adds a wait for a stream, or a query that found it busy.
pub(crate) unsafe fn add_stream_wait(code: u32, stream: CUstream) {
    let stream = stream_used(stream) as u64;
    add_wait_or_poll(code, stream, Some(stream));
}

/// Adds the destruction of a stream.
pub(crate) unsafe fn add_stream_destruction(code: u32, stream: CUstream) {
    add_if_successful(code, |_| DriverCall::Destroyed(stream as u64));
}

/// Adds a wait for an event, or a query that found its work unfinished. The stream of the event is not known.
pub(crate) unsafe fn add_event_wait(code: u32, event: CUevent) {
    add_wait_or_poll(code, event as u64, None);
}

/// Adds a wait for `stream`, or a query if `code` says that the work is not done. `about` is the handle of
/// the stream or event; `stream` is `None` for an event.
fn add_wait_or_poll(code: u32, about: u64, stream: Option<u64>) {
    if code == CUDA_ERROR_NOT_READY {
        return add_poll(called_function(), about);
    }
    add_if_successful(code, |call| DriverCall::Waited { stream, call });
}

/// Adds advice to the failure of a captured stream that was to wait for an event from before the capture.
pub(crate) unsafe fn explain_capture_isolation(code: u32) {
    if code == CUDA_ERROR_STREAM_CAPTURE_ISOLATION {
        let hint = "an event of before the capture: cudarc waits for those of other streams unless \
                    `disable_event_tracking` was called on the context before it allocated; that of the given stream has it off";
        set_detail(Some(hint.to_owned()));
    }
}

/// Adds a wait for work on any stream.
pub(crate) unsafe fn add_unspecific_wait(code: u32) {
    add_if_successful(code, |call| DriverCall::Waited { stream: None, call });
}

/// Adds a call that loaded code and whose arguments are not read.
pub(crate) unsafe fn add_code_load_call(code: u32) {
    add_code_load(code);
}

/// Adds a switch to `context`, unless it was current when the watch began.
pub(crate) unsafe fn add_context_switch(code: u32, context: CUcontext) {
    if watched_context().is_some_and(|own| own != context as usize) {
        add_if_successful(code, DriverCall::SwitchedContext);
    }
}

/// Adds the creation of a context, which becomes the current one.
pub(crate) unsafe fn add_context_creation(code: u32) {
    add_if_successful(code, DriverCall::SwitchedContext);
}

/// Adds a kernel launch: to the watch with the kernel's name, and for the first calls with its properties.
///
/// # Safety
/// The function has just been launched.
pub(crate) unsafe fn add_kernel_launch(
    code: u32,
    function: CUfunction,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared: c_uint,
    stream: CUstream,
) {
    if code != 0 {
        return add_failed_call(called_function(), code);
    }
    let stream = stream_used(stream);
    let shape = || Shape { function: kernel_number(function), grid, block, dynamic_shared };
    add_stream_op(stream as u64, || Some(StreamOp::Kernel(shape())));
    add_call(|calls| {
        let captured = is_capturing(stream);
        let asks = !captured && calls.len() < MAX_CALLS_WITH_KERNEL_INFO;
        // SAFETY: the function exists.
        let info =
            asks.then(|| unsafe { kernel_info::kernel_info(function, block, dynamic_shared) }).flatten();
        let kernel = KernelLaunch { shape: shape(), name: kernel_name(function), info };
        DriverCall::Enqueued { stream: stream as u64, captured, work: Enqueued::Kernel(kernel) }
    });
}

/// Adds a kernel launch by `cuLaunchKernelEx`, whose configuration is behind a pointer.
///
/// # Safety
/// The arguments are those of `cuLaunchKernelEx`, which has returned `code`.
pub(crate) unsafe fn add_configured_kernel_launch(
    code: u32,
    config: *const CUlaunchConfig,
    function: CUfunction,
) {
    if code != 0 {
        return add_failed_call(called_function(), code);
    }
    // SAFETY: the driver has just read it.
    let config = unsafe { &*config };
    let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
    let block = [config.blockDimX, config.blockDimY, config.blockDimZ];
    // SAFETY: the function has just been launched.
    unsafe { add_kernel_launch(code, function, grid, block, config.sharedMemBytes, config.hStream) };
}

#[cfg(test)]
mod tests;
