//! Names and texts of result codes: the driver's; without a driver those of the codes that functions then
//! return; else a sentence with the number. The two C functions for them answer even without a driver.

#![expect(unsafe_code, reason = "reads and writes C strings")]

use std::ffi::{CStr, CString, c_char};
use std::{borrow::Cow, sync::LazyLock};

use crate::library::{self, unrecorded};
use crate::types::{
    CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_UNKNOWN, CUDA_SUCCESS,
    CUresult,
};

/// The type of `cuGetErrorName` and `cuGetErrorString`: stores a string for a code, an int in C.
type GetString = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;

/// Returns the name of a result code, such as `CUDA_ERROR_NO_DEVICE`; for an unknown code a phrase with its
/// number.
#[must_use]
pub fn error_name(code: u32) -> Cow<'static, str> {
    name_of(code).map_or_else(|| describe_unknown_code(code), CStr::to_string_lossy)
}

/// Returns the meaning of a result code in words, such as `out of memory`; for an unknown code a phrase with
/// its number.
#[must_use]
pub fn error_text(code: u32) -> Cow<'static, str> {
    text_of(code).map_or_else(|| describe_unknown_code(code), CStr::to_string_lossy)
}

/// Returns a phrase for an unknown code, such as `error 1234 (unknown to this driver)`.
fn describe_unknown_code(code: u32) -> Cow<'static, str> {
    let who = if library::is_open() { "unknown to this driver" } else { "unknown without a driver" };
    format!("error {code} ({who})").into()
}

/// Returns the driver's name of a code, or else the built-in one; `None` if there is neither.
fn name_of(code: u32) -> Option<&'static CStr> {
    driver_string(unrecorded!(cuGetErrorName(u32, *mut *const c_char)), code)
        .or_else(|| builtin_strings(code).map(|(name, _)| name))
}

/// Returns the driver's text for a code, or else the built-in one; `None` if there is neither.
fn text_of(code: u32) -> Option<&'static CStr> {
    /// Replaces "no CUDA-capable device is detected" when there is no driver to look for one.
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
/// `function` is the driver function that returns the string.
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

/// Implements `cuGetErrorString`, with or without a driver. Fails only for a null pointer: cust's `Display`
/// of an error would fail with it, and `to_string` would panic.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn answer_text(error: CUresult, out: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise about `out`.
    unsafe { write_string(text_of(error), out) }
}

/// Writes the string to `out`, or `unknown error` if there is none. Returns `CUDA_ERROR_INVALID_VALUE` if
/// `out` is null.
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

/// Returns true if the enums of bindings contain this code: the codes of CUDA 11.
pub(crate) fn is_known(code: CUresult) -> bool {
    matches!(
        code,
        0..=8 | 34 | 100..=102 | 200..=202 | 205..=224 | 300..=304 | 400..=401 | 500 | 600
            | 700..=705 | 708..=720 | 800..=809 | 900..=911 | 999
    )
}

/// Returns the built-in name and text of a code that this crate returns by itself; `None` for any other code.
fn builtin_strings(code: CUresult) -> Option<(&'static CStr, &'static CStr)> {
    Some(match code {
        CUDA_ERROR_INVALID_VALUE => (c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        CUDA_ERROR_NO_DEVICE => (c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
        CUDA_ERROR_NOT_FOUND => (c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
        CUDA_ERROR_UNKNOWN => (c"CUDA_ERROR_UNKNOWN", c"unknown error"),
        _ => return None,
    })
}
