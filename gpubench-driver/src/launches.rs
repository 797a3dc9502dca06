//! Functions that the forwarders in `table` call after a driver function that enqueues, waits, loads code or
//! switches the context. Each gets the driver's result and arguments. It adds a [`DriverCall`] to the watch
//! and a [`StreamOp`](crate::StreamOp) to the collected operations, if there are any.

#![expect(unsafe_code, reason = "calls the driver, and takes the arguments of C functions")]

use std::ffi::{c_int, c_uint, c_void};

use crate::calls::{
    DriverCall, Enqueued, KernelInfo, KernelLaunch, Shape, StreamOp, add_enqueued, add_failed_call,
    add_if_successful, add_poll, add_work, next_kernel_number, stream_used, watched_context,
};
use crate::library::unrecorded;
use crate::modules::{kernel_name, kernel_number};
use crate::result::{called_function, set_detail};
use crate::types::{
    CUDA_ERROR_NOT_READY, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUcontext, CUevent, CUfunction, CUkernel,
    CUlaunchConfig, CUstream,
};

/// The number of kernels, from the first of a watch on, for whose properties the driver is queried. Later
/// kernels have no properties.
const MAX_KERNELS_WITH_INFO: usize = 8;

/// Adds work on the NULL stream to the watch and to the collected operations, and to the watch also the
/// host's wait for that work. If the call failed, adds a failed call instead.
pub(crate) fn add_blocking_work(code: u32, work: Enqueued) {
    add_enqueued(code, std::ptr::null_mut(), work);
    add_if_successful(code, DriverCall::Waited);
}

/// Adds a query to the watch if `code` is `CUDA_ERROR_NOT_READY`, and a wait if `code` is 0. Adds nothing if
/// the call failed. `about` is the handle of the stream or event.
pub(crate) fn add_wait_or_poll(code: u32, about: *mut c_void) {
    if code == CUDA_ERROR_NOT_READY {
        return add_poll(called_function(), about as u64);
    }
    add_if_successful(code, DriverCall::Waited);
}

/// Adds a wait of `stream` for `event` to the watch, unless the call failed. `event` is null if the stream waits
/// for a value in memory or for an external semaphore.
///
/// Sets advice as the detail of the failure if `code` is `CUDA_ERROR_STREAM_CAPTURE_ISOLATION`: a captured
/// stream cannot wait for an event that was recorded before the capture.
pub(crate) fn add_stream_wait(code: u32, stream: CUstream, event: CUevent) {
    let (stream, event) = (stream_used(stream) as u64, (!event.is_null()).then_some(event as u64));
    add_if_successful(code, |_| DriverCall::StreamWaits { stream, event });
    if code == CUDA_ERROR_STREAM_CAPTURE_ISOLATION {
        let hint = "an event of before the capture: cudarc waits for those of other streams unless \
                    `disable_event_tracking` was called on the context before it allocated; that of the given stream has it off";
        set_detail(Some(hint.to_owned()));
    }
}

/// Adds a switch to `context` to the watch of this thread. Adds nothing if `context` was current when the
/// watch began, or if the call failed.
pub(crate) fn add_context_switch(code: u32, context: CUcontext) {
    if watched_context().is_some_and(|own| own != context as usize) {
        add_if_successful(code, DriverCall::SwitchedContext);
    }
}

/// Adds a kernel launch to the watch and to the collected operations. In the watch it has the kernel's name,
/// and for the first kernels the kernel's properties. If `code` is not 0, adds a failed call instead.
///
/// # Safety
/// The function exists.
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

/// Does the same as [`add_kernel_launch`], for a launch by `cuLaunchKernelEx`, which gets its configuration
/// by a pointer.
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

/// `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`: the attribute with the static shared memory of a block, in bytes.
const ATTRIBUTE_STATIC_SHARED: c_int = 1;
/// `CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES`: the attribute with the local memory of a thread, in bytes.
const ATTRIBUTE_LOCAL: c_int = 3;
/// `CU_FUNC_ATTRIBUTE_NUM_REGS`: the attribute with the registers of a thread.
const ATTRIBUTE_REGISTERS: c_int = 4;

/// Queries the driver for the properties of a kernel with this block size and this dynamic shared memory in
/// bytes. `None` if a query fails.
///
/// # Safety
/// `function` is the handle of a function, or of a library's kernel.
unsafe fn kernel_info(
    function: CUfunction,
    block: [c_uint; 3],
    dynamic_shared: c_uint,
) -> Option<KernelInfo> {
    let attribute = unrecorded!(cuFuncGetAttribute(*mut c_int, c_int, CUfunction))?;
    let occupancy =
        unrecorded!(cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize))?;
    let of = |function, which| {
        let mut value = 0;
        // SAFETY: the function exists, and `value` is a place for an int.
        let code = unsafe { attribute(&raw mut value, which, function) };
        u32::try_from(value).ok().filter(|_| code == 0)
    };
    // A launch takes the handle of a library's kernel, which has no attributes. cuBLAS launches so.
    let function = match of(function, ATTRIBUTE_REGISTERS) {
        Some(_) => function,
        // SAFETY: the driver refuses a handle of another kind.
        None => unsafe { kernel_function(function.cast()) }?,
    };
    let get = |which| of(function, which);
    let threads = c_int::try_from(block.iter().map(|size| u64::from(*size)).product::<u64>()).ok()?;
    let mut resident = 0;
    // SAFETY: as above.
    let code = unsafe { occupancy(&raw mut resident, function, threads, dynamic_shared as usize) };
    Some(KernelInfo {
        registers: get(ATTRIBUTE_REGISTERS)?,
        local: get(ATTRIBUTE_LOCAL)?,
        static_shared: get(ATTRIBUTE_STATIC_SHARED)?,
        resident_blocks: u32::try_from(resident).ok().filter(|_| code == 0)?,
    })
}

