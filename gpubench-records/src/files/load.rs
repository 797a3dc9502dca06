//! Stored runs by what the user calls them. In: a file, a run's folder, `last`, or the name of a run or baseline; out: the run, or
//! why there is none, with what to give instead. Nothing is locked or changed: a run that is still being measured is read as far
//! as it is there.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::earlier::LAST;
use super::format::FormatError;
use super::lines::{NotARun, Stored, read};
use super::place::{RECORDS, run_names, state};
use crate::baseline::{BaselineError, Place};
use crate::record::Run;

/// The reason why a stored run cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadRunError {
    /// Nothing has this name.
    #[error(
        "there is no file, stored run or baseline `{wanted}`. In {} there is: {there}. Give one of these, a file that \
         --json wrote, or `{LAST}`", home.display()
    )]
    Unknown {
        /// The name that the user gave.
        wanted: String,
        /// The folder of stored runs and baselines.
        home: PathBuf,
        /// The names that are there.
        there: String,
    },
    /// No run is stored.
    #[error("there is no stored run in {}: run a suite there, or give a file that --json wrote", .0.display())]
    NoRuns(PathBuf),
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A JSON file is no run, or damaged.
    #[error("{}: {why}{}", path.display(), instead(matches!(why, FormatError::Foreign { .. })))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: FormatError,
    },
    /// The records in the folder of a run are none.
    #[error("{} {why}{}", path.display(), instead(matches!(why, NotARun::Foreign(_))))]
    NotARun {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: NotARun,
    },
    /// A baseline cannot be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
}

/// The advice behind the error about a file that no version reads.
fn instead(is_foreign: bool) -> &'static str {
    if is_foreign { ". Give a file that --json wrote, or the folder of a run" } else { "" }
}

/// So many names are told where none has the one that is wanted.
const SHOWN_NAMES: usize = 8;

/// Reads the run in the file at `path`: one JSON document, or the records of a run in progress.
///
/// # Errors
/// If it cannot be read, or holds something else.
pub fn load(path: &Path) -> Result<Stored, LoadRunError> {
    let unreadable = |error| LoadRunError::Unreadable { path: path.to_owned(), error };
    let mut file = File::open(path).map_err(unreadable)?;
    if has_lines(&file).map_err(unreadable)? {
        return read(file).map_err(|why| LoadRunError::NotARun { path: path.to_owned(), why });
    }
    let mut json = Vec::new();
    file.read_to_end(&mut json).map_err(unreadable)?;
    let run = Run::parse(&json).map_err(|why| LoadRunError::Damaged { path: path.to_owned(), why })?;
    Ok(Stored { run, remarks: Vec::new() })
}

/// Returns true where the first line is that of a run in progress. A pipe cannot be read twice, and has a document.
fn has_lines(mut file: &File) -> io::Result<bool> {
    if !file.metadata()?.is_file() {
        return Ok(false);
    }
    let begins = BufReader::with_capacity(64, file).fill_buf()?.starts_with(b"{\"run\":");
    file.rewind()?;
    Ok(begins)
}

/// The runs and baselines that are kept for a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRuns {
    home: PathBuf,
}

impl StoredRuns {
    /// Those in `home`, the folder `gpubench` of a target folder.
    #[must_use]
    pub fn within(home: PathBuf) -> Self {
        Self { home }
    }

    /// Those of the project that `folder` is in: in the target folder that cargo was told of, else in the nearest `target` above
    /// that has some, else in the user's state folder. `None` where there is none of these.
    #[must_use]
    pub fn of_project(folder: &Path) -> Option<Self> {
        let cargo_target =
            env::var_os("CARGO_TARGET_DIR").map(|target| PathBuf::from(target).join("gpubench"));
        let above =
            || folder.ancestors().map(|above| above.join("target/gpubench")).find(|home| home.is_dir());
        let state = || Some(state()?.join("gpubench"));
        cargo_target.or_else(above).or_else(state).map(Self::within)
    }

    /// Returns the folder that they are in.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the files of the runs with their names, the newest first.
    #[must_use]
    pub fn runs(&self) -> Vec<(String, PathBuf)> {
        let folder = self.home.join("runs");
        let names = run_names(&folder).unwrap_or_default();
        names.into_iter().rev().map(|name| (name.clone(), folder.join(name).join(RECORDS))).collect()
    }

    /// Returns the names of the baselines.
    #[must_use]
    pub fn baselines(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.join("baselines")).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the baseline that is called `name`.
    #[must_use]
    pub fn baseline(&self, name: &str) -> Place {
        Place::within(&self.home.join("baselines"), name)
    }

    /// Returns the file that `wanted` names, if it names one: a path, a run's folder, a stored run or the last.
    ///
    /// # Errors
    /// If the last run is asked for and there is none.
    pub fn file(&self, wanted: &str) -> Result<Option<PathBuf>, LoadRunError> {
        if wanted == LAST {
            let newest = self.runs().into_iter().next().map(|(_, path)| path);
            return newest.map(Some).ok_or_else(|| LoadRunError::NoRuns(self.home.join("runs")));
        }
        let path = Path::new(wanted);
        let stored = self.home.join("runs").join(wanted).join(RECORDS);
        let candidates = [path.join(RECORDS), path.to_owned(), stored];
        Ok(candidates.into_iter().find(|path| path.exists() && !path.is_dir()))
    }

    /// Loads what the user calls `wanted`.
    ///
    /// # Errors
    /// See [`LoadRunError`].
    pub fn load(&self, wanted: &str) -> Result<Stored, LoadRunError> {
        if let Some(path) = self.file(wanted)? {
            return load(&path);
        }
        let place = self.baseline(wanted);
        if !self.baselines().iter().any(|name| name == wanted) {
            return Err(self.unknown(wanted));
        }
        let run = place.load()?.into_run().ok_or_else(|| self.unknown(wanted))?;
        Ok(Stored { run, remarks: Vec::new() })
    }

    fn unknown(&self, wanted: &str) -> LoadRunError {
        let runs = self.runs().into_iter().map(|(name, _)| name);
        let all: Vec<String> = self.baselines().into_iter().chain(runs).collect();
        let mut there: Vec<String> = all.iter().take(SHOWN_NAMES).map(|name| format!("`{name}`")).collect();
        if all.len() > SHOWN_NAMES {
            there.push(format!("{} more", all.len() - SHOWN_NAMES));
        }
        let there = if there.is_empty() { "nothing".to_owned() } else { there.join(", ") };
        LoadRunError::Unknown { wanted: wanted.to_owned(), home: self.home.clone(), there }
    }
}
