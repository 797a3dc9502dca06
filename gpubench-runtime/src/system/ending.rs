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

/// Exits if this process is a forked child of the worker: a launch may call `fork` and return in both processes. Otherwise the number of
/// processes would double with each launch. In the worker this reads one value in memory, since it is part of the time on the CPU.
#[inline]
pub(crate) fn exit_if_forked_child() {
    if gpubench_driver::is_forked_copy() {
        kill_worker_from_forked_child();
    }
}

/// Kills the process group of the worker, which includes this forked child of it. Prints the reason on
/// standard error first.
fn kill_worker_from_forked_child() -> ! {
    let reason = "error: a launch forked this process and returned in both: have the copy end or become another program\n";
    // Without the lock of standard error, which another thread may have acquired before the fork.
    _ = rustix::io::write(rustix::stdio::stderr(), reason.as_bytes());
    // This cannot fail: the group contains this process.
    _ = kill_current_process_group(Signal::KILL);
    process::abort()
}
