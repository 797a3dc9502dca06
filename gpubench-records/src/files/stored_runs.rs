//! Stored runs by name: a file, `-`, a run's folder, `last`, the name of a run or baseline, or the number of a run; and the earlier
//! run that a new one resumes. Nothing is locked or changed: of a run that is still being measured, the records so far are read.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use gpubench_stats::format::counted;

use super::baselines::{BaselineError, Place};
use super::folders::{self, RECORDS, kept, run_names, state};
use super::format::{RUN, ReadError};
use super::lines::{Stored, head_of, read as read_lines, validated};
use super::store;
use crate::{Run, Task};

/// The word by which the user asks for the latest run.
pub const LAST: &str = "last";

/// The name by which a user asks for standard input.
const STANDARD_INPUT: &str = "-";

/// The number of names in the error about an unknown one.
const SHOWN_NAMES: usize = 8;

/// A run with the name that the user knows it by.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRun {
    /// The name.
    pub name: String,
    /// The run.
    pub run: Run,
}

/// A stored run with the name that the user can ask for it by.
#[derive(Clone, Debug)]
pub struct NamedStored {
    /// The name, such as `runs.json#2` for the second run of a list.
    pub name: String,
    /// The run.
    pub stored: Stored,
}

/// The reason why a stored run cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadRunError {
    /// There is no such run, or it cannot be used: a sentence that says what to give instead.
    #[error("{0}")]
    Unusable(String),
    /// A file cannot be read, or is no run.
    #[error("{}: {error}{}", shown(path), instead(error))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: ReadError,
    },
    /// A baseline cannot be read.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
}

/// The file as messages name it.
fn shown(path: &Path) -> Cow<'_, str> {
    if path.as_os_str() == STANDARD_INPUT { "standard input".into() } else { path.to_string_lossy() }
}

/// The advice after the error about a file that no version reads.
fn instead(error: &ReadError) -> &'static str {
    if error.is_foreign() { ". Give a file that --json wrote, or the folder of a run" } else { "" }
}

/// Returns the runs in `folder` with their files, the newest first.
fn runs_in(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let names = run_names(folder).unwrap_or_default().into_iter().rev();
    names.map(|name| (name.clone(), folder.join(name).join(RECORDS)))
}

/// Returns the file at the path `wanted`, in the folder `wanted` of a run, or of the run of that name in `folder`.
fn file_of(folder: &Path, wanted: &str) -> Option<PathBuf> {
    let path = Path::new(wanted);
    let candidates = [path.join(RECORDS), path.to_owned(), folder.join(wanted).join(RECORDS)];
    candidates.into_iter().find(|path| path.exists() && !path.is_dir())
}

/// The runs and baselines that are kept for a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRuns {
    home: PathBuf,
    /// The folder of the runs.
    runs: PathBuf,
}

impl StoredRuns {
    /// Those in `home`, the folder `gpubench` of a target folder.
    pub fn within(home: PathBuf) -> Self {
        Self { runs: home.join("runs"), home }
    }

    /// The same with its runs in the folder `runs`.
    #[must_use]
    pub fn with_runs(self, runs: PathBuf) -> Self {
        Self { runs, ..self }
    }

    /// Those that the running program keeps: its runs in the folder `runs`, if the user names one.
    pub fn of_program(runs: Option<&Path>) -> Self {
        let stored = Self::within(kept());
        let runs = runs.map(Path::to_owned).or_else(folders::runs).unwrap_or(stored.runs);
        Self { runs, ..stored }
    }

    /// Those of the project that `folder` is in: in `CARGO_TARGET_DIR`, else in the nearest `target` above that has some,
    /// else in the user's state folder. `None` where there is none of these.
    pub fn of_project(folder: &Path) -> Option<Self> {
        let above =
            || folder.ancestors().map(|above| above.join("target/gpubench")).find(|home| home.is_dir());
        let state = || Some(state()?.join("gpubench"));
        folders::cargo_target().or_else(above).or_else(state).map(Self::within)
    }

    /// Returns the folder that they are in.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the files of the runs with their names, the newest first.
    pub fn runs(&self) -> Vec<(String, PathBuf)> {
        runs_in(&self.runs).collect()
    }

