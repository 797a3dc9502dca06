//! Kills a process that measures, together with its process group.

use std::process;

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};

/// Kills the process group of this process if this process leads it, as a worker does. Otherwise aborts this
/// process alone.
pub(crate) fn kill_own_process_group() -> ! {
    if getpgrp() == getpid() {
        // This cannot fail: the group contains this process.
        _ = kill_current_process_group(Signal::KILL);
    }
    process::abort()
}

/// Kills the process group of the worker, which includes this forked child of it. Prints the reason on
/// standard error first.
pub(crate) fn kill_worker_from_forked_child() -> ! {
    let reason = "error: a launch forked this process and returned in both: have the copy end or become another program\n";
    // Without the lock of standard error, which another thread may have acquired before the fork.
    _ = rustix::io::write(rustix::stdio::stderr(), reason.as_bytes());
    // This cannot fail: the group contains this process.
    _ = kill_current_process_group(Signal::KILL);
    process::abort()
}
