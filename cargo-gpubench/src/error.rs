//! The error of a command: one sentence that reports what happened, where, and what to do, with the exit code for it.

use std::error::Error;
use std::fmt::{self, Display};
use std::path::Path;

use gpubench_records::exit::Exit;

/// The error of a command.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    message: String,
}

impl CommandError {
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    /// The command line asks for something impossible.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something went wrong on the way.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// A file, a folder or a program on which an operation failed.
    pub(crate) fn at<E: Display>(path: &Path) -> impl Fn(E) -> Self {
        |error| Self::failed(at(path, error))
    }

    /// Puts text before the message.
    pub(crate) fn within(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }
}

impl Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// An error of a run, a filter or a format that the user named.
impl<E: Error> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self::usage(error)
    }
}

/// Returns the message about a file or a program that an operation failed on.
pub(crate) fn at(path: &Path, error: impl Display) -> String {
    format!("{}: {error}", path.display())
}
