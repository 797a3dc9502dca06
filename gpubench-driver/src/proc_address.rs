//! Answers of `cuGetProcAddress`, by which newer programs find all functions. In: the driver's answer, and all
//! forwarders. Out: the forwarder of the same function, if there is one.

#![expect(unsafe_code, reason = "reads and writes where the driver has written its answer")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use crate::library::{self, Function};
use crate::memory::made_unlisted;

/// The forwarders by the addresses of the driver's functions. The driver answers with the addresses of its exported
/// symbols, per version and per kind of default stream.
static FORWARDER_OF: OnceLock<HashMap<usize, usize>> = OnceLock::new();

/// Replaces the driver's function at `place` by its forwarder. Notes a function without one if it may make memory. The
/// first call reads `forwarders`.
///
/// # Safety
/// `cuGetProcAddress` or a later version of it has returned `code` for this name and this place.
pub(crate) unsafe fn function_found(
    code: u32,
    name: *const c_char,
    place: *mut *mut c_void,
    forwarders: impl Iterator<Item = &'static (&'static str, Function)>,
) {
    if code != 0 || name.is_null() || place.is_null() {
        return;
    }
    // SAFETY: the driver has just written it there.
    let found = unsafe { *place };
    if found.is_null() {
        return;
    }
    let both =
        |(name, forwarder): &(&str, Function)| Some((library::symbol(name)? as usize, *forwarder as usize));
    let forwarder_of = FORWARDER_OF.get_or_init(|| forwarders.filter_map(both).collect());
    if let Some(forwarder) = forwarder_of.get(&(found as usize)) {
        // SAFETY: as above.
        unsafe { *place = std::ptr::with_exposed_provenance_mut(*forwarder) };
        return;
    }
    // SAFETY: the driver has just read the name under the same contract.
    if may_make_memory(unsafe { CStr::from_ptr(name) }.to_bytes()) {
        // SAFETY: this is safe.
        unsafe { made_unlisted(code) };
    }
}

/// Returns true if a function of this name, which this crate does not know, may make memory that kernels can write.
fn may_make_memory(name: &[u8]) -> bool {
    const VERBS: [&[u8]; 5] = [b"Alloc", b"ArrayCreate", b"Map", b"Import", b"Acquire"];
    VERBS.iter().any(|verb| name.windows(verb.len()).any(|part| part == *verb))
}
