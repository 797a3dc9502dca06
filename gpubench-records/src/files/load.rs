//! Files of runs. In: a path, or `-`; out: the runs in the file, or an error that says what to give instead. Nothing is locked
//! or changed: of a run that is still being measured, the records so far are read.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::earlier::LAST;
use super::format::{RUN, ReadError};
use super::lines::{Stored, read as read_lines};
use crate::baseline::BaselineError;
use crate::record::Run;
use gpubench_stats::format::counted;

/// The reason why a stored run cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadRunError {
    /// Nothing has this name.
    #[error(
        "there is no file, stored run or baseline `{wanted}`. Stored in {}: {there}. Give one of these, a file that --json \
         wrote, or `{LAST}`. Filters go after `--`", home.display()
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
    #[error("there is no stored run in {}: measure first, for example with `cargo bench`, or give a file that --json wrote", .0.display())]
    NoRuns(PathBuf),
    /// A file cannot be read, or is no run.
    #[error("{}: {error}{}", shown(path), instead(error))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: ReadError,
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
    #[error("there is no run {number}: {} in {}, of which 1 is the newest", stored(*count), runs.display())]
    NoSuchNumber {
        /// The number that the user gave.
        number: usize,
        /// The number of stored runs.
        count: usize,
        /// The folder of the runs.
        runs: PathBuf,
    },
    /// No stored run is of the package.
    #[error("no run in {} is of the package `{package}`: `last` is the newest run of any package", runs.display())]
    NoRunOfPackage {
        /// The package.
        package: String,
        /// The folder of the runs.
        runs: PathBuf,
    },
    /// No complete run of the benchmark binary is older.
    #[error("no complete run of `{suite}` in {} is older: run it once more", runs.display())]
    NoneBefore {
        /// The benchmark binary.
        suite: String,
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

/// The advice after the error about a file that no version reads.
fn instead(error: &ReadError) -> &'static str {
    if error.is_foreign() { ". Give a file that --json wrote, or the folder of a run" } else { "" }
}

/// The name by which a user asks for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

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
        Ok(runs.into_iter().map(|run| Stored::from(run.with_models())).collect())
    };
    read().map_err(|error| LoadRunError::Unreadable { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
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
        assert!(matches!(load(&path), Err(LoadRunError::SeveralRuns { count: 3, .. })));
        assert_eq!(load_all(&path).expect("runs").len(), 3);
        write(&[&run, &run, &run.replacen("\"records\":", "\"record\":", 1)]);
        let told = load_all(&path).expect_err("it has no records").to_string();
        assert!(told.contains("line 3"), "{told}");
    }
}
