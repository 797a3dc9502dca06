//! Questions to the driver about a watched call: the facts about a kernel, whether a stream is captured, and
//! the current context.

#![expect(unsafe_code, reason = "calls the driver")]

use std::ffi::{c_int, c_uint};

use crate::library::unrecorded;
use crate::types::{CUcontext, CUfunction, CUkernel, CUstream};

/// Properties of a kernel with its launch configuration, according to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// Registers per thread.
    pub registers: u32,
    /// Local memory per thread, in bytes.
    pub local: u32,
    /// The static shared memory of a block, in bytes.
    pub static_shared: u32,
    /// The number of blocks of this size that are resident on a multiprocessor at once.
    pub resident_blocks: u32,
}

/// `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`
const ATTRIBUTE_STATIC_SHARED: c_int = 1;
/// `CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES`
const ATTRIBUTE_LOCAL: c_int = 3;
/// `CU_FUNC_ATTRIBUTE_NUM_REGS`
const ATTRIBUTE_REGISTERS: c_int = 4;

/// Queries the driver about a kernel with this block size and dynamic shared memory in bytes. `None` if a
/// query fails.
///
/// # Safety
/// The function must exist.
pub(crate) unsafe fn kernel_info(
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

/// Returns the function of a library's kernel in the current context; `None` if the handle is not a kernel's.
///
/// # Safety
/// The kernel exists, or the handle is that of a function.
unsafe fn kernel_function(kernel: CUkernel) -> Option<CUfunction> {
    let get = unrecorded!(cuKernelGetFunction(*mut CUfunction, CUkernel))?;
    let mut function = std::ptr::null_mut();
    // SAFETY: the caller's contract; `function` is a place for a handle.
    (unsafe { get(&raw mut function, kernel) } == 0).then_some(function)
}

/// `CU_STREAM_CAPTURE_STATUS_NONE`
const CAPTURE_STATUS_NONE: c_int = 0;

/// Returns true if the stream is captured, so that enqueued work becomes part of a graph. Returns false if
/// the driver cannot tell.
pub(crate) fn is_capturing(stream: CUstream) -> bool {
    let Some(function) = unrecorded!(cuStreamIsCapturing(CUstream, *mut c_int)) else { return false };
    let mut status = CAPTURE_STATUS_NONE;
    // SAFETY: work was just put on the stream, and `status` is a place for an int.
    (unsafe { function(stream, &raw mut status) }) == 0 && status != CAPTURE_STATUS_NONE
}

/// Returns the handle of the current context of this thread; 0 if there is none.
pub(crate) fn current_context() -> usize {
    let Some(function) = unrecorded!(cuCtxGetCurrent(*mut CUcontext)) else { return 0 };
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is a place for a handle.
    if (unsafe { function(&raw mut context) }) == 0 { context as usize } else { 0 }
}
