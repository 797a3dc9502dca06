//! Ctrl-C, SIGTERM and SIGHUP end a run in order: what was measured is printed and stored, the exit code tells the signal, and no
//! process stays behind.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use end_to_end::here;
use end_to_end::reliability::{quoted, row};
use end_to_end::running::{Ended, are_gone, cases, command, copy, measure, run, run_with};
use gpubench_records::files;
use gpubench_records::record::Run;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

const SUITE: &str = env!("CARGO_BIN_EXE_interrupted");

/// A run whose second case waits, with a child.
struct Waiting {
    suite: Child,
    worker: Pid,
    child: String,
    json: PathBuf,
    folder: TempDir,
}

impl Waiting {
    /// Starts a run, in a process group of its own, and returns once its second case is launched.
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::start_of(SUITE.as_ref(), folder, &["first", "waits", "then[n=1]"])
    }

    fn start_of(program: &Path, folder: TempDir, benchmarks: &[&str]) -> Self {
        let json = folder.path().join("run.json");
        let mut command = heeding_hangups(program);
        command.args(benchmarks).args(["--quick", "--json"]).arg(&json).process_group(0);
        command.env("GPUBENCH_RUNS_DIR", folder.path().join("runs"));
        command.arg("--save-baseline").arg(folder.path().join("baseline.json"));
        let mut suite =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the suite starts");
        let mut stderr = BufReader::new(suite.stderr.take().expect("a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("UTF-8");
        // Whoever prints more must find somebody who reads.
        suite.stderr = Some(stderr.into_inner());
        let said = line.strip_prefix("waiting in ").and_then(|said| said.trim().split_once(" with "));
        let (worker, child) = said.unwrap_or_else(|| panic!("the suite said {line:?}"));
        let worker = worker.parse().ok().and_then(Pid::from_raw).expect("a number");
        let child = child.to_owned();
        Self { suite, worker, child, json, folder }
    }

    /// Kills the worker, and the one that tries its case again.
    #[track_caller]
    fn kill_workers(&mut self) {
        kill_process(self.worker, Signal::KILL).expect("it runs");
        let mut stderr = BufReader::new(self.suite.stderr.take().expect("a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("UTF-8");
        self.suite.stderr = Some(stderr.into_inner());
        let second = line.strip_prefix("waiting in ").and_then(|said| said.split_once(" with "));
        let second = second.and_then(|(worker, _)| Pid::from_raw(worker.parse().ok()?));
        kill_process(second.unwrap_or_else(|| panic!("the suite said {line:?}")), Signal::KILL)
            .expect("it runs");
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.suite)
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("it runs");
    }

    fn end(self) -> (Ended, TempDir) {
        (self.suite.wait_with_output().expect("the suite was started").into(), self.folder)
    }

    /// Asserts that the run ended with `code`, with its records so far and nothing left behind.
    #[track_caller]
    fn ends_in_order(self, code: i32) {
        let (processes, json) = ([self.worker.to_string(), self.child.clone()], self.json.clone());
        let (ended, folder) = self.end();
        let ended = ended.with_code(code);
        are_gone(&processes);
        ended.shows("1 result (2 more were planned): 1 valid, 0 suspect, 0 invalid");
        assert!(ended.stderr.contains("error: interrupted (--resume goes on with what is left)"), "{ended}");
        // A part of a run is no baseline.
        assert!(!json.with_file_name("baseline.json").exists(), "{ended}");
        let stored = fs::read_to_string(json).expect("it was written");
        let run = Run::parse(stored.as_bytes()).expect("a run");
        assert_eq!((cases(&run), run.planned_cases), (vec![FIRST.to_owned()], 3));
        assert_eq!(stored_in(&folder), [FIRST]);
    }
}

/// Whoever looks on sees a row as soon as it is measured.
#[test]
fn rows_are_printed_while_the_run_goes_on() {
    let mut waiting = Waiting::start();
    let mut stdout = BufReader::new(waiting.suite.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with("  first ") {
        line.clear();
        assert!(stdout.read_line(&mut line).expect("UTF-8") > 0, "there is no row of it");
    }
    assert!(line.contains(" hot ") && line.contains("3.200 µs"), "{line}");
    waiting.suite.stdout = Some(stdout.into_inner());
    waiting.signal(Signal::INT);
    let (ended, _folder) = waiting.end();
    ended.with_code(130).shows("1 result (2 more were planned): 1 valid, 0 suspect, 0 invalid");
}

/// On several devices a row waits until the module before its own is complete. It is printed too where a signal comes first, or where
/// a worker is killed.
#[test]
fn rows_that_wait_for_another_module_are_printed_at_the_end() {
    let start = || {
        let folder = tempfile::tempdir().expect("a folder");
        Waiting::start_of(SUITE.as_ref(), folder, &["first", "amid", "behind", "waits", "on_the_host"])
    };
    let mut waiting = start();
    let mut stdout = BufReader::new(waiting.suite.stdout.take().expect("a pipe"));
    let mut printed = String::new();
    while !printed.contains("\n  behind ") {
        assert!(stdout.read_line(&mut printed).expect("UTF-8") > 0, "there is no row of it: {printed}");
    }
    assert!(!printed.contains("  amid "), "it does not wait: {printed}");
    // It is in the file at once.
    assert_eq!(
        stored_in(&waiting.folder),
        [FIRST, "interrupted::other::amid hot", "interrupted::behind hot"]
    );
    waiting.suite.stdout = Some(stdout.into_inner());
    waiting.signal(Signal::INT);
    let (ended, _folder) = waiting.end();
    let ended = ended.with_code(130);
    ended.shows("interrupted::other on clockwork");
    ended.shows("  amid ");
    ended.shows("3 results (2 more were planned): 3 valid, 0 suspect, 0 invalid");

    let mut waiting = start();
    waiting.kill_workers();
    let (ended, _folder) = waiting.end();
    let begin = |line: &str| line.get(2..).and_then(|row| row.split(' ').next()).map(str::to_owned);
    let is_row = |name: &String| ["first", "amid", "behind", "waits", "on_the_host"].contains(&&**name);
    let rows: Vec<String> = ended.stdout.lines().filter_map(begin).filter(is_row).collect();
    assert_eq!(rows, ["first", "behind", "waits", "amid", "on_the_host"], "{ended}");
    let headings = ended.stdout.lines().filter(|line| line.starts_with("interrupted")).count();
    assert_eq!(headings, 3, "one for each module and device: {ended}");
}

/// A scheduler that preempts a job signals all of its processes, and the worker may end first. That is no failure of its case,
/// which a resumed run would keep.
#[test]
fn a_worker_that_is_signalled_first_is_no_failed_case() {
    let waiting = Waiting::start();
    kill_process(waiting.worker, Signal::TERM).expect("it runs");
    thread::sleep(Duration::from_millis(100));
    waiting.signal(Signal::TERM);
    waiting.ends_in_order(143);
    let waiting = Waiting::start();
    let child = waiting.child.parse().ok().and_then(Pid::from_raw).expect("a number");
    kill_process(waiting.worker, Signal::KILL).expect("it runs");
    thread::sleep(Duration::from_millis(100));
    waiting.signal(Signal::KILL);
    let (ended, folder) = waiting.end();
    // Nobody is left to end it.
    _ = kill_process(child, Signal::KILL);
    assert_eq!((ended.code, stored_in(&folder)), (None, vec![FIRST.to_owned()]), "{ended}");
}

const FIRST: &str = "interrupted::first hot";

/// `program`, which heeds SIGHUP also where these tests run under `nohup`.
fn heeding_hangups(program: &Path) -> Command {
    let mut command = command("/usr/bin/env");
    command.arg("--default-signal=HUP").arg(program);
    command
}

/// The page's words for a run that ends as the user wants.
const REPORTED: &str = "the report so far, all of it in the JSON and in the file of the run";

/// The cases that the only run in `folder` has on disk.
#[track_caller]
fn stored_in(folder: &TempDir) -> Vec<String> {
    let mut runs = fs::read_dir(folder.path().join("runs")).expect("runs are kept");
    let run = runs.next().expect("there is one").expect("it can be read").path().join("records.jsonl");
    let stored =
        files::read(File::open(run).expect("it is there")).unwrap_or_else(|error| panic!("it {error}"));
    assert_eq!(stored.remarks, [""; 0]);
    cases(&stored.run)
}

#[test]
fn sigint_ends_a_run_with_what_it_has() {
    let waiting = Waiting::start();
    waiting.signal(Signal::INT);
    waiting.ends_in_order(130);
    row(here!(), "SIGINT", "no record: it is measured when the run is resumed", REPORTED);
}

#[test]
fn sigterm_ends_a_run_with_what_it_has() {
    let waiting = Waiting::start();
    waiting.signal(Signal::TERM);
    waiting.ends_in_order(143);
    row(here!(), "SIGTERM", "no record: it is measured when the run is resumed", REPORTED);
}

/// As where the terminal is closed, or the connection to it ends.
#[test]
fn sighup_ends_a_run_with_what_it_has() {
    let waiting = Waiting::start();
    waiting.signal(Signal::HUP);
    waiting.ends_in_order(129);
    row(here!(), "SIGHUP", "no record: it is measured when the run is resumed", REPORTED);
}

/// `nohup` is there to outlive the terminal.
#[test]
fn sighup_that_is_ignored_ends_nothing() {
    let mut shell = command("sh");
    let told = "trap '' HUP; \"$@\"";
    shell.args(["-c", told, "sh", SUITE, "hangs_up", "first", "then[n=1]", "--quick"]);
    let ended: Ended = shell.output().expect("sh is everywhere").into();
    ended.with_code(0).shows("3 results: 3 valid, 0 suspect, 0 invalid");
    let mut heeding = heeding_hangups(SUITE.as_ref());
    let ended: Ended = heeding.args(["hangs_up", "then", "--quick"]).output().expect("it starts").into();
    let ended = ended.with_code(129);
    assert!(ended.stderr.contains("error: interrupted"), "{ended}");
}

/// `--resume` refuses `--runs`, so that nobody is sent there.
#[test]
fn an_interrupted_run_of_several_processes_names_no_way_to_resume_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let environment = [("GPUBENCH_RUNS_DIR", runs.to_str().expect("UTF-8"))];
    let arguments = ["first", "tells", "then", "--quick", "--runs", "2"];
    let ended = run_with(SUITE, &arguments, &environment).with_code(143);
    assert!(ended.stderr.ends_with("error: interrupted\n"), "{ended}");
}

/// It lacks the results of later processes, so that it is neither a baseline nor ever removed.
#[test]
fn a_run_of_several_processes_that_is_interrupted_after_the_first_is_not_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let waiting = Waiting::start_of(SUITE.as_ref(), folder, &["second_process", "--runs", "2"]);
    waiting.signal(Signal::INT);
    let (ended, folder) = waiting.end();
    ended.with_code(130).shows("1 result: 1 valid, 0 suspect, 0 invalid");
    assert_eq!(stored_in(&folder), ["interrupted::stops_in_the_second_process hot"]);
    let runs = folder.path().join("runs");
    let environment = [("GPUBENCH_RUNS_DIR", runs.to_str().expect("UTF-8"))];
    let ended = run_with(SUITE, &["first", "--quick", "--baseline", "last"], &environment).with_code(2);
    ended.says_only("there is no earlier complete run of ");
}

/// What was not launched is not tested.
#[test]
fn an_interrupted_test_is_no_success() {
    let arguments = ["first", "tells", "then[n=7]", "--test"];
    let ended = run(SUITE, &arguments).with_code(143);
    ended.shows(
        "test result: incomplete. 2 passed; 0 failed; 0 skipped; 0 ignored; 1 not tested; nothing timed",
    );
    let ended = run(SUITE, &[&arguments[..], &["--format", "json"]].concat()).with_code(143);
    ended.shows(r#"{"type":"suite","event":"failed","passed":2,"failed":0,"ignored":0,"measured":0,"filtered_out":1,"#);
}

/// Nothing is left to go on with.
#[test]
fn an_interrupted_run_whose_file_is_removed_names_no_way_to_resume_it() {
    let waiting = Waiting::start();
    fs::remove_dir_all(waiting.folder.path().join("runs")).expect("it is there");
    waiting.signal(Signal::INT);
    let (ended, _folder) = waiting.end();
    let ended = ended.with_code(130);
    assert!(ended.stderr.contains("warning: this run is no longer kept: "), "{ended}");
    assert!(ended.stderr.ends_with("error: interrupted\n"), "{ended}");
}

/// A terminal sends Ctrl-C to a whole group of processes, of which the worker is none: it is ended in order.
#[test]
fn ctrl_c_in_a_terminal_is_one_too() {
    let waiting = Waiting::start();
    kill_process_group(waiting.pid(), Signal::INT).expect("it runs");
    waiting.ends_in_order(130);
    row(here!(), "Ctrl-C in a terminal", "no record: it is measured when the run is resumed", REPORTED);
}

/// `timeout` of GNU sends its signal to a process, and then to the group of it.
#[test]
fn the_same_signal_twice_at_once_is_one() {
    let waiting = Waiting::start();
    waiting.signal(Signal::TERM);
    waiting.signal(Signal::TERM);
    waiting.ends_in_order(143);
    row(
        here!(),
        "SIGTERM twice at once, as by `timeout`",
        "no record: it is measured when the run is resumed",
        REPORTED,
    );
}

/// A second signal ends the run without waiting. The file of the run has all that was measured.
#[test]
fn a_second_signal_ends_a_run_at_once() {
    let waiting = Waiting::start();
    waiting.signal(Signal::INT);
    waiting.signal(Signal::TERM);
    let processes = [waiting.worker.to_string(), waiting.child.clone()];
    let (ended, folder) = waiting.end();
    // Both may be there before either is seen, and then the first comes second.
    assert!([Some(130), Some(143)].contains(&ended.code), "{ended}");
    // The row was printed before; nothing looks like the end of a run.
    assert!(ended.stdout.contains("  first ") && !ended.stdout.contains(" case"), "{ended}");
    are_gone(&processes);
    assert_eq!(stored_in(&folder), [FIRST]);
    row(
        here!(),
        "SIGTERM behind Ctrl-C",
        "no record: it is measured when the run is resumed",
        "in the file of the run",
    );
}

/// The worker's end is the case's loss, whoever asked for it, if the second try ends so too.
#[test]
fn a_worker_that_is_killed_costs_its_case() {
    let mut waiting = Waiting::start();
    waiting.kill_workers();
    let child = waiting.child.clone();
    let (ended, folder) = waiting.end();
    let ended = ended.with_code(1);
    let reason = "first launch: its process was ended by SIGKILL";
    ended.shows_against("interrupted::waits hot", &format!("invalid: {reason}"));
    ended.shows("3 results: 2 valid, 0 suspect, 1 invalid");
    are_gone(&[child]);
    assert_eq!(stored_in(&folder).len(), 3);
    row(here!(), "worker killed from outside, twice", &quoted(reason), "all measured");
}

/// As by a CI that has lost patience, or by the kernel that needs memory.
#[test]
fn a_suite_that_is_killed_leaves_its_records_and_no_process() {
    let mut waiting = Waiting::start();
    let processes = [waiting.worker.to_string(), waiting.child.clone()];
    waiting.suite.kill().expect("it runs");
    waiting.suite.wait().expect("it was started");
    are_gone(&processes);
    assert_eq!(stored_in(&waiting.folder), [FIRST]);
    // It can be resumed: nobody has it any more.
    let runs = waiting.folder.path().join("runs");
    let environment = [("GPUBENCH_RUNS_DIR", runs.to_str().expect("UTF-8"))];
    let ended = run_with(SUITE, &["first", "then[n=1]", "--quick", "--resume"], &environment).with_code(0);
    ended.shows("resumed: 1 of 2 results were measured by the run of ");
    ended.shows("2 results: 2 valid, 0 suspect, 0 invalid");
    row(
        here!(),
        "supervisor killed",
        "no record: it is measured when the run is resumed",
        "in the file of the run; its worker and what that has started end",
    );
}

/// A reader that closes the pipe ends no run, which also writes files.
#[test]
fn a_pipe_that_is_closed_midway_ends_nothing() {
    let mut waiting = Waiting::start();
    drop(waiting.suite.stdout.take());
    waiting.kill_workers();
    let json = waiting.json.clone();
    let (ended, folder) = waiting.end();
    // The baseline is saved, which is the only message.
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(1), 1), "{ended}");
    assert!(ended.stderr.starts_with("saved 3 results in the folder or file `"), "{ended}");
    let stored = fs::read_to_string(json).expect("it was written");
    assert_eq!(Run::parse(stored.as_bytes()).expect("a run").records.len(), 3);
    assert_eq!(stored_in(&folder).len(), 3);
    row(
        here!(),
        "standard output closed midway",
        "as if nothing had happened",
        "all measured; in the JSON and in the file of the run",
    );
}

