//! Copies of a worker, made by a launch that calls `fork` and returns in both processes. In: each launch that has returned, and
//! each reply. Out: a copy tells the supervisor that it is one, and ends. It must not launch anything: copies would double at
//! each launch until the machine has no room for another process.

use std::fs::File;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, process};

use super::message::send;
use super::{Answer, Reply};
use crate::system::children;
use crate::system::stdio::Patient;

/// The worker that this process is, or is a copy of.
static WORKER: OnceLock<Original> = OnceLock::new();

struct Original {
    process: u32,
    replies: File,
    /// The number of the request in progress.
    request: AtomicU64,
}

/// Takes this process for a worker that sends its replies to `replies`.
///
/// # Errors
/// Returns an error if the system has no further descriptor.
pub(super) fn watch(replies: &File) -> io::Result<()> {
    let replies = replies.try_clone()?;
    gpubench_driver::mark_copies();
    _ = WORKER.set(Original { process: process::id(), replies, request: AtomicU64::new(0) });
    Ok(())
}

/// Takes the request of this number for the one in progress.
pub(super) fn begin(request: u64) {
    if let Some(worker) = WORKER.get() {
        worker.request.store(request, Ordering::Relaxed);
    }
}

/// Ends this process behind a launch if it is a copy of the worker. In the worker it reads one value of memory, since it is part
/// of what is timed on the CPU.
#[inline]
pub(super) fn end_marked() {
    if gpubench_driver::is_copy() {
        end_copy();
    }
}

/// Ends this process if it is a copy of the worker, however it was made.
#[cold]
pub(super) fn end_copy() {
    let Some(worker) = WORKER.get() else { return };
    if process::id() != worker.process {
        let (number, mut replies) = (worker.request.load(Ordering::Relaxed), Patient(&worker.replies));
        // Nothing that it has inherited is dropped or written: all of it belongs to the worker.
        _ = send(&mut replies, &Answer { is_copy: true, ..Answer::new(number, Reply::Done) });
        children::end_this_process();
    }
}
