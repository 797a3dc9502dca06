//! Locked clocks, on the fake of NVIDIA's management library and never on another: they are locked before the first case
//! and reset after the last, however a run ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use end_to_end::running::{Ended, command};
use protocol::fake::library;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

const SUITE: &str = env!("CARGO_BIN_EXE_locks");
const LOCK: &str = " call nvmlDeviceSetGpuLockedClocks 0 1500 1500";
const RESET: &str = " call nvmlDeviceResetGpuLockedClocks 0";

/// A run with locked clocks, and the log of all its processes in the order in which they wrote it.
struct Locked {
    suite: Child,
    log: PathBuf,
    _folder: TempDir,
}

impl Locked {
    /// Starts one in a process group of its own.
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let mut command = command(SUITE);
        command.args(arguments).arg("--quick").process_group(0).stdin(Stdio::null());
        for library_of in ["GPUBENCH_LIBCUDA", "GPUBENCH_LIBNVML"] {
            command.env(library_of, library());
        }
        // Each has a GPU of its own, as far as locks tell.
        command.env("GPUBENCH_FAKE_LOG", &log).env("TMPDIR", folder.path()).envs(environment.iter().copied());
        let suite = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the suite starts");
        Self { suite, log, _folder: folder }
    }

    /// The same, once a launch waits.
    fn waiting(environment: &[(&str, &str)]) -> Self {
        let mut locked = Self::start(&["clears", "waits", "--lock-clocks", "1500"], environment);
        let stderr = locked.suite.stderr.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line).expect("UTF-8");
        assert_eq!(line, "waiting\n");
        locked
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.suite)
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits for the end of the run, and returns its output and its log.
    fn end(self) -> (Ended, Vec<String>) {
        let Self { suite, log, _folder } = self;
        let ended = suite.wait_with_output().expect("the suite was started").into();
        (ended, fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect())
    }
}

/// Asserts that clocks were locked once before anything ran on the device, and reset once, after all of it.
#[track_caller]
fn in_order(log: &[String]) {
    let places =
        |what: &str| -> Vec<usize> { (0..log.len()).filter(|line| log[*line].contains(what)).collect() };
    let (locks, resets, work) = (places(LOCK), places(RESET), places(" memset "));
    let ([lock], [reset]) = (&locks[..], &resets[..]) else { panic!("{locks:?} {resets:?}") };
    assert!(
        !work.is_empty() && work.iter().all(|line| (lock..reset).contains(&line)),
        "{lock} {work:?} {reset}"
    );
}

#[test]
fn clocks_are_locked_for_all_cases_whatever_becomes_of_them() {
    let (ended, log) = Locked::start(&["clears", "panics", "crashes", "--lock-clocks", "1500"], &[]).end();
    in_order(&log);
    let ended = ended.with_code(1);
    ended.shows(" · clocks locked to 1500 MHz");
    ended.shows("its process was ended by SIGABRT");
    ended.shows("panicked at ");
    ended.shows("4 results: 2 valid, 0 suspect, 2 invalid");
}

/// A process that measures by itself takes its reports along when it crashes, and leaves no lock.
#[test]
fn clocks_are_reset_when_the_process_that_reports_crashes() {
    let (ended, log) =
        Locked::start(&["crashes", "clears", "--in-process", "--lock-clocks", "1500"], &[]).end();
    assert_eq!(ended.code, None, "{ended}");
    in_order(&log);
}

#[test]
fn signals_reset_clocks() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let locked = Locked::waiting(&[]);
        kill_process(locked.pid(), signal).expect("it runs");
        let (ended, log) = locked.end();
        in_order(&log);
        ended.with_code(code).shows("1 result (");
    }
}

/// A terminal sends it to all processes of the group.
#[test]
fn ctrl_c_resets_clocks_once() {
    let locked = Locked::waiting(&[]);
    kill_process_group(locked.pid(), Signal::INT).expect("it runs");
    let (ended, log) = locked.end();
    in_order(&log);
    _ = ended.with_code(130);
}

