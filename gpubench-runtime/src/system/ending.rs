//! Ends a process that measures, with everything that it has started.

use std::process;

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};

/// Ends this process and everything that it has started, if it leads a group of its own, as a worker does.
pub(crate) fn end_own_family() -> ! {
    if getpgrp() == getpid() {
        // This cannot fail: the group contains this process.
        _ = kill_current_process_group(Signal::KILL);
    }
    process::abort()
}

/// Ends a worker, from a forked copy of it, with everything that it has started.
pub(crate) fn end_copied_worker() -> ! {
    let reason = "error: a launch forked this process and returned in both: have the copy end or become another program\n";
    // Without the lock of standard error, which another thread may have held during the fork.
    _ = rustix::io::write(rustix::stdio::stderr(), reason.as_bytes());
    // This cannot fail: the group contains this process.
    _ = kill_current_process_group(Signal::KILL);
    process::abort()
}