    /// Returns the name of the newest run of a package.
    ///
    /// # Errors
    /// If there is none.
    pub fn last_of_package(&self, package: &str) -> Result<String, LoadRunError> {
        let is_of_package = |run: Run| run.program.package.is_some_and(|of_run| of_run.name == package);
        let found = runs_in(&self.runs).find(|(_, path)| head_of(path).is_ok_and(is_of_package));
        found.map(|(name, _)| name).ok_or_else(|| {
            LoadRunError::Unusable(format!(
                "no run in {} is of the package `{package}`: `last` is the newest run of any package",
                self.runs.display()
            ))
        })
    }

    /// Returns the newest complete run of the benchmark binary `suite` that began before `started`, in seconds since
    /// 1970-01-01 UTC, with its name.
    ///
    /// # Errors
    /// If there is none.
    pub fn before(&self, suite: &str, started: u64) -> Result<NamedRun, LoadRunError> {
        let is_wanted = |run: &Run| run.program.suite == suite && run.started < started;
        let complete = |(name, path): (String, PathBuf)| {
            head_of(&path).ok().filter(is_wanted)?;
            let stored =
                load(&path).ok().filter(|stored| stored.is_done() && !stored.run.records.is_empty())?;
            Some(NamedRun { name, run: stored.run })
        };
        runs_in(&self.runs).find_map(complete).ok_or_else(|| {
            let runs = self.runs.display();
            LoadRunError::Unusable(format!(
                "no complete run of `{suite}` in {runs} is older: run it once more"
            ))
        })
    }

    /// Returns the names of the baselines.
    pub fn baselines(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.join("baselines")).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the baseline that is called `name`.
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
            let newest = runs_in(&self.runs).next().map(|(_, path)| path);
            return newest.map(Some).ok_or_else(|| {
                LoadRunError::Unusable(format!(
                    "there is no stored run in {}: measure first, for example with `cargo bench`, or give a file that --json wrote",
                    self.runs.display()
                ))
            });
        }
        if wanted == STANDARD_INPUT {
            return Ok(None);
        }
        if let Some(path) = file_of(&self.runs, wanted) {
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
        only(self.load_all(wanted)?, wanted.as_ref()).map(|run| run.stored)
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
        let Some(number) = number else { return Ok(runs.collect()) };
        let run = number.checked_sub(1).and_then(|before| runs.nth(before));
        run.map(|run| vec![run]).ok_or_else(|| {
            LoadRunError::Unusable(format!("{name} has {}, and no #{number}", counted(count, "run")))
        })
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
        Ok(vec![run.into()])
    }

    /// Splits `runs.json#2` into the file and the number of a run in it, unless a file has that very name.
    fn split<'a>(&self, wanted: &'a str) -> (&'a str, Option<usize>) {
        let split = wanted.rsplit_once('#').and_then(|(name, number)| Some((name, number.parse().ok()?)));
        match split {
            Some((name, number)) if file_of(&self.runs, wanted).is_none() => (name, Some(number)),
            _ => (wanted, None),
        }
    }

    /// The run of this number in the list, from 1.
    fn numbered(&self, number: usize) -> Result<PathBuf, LoadRunError> {
        let runs = self.runs();
        let count = runs.len();
        let run = number.checked_sub(1).and_then(|before| runs.into_iter().nth(before));
        run.map(|(_, path)| path).ok_or_else(|| {
            let stored = format!("{} {}", counted(count, "run"), if count == 1 { "is" } else { "are" });
            let runs = self.runs.display();
            LoadRunError::Unusable(format!(
                "there is no run {number}: {stored} in {runs}, of which 1 is the newest"
            ))
        })
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
            return LoadRunError::Unreadable { path: path.to_owned(), error: error.into() };
        }
        let names: Vec<String> =
            self.baselines().into_iter().chain(runs_in(&self.runs).map(|(name, _)| name)).collect();
        let mut there: Vec<String> = names.iter().take(SHOWN_NAMES).map(|name| format!("`{name}`")).collect();
        if names.len() > SHOWN_NAMES {
            there.push(format!("{} more", names.len() - SHOWN_NAMES));
        }
        let there = if there.is_empty() { "nothing".to_owned() } else { there.join(", ") };
        LoadRunError::Unusable(format!(
            "there is no file, stored run or baseline `{wanted}`. Stored in {}: {there}. Give one of these, a file that --json \
             wrote, or `{LAST}`. Filters go after `--`",
            self.home.display()
        ))
    }
}

