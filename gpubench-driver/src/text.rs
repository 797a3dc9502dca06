//! Names and texts of result codes. In: a code. Out: the driver's name or text; else that of this crate's list;
//! else a sentence with the number. The two C functions for it answer even without a driver.

#![expect(unsafe_code, reason = "reads and writes C strings")]

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};
use std::sync::LazyLock;

use crate::codes::{self, KnownCode};
use crate::entry::EntryPoint;
use crate::library::{self, Function};
use crate::sys::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NO_DEVICE, CUDA_SUCCESS, CUresult};

static NAME: EntryPoint = EntryPoint::new("cuGetErrorName");
static TEXT: EntryPoint = EntryPoint::new("cuGetErrorString");

/// Returns the name of a result code, such as `CUDA_ERROR_NO_DEVICE`: the driver's, if it knows the code.
#[must_use]
pub fn error_name(code: u32) -> Cow<'static, str> {
    name_of(code).map_or_else(|| number(code), CStr::to_string_lossy)
}

/// Returns the meaning of a result code in words: the driver's, if it knows the code.
#[must_use]
pub fn error_text(code: u32) -> Cow<'static, str> {
    text_of(code).map_or_else(|| number(code), CStr::to_string_lossy)
}

/// Describes an unknown code by its number.
fn number(code: u32) -> Cow<'static, str> {
    let who = if library::is_open() { "unknown to this driver" } else { "unknown without a driver" };
    format!("error {code} ({who})").into()
}

fn name_of(code: u32) -> Option<&'static CStr> {
    ask(&NAME, code).or_else(|| codes::known(code).map(|known| known.name))
}

fn text_of(code: u32) -> Option<&'static CStr> {
    /// Replaces "no CUDA-capable device is detected" when there is no driver to look for one.
    static NO_DRIVER: LazyLock<Option<CString>> = LazyLock::new(|| {
        let error = library::not_open()?;
        CString::new(format!("no CUDA device ({})", error.short())).ok()
    });
    ask(&TEXT, code).or_else(|| match codes::known(code)? {
        KnownCode { text, .. } if code == CUDA_ERROR_NO_DEVICE => Some(NO_DRIVER.as_deref().unwrap_or(text)),
        KnownCode { text, .. } => Some(text),
    })
}

/// Returns the driver's string for a code; `None` without a driver, or if the driver does not know the code.
fn ask(entry: &EntryPoint, code: u32) -> Option<&'static CStr> {
    let function = entry.function()?;
    // SAFETY: both functions take a code, an int in C, and a place for the string, and return a code.
    let function = unsafe {
        std::mem::transmute::<Function, unsafe extern "C" fn(u32, *mut *const c_char) -> u32>(function)
    };
    let mut string = std::ptr::null();
    // SAFETY: `string` is such a place. The driver accepts any number and reports an unknown one.
    let result = unsafe { function(code, &raw mut string) };
    // SAFETY: on success the string is one of the driver's constants, and the driver is never closed.
    (result == 0 && !string.is_null()).then(|| unsafe { CStr::from_ptr(string) })
}

/// Answers `cuGetErrorName`.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn answer_name(error: CUresult, out: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise about `out`.
    unsafe { answer(name_of(error), out) }
}

/// Answers `cuGetErrorString`. It must not fail: cust's `Display` of an error would fail with it, and
/// `to_string` would panic.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn answer_text(error: CUresult, out: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise about `out`.
    unsafe { answer(text_of(error), out) }
}

/// Writes the string, or "unknown error" if there is none.
///
/// # Safety
/// `out` is null or may be written.
unsafe fn answer(string: Option<&'static CStr>, out: *mut *const c_char) -> CUresult {
    if out.is_null() {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: not null, so it may be written, as the caller promises.
    unsafe { *out = string.unwrap_or(c"unknown error").as_ptr() };
    CUDA_SUCCESS
}
