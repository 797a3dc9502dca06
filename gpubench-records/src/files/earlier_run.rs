//! Earlier runs on disk: the one to resume, and the one to compare with. Nothing is locked or changed: of a run that is still being
//! measured, the records so far are read.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::folders::{RECORDS, parse_run_name, run_names};
use super::format::ReadError;
use super::lines::{StoredRun, head_of, read as read_lines};
use super::store;
use crate::{Run, Task};

/// The word that names the latest run on the command line.
pub const LAST: &str = "last";

/// The reason why a stored run or a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadRunError {
    /// There is no run yet: a sentence that says how to make one.
    #[error("{0}")]
    Missing(String),
    /// It cannot be used: a sentence that says what to give instead.
    #[error("{0}")]
    Unusable(String),
    /// A file cannot be read, or is no run.
    #[error("{}: {error}{}", path.display(), match error {
        ReadError::Foreign { .. } => ". Give a file that --json wrote, or measure anew",
        // The error about another version of the format contains its own advice.
        _ => "",
    })]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: ReadError,
    },
}

/// Returns the name and the file of records of each run in `folder`, the newest first; empty if the folder
/// cannot be read.
pub fn runs_in(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let names = run_names(folder).unwrap_or_default().into_iter().rev();
    names.map(|name| (name.clone(), folder.join(name).join(RECORDS)))
}

/// Returns the file of records of the run `wanted`: the path of its folder, or else the path of a file, or
/// else the name of a run in `folder`. `None` if none of these exists.
pub fn file_of(folder: &Path, wanted: &str) -> Option<PathBuf> {
    let path = Path::new(wanted);
    let candidates = [path.join(RECORDS), path.to_owned(), folder.join(wanted).join(RECORDS)];
    candidates.into_iter().find(|path| path.exists() && !path.is_dir())
}

/// Returns true if no baseline can have this name, since it refers to a stored run or to a part of a file:
/// `last`, `-`, a number, text that ends in `#` and a number, or a name that gpubench gives to runs.
pub fn is_name_of_run(name: &str) -> bool {
    let is_number = |name: &str| name.parse::<usize>().is_ok();
    let is_part = || name.rsplit_once('#').is_some_and(|(_, number)| is_number(number));
    [LAST, "-"].contains(&name) || is_number(name) || is_part() || parse_run_name(name).is_some()
}

/// Returns the newest complete run of the benchmark binary `suite` in `folder` that has a measured result,
/// and its name. With `later`, the name of a run and the second in which it began, returns only a run before
/// that one.
///
/// # Errors
/// If there is none.
pub fn run_before(
    folder: &Path,
    suite: &str,
    later: Option<(&str, u64)>,
) -> Result<(String, Run), LoadRunError> {
    let complete = |(name, path): (String, PathBuf)| {
        let head = head_of(&path).ok().filter(|run| run.program.suite == suite)?;
        // Names follow the order of runs that began in the same second.
        let is_before = |(later, started)| (head.started, &*name) < (started, later);
        later.is_none_or(is_before).then_some(())?;
        let stored = read_lines(File::open(path).ok()?).ok()?;
        (stored.is_done() && stored.run.measured().next().is_some()).then_some((name, stored.run))
    };
    runs_in(folder).find_map(complete).ok_or_else(|| {
        let runs = folder.display();
        LoadRunError::Missing(format!(
            "there is no earlier complete run of `{suite}` in {runs} to compare with: run the same `cargo bench` command once more"
        ))
    })
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
    /// Reads the run `wanted`: a name in `folder`, a path, or `last` for the latest run of the benchmark
    /// binary `suite` that is not one of several tasks.
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
                format!("there is nothing to resume, as {in_folder} has no run of `{suite}`: leave out --resume to begin one")
            } else {
                let there = run_names(folder).unwrap_or_default();
                let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
                format!("there is no run `{wanted}`; the runs in {in_folder} are: {there}")
            })
        })?;
        Self::read(&path, suite, true)
    }

    /// Returns the run in `folder` that `task` of the benchmark binary `suite` should resume; `None` if the
    /// task has no run. The task may have been started before, also on other nodes, and each run begins with
    /// the records of the one before. So this is the run of the task with the most records. Runs of other
    /// tasks are ignored.
    ///
    /// A run of this `host` must not be locked by a process. Locks of other hosts are ignored: the scheduler
    /// has ended the task there before it started it here.
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

    /// Reads the run at `path`. Fails if the run is of another benchmark binary than `suite`, or of several
    /// processes (`--runs`). If `locked` is true, also fails if a process has locked the file, since it is
    /// still measuring the run.
    fn read(path: &Path, suite: &str, locked: bool) -> Result<Self, LoadRunError> {
        let unreadable = |error| LoadRunError::Unreadable { path: path.to_owned(), error };
        let unusable = |why: String| Err(LoadRunError::Unusable(format!("{} {why}", path.display())));
        let file = File::open(path).map_err(|error| unreadable(error.into()))?;
        // Its writer has it locked. This lock ends with the file, before anything is measured.
        if locked && store::is_locked(&file) {
            return unusable("is still being measured by another process".to_owned());
        }
        let StoredRun { run, mut remarks, is_cut_off, .. } = read_lines(file).map_err(unreadable)?;
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
mod tests {
    use std::fs;

    use super::*;
    use crate::Environment;
    use crate::ShareMode;
    use crate::files::{Store, read as read_run};

    fn run(host: &str, task: Option<Task>, started: u64) -> Run {
        let lines = include_bytes!("../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
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
        store.path.clone()
    }

    #[test]
    fn names_of_runs_are_known() {
        for name in ["last", "-", "1", "007", "main#2", "2026-08-01T12-33-10Z", "2026-08-01T12-33-10Z-2"] {
            assert!(is_name_of_run(name), "{name}");
        }
        for name in ["main", "last-year", "v1", "1.2", "2026-08-01", "#main"] {
            assert!(!is_name_of_run(name), "{name}");
        }
    }

    /// Packages share a target folder. A run that did not come to its end is no baseline.
    #[test]
    fn the_run_before_is_complete_and_of_the_same_program() {
        let home = tempfile::tempdir().expect("a folder");
        let runs = home.path().join("runs");
        let store = |started: u64, package: &str, is_complete: bool| {
            let whole = run("n1", None, started);
            let mut run = Run { planned_cases: 1, records: Vec::new(), ..whole.clone() };
            run.program.suite = format!("{package}/kernels");
            run.program.package =
                Some(crate::record::Package { name: package.to_owned(), ..Default::default() });
            let mut store = Store::create(&runs, &run, &[]).expect("it can be written");
            store.add(&whole.records[0]).expect("it can be written");
            if is_complete {
                store.end(&run, false).expect("it can be written");
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
        let before =
            |after| run_before(&runs, "ours/kernels", Some(("", second + after))).map(|(name, _)| name);
        assert_eq!(before(9).expect("it is there"), "2026-08-01T12-33-13Z");
        assert_eq!(before(3).expect("it is there"), "2026-08-01T12-33-10Z");
        assert!(
            before(0).is_err_and(|told| told
                .to_string()
                .ends_with("run the same `cargo bench` command once more"))
        );
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
            format!(
                "there is nothing to resume, as {place} has no run of `{suite}`: leave out --resume to begin one"
            )
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
        assert!(refused.is_err_and(|told| told.to_string().starts_with("there is nothing to resume, as ")));
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
        store.end(run, false).expect("it can be written");
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
