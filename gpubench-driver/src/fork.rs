//! Copies of this process by `fork`. A copy has one thread and cannot use what its parent opened: CUDA
//! contexts do not survive `fork`. In: nothing; out: whether this process is such a copy, known to it without
//! a call of the system.

#![expect(unsafe_code, reason = "registers a function that `fork` calls")]

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// True in a copy of a process that called [`detect_forks`].
static IS_FORKED_COPY: AtomicBool = AtomicBool::new(false);

/// Makes [`is_forked_copy`] return true in each copy that `fork` creates of this process from now on. It does
/// not in copies that the bare system call creates, nor after a copy has called `exec`. Later calls do
/// nothing.
pub fn detect_forks() {
    static REGISTERED: Once = Once::new();

    unsafe extern "C" fn mark() {
        IS_FORKED_COPY.store(true, Ordering::Relaxed);
    }

    REGISTERED.call_once(|| {
        // SAFETY: the function stores one atomic value, which is allowed in a copy of a process with several threads, and lives as
        // long as the process. Without memory for one more function the call fails, and copies are not marked.
        unsafe { libc::pthread_atfork(None, None, Some(mark)) };
    });
}

/// Returns true if `fork` created this process from one that had called [`detect_forks`].
#[must_use]
pub fn is_forked_copy() -> bool {
    IS_FORKED_COPY.load(Ordering::Relaxed)
}