/// Returns true if `name` means a stored run, or a part of a file, whatever baselines there are: no new one is called so.
pub fn is_name_of_run(name: &str) -> bool {
    let is_number = |name: &str| name.parse::<usize>().is_ok();
    let is_part = || name.rsplit_once('#').is_some_and(|(_, number)| is_number(number));
    [LAST, STANDARD_INPUT].contains(&name) || is_number(name) || is_part() || folders::is_ours(name)
}

/// Reads the run in the file at `path`: one JSON document, or the records of a run in progress.
///
/// # Errors
/// If it cannot be read, or holds something else, or a list of several runs.
pub fn load(path: &Path) -> Result<Stored, LoadRunError> {
    only(load_all(path)?, path)
}

/// Returns the only run of the file at `path`.
fn only<T>(mut runs: Vec<T>, path: &Path) -> Result<T, LoadRunError> {
    match (runs.pop(), runs.len()) {
        (Some(run), 0) => Ok(run),
        (_, others) => Err(LoadRunError::Unusable(format!(
            "{0} has {1} runs: name one of them, such as {0}#1, or merge them by `cargo gpubench merge {0} -o FILE`",
            path.display(),
            others + 1
        ))),
    }
}

/// Reads all runs in the file at `path`: one, or a list of them, as programs of several runs write it.
pub fn load_all(path: &Path) -> Result<Vec<Stored>, LoadRunError> {
    let read = || {
        let mut contents = Vec::new();
        match path.as_os_str() == STANDARD_INPUT {
            true => _ = io::stdin().lock().read_to_end(&mut contents)?,
            false => contents = fs::read(path)?,
        }
        if contents.starts_with(b"{\"run\":") {
            return Ok(vec![read_lines(&*contents)?]);
        }
        let runs: Vec<Run> = RUN.read_all(&contents)?;
        Ok(runs.into_iter().map(|run| validated(run).map(Stored::from)).collect::<Result<_, _>>()?)
    };
    read().map_err(|error| LoadRunError::Unreadable { path: path.to_owned(), error })
}

/// An earlier run to resume, with its name.
#[derive(Clone, Debug)]
pub struct EarlierRun {
    /// Its name.
    pub name: String,
    /// The run itself.
    pub run: Run,
    /// The faults of its file.
    pub remarks: Vec<String>,
}

impl EarlierRun {
    /// The run that the user calls `wanted`, in `folder` or by its path; with `last`, the latest of `suite` that is no task of a
    /// scheduler.
    ///
    /// # Errors
    /// If there is no such run of `suite`, or it cannot be resumed.
    pub fn open(folder: &Path, wanted: &str, suite: &str) -> Result<Self, LoadRunError> {
        let is_ours = |run: Run| run.program.suite == suite && run.environment.task.is_none();
        let path = match wanted {
            LAST => runs_in(folder).map(|(_, path)| path).find(|path| head_of(path).is_ok_and(is_ours)),
            name => file_of(folder, name),
        };
        let path = path.ok_or_else(|| {
            let in_folder = folder.display();
            LoadRunError::Unusable(if wanted == LAST {
                format!("there is no run of `{suite}` in {in_folder}: leave out --resume to begin one")
            } else {
                let there = run_names(folder).unwrap_or_default();
                let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                format!("there is no run `{wanted}`; the runs in {in_folder} are: {there}")
            })
        })?;
        Self::read(&path, suite, true)
    }

    /// The run to go on with in `folder` for `task` of `suite`, which may have been started on other nodes before: of its own runs
    /// the one with the most records, because each begins with those of the one before. Runs of other tasks are not looked at,
    /// whether they have ended or not. `None` if it has none.
    ///
    /// A lock tells of progress on this `host` alone: of another, the scheduler has ended the task before it started it here.
    ///
    /// # Errors
    /// If a run of the task cannot be resumed.
    pub fn of_task(
        folder: &Path,
        task: &Task,
        suite: &str,
        host: Option<&str>,
    ) -> Result<Option<Self>, LoadRunError> {
        let label = format!("-{}-", task.label());
        let mut own = Vec::new();
        for (_, path) in runs_in(folder).filter(|(name, _)| name.contains(&label)) {
            // A file without its first line was begun by a host that died, and has no records.
            let Ok(head) = head_of(&path) else { continue };
            let of = &head.environment;
            if head.program.suite == suite && of.task.as_ref().is_some_and(|other| task.is(other)) {
                own.push(Self::read(&path, suite, of.host.as_deref() == host)?);
            }
        }
        own.reverse();
        let restarts = |earlier: &Self| earlier.run.environment.task.as_ref().and_then(|task| task.restarts);
        Ok(own.into_iter().max_by_key(|earlier| (earlier.run.records.len(), restarts(earlier))))
    }

