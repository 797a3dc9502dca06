//! The widest vector instructions of this CPU.

use pulp::Arch;

/// Runs `work` with the widest vector instructions of this CPU. Only what is inlined into it is compiled for them.
#[inline(always)]
pub(crate) fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(work)
}
