//! The signals that ask a run to end. In: Ctrl-C, SIGTERM and SIGHUP, or what the system has. Out: the signal that came. A run looks
//! for it between two looks at its worker. A second signal ends the process at once; on Unix, the same one within
//! half a second counts as one with the first.

use crate::system::stopping::SignalWatch;

/// Remembers the signal that asked the run to end.
pub(super) struct Stop(SignalWatch);

impl Stop {
    /// Makes the first signal end the run rather than the process. A second one ends the process too.
    pub(super) fn on_signals() -> Self {
        Self(SignalWatch::start())
    }

    /// Returns the signal that came, if any.
    pub(super) fn signal(&self) -> Option<u8> {
        u8::try_from(self.0.signal()).ok().filter(|signal| *signal > 0)
    }
}
