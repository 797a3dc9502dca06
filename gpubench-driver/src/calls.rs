//! The calls that a thread makes while it is watched. In: calls that enqueue work, wait, allocate, load code or switch the
//! context; out: each in order, or only the work in a form that two launches are compared by. While nobody watches, a call costs
//! two reads of a thread-local variable.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::kernel_info::{current_context, is_capturing};
use crate::{kernel_info::KernelInfo, result::last_symbol, sys::CUstream};

/// A call that a thread made to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverCall {
    /// It enqueued work on a stream.
    Enqueued {
        /// The stream's handle; 0 is the NULL stream.
        stream: u64,
        /// True if the stream was being captured: the work becomes part of a graph and is not executed.
        captured: bool,
        /// The work.
        work: Enqueued,
    },
    /// It waited, or asked if work was done and heard that it was.
    Waited {
        /// The stream that it waited for; `None` if that may be any stream.
        stream: Option<u64>,
        /// The C name of the function.
        call: &'static str,
    },
    /// It asked again and again if work was done.
    Polled {
        /// The C name of the function.
        call: &'static str,
        /// The handle of the stream or event that it asked about.
        about: u64,
        /// The number of consecutive times.
        times: usize,
    },
    /// It destroyed a stream, whose work goes on.
    Destroyed(u64),
    /// It allocated or freed memory, not in the order of a stream. The driver may wait for the device meanwhile.
    Allocated(&'static str),
    /// It loaded or unloaded code.
    Loaded(&'static str),
    /// It made another context current than the one at the beginning of the watch.
    SwitchedContext(&'static str),
    /// It was to enqueue work, and failed.
    Failed {
        /// The C name of the function.
        call: &'static str,
        /// The driver's code.
        code: u32,
    },
}

/// Work on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// A kernel.
    Kernel(KernelLaunch),
    /// A copy of this many bytes between any kinds of memory; 0 if the number was not read.
    Copy(u64),
    /// A copy to the host, or to an array.
    CopyOut(u64),
    /// A memset of this many bytes; 0 if the number was not read.
    Memset(u64),
    /// A function of the host.
    HostFunction,
    /// A graph that was instantiated before.
    Graph {
        /// True if all of its nodes are known, and write nothing but the device's memory. Always false on a thread that is not watched.
        writes_memory_alone: bool,
    },
    /// Memory that is allocated or freed in the order of the stream.
    Allocation,
}

/// A kernel's function and its launch configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// A number for the name of its function, or for its handle if it was not looked up by name.
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
    /// Its function and configuration.
    pub shape: Shape,
    /// Its name in the module, if it was looked up in this process.
    pub name: Option<String>,
    /// The driver's facts about it; only for the first kernels, and only if the driver reports them.
    pub info: Option<KernelInfo>,
}

/// An operation on a stream, in a form that is cheap to collect and to compare: equal operations do the same work, maybe on other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOp {
    /// A kernel.
    Kernel(Shape),
    /// A copy of this many bytes.
    Copy(u64),
    /// A memset of this many bytes.
    Memset(u64),
    /// A function of the host.
    HostFunction,
    /// A graph.
    Graph,
}

/// The operations of a launch, and its first failed call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamOps {
    /// The operations in the order in which they were enqueued, each with the handle of its stream.
    pub work: Vec<(u64, StreamOp)>,
    /// The C name and the code of the first call that was to enqueue work and failed.
    pub failed: Option<(&'static str, u32)>,
}

impl Enqueued {
    /// Returns the operation of this work; `None` for allocations, which do no work.
    #[must_use]
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

/// The calls so far, and the context at the beginning.
struct Watch {
    calls: Vec<DriverCall>,
    context: usize,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
    static STREAM_OPS: RefCell<Option<StreamOps>> = const { RefCell::new(None) };
}

/// The calls of other threads while one is watched. A launch function may have others do its work.
static OTHER_THREAD_CALLS: Mutex<Vec<DriverCall>> = Mutex::new(Vec::new());
/// True while a thread is watched.
static IS_WATCHING: AtomicBool = AtomicBool::new(false);

/// Runs `body`. Returns the calls in it, as far as they went through this crate: those of this thread in their order, then those that
/// other threads made meanwhile. One thread is watched at a time.
pub fn watch<T>(body: impl FnOnce() -> T) -> (T, Vec<DriverCall>) {
    /// Ends the watch even if `body` panics.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            WATCH.set(None);
            IS_WATCHING.store(false, Ordering::Relaxed);
        }
    }

    WATCH.set(Some(Watch { calls: Vec::new(), context: current_context() }));
    other_thread_calls().clear();
    IS_WATCHING.store(true, Ordering::Relaxed);
    let _ends = Ends;
    let done = body();
    let mut calls = WATCH.take().map_or_else(Vec::new, |watch| watch.calls);
    calls.append(&mut other_thread_calls());
    (done, calls)
}

