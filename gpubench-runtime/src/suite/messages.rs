//! What is said on standard error. In: a sentence; out: a line.

use std::fmt::Display;
use std::io::{self, Write};

use crate::suite::cli::Exit;

/// Says on standard error what is wrong; the exit code is passed through.
pub(crate) fn complain(what: &dyn Display, exit: Exit) -> Exit {
    // Where standard error is closed, the exit code still tells.
    _ = writeln!(io::stderr(), "error: {what}");
    exit
}

/// Says on standard error what is not as it should be, and no error.
pub(super) fn warn(what: &str) {
    // Where standard error is closed, there is nobody to tell.
    _ = writeln!(io::stderr(), "warning: {what}");
}

/// Says on standard error what is as it should be.
pub(super) fn say(what: &str) {
    // Where standard error is closed, there is nobody to tell.
    _ = writeln!(io::stderr(), "{what}");
}
