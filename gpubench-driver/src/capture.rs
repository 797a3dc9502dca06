//! Stream capture. In: a stream; out: true if work enqueued on it becomes part of a graph instead of being
//! executed.

#![expect(unsafe_code, reason = "calls the driver")]

use std::ffi::c_int;

use crate::sys::CUstream;

use crate::entry::EntryPoint;
use crate::library::Function;

/// `CU_STREAM_CAPTURE_STATUS_NONE`
const NOT_CAPTURED: c_int = 0;

/// Returns true if the stream is being captured: work enqueued on it becomes part of a graph.
pub(crate) fn is_capturing(stream: CUstream) -> bool {
    type IsCapturing = unsafe extern "C" fn(CUstream, *mut c_int) -> u32;
    static ENTRY: EntryPoint = EntryPoint::new("cuStreamIsCapturing");

    let Some(function) = ENTRY.function() else { return false };
    // SAFETY: this is the C type of the function of that name; enums are ints.
    let function = unsafe { std::mem::transmute::<Function, IsCapturing>(function) };
    let mut status = NOT_CAPTURED;
    // SAFETY: work was just put on the stream, and `status` is a place for an int.
    (unsafe { function(stream, &raw mut status) }) == 0 && status != NOT_CAPTURED
}
