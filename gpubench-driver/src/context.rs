//! The context that this thread's calls go to. In: nothing; out: its handle.

#![expect(unsafe_code, reason = "calls the driver")]

use crate::entry::EntryPoint;
use crate::library::Function;
use crate::sys::CUcontext;

/// Returns the context that is current; 0 if none is.
pub(crate) fn current_context() -> usize {
    type GetCurrent = unsafe extern "C" fn(*mut CUcontext) -> u32;
    static ENTRY: EntryPoint = EntryPoint::new("cuCtxGetCurrent");

    let Some(function) = ENTRY.function() else { return 0 };
    // SAFETY: this is the C type of the function of that name.
    let function = unsafe { std::mem::transmute::<Function, GetCurrent>(function) };
    let mut context = std::ptr::null_mut();
    // SAFETY: `context` is a place for a handle.
    if (unsafe { function(&raw mut context) }) == 0 { context as usize } else { 0 }
}
