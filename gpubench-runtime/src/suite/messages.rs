//! Messages on standard error. In: a sentence. Out: a line. If standard error is closed, nobody reads it, and the exit
//! code still reports an error.

use std::fmt::Display;
use std::io::{self, Write};

use super::SuiteError;
use crate::suite::cli::Exit;
use crate::system::stdio::Patient;
use gpubench_records::text::printable_lines;

/// Returns the exit code of a suite. Prints the error, if it ended with one: nothing else in the runtime does both.
pub(super) fn conclude(ended: Result<Exit, SuiteError>) -> Exit {
    ended.unwrap_or_else(|error| {
        print_problems(&error, |problem| match problem.hint() {
            Some(hint) => format!("{problem} ({hint})"),
            None => problem.to_string(),
        });
        error.exit()
    })
}

/// Prints a line for each problem of an error, in the words of `text`.
pub(super) fn print_problems(error: &SuiteError, text: impl Fn(&SuiteError) -> String) {
    match error {
        SuiteError::Incomplete { problems, .. } => {
            problems.iter().for_each(|problem| print_error(&text(problem)));
        }
        // It brings its own words before the message.
        SuiteError::Environment(error) => drop(error.print()),
        error => print_error(&text(error)),
    }
}

/// Prints an error.
pub(super) fn print_error(error: &dyn Display) {
    say(&format!("error: {error}"));
}

/// Prints a warning.
pub(super) fn warn(warning: &str) {
    say(&format!("warning: {warning}"));
}

/// Prints a remark.
pub(super) fn remark(remark: &str) {
    say(remark);
}

/// Prints a message, whose names, paths and words of drivers change nothing on a terminal.
fn say(message: &str) {
    _ = writeln!(Patient(io::stderr()), "{}", printable_lines(message));
}
