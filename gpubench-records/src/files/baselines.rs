//! The files of baselines: loads and saves the runs of a baseline by its name or path. A name is a folder in cargo's `target`. Each file in it is
//! a run as `--json` writes it, and the newest record of a case counts: a run of a few cases updates those alone. Files are ordered by name.

use std::path::{Path, PathBuf};
use std::{cmp::Reverse, fs, io};

use crate::baseline::{Baseline, supersedes};
use crate::files::replace::parent_folder;
use crate::files::{self, LoadRunError, name_candidates, parse_run_name, time_of_name};
use crate::{Destination, ReadError, Run, text::did_you_mean};

/// The name of a baseline and its path: a folder of runs, or a `.json` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineLocation {
    name: String,
    path: PathBuf,
}

impl BaselineLocation {
    /// Returns the location of the baseline `name`: the folder `name` in the default folder, or the path `name` if that has a `/` or ends
    /// in `.json`.
    pub fn from_name(name: &str) -> Self {
        Self::within(&baselines_folder(), name)
    }

    /// Returns the location of the baseline `name`, which is a folder in `folder` unless `name` is a path.
    pub fn within(folder: &Path, name: &str) -> Self {
        let is_path = name.contains('/') || is_json(Path::new(name));
        let path = if is_path { PathBuf::from(name) } else { folder.join(name) };
        Self { name: name.to_owned(), path }
    }

    /// Reads all runs of the baseline, the newest first: the run in the file, or the runs in all `.json`
    /// files of the folder. The time of a run is the one in the name of its file; if gpubench did not give
    /// that name, it is the time at which the run began.
    ///
    /// # Errors
    /// Returns an error if there is no run, or if a file is no run.
    pub fn load(&self) -> Result<Baseline, LoadRunError> {
        let files = if self.path.is_dir() { self.run_files()? } else { vec![self.path.clone()] };
        let read = |file: &PathBuf| Ok((file.clone(), self.read_run(file)?));
        let mut runs = files.iter().map(read).collect::<Result<Vec<_>, LoadRunError>>()?;
        if runs.is_empty() {
            return Err(self.missing_error());
        }
        // A file that the user has put there has its clock's place among ours.
        gpubench_stats::sort_by_key(&mut runs, |(file, run)| {
            let order = order_of_file(file).map(|(time, number)| (time.to_owned(), number));
            Reverse(order.unwrap_or_else(|| (time_of_name(run.started), 0)))
        });
        Ok(Baseline::from_runs(self.name.clone(), runs.into_iter().map(|(_, run)| run).collect()))
    }

    /// Checks, before a run is measured, that it can be stored. Creates the folder of the baseline.
    ///
    /// # Errors
    /// If it cannot.
    pub fn prepare(&self) -> Result<(), LoadRunError> {
        let folder = self.folder();
        fs::create_dir_all(folder).map_err(|error| self.unusable_error(folder, error))?;
        let path = if is_json(&self.path) { self.path.clone() } else { self.path.join(".new.json") };
        Destination::open(&path).map(drop).map_err(|error| self.unusable_error(folder, error))
    }

