//! Finds stored runs by name: a file, `-`, a run's folder, `last`, the name of a run or baseline, or the number
//! of a run. Nothing is locked or changed: a run in progress has the records so far.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::files::{
    self, BaselineLocation, LAST, LoadRunError, file_of, head_of, run_before, runs_in,
};
use gpubench_records::{PlannedCase, Record, Run, StoredRun, text::did_you_mean};
use gpubench_stats::format::counted;

use crate::loading::{STANDARD_INPUT, add_devices, load_all, only_run, whole_run};

/// A run with the name by which the user selected it, or under which it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedRun {
    /// The name.
    pub name: String,
    /// The run.
    pub run: Run,
}

/// The folders with the stored runs and baselines of a project. Methods look for files when they are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRuns {
    home: PathBuf,
    /// The folder of the runs.
    runs: PathBuf,
}

impl StoredRuns {
    /// Returns the runs and baselines in `home`, the folder `gpubench` of a target folder, which need not
    /// exist.
    pub fn within(home: PathBuf) -> Self {
        Self { runs: home.join("runs"), home }
    }

    /// Returns the same baselines, with the runs of another folder.
    #[must_use]
    pub fn with_runs(self, runs: PathBuf) -> Self {
        Self { runs, ..self }
    }

    /// Finds the runs and baselines of the project in `folder`: in `CARGO_TARGET_DIR` if it is set, else in
    /// the nearest `target/gpubench` here or in a parent folder, else in the user's state folder. Only the
    /// second of these must exist. Returns `None` if none is known, because the user has no home.
    pub fn of_project(folder: &Path) -> Option<Self> {
        let above =
            || folder.ancestors().map(|above| above.join("target/gpubench")).find(|home| home.is_dir());
        let state = || Some(files::state_folder()?.join("gpubench"));
        files::cargo_target_folder().or_else(above).or_else(state).map(Self::within)
    }

    /// Returns the folder that contains the folder of the baselines and, unless [`Self::with_runs`] sets
    /// another, the folder of the runs.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns each run's name and file, the newest run first; none if the folder cannot be read.
    pub fn runs(&self) -> Vec<(String, PathBuf)> {
        runs_in(&self.runs).collect()
    }

    /// Returns the name of the newest run of `package`.
    ///
    /// # Errors
    /// If the package has no run.
    pub fn last_of_package(&self, package: &str) -> Result<String, LoadRunError> {
        let found = runs_in(&self.runs).find(|(_, path)| {
            head_of(path).is_ok_and(|run| run.program.package.is_some_and(|of_run| of_run.name == package))
        });
        found.map(|(name, _)| name).ok_or_else(|| {
            LoadRunError::Missing(format!(
                "no run of the package `{package}` in {}: run `cargo bench` first, or name a RUN",
                self.runs.display()
            ))
        })
    }

    /// Returns the newest complete run of the same benchmark binary that began before `later`. `later_name` is the
    /// name or path by which the user selected `later`.
    ///
    /// # Errors
    /// If there is no such run, or if [`Self::file`] returns an error for `later_name`.
    pub fn previous_run(&self, later_name: &str, later: &Run) -> Result<NamedRun, LoadRunError> {
        let file = self.file(later_name)?;
        let folder = file.as_deref().and_then(Path::parent).and_then(Path::file_name);
        let name = folder.map(|name| name.to_string_lossy()).unwrap_or_default();
        let of_run = Some((&*name, later.started));
        run_before(&self.runs, &later.program.suite, of_run).map(|(name, run)| NamedRun { name, run })
    }

    /// Returns the names of the baselines, sorted.
    pub fn baselines(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.join("baselines")).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> =
            folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the location of the baseline `name`, which need not exist.
    pub fn baseline(&self, name: &str) -> BaselineLocation {
        BaselineLocation::within(&self.home.join("baselines"), name)
    }

