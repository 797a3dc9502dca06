//! The driver calls of a launch while it is watched: each call in order, or only the operations by which two
//! launches are compared. While nothing watches, a call costs two reads of a variable.

#![expect(unsafe_code, reason = "calls the driver")]

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::library::unrecorded;
use crate::result::called_function;
use crate::types::{CU_STREAM_CAPTURE_STATUS_NONE, CUcontext, CUstream, CUstreamCaptureStatus};

/// A call to the driver, as [`watch`] reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverCall {
    /// The call enqueued work on a stream.
    Enqueued {
        /// The stream's handle; 0 is the NULL stream.
        stream: u64,
        /// True if the stream was being captured: the work becomes part of a graph and is not executed.
        captured: bool,
        /// The work.
        work: Enqueued,
    },
    /// The call recorded an event on a stream.
    Recorded {
        /// The handle of the event.
        event: u64,
        /// The stream's handle.
        stream: u64,
    },
    /// The call makes later work of a stream wait.
    StreamWaits {
        /// The stream's handle.
        stream: u64,
        /// The handle of the event for which the stream waits; `None` if it waits for a value in memory or for
        /// an external semaphore.
        event: Option<u64>,
    },
    /// The call, with this C name, waited for work, or queried work and found it done.
    Waited(&'static str),
    /// Successive calls queried work that was not done.
    Polled {
        /// The C name of the function.
        call: &'static str,
        /// The handle of the stream or event that was queried.
        about: u64,
        /// The number of successive queries.
        times: usize,
    },
    /// The call destroyed the stream with this handle. Work on the stream goes on.
    Destroyed(u64),
    /// The call, with this C name, allocated or freed memory outside of any stream. The driver may wait for
    /// the device.
    Allocated(&'static str),
    /// The call, with this C name, loaded or unloaded code.
    Loaded(&'static str),
    /// The call, with this C name, made a context current that was not current when the watch began.
    SwitchedContext(&'static str),
    /// The call failed to enqueue work.
    Failed {
        /// The C name of the function.
        call: &'static str,
        /// The driver's code.
        code: u32,
    },
}

/// The work that a call enqueued on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// A kernel.
    Kernel(KernelLaunch),
    /// A copy of this many bytes to device memory; 0 if the forwarder does not read the number.
    Copy(u64),
    /// A copy of this many bytes that goes, or may go, to the host or to an array; 0 if the forwarder does
    /// not read the number.
    CopyOut(u64),
    /// A memset of this many bytes; 0 if the forwarder does not read the number.
    Memset(u64),
    /// A function of the host.
    HostFunction,
    /// The launch of an executable graph.
    Graph {
        /// True if all nodes of the graph are known and none writes anything but device memory. Always false
        /// on a thread that is not watched.
        writes_memory_alone: bool,
    },
    /// Memory that is allocated or freed in the order of the stream.
    Allocation,
}

/// A kernel's function and launch configuration: equal for launches of one kernel with equal grids, blocks
/// and shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// A hash of the name by which the function was looked up; the function's handle if it was not looked up
    /// by name.
    pub function: u64,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
}

/// A launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLaunch {
    /// The kernel's function and launch configuration.
    pub shape: Shape,
    /// The kernel's name in its module, if it was looked up in this process.
    pub name: Option<String>,
    /// The kernel's properties according to the driver. `None` after the first kernels of a watch, in a
    /// captured stream, or if the driver does not report them.
    pub info: Option<KernelInfo>,
}

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

/// An operation on a stream, without handles and addresses. Two launches that enqueue equal operations do the
/// same work, though perhaps on other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOp {
    /// A kernel.
    Kernel(Shape),
    /// A copy of this many bytes, in any direction; 0 if the forwarder does not read the number.
    Copy(u64),
    /// A memset of this many bytes; 0 if the forwarder does not read the number.
    Memset(u64),
    /// A function of the host.
    HostFunction,
    /// A graph.
    Graph,
}

/// The operations that a launch enqueued, and its first failed call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamOps {
    /// The operations in the order in which they were enqueued, each with the handle of its stream.
    pub work: Vec<(u64, StreamOp)>,
    /// The C name and the result code of the first call that failed to enqueue work; `None` if none failed.
    pub failed: Option<(&'static str, u32)>,
}

