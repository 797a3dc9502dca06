//! The error of a command: one sentence that reports what happened, where, and what to do, with the exit code for it.

mod history;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use gpubench_records::exit::Exit;
use gpubench_records::files::LoadRunError;
use gpubench_records::selection::BadFilter;
use gpubench_report::join::JoinError;
use gpubench_table::export::SamePlace;

pub(crate) use self::history::HistoryError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("{message}")]
    Other { exit: Exit, message: String },
    #[error(transparent)]
    Load(#[from] LoadRunError),
    #[error(transparent)]
    Filter(#[from] BadFilter),
    #[error(transparent)]
    SamePlace(#[from] SamePlace),
    #[error("these runs cannot be merged: {0}")]
    Join(#[from] JoinError),
    #[error("{flag} {text}: give a percentage above 0, such as 5%{also}")]
    Percentage { flag: &'static str, text: String, also: &'static str },
    #[error("no run could be read. {first}")]
    NothingRead { first: String },
    #[error("--json and --html: give each a file of its own")]
    SameFile,
    #[error(transparent)]
    Revision(#[from] RevisionError),
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// A revision that cannot be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RevisionError {
    #[error("git does not start: {0}")]
    NoGit(io::Error),
    #[error("{}: {error}", path.display())]
    NoPlace { path: PathBuf, error: io::Error },
    #[error("other comparisons use all work trees in {}: wait until one of them ends", .0.display())]
    AllInUse(PathBuf),
    #[error("a signal ended the command before it had a result to show")]
    Interrupted(Exit),
    #[error("the benchmark binary {0} is not a bench target of both commits here")]
    NoSuchSuite(String),
    /// Other revisions may be measured nevertheless.
    #[error("{message}")]
    Other { exit: Exit, message: String },
}

impl CommandError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self::Other { exit, message: message.into() }
    }

    /// The command line asks for something impossible.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Something went wrong on the way.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Other { exit, .. } => *exit,
            Self::Revision(error) => error.exit(),
            Self::History(HistoryError::Empty(_)) => Exit::Nothing,
            Self::History(HistoryError::NotAdded { .. }) => Exit::Failed,
            _ => Exit::Usage,
        }
    }
}

impl RevisionError {
    /// A folder that cannot be used.
    pub(crate) fn no_place(path: &Path) -> impl Fn(io::Error) -> Self {
        |error| Self::NoPlace { path: path.to_owned(), error }
    }

    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self::Other { exit, message: message.into() }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Other { exit, .. } | Self::Interrupted(exit) => *exit,
            Self::NoPlace { .. } => Exit::Failed,
            _ => Exit::Usage,
        }
    }
}

/// Returns the message about a file or a program that an operation failed on.
pub(crate) fn at(path: &Path, error: impl Display) -> String {
    format!("{}: {error}", path.display())
}
