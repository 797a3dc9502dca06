//! The process that Nsight Compute profiles for `cargo gpubench verify`: it launches each case of a file between marks, and writes a file
//! with the cases that failed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Reply, Request, WorkerState};
use gpubench_records::id::PlannedCase;

/// The first argument of the process.
pub const FLAG: &str = "--gpubench-profiled";

/// The file that the process reads.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProfiledCases {
    /// The cases to launch.
    pub cases: Vec<PlannedCase>,
    /// The launches of each.
    pub launches: usize,
    /// The file for failures: a line for each, with the number of the case from 0 and the reason.
    pub failures: PathBuf,
}

/// Launches what a file asks for: the whole life of the process.
///
/// # Errors
/// Returns an error if there is no such file, or if failures cannot be written.
pub(crate) fn serve(file: &Path) -> io::Result<()> {
    let ProfiledCases { cases, launches, failures } = serde_json::from_slice(&fs::read(file)?)?;
    let mut failures = File::create(failures)?;
    let mut worker = WorkerState::for_one_device();
    for (number, case) in cases.into_iter().enumerate() {
        let request = Request::Profile { job: case.into(), number, launches };
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

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::method::Cache;

    /// A profiled process tells of each case that it cannot launch, by its number, and goes on.
    #[test]
    fn cases_that_fail_are_told_by_their_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let [cases, file] = ["cases", "failures"].map(|name| folder.path().join(name));
        let case = |device: &str| PlannedCase {
            benchmark: "nobody has it".to_owned(),
            args: Vec::new(),
            device: device.to_owned(),
            cache: Cache::Hot,
        };
        let request = ProfiledCases {
            cases: ["host", "nowhere:0"].map(case).to_vec(),
            launches: 3,
            failures: file.clone(),
        };
        fs::write(&cases, serde_json::to_vec(&request).expect("JSON")).expect("it can be written");
        serve(&cases).expect("it can be read");
        let told = fs::read_to_string(&file).expect("it was written");
        let told: Vec<(usize, String)> =
            told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(told.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1], "{told:?}");
        assert!(
            told.iter().all(|(_, why)| why.contains("nobody has it") || why.contains("nowhere")),
            "{told:?}"
        );
    }
}
