//! Functions that the forwarders in `table` call after a driver function that enqueues, waits, loads code or
//! switches the context. Each gets the driver's result and arguments. It adds a [`DriverCall`] to the watch
//! and a [`StreamOp`](crate::StreamOp) to the collected operations, if there are any.

#![expect(unsafe_code, reason = "calls the driver, and takes the arguments of C functions")]

use std::ffi::c_uint;

use crate::calls::{
    DriverCall, Enqueued, KernelLaunch, Shape, StreamOp, add_enqueued, add_failed_call, add_if_successful,
    add_poll, add_work, called_function, next_kernel_number, stream_used, watched_context,
};
use crate::kernel_info::kernel_info;
use crate::result::set_detail;
use crate::types::{
    CUDA_ERROR_NOT_READY, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUcontext, CUevent, CUfunction,
    CUlaunchConfig, CUstream,
};
use crate::watch::{kernel_name, kernel_number};

/// The number of first kernels of a watch about whose properties the driver is queried.
const MAX_KERNELS_WITH_INFO: usize = 8;

/// Adds work on the NULL stream, and the host's wait for it.
pub(crate) fn add_blocking_work(code: u32, work: Enqueued) {
    add_enqueued(code, std::ptr::null_mut(), work);
    let stream = stream_used(std::ptr::null_mut()) as u64;
    add_if_successful(code, |call| DriverCall::Waited { stream: Some(stream), call });
}

/// Adds a wait for a stream, or a query that found it busy.
pub(crate) fn add_stream_wait(code: u32, stream: CUstream) {
    let stream = stream_used(stream) as u64;
    add_wait_or_poll(code, stream, Some(stream));
}

/// Adds the destruction of a stream.
pub(crate) fn add_stream_destruction(code: u32, stream: CUstream) {
    add_if_successful(code, |_| DriverCall::Destroyed(stream as u64));
}

/// Adds a wait for an event, or a query that found its work unfinished. The stream of the event is not known.
pub(crate) fn add_event_wait(code: u32, event: CUevent) {
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
pub(crate) fn explain_capture_isolation(code: u32) {
    if code == CUDA_ERROR_STREAM_CAPTURE_ISOLATION {
        let hint = "an event of before the capture: cudarc waits for those of other streams unless \
                    `disable_event_tracking` was called on the context before it allocated; that of the given stream has it off";
        set_detail(Some(hint.to_owned()));
    }
}

/// Adds a wait for work on any stream.
pub(crate) fn add_unspecific_wait(code: u32) {
    add_if_successful(code, |call| DriverCall::Waited { stream: None, call });
}

/// Adds a switch to `context`, unless it was current when the watch began.
pub(crate) fn add_context_switch(code: u32, context: CUcontext) {
    if watched_context().is_some_and(|own| own != context as usize) {
        add_if_successful(code, DriverCall::SwitchedContext);
    }
}

/// Adds a kernel launch: to the watch with the kernel's name, and for the first kernels with its properties.
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
    let shape = || Shape { function: kernel_number(function), grid, block, dynamic_shared };
    let launch = |captured: bool| {
        let asks = !captured && next_kernel_number() < MAX_KERNELS_WITH_INFO;
        // SAFETY: the function exists.
        let info = asks.then(|| unsafe { kernel_info(function, block, dynamic_shared) }).flatten();
        Enqueued::Kernel(KernelLaunch { shape: shape(), name: kernel_name(function), info })
    };
    add_work(code, stream, || Some(StreamOp::Kernel(shape())), launch);
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
        return add_failed_call(code);
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
