//! The files of a history: a folder for each commit, in it a file for each run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::entry::HistoryRun;
use crate::files::{Destination, create, time_of_day};
use crate::record::Run;

/// The folder of runs of which no commit is known.
const NO_COMMIT: &str = "no-commit";

/// The end of a file's name.
const ENDING: &str = "json";

/// A run that was added to a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its file.
    pub file: PathBuf,
    /// The number of its cases that have a number.
    pub cases: usize,
    /// True if the same run was there already.
    pub was_there: bool,
}

/// The reason that a run was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// It has no case with a number.
    #[error("no case of the run has a number that could be kept")]
    NoCases,
    /// The folder or the file cannot be written.
    #[error("{}: {error}", path.display())]
    NotWritten {
        /// The folder or the file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

/// Checks that a run can be added to the history in `folder`, before it is measured. A folder that is not there is made.
///
/// # Errors
/// If it cannot.
pub fn prepare(folder: &Path) -> Result<(), AddError> {
    let prepared = if folder.exists() && !folder.is_dir() {
        Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a file, and a history is a folder"))
    } else {
        fs::create_dir_all(folder)
            .and_then(|()| Destination::open(&folder.join(NO_COMMIT).with_extension(ENDING)).map(drop))
    };
    prepared.map_err(|error| AddError::NotWritten { path: folder.to_owned(), error })
}

/// Adds `run` to the history in `folder`, under `commit` if one is given, else under its own.
///
/// # Errors
/// If it has no number, or the file cannot be written.
pub fn add(folder: &Path, run: &Run, commit: Option<&str>) -> Result<Added, AddError> {
    let mut kept = HistoryRun::new(run);
    if let Some(commit) = commit {
        (kept.commit, kept.dirty) = (Some(commit.to_owned()), false);
    }
    if kept.cases.is_empty() {
        return Err(AddError::NoCases);
    }
    let written = |error, path: &Path| AddError::NotWritten { path: path.to_owned(), error };
    let line = kept.line().map_err(|error| written(error.into(), folder))?;
    // Tasks of one second have a number each; a run that is added twice is there once.
    let name = time_of_day(kept.started).replace(':', "-");
    let (commit, cases) = (folder_name(kept.commit.as_deref()), kept.cases.len());
    let below = folder.join(commit);
    fs::create_dir_all(&below).map_err(|error| written(error, &below))?;
    let path = |number: usize| match number {
        1 => below.join(format!("{name}.{ENDING}")),
        number => below.join(format!("{name}-{number}.{ENDING}")),
    };
    let mut there = (1..).map(path).take_while(|path| path.exists());
    if let Some(file) = there.find(|path| fs::read(path).is_ok_and(|contents| contents == line)) {
        return Ok(Added { file, cases, was_there: true });
    }
    let file =
        create((1..).map(path), &|out| out.write_all(&line)).map_err(|error| written(error, &below))?;
    Ok(Added { file, cases, was_there: false })
}

/// Returns the name of the folder of a commit: its hash, or none if it is no hash.
fn folder_name(commit: Option<&str>) -> &str {
    let is_hash = |commit: &&str| commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    commit.filter(is_hash).unwrap_or(NO_COMMIT)
}