    /// Stores `run`: whole, or not at all. A path that ends in `.json` is replaced. In a folder, the run gets
    /// a new file. Then an earlier file that gpubench named is removed if `run` has all of its cases, and a
    /// measurement of each case that was measured there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, run: &Run) -> Result<(), LoadRunError> {
        if is_json(&self.path) {
            return files::replace(&self.path, &|out| run.write(out))
                .map_err(|error| self.unusable_error(&self.path, error));
        }
        let there: Vec<String> = self.run_files()?.iter().map(|file| file_stem(file).to_owned()).collect();
        let names = name_candidates(run.started, None, &there).map(|name| self.path.join(name + ".json"));
        let to = files::create(names, &|out| run.write(out))
            .map_err(|error| self.unusable_error(&self.path, error))?;
        self.remove_superseded(&to, run)
    }

    /// Removes the files before `to` that the run `newest` supersedes ([`supersedes`]). Keeps files that
    /// cannot be read, files that the user named, and files after `to`, which another process may have
    /// stored.
    fn remove_superseded(&self, to: &Path, newest: &Run) -> Result<(), LoadRunError> {
        let is_before =
            |file: &&PathBuf| order_of_file(file).is_some_and(|order| Some(order) < order_of_file(to));
        for file in self.run_files()?.iter().filter(is_before) {
            let Ok(run) = self.read_run(file) else { continue };
            if supersedes(newest, &run)
                && let Err(error) = fs::remove_file(file)
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(self.unusable_error(file, error));
            }
        }
        Ok(())
    }

    /// Returns the folder that the baseline's files are in; for a `.json` file, the folder that has it.
    fn folder(&self) -> &Path {
        if is_json(&self.path) { parent_folder(&self.path) } else { &self.path }
    }

    /// Returns the `.json` files in the baseline's folder, sorted by path.
    fn run_files(&self) -> Result<Vec<PathBuf>, LoadRunError> {
        let entries = fs::read_dir(&self.path).map_err(|error| self.unusable_error(&self.path, error))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| is_json(file));
        gpubench_stats::sort_by(&mut files, Ord::cmp);
        Ok(files)
    }

    /// Reads one file of the baseline.
    fn read_run(&self, file: &Path) -> Result<Run, LoadRunError> {
        let text = fs::read(file).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.missing_error(),
            _ => self.unusable_error(file, error),
        })?;
        Run::parse(&text).map_err(|error| self.unusable_error(file, error))
    }

    /// Returns the error that the baseline does not exist, with a similar name or the names of all baselines.
    fn missing_error(&self) -> LoadRunError {
        let Self { name, path } = self;
        let folders = fs::read_dir(baselines_folder()).into_iter().flatten().flatten();
        let mut others: Vec<String> =
            folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        gpubench_stats::sort_by(&mut others, Ord::cmp);
        let near = did_you_mean(name, &others);
        if !near.is_empty() {
            return LoadRunError::Unusable(format!("there is no baseline `{name}`{near}"));
        }
        let others =
            if others.is_empty() { String::new() } else { format!("; there is `{}`", others.join("`, `")) };
        let lacks = if path.exists() { "has no run in it" } else { "does not exist" };
        LoadRunError::Unusable(format!(
            "there is no baseline `{name}`: {} {lacks}{others}. --save-baseline {name} stores one",
            path.display()
        ))
    }

    /// Returns the error that a file of the baseline cannot be read or written.
    fn unusable_error(&self, path: &Path, error: impl Into<ReadError>) -> LoadRunError {
        let unreadable = LoadRunError::Unreadable { path: path.to_owned(), error: error.into() };
        LoadRunError::Unusable(format!("baseline `{}`: {unreadable}", self.name))
    }
}

