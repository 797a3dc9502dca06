//! The errors of a command, with the exit codes that they end it with. In: what went wrong; out: a sentence that says what to do.

mod device;
mod history;
mod init;
mod manifest;
mod revision;
mod run;

use std::io;
use std::path::PathBuf;

use gpubench_records::exit::Exit;
use gpubench_records::files::{FormatError, LoadRunError};
use gpubench_records::selection::BadFilter;
use gpubench_report::join::JoinError;
use gpubench_table::export::{ExportTo, SamePlace};

pub(crate) use self::device::DeviceCommandError;
pub(crate) use self::history::HistoryError;
pub(crate) use self::init::InitError;
pub(crate) use self::manifest::ManifestError;
pub(crate) use self::revision::RevisionError;
pub(crate) use self::run::RunError;

/// A text that is no span of time.
#[derive(Debug, thiserror::Error)]
#[error("give a time above 0, such as 90s, 10m or 1h")]
pub(crate) struct BadTime;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("give a command: `cargo gpubench --help` lists them")]
    NoCommand,
    #[error(transparent)]
    Load(#[from] LoadRunError),
    #[error("the project's stored runs cannot be found: give their folder by --home")]
    NoHome,
    #[error("the current folder cannot be told: {0}")]
    NoFolder(io::Error),
    #[error(
        "{run}: {cases}, none of which matches: {selection}. `cargo gpubench report {run}` shows them all"
    )]
    NothingSelected { run: String, cases: String, selection: String },
    #[error(transparent)]
    Filter(#[from] BadFilter),
    #[error("--arg {arg}=…: no case of {run} has an argument of this name")]
    NoSuchArg { run: String, arg: String },
    #[error("{0}")]
    SamePlace(#[from] SamePlace),
    #[error("{} would be written over the run that is read from it: give another file", .0.display())]
    WrittenOver(PathBuf),
    #[error("{flag} {text}: give a percentage above 0, such as 5%{also}")]
    Percentage { flag: &'static str, text: String, also: &'static str },
    #[error("no run could be read. {first}")]
    NothingRead { first: String },
    #[error("--json and --html: give each a file of its own")]
    SameFile,
    #[error("{}: {error}", path.display())]
    NotOpened { path: PathBuf, error: io::Error },
    #[error("{to}: {error}")]
    NotWritten { to: ExportTo, error: io::Error },
    #[error("the results cannot be printed: {0}")]
    Unprintable(io::Error),
    #[error("these runs cannot be merged: {0}")]
    Join(#[from] JoinError),
    #[error(transparent)]
    Init(#[from] InitError),
    #[error(transparent)]
    Device(#[from] DeviceCommandError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Revision(#[from] RevisionError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("{file}: {error}")]
    NoTuning { file: String, error: Box<FormatError> },
    #[error("--explain, exports and flags that select cases are for runs: {0} is a tuning")]
    NotOfTunings(String),
    #[error("formats are written of one run: name one of the {0}, or merge them by `cargo gpubench merge`")]
    SeveralRuns(usize),
}

impl CommandError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NothingSelected { .. } => Exit::Nothing,
            Self::NotWritten { .. } | Self::Unprintable(_) => Exit::Failed,
            Self::Init(
                InitError::NotWritten { .. } | InitError::Manifest(ManifestError::NotWritten { .. }),
            ) => Exit::Failed,
            Self::Run(error) => error.exit(),
            Self::Revision(error) => error.exit(),
            Self::History(HistoryError::Empty(_)) => Exit::Nothing,
            Self::History(HistoryError::NotAdded { .. }) => Exit::Failed,
            Self::Device(error) => error.exit(),
            _ => Exit::Usage,
        }
    }
}