    /// Returns the file of the run that the user calls `wanted`: a path, a run's folder, the name or the
    /// number of a stored run, or `last`. A suffix such as `#2` is ignored. Returns `None` for standard
    /// input, a baseline or an unknown name.
    ///
    /// # Errors
    /// If `wanted` is `last` and there is no run, or if it is a number that no run has.
    pub fn file(&self, wanted: &str) -> Result<Option<PathBuf>, LoadRunError> {
        let (wanted, _) = self.split_number(wanted);
        if wanted == LAST {
            let newest = runs_in(&self.runs).next().map(|(_, path)| path);
            return newest.map(Some).ok_or_else(|| {
                LoadRunError::Missing(format!(
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
            Ok(number) if !self.is_baseline(wanted) => self.numbered_run(number).map(Some),
            _ => Ok(None),
        }
    }

    /// Loads the only run that the user calls `wanted`.
    ///
    /// # Errors
    /// See [`LoadRunError`].
    pub fn load(&self, wanted: &str) -> Result<StoredRun, LoadRunError> {
        only_run(self.load_all(wanted)?, wanted.as_ref()).map(|(_, stored)| stored)
    }

    /// Loads all runs that the user calls `wanted`, each with its name. Runs of a list in one file are named by
    /// their numbers, such as `runs.json#2`.
    ///
    /// # Errors
    /// See [`LoadRunError`].
    pub fn load_all(&self, wanted: &str) -> Result<Vec<(String, StoredRun)>, LoadRunError> {
        let (name, number) = self.split_number(wanted);
        let runs = self.load_file_or_baseline(name)?;
        let count = runs.len();
        let named = |(number, stored)| {
            let name = if count == 1 { name.to_owned() } else { format!("{name}#{number}") };
            (name, stored)
        };
        let mut runs = (1..).zip(runs).map(named);
        let Some(number) = number else { return Ok(runs.collect()) };
        let run = number.checked_sub(1).and_then(|before| runs.nth(before));
        run.map(|run| vec![run]).ok_or_else(|| {
            LoadRunError::Unusable(format!("{name} has {}, and no #{number}", counted(count, "run")))
        })
    }

    /// Loads the runs of the file that [`Self::file`] returns for `name`, or of standard input for `-`. If
    /// there is no such file, loads the baseline `name`, merged into one run. An unknown name is an error.
    fn load_file_or_baseline(&self, name: &str) -> Result<Vec<StoredRun>, LoadRunError> {
        if name == STANDARD_INPUT {
            return load_all(Path::new(name));
        }
        if let Some(path) = self.file(name)? {
            return load_all(&path);
        }
        if !self.is_baseline(name) {
            return Err(self.unknown_name_error(name));
        }
        let baseline =
            self.baseline(name).load().map_err(|error| LoadRunError::Unusable(error.to_string()))?;
        let run = merge_baseline_runs(baseline.into_runs()).ok_or_else(|| self.unknown_name_error(name))?;
        Ok(vec![whole_run(run)])
    }

    /// Splits `runs.json#2` into the name of the file and the number of a run in it, from 1. Returns `wanted`
    /// and `None` if there is no number, or if a file has this whole name.
    fn split_number<'a>(&self, wanted: &'a str) -> (&'a str, Option<usize>) {
        let split = wanted.rsplit_once('#').and_then(|(name, number)| Some((name, number.parse().ok()?)));
        match split {
            Some((name, number)) if file_of(&self.runs, wanted).is_none() => (name, Some(number)),
            _ => (wanted, None),
        }
    }

    /// Returns the file of the stored run with this number; 1 is the newest. A number that no run has is an
    /// error.
    fn numbered_run(&self, number: usize) -> Result<PathBuf, LoadRunError> {
        let runs = self.runs();
        let count = runs.len();
        let run = number.checked_sub(1).and_then(|before| runs.into_iter().nth(before));
        run.map(|(_, path)| path).ok_or_else(|| {
            let (stored, runs) = (counted(count, "run"), self.runs.display());
            LoadRunError::Unusable(format!(
                "there is no run {number} in {runs}, which has {stored}; number 1 is the newest"
            ))
        })
    }

    /// Returns true if there is a baseline called `name`.
    fn is_baseline(&self, name: &str) -> bool {
        self.baselines().iter().any(|baseline| baseline == name)
    }

    /// Returns the error about a name that no file, run or baseline has.
    fn unknown_name_error(&self, wanted: &str) -> LoadRunError {
        let names: Vec<String> =
            self.baselines().into_iter().chain(runs_in(&self.runs).map(|(name, _)| name)).collect();
        let near = did_you_mean(wanted, &names);
        let near = if near.is_empty() { "." } else { &near };
        LoadRunError::Unusable(format!(
            "there is no file, folder of a run, stored run or baseline `{wanted}`{near} Runs and baselines are stored in {}. \
             Give one of these, a file that --json wrote, or `{LAST}` (a filter goes after `--`)",
            self.home.display()
        ))
    }
}

/// Merges the runs of a baseline, given with the newest first, into the newest run. Adds the newest older
/// record of each case that it did not measure. Returns `None` if there is no run.
fn merge_baseline_runs(runs: Vec<Run>) -> Option<Run> {
    let mut runs = runs.into_iter();
    let mut whole = runs.next()?;
    // A gate is one of a single run.
    (whole.regression_threshold, whole.baseline_comparison) = (None, None);
    let mut indices: HashMap<PlannedCase, usize> =
        whole.records.iter().map(Record::planned).zip(0..).collect();
    for older in runs {
        add_devices(&mut whole, older.devices);
        for record in older.records {
            match indices.get(&record.planned()).map(|index| &mut whole.records[*index]) {
                None => {
                    indices.insert(record.planned(), whole.records.len());
                    whole.records.push(record);
                }
                Some(newer) if newer.measurement.is_none() && record.measurement.is_some() => {
                    *newer = record;
                }
                Some(_) => {}
            }
        }
    }
    whole.planned_cases = whole.planned_cases.max(whole.records.len());
    Some(whole)
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;
    use gpubench_records::State;
    use gpubench_records::files::{RECORDS, Store};

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
        assert!(told.ends_with(", which has 1 run; number 1 is the newest"), "{told}");
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
        assert_eq!(stored.split_number(wanted), (name, Some(2)));
        fs::write(&path, "").expect("a file");
        assert_eq!(stored.split_number(wanted), (wanted, None), "a file has that very name");
        assert_eq!(stored.split_number(name), (name, None));
    }

    #[test]
    fn a_baseline_is_one_run_with_the_records_that_count() {
        let home = tempfile::tempdir().expect("a folder");
        let place = StoredRuns::within(home.path().to_owned()).baseline("main");
        let old = clockwork();
        let records = [1, 0].map(|number: usize| old.records[number].clone()).to_vec();
        let mut new = Run { started: old.started + 60, records, ..old.clone() };
        new.records[0].measurement = None;
        new.records[0].verdict.state = State::Invalid;
        new.regression_threshold = Some(gpubench_records::Threshold::Noise);
        place.prepare().expect("a folder");
        for run in [&old, &new] {
            place.save(run).expect("it is written");
        }
        let baseline = place.load().expect("a baseline");
        let counting = baseline.cases().filter_map(|record| Some(baseline.find(&old, record)?.1.clone()));
        let counting: Vec<Record> = counting.collect();
        let whole = merge_baseline_runs(baseline.into_runs()).expect("there are runs");
        assert_eq!(
            (whole.started, whole.planned_cases),
            (new.started, old.planned_cases.max(old.records.len()))
        );
        assert_eq!(whole.records, counting);
        assert_eq!(whole.gate(), None, "a report of it judges nothing");
    }

    fn clockwork() -> Run {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        files::read(&lines[..]).expect("a run").run
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
                stored.load(number).is_err_and(|told| told.to_string().contains(", which has 2 runs;")),
                "{number}"
            );
        }
    }