impl Enqueued {
    /// Returns this work as an operation; `None` for allocations, which are no operations.
    pub fn stream_op(&self) -> Option<StreamOp> {
        Some(match self {
            Self::Kernel(kernel) => StreamOp::Kernel(kernel.shape),
            Self::Copy(bytes) | Self::CopyOut(bytes) => StreamOp::Copy(*bytes),
            Self::Memset(bytes) => StreamOp::Memset(*bytes),
            Self::HostFunction => StreamOp::HostFunction,
            Self::Graph { .. } => StreamOp::Graph,
            Self::Allocation => return None,
        })
    }
}

thread_local! {
    /// The handle of the context that was current when this thread's watch began; `None` if this thread does
    /// not watch.
    static WATCHED_CONTEXT: Cell<Option<usize>> = const { Cell::new(None) };
    /// The operations that this thread collects for [`stream_ops`]; `None` if it collects none.
    static STREAM_OPS: RefCell<Option<StreamOps>> = const { RefCell::new(None) };
}

/// The calls that all threads made during the current watch. A launch function may let other threads enqueue
/// its work.
static CALLS: Mutex<Vec<DriverCall>> = Mutex::new(Vec::new());
/// True while [`watch`] runs on some thread.
static IS_WATCHING: AtomicBool = AtomicBool::new(false);
/// The number of kernels that were launched during the current watch.
static WATCHED_KERNELS: AtomicUsize = AtomicUsize::new(0);

/// Calls a function when it is dropped, also if a panic drops it.
struct OnDrop(fn());

impl Drop for OnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs `body`. Returns its result and the driver calls of all threads that went through this crate
/// meanwhile, in their order. Only one thread may watch at a time.
pub fn watch<T>(body: impl FnOnce() -> T) -> (T, Vec<DriverCall>) {
    WATCHED_CONTEXT.set(Some(current_context()));
    lock(&CALLS).clear();
    WATCHED_KERNELS.store(0, Ordering::Relaxed);
    IS_WATCHING.store(true, Ordering::Relaxed);
    let _guard = OnDrop(|| {
        WATCHED_CONTEXT.set(None);
        IS_WATCHING.store(false, Ordering::Relaxed);
    });
    let done = body();
    (done, std::mem::take(&mut lock(&CALLS)))
}

/// Runs `body`. Returns its result and the operations that this thread enqueued meanwhile through this crate;
/// those of other threads are missing. Costs about 10 ns per call, less than [`watch`], which queries the
/// driver about each call.
pub fn stream_ops<T>(body: impl FnOnce() -> T) -> (T, StreamOps) {
    STREAM_OPS.set(Some(StreamOps::default()));
    let _guard = OnDrop(|| STREAM_OPS.set(None));
    let done = body();
    (done, STREAM_OPS.take().unwrap_or_default())
}

/// Adds a call to the watch. Does nothing, and does not run `call`, if no thread watches.
fn add_call(call: impl FnOnce() -> DriverCall) {
    if IS_WATCHING.load(Ordering::Relaxed) {
        let call = call();
        lock(&CALLS).push(call);
    }
}

/// Adds a query of unfinished work to the watch of this thread; does nothing if this thread is not watched.
/// If the last call in the watch was a query of the same handle, only raises the count of that query. `about`
/// is the handle of the queried stream or event.
pub(crate) fn add_poll(call: &'static str, about: u64) {
    let Some(_) = watched_context() else { return };
    let mut calls = lock(&CALLS);
    match calls.last_mut() {
        Some(DriverCall::Polled { about: last, times, .. }) if *last == about => *times += 1,
        _ => calls.push(DriverCall::Polled { call, about, times: 1 }),
    }
}

/// Locks a mutex, also after a panic of a thread that had it locked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `add` on the operations that this thread collects; does nothing unless [`stream_ops`] runs on this
/// thread.
fn with_stream_ops(add: impl FnOnce(&mut StreamOps)) {
    _ = STREAM_OPS.try_with(|ops| ops.borrow_mut().as_mut().map(add));
}

