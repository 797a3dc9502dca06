//! The work that a thread enqueues while it is watched. In: the calls that enqueue or wait. Out: each call in
//! order, with its stream and capture state; for kernels also the launch configuration and the driver's facts
//! about them. While nobody watches, a call costs one read of a thread-local variable.

#![expect(unsafe_code, reason = "calls the driver, and takes the arguments of C functions")]

use std::cell::RefCell;
use std::ffi::{c_int, c_uint};

use crate::result::set_detail;
use crate::sys::{
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUevent, CUfunction, CUkernel, CUlaunchConfig, CUstream,
};

use crate::capture::is_capturing;
use crate::entry::EntryPoint;
use crate::library::Function;
use crate::watch::kernel_name;

/// A call that a thread made to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamCall {
    /// It enqueued work on a stream.
    Enqueued {
        /// The stream's handle; 0 is the NULL stream.
        stream: u64,
        /// True if the stream was being captured: the work becomes part of a graph and is not executed.
        captured: bool,
        /// The work.
        work: Enqueued,
    },
    /// It waited for a stream; `None` if that may be any stream.
    Waited(Option<u64>),
    /// It destroyed a stream, whose work goes on.
    Destroyed(u64),
}

/// Work on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// A kernel.
    Kernel(KernelLaunch),
    /// A copy between any kinds of memory.
    Copy,
    /// A copy to the host, or to an array.
    CopyOut,
    /// A memset.
    Memset,
    /// A function of the host.
    HostFunction,
    /// A graph that was instantiated before.
    Graph,
}

/// A kernel and its launch configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLaunch {
    /// Its name in the module, if it was looked up in this process.
    pub name: Option<String>,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// The driver's facts about it; only for the first kernels, and only if the driver reports them.
    pub facts: Option<KernelFacts>,
}

/// The driver's facts about a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelFacts {
    /// Registers per thread.
    pub registers: u32,
    /// Local memory per thread, in bytes.
    pub local: u32,
    /// The static shared memory of a block, in bytes.
    pub static_shared: u32,
    /// The number of these blocks that a multiprocessor holds at once.
    pub resident_blocks: u32,
}

/// The number of kernels of a watch that the driver is asked about.
const ASKED: usize = 8;
/// `CU_FUNC_ATTRIBUTE_…`
const STATIC_SHARED: c_int = 1;
const LOCAL: c_int = 3;
const REGISTERS: c_int = 4;

/// The handle of the calling thread's own default stream, `CU_STREAM_PER_THREAD`.
const PER_THREAD: CUstream = std::ptr::without_provenance_mut(2);

thread_local! {
    static STEPS: RefCell<Option<Vec<StreamCall>>> = const { RefCell::new(None) };
}

/// Runs `body`. Returns the calls in it that enqueued work or waited, as far as they went through this crate
/// on this thread.
pub fn watch<T>(body: impl FnOnce() -> T) -> (T, Vec<StreamCall>) {
    /// Ends the watch even if `body` panics.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            STEPS.set(None);
        }
    }

    STEPS.set(Some(Vec::new()));
    let _ends = Ends;
    let done = body();
    (done, STEPS.take().unwrap_or_default())
}

/// Adds the step of a successful call, if somebody watches.
fn add(code: u32, step: impl FnOnce(&[StreamCall]) -> StreamCall) {
    // The variable no longer exists in a thread that is ending.
    _ = STEPS.try_with(|steps| {
        if let (0, Some(steps)) = (code, &mut *steps.borrow_mut()) {
            let step = step(steps);
            steps.push(step);
        }
    });
}

fn enqueued(code: u32, stream: CUstream, work: Enqueued) {
    add(code, |_| StreamCall::Enqueued { stream: stream as u64, captured: is_capturing(stream), work });
}

pub(crate) unsafe fn copied(code: u32, stream: CUstream) {
    enqueued(code, stream, Enqueued::Copy);
}

pub(crate) unsafe fn copied_out(code: u32, stream: CUstream) {
    enqueued(code, stream, Enqueued::CopyOut);
}

pub(crate) unsafe fn set(code: u32, stream: CUstream) {
    enqueued(code, stream, Enqueued::Memset);
}

pub(crate) unsafe fn called_back(code: u32, stream: CUstream) {
    enqueued(code, stream, Enqueued::HostFunction);
}

