//! The place of a shared library. In: a function of it; out: the path of its file, where the system tells it.

#![expect(unsafe_code, reason = "asks the system's loader, in C")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{self, PathBuf};
use std::ptr;

/// Returns the path of the library that has a function at this address. The library must never be closed.
pub(crate) fn library_of(address: *const c_void) -> Option<PathBuf> {
    /// The C type `Dl_info`.
    #[repr(C)]
    struct Place {
        path: *const c_char,
        base: *mut c_void,
        symbol: *const c_char,
        address: *mut c_void,
    }
    unsafe extern "C" {
        fn dladdr(address: *const c_void, place: *mut Place) -> c_int;
    }

    let mut place =
        Place { path: ptr::null(), base: ptr::null_mut(), symbol: ptr::null(), address: ptr::null_mut() };
    // SAFETY: `place` is a place for the answer, which is 0 if there is none.
    if unsafe { dladdr(address, &raw mut place) } == 0 || place.path.is_null() {
        return None;
    }
    // SAFETY: the path belongs to the library, which is never closed.
    let path = unsafe { CStr::from_ptr(place.path) };
    path::absolute(OsStr::from_bytes(path.to_bytes())).ok()
}