    /// Packages share a target folder.
    #[test]
    fn the_last_run_of_a_package_is_found() {
        let home = tempfile::tempdir().expect("a folder");
        let stored = StoredRuns::within(home.path().to_owned());
        for (started, package) in [(1, "ours"), (2, "theirs"), (3, "ours"), (4, "theirs")] {
            let mut run = Run { started, records: Vec::new(), ..clockwork() };
            run.program.package =
                Some(gpubench_records::Package { name: package.to_owned(), ..Default::default() });
            _ = Store::create(&home.path().join("runs"), &run, &[]).expect("it can be written");
        }
        assert_eq!(stored.last_of_package("ours").expect("it is there"), "1970-01-01T00-00-03Z");
        assert_eq!(stored.last_of_package("theirs").expect("it is there"), "1970-01-01T00-00-04Z");
        let none = stored.last_of_package("others");
        assert!(none.is_err_and(|told| told.to_string().contains("no run of the package `others` in ")));
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
            runs.map(|(name, stored)| (name, stored.run.started)).collect()
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
    fn an_unknown_name_is_told_with_the_place_of_the_others() {
        let home = tempfile::tempdir().expect("a folder");
        let told = |wanted: &str| {
            StoredRuns::within(home.path().to_owned()).load(wanted).expect_err("it is not there").to_string()
        };
        let stored = project(home.path(), &[0, 1]);
        stored.baseline("main").prepare().expect("a folder");
        stored.baseline("main").save(&clockwork()).expect("it is written");
        assert_eq!(stored.load("main").expect("it was stored").run.records, clockwork().records);
        let stored_in = format!("stored in {}. Give one of these, ", home.path().display());
        assert!(told("other").contains(&stored_in), "{}", told("other"));
        // So is a path, and a folder that is not a run's.
        for path in ["no/such", "run.json", home.path().join("runs").to_str().expect("UTF-8")] {
            let expected =
                format!("there is no file, folder of a run, stored run or baseline `{path}`. Runs and ");
            assert!(told(path).starts_with(&expected), "{}", told(path));
        }
        assert!(told("mian").contains("`mian`: did you mean `main`? Runs and "), "{}", told("mian"));
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
