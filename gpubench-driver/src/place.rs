//! The place of a shared library. In: a function of it; out: the path of its file, where the system tells it.

use std::ffi::c_void;
use std::path::PathBuf;

/// Returns the path of the library that has a function at this address. The library must never be closed.
#[cfg(unix)]
#[expect(unsafe_code, reason = "asks the system's loader, in C")]
pub(crate) fn library_of(address: *const c_void) -> Option<PathBuf> {
    use std::ffi::{CStr, OsStr, c_char, c_int};
    use std::os::unix::ffi::OsStrExt;
    use std::{path, ptr};

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

/// Returns nothing: the path is for `interpose`, which needs the loader of Linux.
#[cfg(not(unix))]
pub(crate) fn library_of(_: *const c_void) -> Option<PathBuf> {
    None
}
