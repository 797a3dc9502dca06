//! The folders of baselines. In: a name or a path; out: the runs that are stored there, or one run more. A name is a folder
//! in cargo's `target`; in it each file is a run as `--json` writes it, and of a case the newest counts, so that a run of a
//! few cases brings those up to date and leaves the others alone.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::{self, Destination, FormatError};
use crate::id::CaseId;
use crate::record::{Record, Run};

/// The place of a baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    name: String,
    path: PathBuf,
}

/// A baseline as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// As the user calls it.
    pub name: String,
    /// The newest first.
    runs: Vec<Run>,
    /// The newest record of each case, in their order.
    cases: Vec<RecordPlace>,
    /// The newest record of each case that has a number; without a number where none has one.
    places: HashMap<CaseId, RecordPlace>,
}

/// The numbers of a run and of a record in it.
type RecordPlace = (usize, usize);

/// The reason why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// There is none.
    #[error("there is no baseline `{name}` ({} is not there{}); --save-baseline {name} makes one", path.display(), there_is(others))]
    Missing {
        /// As the user calls it.
        name: String,
        /// The place that it should be in.
        path: PathBuf,
        /// Those that are there.
        others: Vec<String>,
    },
    /// A file is no stored run.
    #[error("baseline `{name}`: {}: {why}. Remove it, or save the baseline anew", path.display())]
    Damaged {
        /// As the user calls it.
        name: String,
        /// The file.
        path: PathBuf,
        /// The reason why it cannot be read.
        why: FormatError,
    },
    /// A file cannot be read or written.
    #[error("baseline `{name}`: {}: {error}", path.display())]
    Io {
        /// As the user calls it.
        name: String,
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

fn there_is(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; there is {}", names.join(", ")) }
}

impl Place {
    /// The place of the baseline that the user calls `name`: what has a `/` in it or ends in `.json` is a path.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self::within(&baselines(), name)
    }

    /// The same, of the baselines in `folder`.
    #[must_use]
    pub fn within(folder: &Path, name: &str) -> Self {
        let is_path = name.contains('/') || is_json(Path::new(name));
        let path = if is_path { PathBuf::from(name) } else { folder.join(name) };
        Self { name: name.to_owned(), path }
    }

    /// Reads what is stored.
    ///
    /// # Errors
    /// Where there is nothing, or something else than runs.
    pub fn load(&self) -> Result<Baseline, BaselineError> {
        let files = if self.path.is_dir() { self.files()? } else { vec![self.path.clone()] };
        let mut runs = files.iter().map(|file| self.read(file)).collect::<Result<Vec<_>, _>>()?;
        if runs.is_empty() {
            return Err(self.missing());
        }
        // The names of files of one second tell which came later.
        runs.reverse();
        runs.sort_by_key(|run| Reverse(run.started));
        Ok(Baseline::new(self.name.clone(), runs))
    }

    /// Makes sure that something can be stored, before it is measured.
    ///
    /// # Errors
    /// Where it cannot.
    pub fn prepare(&self) -> Result<(), BaselineError> {
        let folder = self.folder();
        fs::create_dir_all(folder).map_err(|error| self.io(folder, error))?;
        let path = if is_json(&self.path) { self.path.clone() } else { self.next(0) };
        Destination::open(&path).map(drop).map_err(|error| self.io(folder, error))
    }

    /// Stores `run`: whole, or not at all. What it has all cases of goes.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&self, run: &Run) -> Result<(), BaselineError> {
        let to = if is_json(&self.path) { self.path.clone() } else { self.next(run.started) };
        files::replace(&to, &|out| run.write(out)).map_err(|error| self.io(&to, error))?;
        if !is_json(&self.path) {
            self.prune(&to, run)?;
        }
        Ok(())
    }

    /// A file that is not there yet, whose name sorts by time.
    fn next(&self, started: u64) -> PathBuf {
        let name = |number| self.path.join(format!("{started:010}-{number}.json"));
        (0_u32..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0))
    }

    /// Removes the files of which `newest` has every case. One that cannot be read is left for whoever loads it.
    fn prune(&self, to: &Path, newest: &Run) -> Result<(), BaselineError> {
        let mut newer: HashMap<&CaseId, bool> = HashMap::new();
        for record in &newest.records {
            *newer.entry(&record.case).or_default() |= record.measurement.is_some();
        }
        for file in self.files()?.iter().filter(|file| *file != to) {
            let Ok(run) = self.read(file) else { continue };
            let is_superseded = |older: &Record| {
                let newer = newer.get(&older.case);
                newer.is_some_and(|has_number| *has_number || older.measurement.is_none())
            };
            if run.records.iter().all(is_superseded) {
                fs::remove_file(file).map_err(|error| self.io(file, error))?;
            }
        }
        Ok(())
    }

    fn folder(&self) -> &Path {
        let parent = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if is_json(&self.path) { parent.unwrap_or(Path::new(".")) } else { &self.path }
    }

    fn files(&self) -> Result<Vec<PathBuf>, BaselineError> {
        let entries = fs::read_dir(&self.path).map_err(|error| self.io(&self.path, error))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| is_json(file));
        files.sort();
        Ok(files)
    }

    fn read(&self, file: &Path) -> Result<Run, BaselineError> {
        let text = match fs::read(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.missing()),
            Err(error) => return Err(self.io(file, error)),
        };
        Run::parse(&text).map_err(|why| BaselineError::Damaged {
            name: self.name.clone(),
            path: file.to_owned(),
            why,
        })
    }

    fn missing(&self) -> BaselineError {
        let folders = fs::read_dir(baselines()).into_iter().flatten().flatten();
        let mut others: Vec<String> =
            folders.map(|entry| format!("`{}`", entry.file_name().to_string_lossy())).collect();
        others.sort();
        BaselineError::Missing { name: self.name.clone(), path: self.path.clone(), others }
    }

    fn io(&self, path: &Path, error: io::Error) -> BaselineError {
        BaselineError::Io { name: self.name.clone(), path: path.to_owned(), error }
    }
}