/// Adds the last driver call of this thread, which failed to enqueue work with the result `code`, to the
/// watch. Stores it in the collected operations too if no failure is stored there yet.
pub(crate) fn add_failed_call(code: u32) {
    let call = called_function();
    add_call(|| DriverCall::Failed { call, code });
    with_stream_ops(|ops| ops.failed = ops.failed.or(Some((call, code))));
}

/// Adds a call to the watch if its result `code` is 0. `call` gets the C name of the function.
pub(crate) fn add_if_successful(code: u32, call: impl FnOnce(&'static str) -> DriverCall) {
    if code == 0 {
        add_call(|| call(called_function()));
    }
}

/// `CU_STREAM_PER_THREAD`: the handle of the calling thread's default stream.
pub(crate) const PER_THREAD_STREAM: CUstream = std::ptr::without_provenance_mut(2);

/// Returns the stream that the last call used, given its argument `stream`. That is [`PER_THREAD_STREAM`] if
/// `stream` is null and the name of the called function ends in `_ptsz` or `_ptds`; otherwise it is `stream`.
pub(crate) fn stream_used(stream: CUstream) -> CUstream {
    let is_per_thread = || called_function().ends_with("_ptsz") || called_function().ends_with("_ptds");
    if stream.is_null() && is_per_thread() { PER_THREAD_STREAM } else { stream }
}

/// Adds work on a stream to the watch and to the collected operations. If the result `code` is not 0, adds a
/// failed call instead.
pub(crate) fn add_enqueued(code: u32, stream: CUstream, work: Enqueued) {
    let op = work.stream_op();
    add_work(code, stream, || op, |_| work);
}

/// Does the same as [`add_enqueued`], for work that is expensive to describe. Runs `op` only if this thread
/// collects operations, and `work` only if a thread watches. `work` gets true if the stream is being
/// captured.
pub(crate) fn add_work(
    code: u32,
    stream: CUstream,
    op: impl FnOnce() -> Option<StreamOp>,
    work: impl FnOnce(bool) -> Enqueued,
) {
    if code != 0 {
        return add_failed_call(code);
    }
    let used = stream_used(stream);
    let stream = used as u64;
    with_stream_ops(|ops| ops.work.extend(op().map(|op| (stream, op))));
    add_call(|| {
        let captured = is_capturing(used);
        DriverCall::Enqueued { stream, captured, work: work(captured) }
    });
}

/// Returns true if the stream is captured, so that enqueued work becomes part of a graph. Returns false if
/// the driver cannot be asked.
pub(crate) fn is_capturing(stream: CUstream) -> bool {
    let Some(function) = unrecorded!(cuStreamIsCapturing(CUstream, *mut CUstreamCaptureStatus)) else {
        return false;
    };
    let mut status = CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: work was just put on the stream, and `status` is a place for an int.
    (unsafe { function(stream, &raw mut status) }) == 0 && status != CU_STREAM_CAPTURE_STATUS_NONE
}

/// Returns the handle of the current context of this thread; 0 if there is none, or if the driver cannot be
/// asked.
fn current_context() -> usize {
    let Some(function) = unrecorded!(cuCtxGetCurrent(*mut CUcontext)) else { return 0 };
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is a place for a handle.
    if (unsafe { function(&raw mut context) }) == 0 { context as usize } else { 0 }
}

/// Counts one more kernel of the current watch. Returns the count before it, so that the first kernel gets 0.
pub(crate) fn next_kernel_number() -> usize {
    WATCHED_KERNELS.fetch_add(1, Ordering::Relaxed)
}

/// Returns the handle of the context that was current when this thread's watch began; `None` if this thread
/// is not watched.
pub(crate) fn watched_context() -> Option<usize> {
    // The variable no longer exists in a thread that is ending.
    WATCHED_CONTEXT.try_with(Cell::get).ok().flatten()
}

/// Locks out other tests: a watch would see their calls.
#[cfg(test)]
pub(crate) fn serialize_tests() -> MutexGuard<'static, ()> {
    static SERIAL: Mutex<()> = Mutex::new(());
    lock(&SERIAL)
}