    /// Reads the run at `path`; with `locked`, only if no process of this host has it locked.
    fn read(path: &Path, suite: &str, locked: bool) -> Result<Self, LoadRunError> {
        let unreadable = |error| LoadRunError::Unreadable { path: path.to_owned(), error };
        let unusable = |why: String| Err(LoadRunError::Unusable(format!("{} {why}", path.display())));
        let file = File::open(path).map_err(|error| unreadable(error.into()))?;
        // Its writer has it locked. This lock ends with the file, before anything is measured.
        if locked && store::is_marked(&file) {
            return unusable("is still being measured by another process".to_owned());
        }
        let Stored { run, mut remarks, is_cut_off, .. } = read_lines(file).map_err(unreadable)?;
        if is_cut_off {
            remarks.push("its last line is cut off: that case is measured again".to_owned());
        }
        if run.program.suite != suite {
            return unusable(format!("is a run of `{}`; this is `{suite}`", run.program.suite));
        }
        // What was measured again belongs to a run of one process.
        if run.records.iter().any(|record| record.other_processes.len() > record.remeasured) {
            let why = "is a run of several processes (--runs), which cannot go on: leave out --resume to measure it anew; \
                       `cargo gpubench report` shows what it has";
            return unusable(why.to_owned());
        }
        let name = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Ok(Self { name: name.unwrap_or_else(|| path.display().to_string()), run, remarks })
    }
}

#[cfg(test)]
mod stored_runs_tests {
    use std::env;

    use super::*;
    use crate::files::Store;

    #[test]
    fn names_of_runs_are_known() {
        for name in ["last", "-", "1", "007", "main#2", "2026-08-01T12-33-10Z", "2026-08-01T12-33-10Z-2"] {
            assert!(is_name_of_run(name), "{name}");
        }
        for name in ["main", "last-year", "v1", "1.2", "2026-08-01", "#main"] {
            assert!(!is_name_of_run(name), "{name}");
        }
    }