impl Baseline {
    /// The baseline of one run.
    #[must_use]
    pub fn of(name: String, run: Run) -> Self {
        Self::new(name, vec![run])
    }

    /// The baseline of these runs, the newest first.
    fn new(name: String, runs: Vec<Run>) -> Self {
        let (mut cases, mut places) = (Vec::new(), HashMap::new());
        let has_number = |(run, record): RecordPlace| runs[run].records[record].measurement.is_some();
        for (number, run) in runs.iter().enumerate() {
            for (place, record) in run.records.iter().enumerate() {
                let this = (number, place);
                match places.entry(record.case.clone()) {
                    Entry::Vacant(entry) => {
                        entry.insert(this);
                        cases.push(this);
                    }
                    Entry::Occupied(mut entry) if !has_number(*entry.get()) && has_number(this) => {
                        entry.insert(this);
                    }
                    Entry::Occupied(_) => {}
                }
            }
        }
        Self { name, runs, cases, places }
    }

    /// Returns all of it as one run: the newest, with those records of older ones that [`find`](Self::find) returns.
    #[must_use]
    pub fn into_run(self) -> Option<Run> {
        let mut runs = self.runs.into_iter();
        let mut whole = runs.next()?;
        let places = whole.records.iter().map(|record| record.case.clone()).zip(0..);
        let mut places: HashMap<CaseId, usize> = places.collect();
        for older in runs {
            whole.add_devices(older.devices);
            for record in older.records {
                match places.get(&record.case).map(|place| &mut whole.records[*place]) {
                    None => {
                        places.insert(record.case.clone(), whole.records.len());
                        whole.records.push(record);
                    }
                    Some(newer) if newer.measurement.is_none() && record.measurement.is_some() => {
                        *newer = record;
                    }
                    Some(_) => {}
                }
            }
        }
        whole.planned = whole.planned.max(whole.records.len());
        Some(whole)
    }

