//! Ends a process that measures, with everything that it has started.

use std::process;

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};

/// Kills this process and its process group, if it leads one, as a worker does.
pub(crate) fn kill_own_process_group() -> ! {
    if getpgrp() == getpid() {
        // This cannot fail: the group contains this process.
        _ = kill_current_process_group(Signal::KILL);
    }
    process::abort()
}

/// Kills the worker and its process group, from a forked child of the worker.
pub(crate) fn kill_worker_from_forked_child() -> ! {
    let reason = "error: a launch forked this process and returned in both: have the copy end or become another program\n";
    // Without the lock of standard error, which another thread may have acquired before the fork.
    _ = rustix::io::write(rustix::stdio::stderr(), reason.as_bytes());
    // This cannot fail: the group contains this process.
    _ = kill_current_process_group(Signal::KILL);
    process::abort()
}
