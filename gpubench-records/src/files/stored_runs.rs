//! Stored runs by name. In: a file, `-`, a run's folder, `last`, the name of a run or baseline, or the number of a run; out:
//! the run, or an error that says what to give instead.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::earlier::LAST;
use super::lines::{Stored, head_of};
use super::load::{LoadRunError, STANDARD_INPUT, load, load_all};
use super::names;
use super::place::{self, RECORDS, kept, run_names, state};
use crate::baseline::Place;
use crate::record::Run;

/// A run with the name that the user knows it by.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRun {
    /// The name.
    pub name: String,
    /// The run.
    pub run: Run,
}

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
}

impl StoredRuns {
    /// Those in `home`, the folder `gpubench` of a target folder.
    pub fn within(home: PathBuf) -> Self {
        Self { runs: home.join("runs"), home }
    }

    /// Those that the running program keeps: its runs in the folder `runs`, if the user names one.
    pub fn of_program(runs: Option<&Path>) -> Self {
        let stored = Self::within(kept());
        let runs = runs.map(Path::to_owned).or_else(place::runs).unwrap_or(stored.runs);
        Self { runs, ..stored }
    }

    /// Those of the project that `folder` is in: in `CARGO_TARGET_DIR`, else in the nearest `target` above that has some,
    /// else in the user's state folder. `None` where there is none of these.
    pub fn of_project(folder: &Path) -> Option<Self> {
        let above =
            || folder.ancestors().map(|above| above.join("target/gpubench")).find(|home| home.is_dir());
        let state = || Some(state()?.join("gpubench"));
        place::cargo_target().or_else(above).or_else(state).map(Self::within)
    }

    /// Returns the folder that they are in.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the files of the runs with their names, the newest first.
    pub fn runs(&self) -> Vec<(String, PathBuf)> {
        let names = run_names(&self.runs).unwrap_or_default();
        names.into_iter().rev().map(|name| (name.clone(), self.runs.join(name).join(RECORDS))).collect()
    }

    /// Returns the name of the newest run of a package.
    ///
    /// # Errors
    /// If there is none.
    pub fn last_of_package(&self, package: &str) -> Result<String, LoadRunError> {
        let is_of_package = |run: &Run| {
            run.program.package.as_ref().is_some_and(|package_of_run| package_of_run.name == package)
        };
        let found =
            self.runs().into_iter().find(|(_, path)| head_of(path).is_ok_and(|run| is_of_package(&run)));

        found.map(|(name, _)| name).ok_or_else(|| LoadRunError::NoRunOfPackage {
            package: package.to_owned(),
            runs: self.runs.clone(),
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
        let missing = || LoadRunError::NoneBefore { suite: suite.to_owned(), runs: self.runs.clone() };
        self.runs().into_iter().find_map(complete).ok_or_else(missing)
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
            let newest = self.runs().into_iter().next().map(|(_, path)| path);
            return newest.map(Some).ok_or_else(|| LoadRunError::NoRuns(self.runs.clone()));
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
        Ok(vec![run.into()])
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
            return LoadRunError::Unreadable { path: path.to_owned(), error: error.into() };
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

/// Returns true if `name` means a stored run, or a part of a file, whatever baselines there are: no new one is called so.
pub fn is_name_of_run(name: &str) -> bool {
    let is_number = |name: &str| name.parse::<usize>().is_ok();
    let is_part = || name.rsplit_once('#').is_some_and(|(_, number)| is_number(number));
    [LAST, STANDARD_INPUT].contains(&name) || is_number(name) || is_part() || names::is_ours(name)
}

#[cfg(test)]
mod tests {
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
            matches!(none.load("last"), Err(LoadRunError::NoRuns(runs)) if runs == home.path().join("runs"))
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
                matches!(stored.load(number), Err(LoadRunError::NoSuchNumber { count: 2, .. })),
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
        assert!(matches!(before(0), Err(LoadRunError::NoneBefore { .. })));
        assert_eq!(stored.last_of_package("ours").expect("it is there"), "2026-08-01T12-33-13Z");
        assert_eq!(stored.last_of_package("theirs").expect("it is there"), "2026-08-01T12-33-14Z");
        let none = stored.last_of_package("others");
        assert!(matches!(none, Err(LoadRunError::NoRunOfPackage { .. })));
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
        assert!(matches!(stored.load(&path), Err(LoadRunError::SeveralRuns { count: 2, .. })));
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
