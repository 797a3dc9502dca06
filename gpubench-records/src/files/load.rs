//! Stored runs by name. In: a file, `-`, a run's folder, `last`, the name of a run or baseline, or the number of a run; out:
//! the run, or an error that says what to give instead. Nothing is locked or changed: of a run that is still being measured,
//! the records so far are read.

use std::borrow::Cow;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use super::earlier::{LAST, last as last_of};
use super::format::{Fault, FormatError, RUN, newlines};
use super::lines::{NotARun, Stored, read as read_lines};
use super::place::{self, RECORDS, kept, run_names, state};
use crate::baseline::{BaselineError, Place};
use crate::record::Run;
use gpubench_stats::format::counted;

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
    #[error("{}: {error}", shown(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// A JSON file is no run, or damaged.
    #[error("{}: {why}{}", shown(path), instead(matches!(why, FormatError::Foreign { .. })))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: FormatError,
    },
    /// The records in the folder of a run are none.
    #[error("{} {why}{}", shown(path), instead(matches!(why, NotARun::Foreign(_))))]
    NotARun {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: NotARun,
    },
    /// A file has several runs where one is wanted.
    #[error("{0} has {count} runs: name one of them, such as {0}#1, or merge them by `cargo gpubench merge {0} -o FILE`", path.display())]
    SeveralRuns {
        /// The file.
        path: PathBuf,
        /// The number of its runs.
        count: usize,
    },
    /// A file has fewer runs than the number of the one that is wanted.
    #[error("{} has {}, and no #{number}", path.display(), counted(*count, "run"))]
    NoSuchPart {
        /// The file.
        path: PathBuf,
        /// The number of its runs.
        count: usize,
        /// The number that the user gave.
        number: usize,
    },
    /// There are fewer stored runs than the number of the one that is wanted.
    #[error("there is no run {number}: {} in {}; `cargo gpubench list` shows them with their numbers", stored(*count), runs.display())]
    NoSuchNumber {
        /// The number that the user gave.
        number: usize,
        /// The number of stored runs.
        count: usize,
        /// The folder of the runs.
        runs: PathBuf,
    },
    /// A baseline cannot be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
}

/// The file as messages name it.
fn shown(path: &Path) -> Cow<'_, str> {
    if path.as_os_str() == STANDARD_INPUT { "standard input".into() } else { path.to_string_lossy() }
}

fn stored(count: usize) -> String {
    format!("{} {}", counted(count, "run"), if count == 1 { "is" } else { "are" })
}

/// The advice behind the error about a file that no version reads.
fn instead(is_foreign: bool) -> &'static str {
    if is_foreign { ". Give a file that --json wrote, or the folder of a run" } else { "" }
}

/// The number of names in the error about an unknown one.
const SHOWN_NAMES: usize = 8;

/// The name by which a user asks for standard input.
const STANDARD_INPUT: &str = "-";

/// A stored run with the name that the user can ask for it by.
#[derive(Clone, Debug)]
pub struct NamedStored {
    /// The name, such as `runs.json#2` for the second run of a list.
    pub name: String,
    /// The run.
    pub stored: Stored,
}

/// Reads the run in the file at `path`: one JSON document, or the records of a run in progress.
///
/// # Errors
/// If it cannot be read, or holds something else, or a list of several runs.
pub fn load(path: &Path) -> Result<Stored, LoadRunError> {
    let mut runs = load_all(path)?;
    match (runs.pop(), runs.len()) {
        (Some(run), 0) => Ok(run),
        (_, others) => Err(LoadRunError::SeveralRuns { path: path.to_owned(), count: others + 1 }),
    }
}

