//! Nsight Compute, which profiles the launches of cases in a benchmark binary.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gpubench_records::id::PlannedCase;
use gpubench_records::method::Cache;
use gpubench_runtime::__private::profiled::{FLAG, ProfiledCases};
use gpubench_runtime::__private::system::Family;
use tempfile::TempDir;

use crate::commands::signals;

/// The name of the program.
const NAME: &str = "ncu";
/// The launches of each case that are counted.
const LAUNCHES: usize = 3;
/// The time between two checks whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Words in its messages, and what they mean.
const REFUSALS: [(&str, &str); 6] = [
    (
        "ERR_NVGPUCTRPERM",
        "the driver lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM; NVIDIA's page of that name tells how to allow it)",
    ),
    ("MIG", "the counters of a GPU that is partitioned (MIG) cannot be read"),
    ("not supported on this device", "this GPU's counters cannot be read, as in most virtual machines"),
    ("vGPU", "the counters of a virtual GPU cannot be read"),
    ("another instance", "another profiler reads the GPU's counters"),
    ("ResourceUnavailable", "another profiler reads the GPU's counters"),
];

/// The beginning of a reason in its own words.
pub(super) const QUOTED: &str = "ncu reports: ";

/// The output of Nsight Compute.
pub(super) struct Profile {
    /// Its standard output, then its standard error.
    pub(super) printed: String,
    /// The errors of cases, by their numbers.
    pub(super) failures: BTreeMap<usize, String>,
    /// How it ended, as a sentence.
    ending: String,
}

impl Profile {
    /// Returns the reason that it counted nothing: a known one, its own first error, or how it ended.
    pub(super) fn refusal(&self) -> String {
        reason(&self.printed).unwrap_or_else(|| self.ending.clone())
    }
}

fn reason(printed: &str) -> Option<String> {
    let is_message = |line: &&str| line.contains("==ERROR==") || line.contains("==WARNING==");
    let lines: Vec<&str> = printed.lines().filter(is_message).collect();
    let known = REFUSALS.iter().find(|(words, _)| lines.iter().any(|line| line.contains(words)));
    let error = || lines.iter().find_map(|line| Some(line.split_once("==ERROR==")?.1.trim()));
    known.map(|(_, meaning)| (*meaning).to_owned()).or_else(|| Some(format!("{QUOTED}{}", error()?)))
}

/// Finds the program in the PATH, in a CUDA toolkit, or where its own installer puts it.
pub(super) fn find() -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let toolkits = toolkits.chain(versions("/usr/local", "cuda")).map(|root| root.join("bin"));
    let places = env::split_paths(&path).chain(toolkits).chain(versions("/opt/nvidia/nsight-compute", ""));
    places.map(|folder| folder.join(NAME)).find(|program| program.is_file()).ok_or_else(|| {
        "ncu (Nsight Compute) is not in the PATH, in a CUDA toolkit or in /opt/nvidia/nsight-compute: install it".to_owned()
    })
}

/// Returns the folders in `root` whose names begin with `beginning`, the last name first.
fn versions(root: &str, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let fitting = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning));
    let mut found: Vec<PathBuf> = fitting.map(|entry| entry.path()).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

/// Runs the benchmark binary of `binary` under Nsight Compute. It launches each of these cases, all of one cache state, a few times.
pub(super) fn profile(
    ncu: &Path,
    binary: &Command,
    cases: &[PlannedCase],
    metrics: &[String],
    limit: Duration,
) -> Result<Profile, String> {
    let ran = || -> io::Result<Profile> {
        let folder = tempfile::Builder::new().prefix("gpubench-ncu-").tempdir()?;
        let failures = folder.path().join("failures");
        let request = ProfiledCases { cases: cases.to_vec(), launches: LAUNCHES, failures: failures.clone() };
        fs::write(folder.path().join("cases"), serde_json::to_vec(&request)?)?;
        let is_cold = cases.first().is_some_and(|case| case.cache == Cache::Cold);
        let is_stopped = || signals::received().is_some();
        let ending =
            wait(Family::start(&mut command(ncu, binary, &folder, is_cold, metrics)?)?, limit, is_stopped)?;
        let text = |name: &str| fs::read(folder.path().join(name)).unwrap_or_default();
        let printed = String::from_utf8_lossy(&[text("out"), text("err")].concat()).into_owned();
        let failures = fs::read_to_string(failures).unwrap_or_default();
        let failures = failures.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Profile { printed, failures, ending })
    };
    ran().map_err(|error| format!("ncu cannot be run: {error}"))
}

fn command(
    ncu: &Path,
    binary: &Command,
    folder: &TempDir,
    is_cold: bool,
    metrics: &[String],
) -> io::Result<Command> {
    let mut command = Command::new(ncu);
    command
        .args(["--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off"])
        .args(["--clock-control", "none", "--cache-control", if is_cold { "all" } else { "none" }])
        .args(["--metrics", &metrics.join(",")])
        .arg(binary.get_program())
        .arg(FLAG)
        .arg(folder.path().join("cases"))
        .envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(File::create(folder.path().join("out"))?)
        .stderr(File::create(folder.path().join("err"))?);
    if let Some(folder) = binary.get_current_dir() {
        command.current_dir(folder);
    }
    Ok(command)
}

/// Waits for a process. At its limit, and if the user stops the command, kills it with everything that it started. Returns how it ended.
fn wait(mut ncu: Family, limit: Duration, is_stopped: impl Fn() -> bool) -> io::Result<String> {
    let began = Instant::now();
    while !ncu.has_ended() {
        let interrupted = is_stopped();
        if interrupted || began.elapsed() > limit {
            ncu.kill();
            ncu.wait()?;
            let late = "ncu exceeded the time limits of its cases, and was killed";
            return Ok(if interrupted { "the run was interrupted" } else { late }.to_owned());
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(format!("ncu profiled nothing, and ended with {}", ncu.wait()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_reported_in_a_line() {
        for (printed, expected) in [
            (
                "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.",
                "the driver lets only administrators",
            ),
            ("==ERROR== Profiling is not supported on this device", "as in most virtual machines"),
            ("==WARNING== Profiling is not supported on MIG instances", "partitioned (MIG)"),
            (
                "==PROF== Connected\n==ERROR== Failed to find metric foo__bar.sum",
                "ncu reports: Failed to find metric foo__bar.sum",
            ),
        ] {
            assert!(reason(printed).expect("it is one").contains(expected), "{printed}");
        }
        assert_eq!(reason("==PROF== Connected to process 1\n\"ERR_NVGPUCTRPERM\""), None);
    }

    #[test]
    fn it_ends_by_itself_at_the_limit_or_with_the_run() {
        let ended = |script: &str, limit, stop: bool| {
            let family = Family::start(Command::new("sh").args(["-c", script])).expect("every Unix has it");
            wait(family, limit, || stop).expect("it can be waited for")
        };
        let (long, began) = (Duration::from_secs(60), Instant::now());
        let exited = ended("exit 3", long, false);
        assert_eq!(exited, "ncu profiled nothing, and ended with exit status: 3");
        let late = "ncu exceeded the time limits of its cases, and was killed";
        assert_eq!(ended("sleep 50", Duration::from_millis(50), false), late);
        assert_eq!(ended("sleep 50", long, true), "the run was interrupted");
        assert!(began.elapsed() < Duration::from_secs(40), "nothing slept to its end");
    }
}
