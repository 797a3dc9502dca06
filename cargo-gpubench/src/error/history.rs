//! The errors of a history.

use std::io;
use std::path::PathBuf;

use gpubench_records::history::AddError;

/// A history that cannot be read or added to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error(
        "{} is no history: {error}. The first argument is the folder, and filters follow it; `cargo gpubench history add RUN` and a suite with `history` in gpubench.toml make one",
        folder.display()
    )]
    Unreadable { folder: PathBuf, error: io::Error },
    #[error("no run is in {}: `cargo gpubench history add RUN` and a suite with `history` in gpubench.toml add one", .0.display())]
    Empty(PathBuf),
    #[error("{run}: {error}")]
    NotAdded { run: String, error: AddError },
    #[error("a commit is named for {0} runs: add them one by one")]
    OneCommit(usize),
    #[error("--commit {0}: give the hash of a commit, of 7 digits or more")]
    NoHash(String),
}