    /// The number of a run in the list, which a baseline may have for a name.
    #[test]
    fn a_number_is_that_of_a_run_unless_a_baseline_is_called_so() {
        let home = tempfile::tempdir().expect("a folder");
        let stored = StoredRuns::within(home.path().to_owned());
        let run = home.path().join("runs/2026-01-01T00-00-00Z");
        fs::create_dir_all(&run).expect("a folder");
        fs::write(run.join(RECORDS), "").expect("a file");
        assert_eq!(stored.file("1").expect("it is there"), Some(run.join(RECORDS)));
        let told = stored.file("2").expect_err("there is one").to_string();
        assert!(told.starts_with("there is no run 2: 1 run is in "), "{told}");
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
    fn clockwork() -> Run {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        crate::files::read(&lines[..]).expect("a run").run
    }

    /// The runs of a project with these beginnings, each with a record.
    fn project(home: &Path, started: &[u64]) -> StoredRuns {
        for started in started {
            let run = Run { started: *started, records: Vec::new(), ..clockwork() };
            let record = &clockwork().records[0];
            _ = Store::create(&home.join("runs"), &run, &[record]).expect("it can be written");
        }
        StoredRuns::within(home.to_owned())
    }

    #[test]
    fn a_run_is_loaded_by_each_of_its_names() {
        let home = tempfile::tempdir().expect("a folder");
        let none = StoredRuns::within(home.path().to_owned());
        assert!(
            none.load("last").is_err_and(|told| told.to_string().starts_with("there is no stored run in "))
        );
        let stored = project(home.path(), &[1_785_587_590, 1_785_587_650]);
        let [(newest, file), (oldest, _)] = &stored.runs()[..] else { panic!("{:?}", stored.runs()) };
        assert_eq!([&**newest, oldest], ["2026-08-01T12-34-10Z", "2026-08-01T12-33-10Z"]);
        let folder = file.parent().expect("a folder").to_str().expect("UTF-8");
        for wanted in [newest, folder, file.to_str().expect("UTF-8"), "1", "last", &format!("{newest}#1")] {
            let loaded = stored.load(wanted).expect("it is there");
            assert_eq!((loaded.run.started, loaded.run.records.len()), (1_785_587_650, 1), "{wanted}");
        }
        for wanted in [oldest, "2"] {
            assert_eq!(stored.load(wanted).expect("it is there").run.started, 1_785_587_590, "{wanted}");
        }
        for number in ["0", "3"] {
            assert!(
                stored.load(number).is_err_and(|told| told.to_string().contains(": 2 runs are in ")),
                "{number}"
            );
        }
    }

    /// Packages share a target folder. A run that did not come to its end is no baseline.
    #[test]
    fn the_run_before_is_complete_and_of_the_same_program() {
        let home = tempfile::tempdir().expect("a folder");
        let stored = StoredRuns::within(home.path().to_owned());
        let store = |started: u64, package: &str, is_complete: bool| {
            let mut run = Run { started, planned_cases: 1, records: Vec::new(), ..clockwork() };
            run.program.suite = format!("{package}/kernels");
            run.program.package =
                Some(crate::record::Package { name: package.to_owned(), ..Default::default() });
            let mut store = Store::create(&home.path().join("runs"), &run, &[]).expect("it can be written");
            store.add(&clockwork().records[0]).expect("it can be written");
            if is_complete {
                store.end(run.wall_time).expect("it can be written");
            }
        };
        let second = 1_785_587_590;
        for (after, package, is_complete) in [
            (0, "ours", true),
            (1, "ours", false),
            (2, "theirs", true),
            (3, "ours", true),
            (4, "theirs", true),
        ] {
            store(second + after, package, is_complete);
        }
        let before = |after| stored.before("ours/kernels", second + after).map(|baseline| baseline.name);
        assert_eq!(before(9).expect("it is there"), "2026-08-01T12-33-13Z");
        assert_eq!(before(3).expect("it is there"), "2026-08-01T12-33-10Z");
        assert!(before(0).is_err_and(|told| told.to_string().ends_with(" is older: run it once more")));
        assert_eq!(stored.last_of_package("ours").expect("it is there"), "2026-08-01T12-33-13Z");
        assert_eq!(stored.last_of_package("theirs").expect("it is there"), "2026-08-01T12-33-14Z");
        let none = stored.last_of_package("others");
        assert!(none.is_err_and(|told| told.to_string().contains(" is of the package `others`: ")));
    }

    #[test]
    fn a_run_of_a_list_is_loaded_by_its_number() {
        let home = tempfile::tempdir().expect("a folder");
        let stored = StoredRuns::within(home.path().join("home"));
        let write = |runs: &[u64]| {
            let runs: Vec<Run> =
                runs.iter().map(|started| Run { started: *started, ..clockwork() }).collect();
            let path = home.path().join("runs.json");
            fs::write(&path, serde_json::to_vec(&runs).expect("JSON")).expect("it can be written");
            path.to_str().expect("UTF-8").to_owned()
        };
        let loaded = |wanted: &str| -> Vec<(String, u64)> {
            let runs = stored.load_all(wanted).expect("runs").into_iter();
            runs.map(|run| (run.name, run.stored.run.started)).collect()
        };
        let path = write(&[7]);
        assert_eq!(loaded(&path), [(path.clone(), 7)], "one alone needs no number");
        let path = write(&[7, 8]);
        let named = |number: u64| (format!("{path}#{number}"), number + 6);
        assert_eq!(loaded(&path), [named(1), named(2)]);
        assert_eq!([1, 2].map(|number| loaded(&named(number).0)), [1, 2].map(|number| vec![named(number)]));
        assert!(stored.load(&path).is_err_and(|told| told.to_string().contains(" has 2 runs: ")));
        for number in [0, 3] {
            let told = stored.load(&format!("{path}#{number}")).expect_err("there are two").to_string();
            assert_eq!(told, format!("{path} has 2 runs, and no #{number}"));
        }
    }

    #[test]
    fn an_unknown_name_is_told_with_those_that_are_there() {
        let home = tempfile::tempdir().expect("a folder");
        let told = |wanted: &str| {
            StoredRuns::within(home.path().to_owned()).load(wanted).expect_err("it is not there").to_string()
        };
        assert!(told("main").contains(": nothing. Give "), "{}", told("main"));
        let stored = project(home.path(), &[0, 1, 2, 3, 4, 5, 6]);
        stored.baseline("main").prepare().expect("a folder");
        stored.baseline("main").save(&clockwork()).expect("it is written");
        assert_eq!(stored.load("main").expect("it was stored").run.records, clockwork().records);
        let eight = told("other");
        assert!(eight.contains(": `main`, `1970-01-01T00-00-06Z`, ") && !eight.contains("more"), "{eight}");
        assert!(eight.contains("`1970-01-01T00-00-00Z`. Give "), "{eight}");
        _ = project(home.path(), &[8, 9]);
        assert!(told("other").contains("`1970-01-01T00-00-02Z`, 2 more. Give "), "{}", told("other"));
        // What is clearly a path is missing, and no name.
        for path in ["no/such", "run.json", "run.jsonl"] {
            assert!(told(path).starts_with(&format!("{path}: No such file")), "{}", told(path));
        }
        let folder = home.path().join("runs").to_str().expect("UTF-8").to_owned();
        assert_eq!(told(&folder), format!("{folder}: there is no {RECORDS} in this folder"));
    }

    /// The nearest target folder above that has stored something, unless the user names one.
    #[test]
    fn the_runs_of_a_project_are_in_its_target_folder() {
        let home = tempfile::tempdir().expect("a folder");
        let (ours, inner) = (home.path().join("target/gpubench"), home.path().join("inner/src"));
        fs::create_dir_all(&ours).expect("a folder");
        fs::create_dir_all(inner.join("target")).expect("a folder");
        let found = StoredRuns::of_project(&inner).expect("it is above");
        let named = env::var_os("CARGO_TARGET_DIR").map(|target| Path::new(&target).join("gpubench"));
        assert_eq!(found.home(), named.unwrap_or(ours));
    }
}

#[cfg(test)]
mod load_tests {
    use super::*;