    /// The newest record of the case of `record`, with its run: one that has a number, if there is one.
    #[must_use]
    pub fn find(&self, record: &Record) -> Option<(&Run, &Record)> {
        let (run, place) = *self.places.get(&record.case)?;
        let run = &self.runs[run];
        Some((run, &run.records[place]))
    }

    /// Every case once, each as the newest run has it.
    pub fn cases(&self) -> impl Iterator<Item = &Record> {
        self.cases.iter().map(|(run, place)| &self.runs[*run].records[*place])
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// The folder of all baselines: in the one that cargo was told to build into, else where gpubench keeps things.
fn baselines() -> PathBuf {
    let asked = env::var_os("CARGO_TARGET_DIR").map(|target| PathBuf::from(target).join("gpubench"));
    asked.or_else(files::home).unwrap_or_else(|| "target/gpubench".into()).join("baselines")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::check;
    use crate::comparison::Finding;

    /// A run as the format of before it had a version 2 stored it.
    fn old_run() -> Run {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        files::read(&lines[..]).expect("a run").run
    }

    fn saved(folder: &Path, runs: &[Run]) -> Baseline {
        let place = Place::within(folder, "main");
        place.prepare().expect("a folder");
        runs.iter().for_each(|run| place.save(run).expect("it is written"));
        place.load().expect("a baseline")
    }

    #[test]
    fn of_a_case_the_newest_record_with_a_number_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let old = old_run();
        let mut new = Run { started: old.started + 60, ..old.clone() };
        new.records.truncate(2);
        new.records.reverse();
        // It failed, and what was measured before counts.
        new.records[0].measurement = None;
        let baseline = saved(folder.path(), &[old.clone(), new.clone()]);
        let started = |record: &Record| baseline.find(record).map(|(run, _)| run.started);
        assert_eq!(started(&new.records[0]), Some(old.started));
        assert_eq!(started(&new.records[1]), Some(new.started));
        assert_eq!(started(&old.records[4]), Some(old.started));
        let cases: Vec<_> = baseline.cases().map(|record| &record.case).collect();
        let [first, second, rest @ ..] = &old.records[..] else { panic!("it has some") };
        let order = [second, first].into_iter().chain(rest).map(|record| &record.case);
        assert_eq!(cases, order.collect::<Vec<_>>(), "each once, the newest run's first");
    }

    #[test]
    fn a_run_that_has_every_case_replaces_the_older_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let old = old_run();
        let new = Run { started: old.started + 60, ..old.clone() };
        let baseline = saved(folder.path(), &[old.clone(), new]);
        assert_eq!((baseline.runs.len(), baseline.runs[0].started), (1, old.started + 60));
        let part = Run { records: old.records[..1].to_vec(), started: old.started + 120, ..old };
        assert_eq!(saved(folder.path(), &[part]).runs.len(), 2);
    }

    #[test]
    fn a_baseline_of_version_1_is_held_against_a_run_of_version_2() {
        // A run as commit 3a2da55 stored it.
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored/eight-3a2da55.json");
        let text = fs::read(&recorded).expect("it is there");
        assert!(text.starts_with(b"{\"schema\":\"gpubench/1\""), "it is of version 1");
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("old.json"), &text).expect("it can be written");
        let path = folder.path().join("old.json");
        let baseline = Place::of(path.to_str().expect("UTF-8")).load().expect("version 1 is read");
        let run = Run::parse(&text).expect("a run");
        let checked = check(&run, &baseline, &|_| true);
        assert_eq!((checked.lines.len(), checked.missing.len()), (run.records.len(), 0));
        let compared = checked.lines.iter().filter(|line| matches!(line.finding, Finding::Compared { .. }));
        assert_eq!(compared.count(), 8);
        let moved = |line: &&crate::comparison::CaseFinding| match &line.finding {
            Finding::Compared { ratio, .. } => (ratio.value - 1.0).abs() > 1e-9,
            _ => false,
        };
        assert!(!checked.lines.iter().any(|line| moved(&line)), "a run is as fast as itself");
    }
}
