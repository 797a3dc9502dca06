//! The signals that ask a run to end. In: Ctrl-C and SIGTERM; out: which one came, which a run looks at between two glances at
//! its worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// Remembers the signal that asked the run to end.
pub(super) struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From here on the signals end the run rather than the process.
    pub(super) fn on_signals() -> Self {
        let seen = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM] {
            // Fails only for signals that cannot be caught, which these are not.
            _ = signal_hook::flag::register_usize(signal, Arc::clone(&seen), signal as usize);
        }
        Self(seen)
    }

    /// The signal that came, if one did.
    pub(super) fn signal(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0)
    }
}
