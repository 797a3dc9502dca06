//! The results of a thread's last calls. In: the raw code of every forwarded call. Out: the same code as
//! bindings know it, and on request the call with its raw code, or the reason that it never reached a driver.

use std::cell::{Cell, RefCell};
use std::fmt;

use crate::library::{self, EntryPoint};
use crate::text::{error_name, error_text, is_known};
use crate::types::{
    CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_READY, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUDA_ERROR_UNKNOWN, CUDA_SUCCESS, CUresult,
};

/// A call of a driver function, and the code that it returned.
#[derive(Clone, Copy)]
struct Returned {
    entry: &'static EntryPoint,
    code: u32,
}

// Constant and without a destructor: a plain store, which works even while a thread ends and drops objects of
// cust.
thread_local! {
    /// The detail of the last failed call beyond its code.
    static FAILURE_DETAIL: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The last call of this thread.
    static LAST_CALL: Cell<Option<Returned>> = const { Cell::new(None) };
    /// The last failed call of this thread that [`take_failure`] has not returned yet.
    static FAILED_CALL: Cell<Option<Returned>> = const { Cell::new(None) };
}

/// Stores a call and its code as the last one of this thread, and also as the last failure if it failed.
/// Returns the code, or `CUDA_ERROR_UNKNOWN` for one that bindings do not know.
#[inline]
pub(crate) fn keep_result(entry: &'static EntryPoint, code: u32) -> CUresult {
    LAST_CALL.set(Some(Returned { entry, code }));
    if code == CUDA_SUCCESS { CUDA_SUCCESS } else { keep_failure(entry, code) }
}

/// Stores and returns the result of a call of a function that cannot be found.
///
/// Without a driver that is `NO_DEVICE`: programs expect it on a machine without a GPU, and cust has a
/// variant for it. `STUB_LIBRARY` would be exact, but cust turns it into `UnknownError`; `NOT_INITIALIZED`
/// would blame the caller for a missing `cuInit`. A driver without this one function gives `NOT_FOUND`, whose
/// text is "named symbol not found".
#[cold]
pub(crate) fn missing_function_result(entry: &'static EntryPoint) -> CUresult {
    let result = if library::is_open() { CUDA_ERROR_NOT_FOUND } else { CUDA_ERROR_NO_DEVICE };
    keep_result(entry, result)
}

/// Stores a failed call, except for `CUDA_ERROR_NOT_READY` and for failures that follow from an earlier one
/// of a capture. Returns its code, or `CUDA_ERROR_UNKNOWN` for one that a binding's enum lacks, since reading
/// that code as the enum would be undefined behaviour.
#[cold]
fn keep_failure(entry: &'static EntryPoint, code: u32) -> CUresult {
    let result = if is_known(code) { code } else { CUDA_ERROR_UNKNOWN };
    // A capture that has failed fails every later call too: the first says why.
    let follows = code == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED && FAILED_CALL.get().is_some();
    if result != CUDA_ERROR_NOT_READY && !follows {
        FAILED_CALL.set(Some(Returned { entry, code }));
        set_detail(None);
    }
    result
}

/// Sets the detail of the call that has just failed; `None` removes it.
pub(crate) fn set_detail(detail: Option<String>) {
    // A string has a destructor, so a thread that is ending has no place for it.
    _ = FAILURE_DETAIL.try_with(|place| *place.borrow_mut() = detail);
}

/// A call of a driver function, with its result.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Call {
    /// The C name of the function, such as `cuMemAlloc_v2`.
    pub symbol: &'static str,
    /// Its result as the driver returned it (0: success). Codes newer than cust's enum are here unchanged.
    pub code: u32,
    /// The reason that the call never reached a driver; `None` if it did.
    pub note: Option<String>,
    /// Details of a failure: the requested size, the JIT's own log, or the kernels of the module.
    pub detail: Option<String>,
}

impl Call {
    /// Returns the call, with a note if the driver lacks its function.
    fn new(Returned { entry, code }: Returned, detail: Option<String>) -> Self {
        let symbol = entry.symbol;
        let note = entry.function().is_none().then(|| library::describe_missing(symbol));
        Self { symbol, code, note, detail }
    }
}

/// `cuMemAlloc_v2 returned 2 (CUDA_ERROR_OUT_OF_MEMORY): out of memory (48.0 GiB asked for)`, or the note.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { symbol, code, note, .. } = self;
        match note {
            Some(note) => write!(f, "{symbol} was not called: {note}"),
            None => {
                write!(f, "{symbol} returned {code} ({}): {}", error_name(*code), error_text(*code))?;
                self.detail.as_ref().map_or(Ok(()), |detail| write!(f, " ({detail})"))
            }
        }
    }
}

/// Returns the last driver call of this thread and its raw code; `None` before the first.
///
/// `cuGetErrorName` and `cuGetErrorString` do not count, because code that prints an error calls them.
#[must_use]
pub fn last_call() -> Option<Call> {
    LAST_CALL.get().map(|returned| Call::new(returned, None))
}

/// Returns the C name of the last driver call of this thread; `None` before the first.
pub(crate) fn last_symbol() -> Option<&'static str> {
    LAST_CALL.get().map(|returned| returned.entry.symbol)
}

/// Returns and forgets the last failed driver call of this thread, even if later calls succeeded, such as
/// those of a buffer's drop. `None` if no call failed since the previous `take_failure`.
/// `CUDA_ERROR_NOT_READY` does not count as a failure.
///
/// Call it once before the work to forget older failures, and once after the work failed.
pub fn take_failure() -> Option<Call> {
    let detail = FAILURE_DETAIL.try_with(|place| place.borrow_mut().take()).ok().flatten();
    FAILED_CALL.take().map(|returned| Call::new(returned, detail))
}