/// Returns the name of a file without its folder and its last ending; empty if that is no valid text.
fn file_stem(file: &Path) -> &str {
    file.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns the time and the number in the name of a file, by which the files of a baseline are ordered;
/// `None` if gpubench gives no such name to a file of a baseline.
fn order_of_file(file: &Path) -> Option<(&str, u32)> {
    let name = file_stem(file);
    parse_run_name(name).filter(|(time, number)| name == *time || name == format!("{time}-{number}"))
}

/// Returns true if the path ends in `.json`, whether or not there is a file.
fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Returns the folder of the baselines that are named without a path.
fn baselines_folder() -> PathBuf {
    files::persistent_folder().join("baselines")
}

#[cfg(test)]
mod open_tests {
    use super::*;
    use crate::baseline::{check, fixture::stored_run};
    use gpubench_stats::DECISION_ERROR;

    /// What was measured is compared with the one, stored as the other, and cases of the one that it lacks are named.
    #[test]
    fn a_run_is_checked_and_stored() {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = stored_run();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name).display().to_string());
        let [old_place, new_place] = [&old, &new].map(|name| BaselineLocation::from_name(name));
        old_place.prepare().expect("it can be written");
        old_place.save(&whole).expect("it is written");

        let baseline = old_place.load().expect("it was stored");
        new_place.prepare().expect("it can be written");
        let part = Run { records: whole.records[1..].to_vec(), ..whole.clone() };
        let compare = |wanted| check(&part, &baseline, &move |_| wanted, DECISION_ERROR);
        let check = compare(true);
        assert_eq!((&check.baseline, check.findings.len()), (&old, whole.records.len() - 1));
        assert_eq!(check.missing, [whole.records[0].case.to_string()]);
        assert_eq!(compare(false).missing.len(), 0, "the case was not selected");
        new_place.save(&part).expect("it is written");
        let stored = new_place.load().expect("it was stored").into_runs();
        assert_eq!((stored.len(), stored[0].records.len()), (1, part.records.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::fixture::stored_run;

    fn saved(folder: &Path, runs: &[Run]) -> Baseline {
        let place = BaselineLocation::within(folder, "main");
        place.prepare().expect("a folder");
        runs.iter().for_each(|run| place.save(run).expect("it is written"));
        place.load().expect("a baseline")
    }

    fn stored_files(folder: &Path) -> usize {
        fs::read_dir(folder.join("main")).map_or(0, Iterator::count)
    }

    #[test]
    fn a_run_that_has_every_case_replaces_the_older_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let old = stored_run();
        let new = Run { started: old.started + 60, ..old.clone() };
        let baseline = saved(folder.path(), &[old.clone(), new]);
        assert_eq!(stored_files(folder.path()), 1);
        let started = baseline.find(&old, &old.records[0]).map(|(run, _)| run.started);
        assert_eq!(started, Some(old.started + 60));
        let part = Run { records: old.records[..1].to_vec(), started: old.started + 120, ..old };
        saved(folder.path(), &[part]);
        assert_eq!(stored_files(folder.path()), 2, "a part of the cases replaces nothing");
    }

    #[test]
    fn files_of_the_user_stay_though_they_are_superseded() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = stored_run();
        let new = Run { started: run.started + 60, ..run.clone() };
        let theirs = ["a.json", "2026-08-01.json", "5-0.json", "2026-08-01T00-00-00Z-mine.json"];
        fs::create_dir(folder.path().join("main")).expect("a folder");
        for name in theirs {
            files::replace(&folder.path().join("main").join(name), &|out| run.write(out))
                .expect("it is written");
        }
        saved(folder.path(), &[run, new]);
        assert_eq!(stored_files(folder.path()), theirs.len() + 1);
    }

    /// The advice depends on the fault: another version of gpubench can read some files.
    #[test]
    fn files_that_cannot_be_read_are_told_by_what_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = |name: &str| {
            let place = BaselineLocation::from_name(folder.path().join(name).to_str().expect("UTF-8"));
            place.load().expect_err("it is no baseline").to_string()
        };
        fs::write(folder.path().join("damaged.json"), "{").expect("it is written");
        // A file that the user names may be of another program.
        assert!(told("damaged.json").ends_with(". Give a file that --json wrote, or measure anew"));
        fs::create_dir(folder.path().join("main")).expect("a folder");
        fs::write(folder.path().join("main/damaged.json"), "{").expect("it is written");
        let ours = BaselineLocation::within(folder.path(), "main")
            .load()
            .expect_err("it is no baseline")
            .to_string();
        assert!(ours.ends_with(". Give a file that --json wrote, or measure anew"), "{ours}");
        fs::write(folder.path().join("newer.json"), "{\"schema\":\"gpubench/999\"}").expect("it is written");
        let newer = told("newer.json");
        assert!(newer.ends_with(": read it with the gpubench that wrote it, or measure anew"), "{newer}");
        assert!(told("missing.json").starts_with("there is no baseline"));
        // A folder of this name cannot be read as a file, and is not missing.
        fs::create_dir_all(folder.path().join("of/x.json")).expect("a folder");
        let unreadable = told("of");
        assert!(unreadable.contains("x.json"), "{unreadable}");
    }

    #[test]
    fn a_baseline_is_a_name_or_a_path() {
        let path = |name: &str| BaselineLocation::within(Path::new("all"), name).path;
        assert_eq!(
            ["main", "main.json", "a/b"].map(path),
            ["all/main", "main.json", "a/b"].map(PathBuf::from)
        );
        assert!(BaselineLocation::from_name("main").path.ends_with("baselines/main"));
    }

    #[test]
    fn a_file_is_prepared_where_it_will_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| BaselineLocation::from_name(folder.path().join(name).to_str().expect("UTF-8"));
        at("new/folder/main.json").prepare().expect("its folder is made");
        assert!(folder.path().join("new/folder").is_dir());
        assert!(!folder.path().join("new/folder/main.json").exists(), "and nothing else");
        assert_eq!(BaselineLocation::from_name("main.json").folder(), Path::new("."));
    }

    #[test]
    fn runs_that_are_stored_at_once_are_all_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, run) = (BaselineLocation::within(folder.path(), "main"), stored_run());
        place.prepare().expect("a folder");
        let cases = 0..run.records.len();
        std::thread::scope(|scope| {
            for case in cases.clone() {
                let (place, records) = (&place, vec![run.records[case].clone()]);
                let part = Run { records, ..run.clone() };
                scope.spawn(move || place.save(&part).expect("it is written"));
            }
        });
        assert_eq!(stored_files(folder.path()), cases.len());
        // Of two that supersede each other, one is left.
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| place.save(&run).expect("it is written"));
            }
        });
        let whole = place.load().expect("a baseline").into_runs();
        assert_eq!((whole[0].records.len(), stored_files(folder.path())), (cases.len(), 1));
    }

    #[test]
    fn the_run_that_was_stored_last_counts_whatever_the_clock_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let future = stored_run();
        let part =
            Run { records: future.records[..1].to_vec(), started: future.started - 9_999, ..future.clone() };
        for again in 1..=2 {
            let baseline = saved(folder.path(), &[future.clone(), part.clone()]);
            let started = baseline.find(&future, &future.records[0]).map(|(run, _)| run.started);
            assert_eq!((started, stored_files(folder.path())), (Some(part.started), 2), "{again}");
        }
    }
}
