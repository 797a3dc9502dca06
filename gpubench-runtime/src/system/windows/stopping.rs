//! The signals that ask a process to end, as the C library makes them of a console's events.

use std::ffi::c_int;

use signal_hook::consts::{SIGINT, SIGTERM};

/// Ctrl-Break, and the console's end: the number in the C library, for which there is no name elsewhere.
const SIGBREAK: c_int = 21;

/// All signals that may end a run. Only programs send themselves SIGTERM here.
pub(crate) const ALL: [c_int; 3] = [SIGBREAK, SIGINT, SIGTERM];

/// The signals that end a run.
pub(crate) fn signals() -> impl Iterator<Item = c_int> {
    ALL.into_iter()
}

/// Does nothing: no limit on the size of files ends a process here.
pub(crate) fn outlive_file_limits() {}