/// Runs `body`. Returns the operations that it enqueued, as far as the calls went through this crate on this thread. Costs some ten
/// nanoseconds a call, where [`watch`] asks the driver about each.
pub fn stream_ops<T>(body: impl FnOnce() -> T) -> (T, StreamOps) {
    /// Ends the collection even if `body` panics.
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            STREAM_OPS.set(None);
        }
    }

    STREAM_OPS.set(Some(StreamOps::default()));
    let _ends = Ends;
    let done = body();
    (done, STREAM_OPS.take().unwrap_or_default())
}

/// Adds a call if a thread is watched. `call` gets the calls so far.
pub(crate) fn add_call(call: impl FnOnce(&[DriverCall]) -> DriverCall) {
    // The variable no longer exists in a thread that is ending.
    _ = WATCH.try_with(|watch| match &mut *watch.borrow_mut() {
        Some(watch) => {
            let call = call(&watch.calls);
            watch.calls.push(call);
        }
        None if IS_WATCHING.load(Ordering::Relaxed) => {
            let call = call(&other_thread_calls());
            other_thread_calls().push(call);
        }
        None => {}
    });
}

/// Adds a question, or counts it if it is the last call's.
pub(crate) fn add_poll(call: &'static str, about: u64) {
    _ = WATCH.try_with(|watch| {
        let Some(Watch { calls, .. }) = &mut *watch.borrow_mut() else { return };
        match calls.last_mut() {
            Some(DriverCall::Polled { about: last, times, .. }) if *last == about => *times += 1,
            _ => calls.push(DriverCall::Polled { call, about, times: 1 }),
        }
    });
}

fn other_thread_calls() -> MutexGuard<'static, Vec<DriverCall>> {
    OTHER_THREAD_CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an operation if this thread collects them.
pub(crate) fn add_stream_op(stream: u64, op: impl FnOnce() -> Option<StreamOp>) {
    _ = STREAM_OPS.try_with(|ops| {
        if let Some(ops) = &mut *ops.borrow_mut() {
            ops.work.extend(op().map(|op| (stream, op)));
        }
    });
}

/// Adds a call that was to enqueue work and failed.
pub(crate) fn add_failed_call(call: &'static str, code: u32) {
    add_call(|_| DriverCall::Failed { call, code });
    _ = STREAM_OPS.try_with(|ops| {
        if let Some(ops) = &mut *ops.borrow_mut() {
            ops.failed = ops.failed.or(Some((call, code)));
        }
    });
}

/// The name of the function that has just been called.
pub(crate) fn called_function() -> &'static str {
    last_symbol().unwrap_or("the driver")
}

/// Adds a call that succeeded.
pub(crate) fn add_if_successful(code: u32, call: impl FnOnce(&'static str) -> DriverCall) {
    if code == 0 {
        add_call(|_| call(called_function()));
    }
}

/// `CU_STREAM_PER_THREAD`
pub(crate) const PER_THREAD_STREAM: CUstream = std::ptr::without_provenance_mut(2);

/// Returns the stream that the last call used: NULL is [`PER_THREAD_STREAM`] for functions with the suffix of per-thread default streams.
pub(crate) fn stream_used(stream: CUstream) -> CUstream {
    let is_per_thread = || called_function().ends_with("_ptsz") || called_function().ends_with("_ptds");
    if stream.is_null() && is_per_thread() { PER_THREAD_STREAM } else { stream }
}

/// Records work on a stream, or the failure to enqueue it.
pub(crate) fn add_enqueued(code: u32, stream: CUstream, work: Enqueued) {
    if code != 0 {
        return add_failed_call(called_function(), code);
    }
    let stream = stream_used(stream);
    add_stream_op(stream as u64, || work.stream_op());
    add_call(|_| DriverCall::Enqueued { stream: stream as u64, captured: is_capturing(stream), work });
}

/// Records an allocation or a release that is not in the order of a stream.
pub(crate) fn add_allocation(code: u32) {
    add_if_successful(code, DriverCall::Allocated);
}

/// Records that code was loaded or unloaded.
pub(crate) fn add_code_load(code: u32) {
    add_if_successful(code, DriverCall::Loaded);
}

/// Returns the context that was current when the watch began; `None` if nobody watches.
pub(crate) fn watched_context() -> Option<usize> {
    WATCH.try_with(|watch| watch.borrow().as_ref().map(|watch| watch.context)).ok().flatten()
}

/// Keeps tests whose calls another's watch would see apart.
#[cfg(test)]
pub(crate) fn serialize_tests() -> MutexGuard<'static, ()> {
    static SERIAL: Mutex<()> = Mutex::new(());
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}