pub(crate) unsafe fn graph_launched(code: u32, stream: CUstream) {
    enqueued(code, stream, Enqueued::Graph);
}

/// Records a copy on the NULL stream that the host waits for.
pub(crate) unsafe fn copied_now(code: u32) {
    waited_for(code, std::ptr::null_mut(), Enqueued::Copy);
}

/// Records a copy on the NULL stream to the host or to an array, which the host waits for.
pub(crate) unsafe fn copied_out_now(code: u32) {
    waited_for(code, std::ptr::null_mut(), Enqueued::CopyOut);
}

/// Records the same on the thread's own default stream.
pub(crate) unsafe fn copied_now_per_thread(code: u32) {
    waited_for(code, PER_THREAD, Enqueued::Copy);
}

/// Records the same on the thread's own default stream.
pub(crate) unsafe fn copied_out_now_per_thread(code: u32) {
    waited_for(code, PER_THREAD, Enqueued::CopyOut);
}

/// Records work that the host waits for.
fn waited_for(code: u32, stream: CUstream, work: Enqueued) {
    enqueued(code, stream, work);
    add(code, |_| StreamCall::Waited(Some(stream as u64)));
}

/// Returns the stream that a function means which takes NULL for the thread's own default stream.
pub(crate) fn per_thread(stream: CUstream) -> CUstream {
    if stream.is_null() { PER_THREAD } else { stream }
}

pub(crate) unsafe fn waited_for_stream(code: u32, stream: CUstream) {
    add(code, |_| StreamCall::Waited(Some(stream as u64)));
}

pub(crate) unsafe fn destroyed(code: u32, stream: CUstream) {
    add(code, |_| StreamCall::Destroyed(stream as u64));
}

/// Records a wait for an event. The stream that the event was recorded on is not followed.
pub(crate) unsafe fn waited_for_event(code: u32, _: CUevent) {
    add(code, |_| StreamCall::Waited(None));
}

/// Explains why a captured stream may not wait for an event.
pub(crate) unsafe fn made_to_wait(code: u32) {
    if code == CUDA_ERROR_STREAM_CAPTURE_ISOLATION {
        let hint = "an event of before the capture: cudarc waits for those of other streams unless \
                    `disable_event_tracking` was called on the context before it allocated; that of the given stream has it off";
        set_detail(Some(hint.to_owned()));
    }
}

pub(crate) unsafe fn waited(code: u32) {
    add(code, |_| StreamCall::Waited(None));
}

/// # Safety
/// The function has just been launched.
pub(crate) unsafe fn kernel_launched(
    code: u32,
    function: CUfunction,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared: c_uint,
    stream: CUstream,
) {
    add(code, |steps| {
        let captured = is_capturing(stream);
        let asks = !captured && steps.len() < ASKED;
        // SAFETY: the function exists.
        let facts = asks.then(|| unsafe { facts(function, block, dynamic_shared) }).flatten();
        let kernel = KernelLaunch { name: kernel_name(function), grid, block, dynamic_shared, facts };
        StreamCall::Enqueued { stream: stream as u64, captured, work: Enqueued::Kernel(kernel) }
    });
}

/// # Safety
/// The arguments are those of `cuLaunchKernelEx`, which has returned `code`.
pub(crate) unsafe fn kernel_launched_by(code: u32, config: *const CUlaunchConfig, function: CUfunction) {
    // SAFETY: the same contract.
    unsafe { launched_by(code, config, function, |stream| stream) };
}

/// # Safety
/// The arguments are those of `cuLaunchKernelEx_ptsz`, which has returned `code`.
pub(crate) unsafe fn kernel_launched_by_per_thread(
    code: u32,
    config: *const CUlaunchConfig,
    function: CUfunction,
) {
    // SAFETY: the same contract.
    unsafe { launched_by(code, config, function, per_thread) };
}

/// # Safety
/// A kernel was launched with these arguments, with this result.
unsafe fn launched_by(
    code: u32,
    config: *const CUlaunchConfig,
    function: CUfunction,
    meant: impl FnOnce(CUstream) -> CUstream,
) {
    if code != 0 {
        return;
    }
    // SAFETY: the driver has just read it.
    let config = unsafe { &*config };
    let grid = [config.gridDimX, config.gridDimY, config.gridDimZ];
    let block = [config.blockDimX, config.blockDimY, config.blockDimZ];
    // SAFETY: the function has just been launched.
    unsafe { kernel_launched(code, function, grid, block, config.sharedMemBytes, meant(config.hStream)) };
}