/// Reads all runs in the file at `path`: one, or a list of them, as programs of several runs write it.
fn load_all(path: &Path) -> Result<Vec<Stored>, LoadRunError> {
    let mut contents = Vec::new();
    let read = match path.as_os_str() == STANDARD_INPUT {
        true => io::stdin().lock().read_to_end(&mut contents),
        false => File::open(path).and_then(|mut file| file.read_to_end(&mut contents)),
    };
    read.map_err(|error| LoadRunError::Unreadable { path: path.to_owned(), error })?;
    if contents.starts_with(b"{\"run\":") {
        let run =
            read_lines(&*contents).map_err(|why| LoadRunError::NotARun { path: path.to_owned(), why })?;
        return Ok(vec![run]);
    }
    let runs = documents(&contents).map_err(|why| LoadRunError::Damaged { path: path.to_owned(), why })?;
    Ok(runs.into_iter().map(|run| Stored { run, remarks: Vec::new(), is_cut_off: false }).collect())
}

/// Reads a run, or a list of runs.
fn documents(json: &[u8]) -> Result<Vec<Run>, FormatError> {
    if !json.trim_ascii_start().starts_with(b"[") {
        return Ok(vec![Run::parse(json)?]);
    }
    let list: Vec<&RawValue> =
        serde_json::from_slice(json).map_err(|error| RUN.foreign(Fault::of(&error, json, 0)))?;
    if list.is_empty() {
        return Err(RUN.foreign(Fault::NoRuns));
    }
    let run = |run: &RawValue| {
        let run = run.get().as_bytes();
        let begin = run.as_ptr().addr() - json.as_ptr().addr();
        RUN.read_behind(run, newlines(&json[..begin]))
    };
    list.into_iter().map(run).collect()
}

/// The runs and baselines that are kept for a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRuns {
    home: PathBuf,
    /// The folder of the runs.
    runs: PathBuf,
    /// The suite whose last run is meant by `last`, if not any.
    suite: Option<String>,
}

impl StoredRuns {
    /// Those in `home`, the folder `gpubench` of a target folder.
    #[must_use]
    pub fn within(home: PathBuf) -> Self {
        Self { runs: home.join("runs"), home, suite: None }
    }

    /// Those that the running program `suite` keeps: its runs in the folder `runs`, if the user names one.
    #[must_use]
    pub fn of_program(suite: &str, runs: Option<&Path>) -> Self {
        let stored = Self::within(kept());
        let runs = runs.map(Path::to_owned).or_else(place::runs).unwrap_or(stored.runs);
        Self { runs, suite: Some(suite.to_owned()), ..stored }
    }

    /// Those of the project that `folder` is in: in `CARGO_TARGET_DIR`, else in the nearest `target` above that has some,
    /// else in the user's state folder. `None` where there is none of these.
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
        let names = run_names(&self.runs).unwrap_or_default();
        names.into_iter().rev().map(|name| (name.clone(), self.runs.join(name).join(RECORDS))).collect()
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

    /// Returns the file that `wanted` names, if it names one: a path, a run's folder, a stored run by its name or its number in
    /// the list, or the last.
    ///
    /// # Errors
    /// If the last run is asked for and there is none, or a number that no run has.
    pub fn file(&self, wanted: &str) -> Result<Option<PathBuf>, LoadRunError> {
        let (wanted, _) = self.split(wanted);
        if wanted == LAST {
            return self.last().map(Some);
        }
        if wanted == STANDARD_INPUT {
            return Ok(None);
        }
        if let Some(path) = self.path_of(wanted) {
            return Ok(Some(path));
        }
        match wanted.parse::<usize>() {
            Ok(number) if !self.is_baseline(wanted) => self.numbered(number).map(Some),
            _ => Ok(None),
        }
    }

    /// Loads the one run that the user calls `wanted`.
    ///
    /// # Errors
    /// See [`LoadRunError`].
    pub fn load(&self, wanted: &str) -> Result<Stored, LoadRunError> {
        let mut runs = self.load_all(wanted)?;
        match (runs.pop(), runs.len()) {
            (Some(run), 0) => Ok(run.stored),
            (_, others) => Err(LoadRunError::SeveralRuns { path: wanted.into(), count: others + 1 }),
        }
    }

