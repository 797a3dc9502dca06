//! The results of a thread's last driver calls, with the raw code of each, and the names and texts of codes.
//! Bindings get `CUDA_ERROR_UNKNOWN` in place of codes that they do not know.

#![expect(unsafe_code, reason = "reads and writes C strings")]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char};
use std::{borrow::Cow, fmt, sync::LazyLock};

use crate::library::{self, EntryPoint, unrecorded};
use crate::types::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_READY,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_UNKNOWN, CUDA_SUCCESS, CUresult,
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
    /// A detail of the last failed call, in addition to its code; `None` if there is none.
    static FAILURE_DETAIL: RefCell<Option<String>> = const { RefCell::new(None) };
    /// The last call of this thread.
    static LAST_CALL: Cell<Option<Returned>> = const { Cell::new(None) };
    /// The last failed call of this thread that [`take_failure`] has not returned yet.
    static FAILED_CALL: Cell<Option<Returned>> = const { Cell::new(None) };
}

/// Stores a call and its code as the last call of this thread, and also as its last failure if it failed.
/// Returns the code, or `CUDA_ERROR_UNKNOWN` in place of a code that bindings do not know.
#[inline]
pub(crate) fn keep_result(entry: &'static EntryPoint, code: u32) -> CUresult {
    LAST_CALL.set(Some(Returned { entry, code }));
    if code == CUDA_SUCCESS { CUDA_SUCCESS } else { keep_failure(entry, code) }
}

/// Stores and returns the result of a call of a function that cannot be found.
///
/// Without a driver, the result is `NO_DEVICE`: programs expect it on a machine without a GPU, and cust has a
/// variant for it. `STUB_LIBRARY` would be exact, but cust turns it into `UnknownError`; `NOT_INITIALIZED`
/// would blame the caller for a missing `cuInit`. If the driver lacks only this function, the result is
/// `NOT_FOUND`, whose text is "named symbol not found".
#[cold]
pub(crate) fn missing_function_result(entry: &'static EntryPoint) -> CUresult {
    let result = library::open_error().map_or(CUDA_ERROR_NOT_FOUND, |_| CUDA_ERROR_NO_DEVICE);
    keep_result(entry, result)
}

