//! An earlier run to resume. In: its name, and the folder of runs; out: the stored run, or the reason that there is none to
//! resume.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::lines::{NotARun, Stored, head_of, read};
use super::place::{RECORDS, run_names};
use crate::record::Run;

/// The word by which the user asks for the latest run of a suite.
pub(super) const LAST: &str = "last";

/// A stored run with its name.
#[derive(Clone, Debug)]
pub struct EarlierRun {
    /// Its name.
    pub name: String,
    /// The run itself.
    pub run: Run,
    /// The faults of its file.
    pub remarks: Vec<String>,
}

/// The reason that there is no run to resume.
#[derive(Debug, thiserror::Error)]
pub enum NoRun {
    /// The folder has no run of this suite.
    #[error("there is no run of `{suite}` in {}", folder.display())]
    None {
        /// The suite.
        suite: String,
        /// The folder of runs.
        folder: PathBuf,
    },
    /// The folder has no run of this name.
    #[error("there is no run `{wanted}`; the runs in {} are: {there}", folder.display())]
    Unknown {
        /// The name that the user gave.
        wanted: String,
        /// The folder of runs.
        folder: PathBuf,
        /// Those that are there.
        there: String,
    },
    /// The file is no run.
    #[error("{} {why}", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: NotARun,
    },
    /// It is a run of something else.
    #[error("{} is a run of `{theirs}`; this is `{ours}`", path.display())]
    OtherSuite {
        /// The file.
        path: PathBuf,
        /// The suite that it is a run of.
        theirs: String,
        /// The suite that this is.
        ours: String,
    },
    /// It has not ended yet.
    #[error("{} is still being measured by another process", path.display())]
    InProgress {
        /// The file.
        path: PathBuf,
    },
}

impl EarlierRun {
    /// The run that the user calls `wanted`, in `folder` or by its path; with `last`, the latest of `suite`.
    ///
    /// # Errors
    /// See [`NoRun`].
    pub fn open(folder: &Path, wanted: &str, suite: &str) -> Result<Self, NoRun> {
        let path = if wanted == LAST { last(folder, suite)? } else { named(folder, wanted)? };
        let not_a_run = |why| NoRun::NotARun { path: path.clone(), why };
        let file = File::open(&path).map_err(|error| not_a_run(NotARun::Unreadable(error)))?;
        // Its writer has it locked. This lock ends with the file, before anything is measured.
        if matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return Err(NoRun::InProgress { path });
        }
        let Stored { run, mut remarks, is_cut_off } = read(file).map_err(not_a_run)?;
        if is_cut_off {
            remarks.push("its last line is cut off: that case is measured again".to_owned());
        }
        if run.program.suite != suite {
            let (theirs, ours) = (run.program.suite, suite.to_owned());
            return Err(NoRun::OtherSuite { path, theirs, ours });
        }
        let name = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Ok(Self { name: name.unwrap_or_else(|| path.display().to_string()), run, remarks })
    }
}

pub(super) fn last(folder: &Path, suite: &str) -> Result<PathBuf, NoRun> {
    let names = run_names(folder).unwrap_or_default();
    let paths = names.iter().rev().map(|name| folder.join(name).join(RECORDS));
    let is_ours = |path: &PathBuf| {
        let head = File::open(path).map_err(NotARun::Unreadable).and_then(head_of);
        head.is_ok_and(|run| run.program.suite == suite)
    };
    let found = paths.into_iter().find(is_ours);
    found.ok_or_else(|| NoRun::None { suite: suite.to_owned(), folder: folder.to_owned() })
}

fn named(folder: &Path, wanted: &str) -> Result<PathBuf, NoRun> {
    let path = Path::new(wanted);
    let candidates = [folder.join(wanted).join(RECORDS), path.join(RECORDS), path.to_owned()];
    candidates.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let there = run_names(folder).unwrap_or_default();
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        NoRun::Unknown { wanted: wanted.to_owned(), folder: folder.to_owned(), there }
    })
}