    /// Loads the runs that the user calls `wanted`: all of a file with a list of them.
    ///
    /// # Errors
    /// See [`LoadRunError`].
    pub fn load_all(&self, wanted: &str) -> Result<Vec<NamedStored>, LoadRunError> {
        let (name, number) = self.split(wanted);
        let runs = self.load_file_or_baseline(name)?;
        let count = runs.len();
        let named = |(number, stored)| {
            let name = if count == 1 { name.to_owned() } else { format!("{name}#{number}") };
            NamedStored { name, stored }
        };
        let mut runs = (1..).zip(runs).map(named);
        match number {
            None => Ok(runs.collect()),
            Some(number) => {
                let run = number.checked_sub(1).and_then(|before| runs.nth(before));
                let missing = || LoadRunError::NoSuchPart { path: name.into(), count, number };
                Ok(vec![run.ok_or_else(missing)?])
            }
        }
    }

    fn load_file_or_baseline(&self, name: &str) -> Result<Vec<Stored>, LoadRunError> {
        if name == STANDARD_INPUT {
            return load_all(Path::new(name));
        }
        if let Some(path) = self.file(name)? {
            return load_all(&path);
        }
        if !self.is_baseline(name) {
            return Err(self.unknown(name));
        }
        let run = self.baseline(name).load()?.into_run().ok_or_else(|| self.unknown(name))?;
        Ok(vec![Stored { run, remarks: Vec::new(), is_cut_off: false }])
    }

    /// Splits `runs.json#2` into the file and the number of a run in it, unless a file has that very name.
    fn split<'a>(&self, wanted: &'a str) -> (&'a str, Option<usize>) {
        let split = wanted.rsplit_once('#').and_then(|(name, number)| Some((name, number.parse().ok()?)));
        match split {
            Some((name, number)) if self.path_of(wanted).is_none() => (name, Some(number)),
            _ => (wanted, None),
        }
    }

    /// The file at the path `wanted`, or of the run of that name.
    fn path_of(&self, wanted: &str) -> Option<PathBuf> {
        let path = Path::new(wanted);
        let candidates = [path.join(RECORDS), path.to_owned(), self.runs.join(wanted).join(RECORDS)];
        candidates.into_iter().find(|path| path.exists() && !path.is_dir())
    }

    fn last(&self) -> Result<PathBuf, LoadRunError> {
        let newest = match &self.suite {
            None => self.runs().into_iter().next().map(|(_, path)| path),
            Some(suite) => last_of(&self.runs, suite).ok(),
        };
        newest.ok_or_else(|| LoadRunError::NoRuns(self.runs.clone()))
    }

    /// The run of this number in the list, from 1.
    fn numbered(&self, number: usize) -> Result<PathBuf, LoadRunError> {
        let runs = self.runs();
        let count = runs.len();
        let run = number.checked_sub(1).and_then(|before| runs.into_iter().nth(before));
        let missing = || LoadRunError::NoSuchNumber { number, count, runs: self.runs.clone() };
        run.map(|(_, path)| path).ok_or_else(missing)
    }

    fn is_baseline(&self, name: &str) -> bool {
        self.baselines().iter().any(|baseline| baseline == name)
    }

    /// The error of a name that nothing has. One that is clearly a path is said to be missing, and no more.
    fn unknown(&self, wanted: &str) -> LoadRunError {
        let path = Path::new(wanted);
        if wanted.contains('/')
            || path.extension().is_some_and(|extension| extension.to_string_lossy().starts_with("json"))
        {
            let error = match fs::metadata(path) {
                Err(error) => error,
                Ok(_) => io::Error::other(format!("there is no {RECORDS} in this folder")),
            };
            return LoadRunError::Unreadable { path: path.to_owned(), error };
        }
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
