//! The signals that ask a run to end. In: Ctrl-C and SIGTERM; out: which one came, which a run looks at between two glances at
//! its worker. Whoever cannot wait for the end that is in order sends another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown, register_usize};

/// Remembers the signal that asked the run to end.
pub(super) struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// From here on the signals end the run rather than the process. The second one ends that too.
    pub(super) fn on_signals() -> Self {
        let seen = Arc::new(AtomicUsize::new(0));
        let again = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // These fail only for signals that cannot be caught, which these are not. The first signal must find no earlier
            // one, so that it is registered last that there was one.
            _ = register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again));
            _ = register(signal, Arc::clone(&again));
            _ = register_usize(signal, Arc::clone(&seen), signal as usize);
        }
        Self(seen)
    }

    /// The signal that came, if one did.
    pub(super) fn signal(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::SeqCst)).ok().filter(|signal| *signal > 0)
    }
}
