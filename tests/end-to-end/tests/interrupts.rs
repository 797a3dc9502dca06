//! Ctrl-C and SIGTERM end a run in order: what was measured is printed and stored, the exit code tells the signal, and no
//! process stays behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::running::{Ended, cases, command, measure};
use gpubench_runtime::record::Run;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

const SUITE: &str = env!("CARGO_BIN_EXE_interrupted");

/// A run whose second case waits.
struct Waiting {
    suite: Child,
    worker: Pid,
    json: PathBuf,
    _folder: TempDir,
}

impl Waiting {
    /// Starts a run, in a process group of its own, and returns once its second case is launched.
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let json = folder.path().join("run.json");
        let mut command = command(SUITE);
        command.args(["first", "waits", "then[n=1]", "--quick", "--json"]).arg(&json).process_group(0);
        command.arg("--save-baseline").arg(folder.path().join("baseline.json"));
        let mut suite =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the suite starts");
        let stderr = suite.stderr.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line).expect("UTF-8");
        let worker = line.strip_prefix("waiting in ").and_then(|pid| pid.trim().parse().ok());
        let worker = worker.and_then(Pid::from_raw).unwrap_or_else(|| panic!("the suite said {line:?}"));
        Self { suite, worker, json, _folder: folder }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.suite)
    }

    /// Whether the run ended with `code`, with what it had so far and nothing left behind.
    #[track_caller]
    fn ends_in_order(self, code: i32) {
        let ended: Ended = self.suite.wait_with_output().expect("the suite was started").into();
        let worker_lives = Path::new("/proc").join(self.worker.to_string()).exists();
        let ended = ended.with_code(code);
        assert!(!worker_lives, "the worker lives on: {ended}");
        ended.shows("1 case (2 more were planned): 1 valid, 0 suspect, 0 invalid");
        // A part of a run is no baseline.
        assert!(!self.json.with_file_name("baseline.json").exists(), "{ended}");
        let stored = fs::read_to_string(&self.json).expect("it was written");
        let run: Run = serde_json::from_str(&stored).expect("a run");
        assert_eq!((cases(&run), run.planned), (vec!["interrupted::first hot".to_owned()], 3));
    }
}

#[test]
fn sigint_ends_a_run_with_what_it_has() {
    let waiting = Waiting::start();
    kill_process(waiting.pid(), Signal::INT).expect("it runs");
    waiting.ends_in_order(130);
}

#[test]
fn sigterm_ends_a_run_with_what_it_has() {
    let waiting = Waiting::start();
    kill_process(waiting.pid(), Signal::TERM).expect("it runs");
    waiting.ends_in_order(143);
}

/// A terminal sends Ctrl-C to the worker as well, which must not look like a fault of the case.
#[test]
fn ctrl_c_in_a_terminal_reaches_the_worker_too() {
    let waiting = Waiting::start();
    kill_process_group(waiting.pid(), Signal::INT).expect("it runs");
    waiting.ends_in_order(130);
}

/// The worker's end is the case's loss, whoever asked for it.
#[test]
fn a_worker_that_is_killed_costs_its_case() {
    let waiting = Waiting::start();
    kill_process(waiting.worker, Signal::KILL).expect("it runs");
    let ended: Ended = waiting.suite.wait_with_output().expect("the suite was started").into();
    let ended = ended.with_code(1);
    ended.shows("invalid interrupted::waits hot: worker: the process was ended by signal SIGKILL");
    ended.shows("3 cases: 2 valid, 0 suspect, 1 invalid");
}

/// As by a CI that has lost patience, or by the kernel that needs memory.
#[test]
fn a_worker_does_not_outlive_a_suite_that_is_killed() {
    let mut waiting = Waiting::start();
    waiting.suite.kill().expect("it runs");
    waiting.suite.wait().expect("it was started");
    let worker = Path::new("/proc").join(waiting.worker.to_string());
    let deadline = Instant::now() + Duration::from_secs(5);
    while worker.exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    let outlived = worker.exists();
    if outlived {
        kill_process(waiting.worker, Signal::KILL).expect("it is ours to end");
    }
    assert!(!outlived, "the worker lives on");
}

/// However fast the cases come in, a signal is seen between two of them.
#[test]
fn a_signal_is_seen_between_fast_cases() {
    ends_early(&["tells", "then", "--quick"]);
}

#[test]
fn a_signal_is_seen_in_process() {
    ends_early(&["tells", "then", "--quick", "--in-process"]);
}

#[track_caller]
fn ends_early(arguments: &[&str]) {
    let (ended, run) = measure(SUITE, arguments);
    let measured = run.records.len();
    assert!(measured < 100, "{measured} of 201 cases were measured; the first one sent the signal");
    let ended = ended.with_code(143);
    assert!(ended.stderr.contains("error: interrupted"), "{ended}");
}
