//! Messages on standard error. If standard error is closed, nobody reads them, and the exit code still reports an error.

use std::io::{self, Write};

use super::SuiteError;
use crate::suite::cli::Exit;
use crate::system::stdio::Patient;
use gpubench_records::text::printable_lines;

/// Returns the exit code of a benchmark binary. Prints the error, if it ended with one.
pub(super) fn conclude(ended: Result<Exit, SuiteError>) -> Exit {
    ended.unwrap_or_else(|error| {
        print_problems(&error, true);
        error.exit()
    })
}

/// Prints a line for each problem of an error, with hints that name flags if the command line has them.
pub(super) fn print_problems(error: &SuiteError, has_flags: bool) {
    match error {
        SuiteError::Incomplete { problems, .. } => {
            problems.iter().for_each(|problem| print_problems(problem, has_flags));
        }
        // It brings its own words before the message.
        SuiteError::Environment(error) => drop(error.print()),
        SuiteError::Ended { resumable: true, .. } if has_flags => {
            say(&format!("error: {error} (--resume goes on with what is left)"));
        }
        error => say(&format!("error: {error}")),
    }
}

/// Prints a warning.
pub(super) fn warn(warning: &str) {
    say(&format!("warning: {warning}"));
}

/// Prints a message. Names, paths and driver messages in it cannot control a terminal.
pub(super) fn say(message: &str) {
    _ = writeln!(Patient(io::stderr()), "{}", printable_lines(message));
}