/// Returns the driver's facts about a kernel with this launch configuration.
///
/// # Safety
/// The function must exist.
unsafe fn facts(function: CUfunction, block: [c_uint; 3], dynamic_shared: c_uint) -> Option<KernelFacts> {
    type GetAttribute = unsafe extern "C" fn(*mut c_int, c_int, CUfunction) -> u32;
    type Occupancy = unsafe extern "C" fn(*mut c_int, CUfunction, c_int, usize) -> u32;
    static ATTRIBUTE: EntryPoint = EntryPoint::new("cuFuncGetAttribute");
    static OCCUPANCY: EntryPoint = EntryPoint::new("cuOccupancyMaxActiveBlocksPerMultiprocessor");

    let (attribute, occupancy) = (ATTRIBUTE.function()?, OCCUPANCY.function()?);
    // SAFETY: these are the C types of the functions of these names; enums are ints.
    let (attribute, occupancy) = unsafe {
        (
            std::mem::transmute::<Function, GetAttribute>(attribute),
            std::mem::transmute::<Function, Occupancy>(occupancy),
        )
    };
    let of = |function, which| {
        let mut value = 0;
        // SAFETY: the function exists, and `value` is a place for an int.
        let code = unsafe { attribute(&raw mut value, which, function) };
        u32::try_from(value).ok().filter(|_| code == 0)
    };
    // A launch takes the handle of a library's kernel, which has no attributes. cuBLAS launches so.
    let function = match of(function, REGISTERS) {
        Some(_) => function,
        // SAFETY: the driver refuses a handle of another kind.
        None => unsafe { function_of(function.cast()) }?,
    };
    let get = |which| of(function, which);
    let threads = c_int::try_from(block.iter().map(|size| u64::from(*size)).product::<u64>()).ok()?;
    let mut resident = 0;
    // SAFETY: as above.
    let code = unsafe { occupancy(&raw mut resident, function, threads, dynamic_shared as usize) };
    Some(KernelFacts {
        registers: get(REGISTERS)?,
        local: get(LOCAL)?,
        static_shared: get(STATIC_SHARED)?,
        resident_blocks: u32::try_from(resident).ok().filter(|_| code == 0)?,
    })
}

/// Returns the function of a library's kernel in the current context.
///
/// # Safety
/// The kernel exists, or the handle is that of a function.
unsafe fn function_of(kernel: CUkernel) -> Option<CUfunction> {
    type GetFunction = unsafe extern "C" fn(*mut CUfunction, CUkernel) -> u32;
    static ENTRY: EntryPoint = EntryPoint::new("cuKernelGetFunction");

    // SAFETY: this is the C type of the function of that name.
    let get = unsafe { std::mem::transmute::<Function, GetFunction>(ENTRY.function()?) };
    let mut function = std::ptr::null_mut();
    // SAFETY: the caller's contract; `function` is a place for a handle.
    (unsafe { get(&raw mut function, kernel) } == 0).then_some(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(handle: usize) -> CUstream {
        std::ptr::without_provenance_mut(handle)
    }

    /// Without a driver, nothing is captured and no kernel is known.
    #[test]
    fn steps_are_told_in_order_to_who_watches() {
        // SAFETY: without a driver no handle is followed.
        let ((), steps) = watch(|| unsafe {
            set(0, stream(7));
            copied_out_now(0);
            copied(999, stream(7));
            waited_for_stream(0, stream(7));
            destroyed(0, stream(7));
        });
        let on = |stream, work| StreamCall::Enqueued { stream, captured: false, work };
        assert_eq!(
            steps,
            [
                on(7, Enqueued::Memset),
                on(0, Enqueued::CopyOut),
                StreamCall::Waited(Some(0)),
                StreamCall::Waited(Some(7)),
                StreamCall::Destroyed(7)
            ]
        );
        // SAFETY: as above.
        unsafe { set(0, stream(7)) };
        assert_eq!(watch(|| ()).1, []);
    }

    #[test]
    fn a_panic_ends_the_watch() {
        let panicked = std::panic::catch_unwind(|| watch(|| panic!("as asked")));
        assert!(panicked.is_err());
        assert!(STEPS.with_borrow(Option::is_none));
    }
}
