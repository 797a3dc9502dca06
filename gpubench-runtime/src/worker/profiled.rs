//! The process that Nsight Compute profiles. In: a file with cases; out: launches of each between marks, profiled from mark to mark, and a
//! file with the cases that failed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::plan::Job;
use crate::worker::{self, Reply, WorkerState};

/// The first argument of the process.
pub(crate) const FLAG: &str = "--gpubench-profiled";

/// What it is asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The cases, each a job with one.
    pub(super) cases: Vec<Job>,
    /// The launches of each.
    pub(super) launches: usize,
    /// The file for failures.
    pub(super) failures: PathBuf,
}

impl Request {
    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        Ok(serde_json::to_writer(File::create(file)?, self)?)
    }
}

/// Launches what a file asks for: the whole life of the process.
///
/// # Errors
/// Returns an error if there is no such file, or if failures cannot be written.
pub(crate) fn serve(file: &Path) -> io::Result<()> {
    let Request { cases, launches, failures } = serde_json::from_slice(&fs::read(file)?)?;
    let mut failures = File::create(failures)?;
    let mut worker = WorkerState::for_one_device();
    for (number, job) in cases.into_iter().enumerate() {
        let request = worker::Request::Profile { job, number, launches };
        let mut failed = None;
        worker.answer(&request, &mut |reply| match reply {
            Reply::Tested(Err(failure)) => failed = Some(failure.to_string()),
            Reply::NoDevice(why) => failed = Some(why),
            _ => {}
        });
        if let Some(why) = failed {
            writeln!(failures, "{}", serde_json::to_string(&(number, why))?)?;
        }
    }
    Ok(())
}

/// Reads the failures of cases, by their numbers.
pub(super) fn failures(file: &Path) -> BTreeMap<usize, String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Shares;
    use gpubench_records::method::Cache;

    /// A profiled process tells of each case that it cannot launch, by its number, and goes on.
    #[test]
    fn cases_that_fail_are_told_by_their_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let [cases, file] = ["cases", "failures"].map(|name| folder.path().join(name));
        let job = |device: &str| Job {
            benchmark: "nobody has it".to_owned(),
            args: Vec::new(),
            device: device.to_owned(),
            caches: vec![Cache::Hot],
            timeout: None,
            with: None,
            shares: Shares::Nothing,
        };
        let request =
            Request { cases: ["host", "nowhere:0"].map(job).to_vec(), launches: 3, failures: file.clone() };
        request.write(&cases).expect("it can be written");
        serve(&cases).expect("it can be read");
        let told = failures(&file);
        assert_eq!(told.keys().copied().collect::<Vec<_>>(), [0, 1], "{told:?}");
        assert!(
            told.values().all(|why| why.contains("nobody has it") || why.contains("nowhere")),
            "{told:?}"
        );
        assert!(failures(&folder.path().join("none")).is_empty());
    }
}