/// Nothing of the run is left to do it; the process that keeps them is.
#[test]
fn clocks_are_reset_when_the_run_is_killed() {
    let mut locked = Locked::waiting(&[]);
    locked.suite.kill().expect("it runs");
    locked.suite.wait().expect("it was started");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !locked.log().iter().any(|line| line.contains(RESET)) && Instant::now() < deadline {
        sleep(Duration::from_millis(10));
    }
    in_order(&locked.log());
}

#[test]
fn clocks_are_reset_when_the_process_that_keeps_them_is_killed() {
    let locked = Locked::waiting(&[]);
    let log = locked.log();
    let keeper = log.iter().find(|line| line.contains(LOCK)).and_then(|line| line.split(' ').next());
    let keeper = keeper.and_then(|pid| Pid::from_raw(pid.parse().ok()?)).expect("it locked them");
    kill_process(keeper, Signal::KILL).expect("it runs");
    kill_process(locked.pid(), Signal::TERM).expect("it runs");
    let (ended, log) = locked.end();
    in_order(&log);
    _ = ended.with_code(143);
}

#[test]
fn targets_are_what_the_driver_is_asked_for() {
    let limit = "4294967041";
    for (target, clocks, words) in [
        ("base", [limit, limit], "clocks locked to base"),
        ("max", ["1980", "1980"], "clocks locked to max, 1980 MHz"),
    ] {
        let (ended, log) = Locked::start(&["clears", "--lock-clocks", target], &[]).end();
        let [least, most] = clocks;
        let call = format!("nvmlDeviceSetGpuLockedClocks 0 {least} {most}");
        assert!(log.iter().any(|line| line.ends_with(&call)), "no {call} in {log:?}");
        ended.with_code(0).shows(words);
    }
}

/// A lock that is refused is told, and nothing is measured without it.
#[test]
fn refusals_are_told_and_nothing_is_measured() {
    for (target, environment, why) in [
        ("1500", ("GPUBENCH_FAKE_LOCK", "4"), "cuda:0: clocks are locked by root only"),
        ("1500", ("GPUBENCH_FAKE_LOCK", "3"), "cuda:0: NVML: Not Supported"),
        ("1500", ("GPUBENCH_LIBNVML", "no-libnvml-here"), "cuda:0: no-libnvml-here not found"),
        ("1981", ("GPUBENCH_FAKE_LOCK", "0"), "cuda:0: 1981 MHz is more than its highest, 1980 MHz"),
    ] {
        let (ended, log) = Locked::start(&["clears", "--lock-clocks", target], &[environment]).end();
        ended.with_code(2).says_only(&format!("error: --lock-clocks {target}: {why}\n"));
        assert!(!log.iter().any(|line| line.contains(" memset ") || line.contains(RESET)), "{log:?}");
    }
}

#[test]
fn a_list_and_a_test_lock_nothing() {
    for arguments in
        [["clears", "--list", "--lock-clocks", "1500"], ["clears", "--test", "--lock-clocks", "1500"]]
    {
        let (ended, log) = Locked::start(&arguments, &[]).end();
        assert!(!log.iter().any(|line| line.contains(LOCK)), "{log:?} {ended}");
    }
}

#[test]
fn clocks_that_cannot_be_reset_are_told() {
    let arguments = ["clears", "--lock-clocks", "1500"];
    let (ended, _) = Locked::start(&arguments, &[("GPUBENCH_FAKE_UNLOCK", "999")]).end();
    let ended = ended.with_code(1);
    ended.shows("2 results: 2 valid");
    let told = "error: clocks may still be locked: cuda:0: ";
    assert!(ended.stderr.contains(told) && ended.stderr.contains("nvidia-smi --reset-gpu-clocks"), "{ended}");
}
