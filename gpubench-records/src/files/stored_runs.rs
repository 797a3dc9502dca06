//! Stored runs by name. In: a file, `-`, a run's folder, `last`, the name of a run or baseline, or the number of a run; out:
//! the run, or an error that says what to give instead.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::earlier::{LAST, last as last_of};
use super::lines::Stored;
use super::load::{LoadRunError, STANDARD_INPUT, load_all};
use super::place::{self, RECORDS, kept, run_names, state};
use crate::baseline::Place;

/// The number of names in the error about an unknown one.
const SHOWN_NAMES: usize = 8;

/// A stored run with the name that the user can ask for it by.
#[derive(Clone, Debug)]
pub struct NamedStored {
    /// The name, such as `runs.json#2` for the second run of a list.
    pub name: String,
    /// The run.
    pub stored: Stored,
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
            Some(suite) => last_of(&self.runs, suite, |_| true).ok(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a run in the list, which a baseline may have for a name.
    #[test]
    fn a_number_is_that_of_a_run_unless_a_baseline_is_called_so() {
        let home = tempfile::tempdir().expect("a folder");
        let stored = StoredRuns::within(home.path().to_owned());
        let run = home.path().join("runs/2026-01-01T00-00-00Z");
        fs::create_dir_all(&run).expect("a folder");
        fs::write(run.join(RECORDS), "").expect("a file");
        assert_eq!(stored.file("1").expect("it is there"), Some(run.join(RECORDS)));
        assert!(matches!(stored.file("2"), Err(LoadRunError::NoSuchNumber { number: 2, count: 1, .. })));
        assert_eq!(stored.file("main").expect("it may be a baseline"), None);
        fs::create_dir_all(home.path().join("baselines/2")).expect("a folder");
        assert_eq!(stored.baselines(), ["2"]);
        assert_eq!(stored.file("2").expect("a baseline"), None);
    }

    #[test]
    fn a_number_behind_the_name_of_a_file_is_a_part_of_it() {
        let home = tempfile::tempdir().expect("a folder");
        let stored = StoredRuns::within(home.path().to_owned());
        let path = home.path().join("runs.json#2");
        let wanted = path.to_str().expect("UTF-8");
        let name = wanted.strip_suffix("#2").expect("a number");
        assert_eq!(stored.split(wanted), (name, Some(2)));
        fs::write(&path, "").expect("a file");
        assert_eq!(stored.split(wanted), (wanted, None), "a file has that very name");
        assert_eq!(stored.split(name), (name, None));
    }
    /// Two suites may keep their runs in one folder.
    #[test]
    fn the_last_run_of_a_program_is_one_of_its_own() {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        let run = crate::files::read(&lines[..]).expect("a run").run;
        let folder = tempfile::tempdir().expect("a folder");
        let mut files = Vec::new();
        for suite in ["ours", "theirs"] {
            let program = crate::record::Program { suite: suite.to_owned(), ..run.program.clone() };
            let bare = crate::record::Run { program, records: Vec::new(), ..run.clone() };
            let store = crate::files::Store::create(folder.path(), &bare, &[]).expect("it can be written");
            files.push(store.path().to_owned());
        }
        for (suite, file) in ["ours", "theirs"].into_iter().zip(files) {
            let found = StoredRuns::of_program(suite, Some(folder.path())).file("last");
            assert_eq!(found.expect("it is there"), Some(file), "{suite}");
        }
    }
}