    /// What to give instead is told of a file that is nothing of ours, and not of a run of another version.
    #[test]
    fn a_file_of_something_else_is_told_with_what_to_give() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = |text: &str| {
            let path = folder.path().join("file.json");
            fs::write(&path, text).expect("it can be written");
            load(&path).expect_err("it is no run").to_string()
        };
        let advice = ". Give a file that --json wrote, or the folder of a run";
        assert!(told(r#"{"answer": 42}"#).ends_with(advice), "{}", told(r#"{"answer": 42}"#));
        let newer = told(r#"{"schema": "gpubench/999"}"#);
        assert!(newer.ends_with("a newer gpubench wrote it; update gpubench to read it"), "{newer}");
    }
    #[test]
    fn an_error_names_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.json");
        let told = || load(&path).expect_err("it is no run").to_string();
        assert!(told().starts_with(&format!("{}: ", path.display())), "{}", told());
        for text in ["{", r#"{"run":{}}"#] {
            fs::write(&path, text).expect("it can be written");
            assert!(told().starts_with(&path.display().to_string()), "{}", told());
            assert!(
                told().ends_with(". Give a file that --json wrote, or the folder of a run"),
                "{}",
                told()
            );
        }
        assert_eq!(shown(Path::new("-")), "standard input");
    }

    /// A list has a place for each fault, and is no run.
    #[test]
    fn a_list_of_runs_is_none_and_a_fault_in_it_has_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("runs.json");
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        let run =
            serde_json::to_string(&read_lines(&lines[..]).expect("a run").run).expect("it can be written");
        let write = |runs: &[&str]| {
            fs::write(&path, format!("[{}]", runs.join(",\n"))).expect("it can be written");
        };
        write(&[&*run; 3]);
        assert!(load(&path).is_err_and(|told| told.to_string().contains(" has 3 runs: ")));
        assert_eq!(load_all(&path).expect("runs").len(), 3);
        write(&[&run, &run, &run.replacen("\"records\":", "\"record\":", 1)]);
        let told = load_all(&path).expect_err("it has no records").to_string();
        assert!(told.contains("line 3"), "{told}");
    }
}

#[cfg(test)]
mod earlier_tests {
    use super::*;
    use crate::files::{Store, read as read_run};
    use crate::record::Environment;
    use crate::task::ShareMode;

    fn run(host: &str, task: Option<Task>, started: u64) -> Run {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        let run = read_run(&lines[..]).expect("a run").run;
        let environment = Environment { host: Some(host.to_owned()), task, ..Environment::default() };
        Run { environment, started, ..run }
    }

    fn task(number: usize, restarts: Option<u32>) -> Task {
        let (job, node) = (Some("4711".to_owned()), None);
        let share = ShareMode::Split;
        Task { share, number, of: 2, cases: Some(9), scheduler: None, job, node, restarts }
    }

