//! Messages on standard error. In: a sentence. Out: a line.

use std::fmt::Display;
use std::io::{self, Write};

use crate::suite::cli::Exit;

/// Prints an error on standard error, and returns the exit code unchanged.
pub(crate) fn complain(what: &dyn Display, exit: Exit) -> Exit {
    // If standard error is closed, the exit code still reports the error.
    _ = writeln!(io::stderr(), "error: {what}");
    exit
}

/// Prints a warning on standard error.
pub(super) fn warn(what: &str) {
    // If standard error is closed, nobody reads it.
    _ = writeln!(io::stderr(), "warning: {what}");
}

/// Prints a remark on standard error.
pub(super) fn say(what: &str) {
    // If standard error is closed, nobody reads it.
    _ = writeln!(io::stderr(), "{what}");
}