/// A run is one build's: its workers are the program that was started, whatever stands in its place by now.
#[test]
fn a_suite_that_is_built_anew_meanwhile_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("suite");
    copy(SUITE, &program);
    let mut waiting = Waiting::start_of(&program, folder, &["first", "waits", "then[n=1]"]);
    fs::remove_file(&program).expect("it is there");
    fs::write(&program, "no program").expect("it can be written");
    waiting.kill_workers();
    let (ended, _folder) = waiting.end();
    ended.with_code(1).shows("3 results: 2 valid, 0 suspect, 1 invalid");
    row(
        here!(),
        "suite built anew while it runs",
        "as if nothing had happened",
        "all measured, by the program that was started",
    );
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

/// The suite, started by `env` with one of its flags for signals.
fn by_env(flag: &str, arguments: &[&str]) -> Command {
    let mut suite = command("/usr/bin/env");
    suite.arg(flag).arg(env!("CARGO_BIN_EXE_faults")).args(arguments);
    suite.args(["--quick", "--device", "clockwork", "--cache", "hot"]).stdin(Stdio::null());
    suite
}

/// `trap '' CHLD` and some daemons have it so: the system then forgets how children ended.
#[test]
fn the_end_of_a_worker_is_known_whatever_signals_are_ignored() {
    let ended: Ended = by_env("--ignore-signal=CHLD", &["aborts"]).output().expect("it starts").into();
    ended.with_code(1).shows("its process was ended by SIGABRT");
}