    /// Stores a run with so many records, as if its process had been killed behind them.
    fn interrupted(folder: &Path, run: &Run, records: usize) -> PathBuf {
        let bare = Run { records: Vec::new(), ..run.clone() };
        let mut store = Store::create(folder, &bare, &[]).expect("it can be written");
        run.records[..records].iter().try_for_each(|record| store.add(record)).expect("it can be written");
        store.path().to_owned()
    }

    #[test]
    fn a_run_to_resume_has_its_name_and_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let suite = run("n1", None, 0).program.suite;
        let told = |wanted: &str, suite: &str| {
            EarlierRun::open(folder.path(), wanted, suite).expect_err("there is none").to_string()
        };
        let place = folder.path().display();
        assert_eq!(told("best", &suite), format!("there is no run `best`; the runs in {place} are: none"));
        assert_eq!(
            told(LAST, &suite),
            format!("there is no run of `{suite}` in {place}: leave out --resume to begin one")
        );
        let path = interrupted(folder.path(), &run("n1", None, 0), 2);
        let name = "1970-01-01T00-00-00Z";
        let run_folder = path.parent().expect("a folder").to_str().expect("UTF-8");
        for wanted in [name, run_folder, path.to_str().expect("UTF-8"), LAST] {
            let found = EarlierRun::open(folder.path(), wanted, &suite).expect("it is there");
            assert_eq!((&*found.name, found.run.records.len(), found.remarks), (name, 2, vec![]), "{wanted}");
        }
        _ = interrupted(folder.path(), &run("n1", None, 1), 0);
        assert!(told("best", &suite).ends_with(&format!(" are: {name}, 1970-01-01T00-00-01Z")));
        assert_eq!(told(name, "ours"), format!("{} is a run of `{suite}`; this is `ours`", path.display()));
        // A line that was cut off is measured again.
        let whole = fs::read(&path).expect("it is there");
        fs::write(&path, &whole[..whole.len() - 5]).expect("it can be written");
        let found = EarlierRun::open(folder.path(), name, &suite).expect("it is there");
        assert_eq!(found.run.records.len(), 1);
        assert_eq!(found.remarks, ["its last line is cut off: that case is measured again"]);
        fs::write(&path, "{}").expect("it can be written");
        assert!(told(name, &suite).starts_with(&format!("{}: not a stored run", path.display())));
    }

