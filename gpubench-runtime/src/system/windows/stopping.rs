//! The events of a console that ask a process to end: Ctrl-C, Ctrl-Break, and the console's own end. All are told as Ctrl-C.

use std::io;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

use signal_hook::consts::SIGINT;

/// The places where an event is noted.
static SEEN: Mutex<Vec<Arc<AtomicUsize>>> = Mutex::new(Vec::new());

/// Looks for an event that asks this process to end.
pub(crate) struct SignalWatch(Arc<AtomicUsize>);

impl SignalWatch {
    /// Begins to look. A second event ends the process.
    pub(crate) fn start() -> Self {
        static LISTENING: Once = Once::new();

        let seen = Arc::new(AtomicUsize::new(0));
        SEEN.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&seen));
        // Fails if the program listens itself: such events are its own then.
        LISTENING.call_once(|| _ = ctrlc::set_handler(note));
        Self(seen)
    }

    /// Returns the number of the signal that an event is told as, 0 before.
    pub(crate) fn signal(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Notes an event, or ends the process if there was one before.
#[expect(clippy::exit, reason = "the user is impatient")]
fn note() {
    for seen in &*SEEN.lock().unwrap_or_else(PoisonError::into_inner) {
        if seen.swap(SIGINT as usize, Ordering::SeqCst) != 0 {
            process::exit(128 + SIGINT);
        }
    }
}

/// Has all such events end nothing.
pub(crate) fn outlive() -> io::Result<()> {
    ctrlc::set_handler(|| ()).map_err(io::Error::other)
}

/// Does nothing: no limit on the size of files ends a process here.
pub(crate) fn outlive_file_limits() {}