/// Stores a failed call as the last failure of this thread. `CUDA_ERROR_NOT_READY` is not stored; neither is
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` after another stored failure, which says why the capture failed.
/// Returns the code, or `CUDA_ERROR_UNKNOWN` in place of a code that bindings' enums lack: reading that code
/// as such an enum would be undefined behaviour.
#[cold]
fn keep_failure(entry: &'static EntryPoint, code: u32) -> CUresult {
    let result = if is_known_to_bindings(code) { code } else { CUDA_ERROR_UNKNOWN };
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
    /// The result as the driver returned it (0: success), even if cust's enum lacks the code.
    pub code: u32,
    /// The reason that the call never reached a driver; `None` if it did.
    pub note: Option<String>,
    /// Details of a failure, such as the requested size, the log of the driver's compiler, or the kernels of
    /// the module; `None` if there are none. Only [`take_failure`] returns them.
    pub detail: Option<String>,
}

impl Call {
    /// Returns the call with this detail, and with a note if the driver's function cannot be found.
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
pub fn last_call() -> Option<Call> {
    LAST_CALL.get().map(|returned| Call::new(returned, None))
}

/// Returns the C name of the driver function that this thread called last; `the driver` if there was no call.
pub(crate) fn called_function() -> &'static str {
    LAST_CALL.get().map_or("the driver", |returned| returned.entry.symbol)
}

/// Returns and forgets the last failed driver call of this thread, even if later calls succeeded, such as
/// those that drop a buffer. `None` if no call failed since the previous `take_failure`.
/// `CUDA_ERROR_NOT_READY` does not count as a failure.
///
/// Call this once before the work, to forget older failures, and once after the work failed.
pub fn take_failure() -> Option<Call> {
    let detail = FAILURE_DETAIL.try_with(|place| place.borrow_mut().take()).ok().flatten();
    FAILED_CALL.take().map(|returned| Call::new(returned, detail))
}

/// The type of `cuGetErrorName` and `cuGetErrorString`, which store the string for a code. In C, the code is
/// an int.
type GetString = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;

/// Returns the name of a result code, such as `CUDA_ERROR_NO_DEVICE`; for an unknown code a phrase with its
/// number.
pub fn error_name(code: u32) -> Cow<'static, str> {
    name_of(code).map_or_else(|| describe_unknown_code(code), CStr::to_string_lossy)
}

/// Returns the meaning of a result code in words, such as `out of memory`; for an unknown code a phrase with
/// its number.
pub fn error_text(code: u32) -> Cow<'static, str> {
    text_of(code).map_or_else(|| describe_unknown_code(code), CStr::to_string_lossy)
}

/// Returns a phrase for an unknown code, such as `error 1234 (unknown to this driver)`.
fn describe_unknown_code(code: u32) -> Cow<'static, str> {
    let who =
        if library::open_error().is_none() { "unknown to this driver" } else { "unknown without a driver" };
    format!("error {code} ({who})").into()
}

/// Returns the driver's name of a code, or else the built-in one; `None` if there is neither.
fn name_of(code: u32) -> Option<&'static CStr> {
    driver_string(unrecorded!(cuGetErrorName(u32, *mut *const c_char)), code)
        .or_else(|| builtin_strings(code).map(|(name, _)| name))
}

/// Returns the driver's text for a code, or else the built-in one; `None` if there is neither.
fn text_of(code: u32) -> Option<&'static CStr> {
    /// Replaces "no CUDA-capable device is detected" if there is no driver that could detect one; `None` if
    /// there is a driver.
    static NO_DRIVER: LazyLock<Option<CString>> = LazyLock::new(|| {
        let error = library::open_error()?;
        CString::new(format!("no CUDA device ({})", error.short())).ok()
    });
    driver_string(unrecorded!(cuGetErrorString(u32, *mut *const c_char)), code).or_else(|| {
        let (_, text) = builtin_strings(code)?;
        Some(NO_DRIVER.as_deref().filter(|_| code == CUDA_ERROR_NO_DEVICE).unwrap_or(text))
    })
}

/// Returns the driver's string for a code; `None` without a driver, or if the driver does not know the code.
/// `function` is the driver function that stores the string.
fn driver_string(function: Option<GetString>, code: u32) -> Option<&'static CStr> {
    let mut string = std::ptr::null();
    // SAFETY: `string` is a place for the string. The driver accepts any number and reports an unknown one.
    let result = unsafe { function?(code, &raw mut string) };
    // SAFETY: on success the string is one of the driver's constants, and the driver is never closed.
    (result == 0 && !string.is_null()).then(|| unsafe { CStr::from_ptr(string) })
}

/// Implements `cuGetErrorName`, with or without a driver.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn answer_name(error: CUresult, out: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise about `out`.
    unsafe { write_string(name_of(error), out) }
}

/// Implements `cuGetErrorString`, with or without a driver. Returns an error only if `out` is null: after any
/// other error, cust's `Display` of a code would fail, and `to_string` would panic.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn answer_text(error: CUresult, out: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise about `out`.
    unsafe { write_string(text_of(error), out) }
}

/// Stores the string at `out`, or `unknown error` if there is none. Returns `CUDA_ERROR_INVALID_VALUE` if
/// `out` is null, and otherwise `CUDA_SUCCESS`.
///
/// # Safety
/// `out` is null or may be written.
unsafe fn write_string(string: Option<&'static CStr>, out: *mut *const c_char) -> CUresult {
    if out.is_null() {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: not null, so it may be written, as the caller promises.
    unsafe { *out = string.unwrap_or(c"unknown error").as_ptr() };
    CUDA_SUCCESS
}

/// Returns true if the code is one of those of CUDA 11, which the enums of bindings contain.
fn is_known_to_bindings(code: CUresult) -> bool {
    matches!(
        code,
        0..=8 | 34 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400..=401 | 500 | 600
            | 700..=705 | 708..=720 | 800..=809 | 900..=911 | 999
    )
}

/// Returns the built-in name and text of a code that this crate itself may return; `None` for any other code.
fn builtin_strings(code: CUresult) -> Option<(&'static CStr, &'static CStr)> {
    Some(match code {
        CUDA_ERROR_INVALID_VALUE => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        CUDA_ERROR_NO_DEVICE => (c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
        CUDA_ERROR_NOT_FOUND => (c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
        CUDA_ERROR_UNKNOWN => (c"CUDA_ERROR_UNKNOWN", c"unknown error"),
        _ => return None,
    })
}