/// Returns the function of a library's kernel in the current context; `None` if the driver returns an error,
/// as it does for the handle of a function.
///
/// # Safety
/// `kernel` is the handle of a library's kernel, or of a function.
unsafe fn kernel_function(kernel: CUkernel) -> Option<CUfunction> {
    let get = unrecorded!(cuKernelGetFunction(*mut CUfunction, CUkernel))?;
    let mut function = std::ptr::null_mut();
    // SAFETY: the caller's contract; `function` is a place for a handle.
    (unsafe { get(&raw mut function, kernel) } == 0).then_some(function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::serialize_tests;
    use crate::{stream_ops, watch as watched};

    fn stream(handle: usize) -> CUstream {
        std::ptr::without_provenance_mut(handle)
    }

    /// Without a driver, nothing is captured and no kernel is known.
    #[test]
    fn calls_are_told_in_order_to_who_watches() {
        let _alone = serialize_tests();
        let ((), calls) = watched(|| {
            add_enqueued(0, stream(7), Enqueued::Memset(64));
            add_blocking_work(0, Enqueued::CopyOut(0));
            add_enqueued(999, stream(7), Enqueued::Copy(8));
            add_wait_or_poll(0, stream(7).cast());
            add_wait_or_poll(600, stream(7).cast());
            add_wait_or_poll(600, stream(7).cast());
            add_if_successful(0, |_| DriverCall::Recorded { event: 3, stream: 7 });
            add_stream_wait(0, stream(8), stream(3).cast());
            add_stream_wait(905, stream(7), stream(3).cast());
            add_stream_wait(0, stream(9), std::ptr::null_mut());
            add_if_successful(0, |_| DriverCall::Destroyed(7));
            add_if_successful(0, DriverCall::Allocated);
            add_context_switch(0, std::ptr::null_mut());
        });
        let call = called_function();
        let on = |stream, work| DriverCall::Enqueued { stream, captured: false, work };
        assert_eq!(
            calls,
            [
                on(7, Enqueued::Memset(64)),
                on(0, Enqueued::CopyOut(0)),
                DriverCall::Waited(call),
                DriverCall::Failed { call, code: 999 },
                DriverCall::Waited(call),
                DriverCall::Polled { call, about: 7, times: 2 },
                DriverCall::Recorded { event: 3, stream: 7 },
                DriverCall::StreamWaits { stream: 8, event: Some(3) },
                DriverCall::StreamWaits { stream: 9, event: None },
                DriverCall::Destroyed(7),
                DriverCall::Allocated(call),
            ]
        );
        add_enqueued(0, stream(7), Enqueued::Memset(64));
        assert_eq!(watched(|| ()).1, []);
    }

    #[test]
    fn pieces_are_the_work_and_its_first_failure() {
        let _alone = serialize_tests();
        // SAFETY: without a driver no handle is followed.
        let ((), found) = stream_ops(|| unsafe {
            add_kernel_launch(0, stream(5).cast(), [1, 2, 3], [32, 1, 1], 16, stream(7));
            add_enqueued(0, stream(7), Enqueued::Copy(4096));
            add_enqueued(0, stream(7), Enqueued::Allocation);
            add_kernel_launch(1, stream(5).cast(), [1; 3], [2048, 1, 1], 0, stream(7));
            add_enqueued(2, stream(7), Enqueued::Memset(1));
        });
        let kernel =
            StreamOp::Kernel(Shape { function: 5, grid: [1, 2, 3], block: [32, 1, 1], dynamic_shared: 16 });
        assert_eq!(found.work, [(7, kernel), (7, StreamOp::Copy(4096))]);
        assert_eq!(found.failed, Some((called_function(), 1)));
    }

    #[test]
    fn calls_of_other_threads_are_told_too() {
        let _alone = serialize_tests();
        let ((), calls) = watched(|| {
            let other = std::thread::spawn(|| {
                add_enqueued(0, stream(9), Enqueued::Memset(64));
            });
            other.join().expect("it ends");
        });
        let call = DriverCall::Enqueued { stream: 9, captured: false, work: Enqueued::Memset(64) };
        assert!(calls.contains(&call), "{calls:?}");
    }

    #[test]
    fn a_panic_ends_the_watch() {
        let _alone = serialize_tests();
        let panicked = std::panic::catch_unwind(|| watched(|| panic!("as asked")));
        assert!(panicked.is_err() && watched_context().is_none());
    }
}