    /// The host to which a task comes back may be hours behind the one where it began.
    #[test]
    fn a_task_finds_its_own_run_whatever_the_hosts_clocks_say() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let of = |number, host| {
            let suite = run(host, None, 0).program.suite;
            let found = EarlierRun::of_task(folder, &task(number, Some(2)), &suite, Some(host));
            found.expect("it can be read").map(|earlier| earlier.run)
        };
        assert!(of(1, "n1").is_none(), "an empty folder");
        for (host, number, restarts, started, records) in [
            ("n1", 1, None, 1_800_000_000, 1),
            ("n2", 1, Some(1), 1_799_990_000, 3),
            ("n1", 2, None, 1_800_000_000, 2),
        ] {
            _ = interrupted(folder, &run(host, Some(task(number, restarts)), started), records);
        }
        _ = interrupted(folder, &run("n1", None, 1_800_000_001), 3);
        let found = of(1, "n3").expect("it was interrupted twice");
        assert_eq!((found.records.len(), found.environment.host.as_deref()), (3, Some("n2")));
        assert_eq!(of(2, "n3").expect("it was interrupted").records.len(), 2);
        assert!(of(3, "n1").is_none(), "no run of another task");
        let other = EarlierRun::of_task(folder, &task(1, Some(2)), "another", Some("n1"));
        assert!(other.expect("it can be read").is_none(), "no run of another suite");
    }

    /// Each run of a task begins with the records of the one before: of as many, the last has them all.
    #[test]
    fn of_two_runs_of_a_task_with_as_many_records_the_last_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        for (host, restarts, started) in [("n1", None, 3), ("n2", Some(2), 1), ("n3", Some(1), 2)] {
            _ = interrupted(folder.path(), &run(host, Some(task(1, restarts)), started), 2);
        }
        let suite = run("n1", None, 0).program.suite;
        let found = EarlierRun::of_task(folder.path(), &task(1, Some(3)), &suite, None);
        let found = found.expect("it can be read").expect("there are three");
        assert_eq!(found.run.environment.host.as_deref(), Some("n2"));
    }

    /// `--resume` by hand never takes the run of a task, which may be in progress on another host.
    #[test]
    fn the_last_run_is_no_tasks() {
        let folder = tempfile::tempdir().expect("a folder");
        let suite = run("n1", None, 0).program.suite;
        let tasks = interrupted(folder.path(), &run("n1", Some(task(1, None)), 1_800_000_000), 1);
        let refused = EarlierRun::open(folder.path(), LAST, &suite);
        assert!(refused.is_err_and(|told| told.to_string().starts_with("there is no run of `")));
        _ = interrupted(folder.path(), &run("n1", None, 1_700_000_000), 2);
        let last = EarlierRun::open(folder.path(), LAST, &suite).expect("there is one");
        assert_eq!(last.run.records.len(), 2);
        let name = tasks.parent().and_then(Path::file_name).expect("a name").to_str().expect("UTF-8");
        assert!(name.starts_with("2027-01-15T08-00-00Z-n1-4711.1-"), "{name}");
        let named = EarlierRun::open(folder.path(), name, &suite).expect("there is one");
        assert_eq!(named.run.records.len(), 1, "by its name it can be taken");
    }

    /// A lock holds on one host: the run of a host that died may look locked for ever.
    #[test]
    fn a_run_in_progress_is_refused_on_its_own_host_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = interrupted(folder.path(), &run("n1", Some(task(1, None)), 0), 1);
        let locked = File::open(path).expect("it is there");
        locked.lock().expect("nobody has it");
        let suite = run("n1", None, 0).program.suite;
        let of = |host| EarlierRun::of_task(folder.path(), &task(1, Some(1)), &suite, Some(host));
        assert!(
            of("n1")
                .is_err_and(|told| told.to_string().ends_with("is still being measured by another process"))
        );
        assert_eq!(of("n2").expect("it is read").expect("its own").run.records.len(), 1);
    }

    /// Twenty runs of a suite are kept, but those of other hosts and of tasks are not counted, nor touched.
    #[test]
    fn only_runs_of_this_host_that_are_no_tasks_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 1..=30 {
            _ = interrupted(folder.path(), &run("n1", Some(task(1, None)), number), 0);
            _ = interrupted(folder.path(), &run("n2", None, number), 0);
        }
        let count = |words: &str| {
            let names = run_names(folder.path()).expect("a folder");
            names.iter().filter(|name| name.contains(words)).count()
        };
        assert_eq!((count("-n1-4711"), count("Z")), (30, 50), "20 of n2 are left, and all tasks");
        _ = interrupted(folder.path(), &run("n3", None, 99), 0);
        assert_eq!(count("Z"), 51, "a run of another host removes none of them");
    }

    /// Stores a run with all of its records and its end.
    fn finished(folder: &Path, run: &Run) {
        let bare = Run { records: Vec::new(), planned_cases: run.records.len(), ..run.clone() };
        let mut store = Store::create(folder, &bare, &[]).expect("it can be written");
        run.records.iter().try_for_each(|record| store.add(record)).expect("it can be written");
        store.end(run.wall_time).expect("it can be written");
    }

    /// With runs of 2027 there and a clock that was set back since, the run that began last is the last, and is not removed.
    #[test]
    fn a_run_that_can_be_resumed_is_the_last_and_stays_whatever_the_clock_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let (future, now) = (1_800_000_000, 1_780_000_000);
        (0..20).for_each(|number| finished(folder, &run("n1", None, future + number)));
        let began = run("n1", None, now);
        let path = interrupted(folder, &began, 1);
        let last = EarlierRun::open(folder, LAST, &began.program.suite).expect("there is one");
        assert_eq!((last.run.started, last.run.records.len()), (now, 1));
        (0..25).for_each(|number| finished(folder, &run("n1", None, now + number)));
        assert!(path.is_file(), "its records are in no other file");
        assert_eq!(run_names(folder).expect("a folder").len(), 21, "of the others the last 20 are left");
        let last = EarlierRun::open(folder, LAST, &began.program.suite).expect("there is one");
        assert_eq!(last.run.started, now + 24);
    }

    #[test]
    fn a_folder_that_is_not_named_by_us_is_not_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        finished(folder.path(), &run("n1", None, 1));
        let name = run_names(folder.path()).expect("a folder").remove(0);
        fs::rename(folder.path().join(name), folder.path().join("best")).expect("it is there");
        (0..25).for_each(|number| finished(folder.path(), &run("n1", None, number)));
        assert!(folder.path().join("best").join(RECORDS).is_file());
    }
}
