//! `doctor` on a GPU that is a stand-in, on one with faults, and without any. What this machine's CPU and files say differs
//! from machine to machine; only the lines about GPUs are looked at.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{CommandOutput, PROGRAM, TestProject};

/// The library of the stand-in, which cargo builds beside the program of the tests.
fn library() -> PathBuf {
    let library = env::current_exe().expect("a test has a path").with_file_name("libfake_cuda.so");
    assert!(library.exists(), "{} is not there", library.display());
    library
}

/// Runs the program with a driver and sensors that are both the stand-in.
fn run(arguments: &[&str], environment: &[(&str, &str)]) -> CommandOutput {
    let library = library();
    let library = library.to_str().expect("UTF-8");
    let usual = [
        ("GPUBENCH_LIBCUDA", library),
        ("GPUBENCH_LIBNVML", library),
        // This program has no work there.
        ("GPUBENCH_FAKE_PROCESSES", "0"),
    ];
    run_with(arguments, &[&usual, environment].concat())
}

fn run_with(arguments: &[&str], environment: &[(&str, &str)]) -> CommandOutput {
    let mut command = Command::new(PROGRAM);
    command
        .arg("gpubench")
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    let output = command.output().expect("it runs");
    let folder = library().parent().expect("a folder").to_owned();
    CommandOutput { output, project: folder }
}

impl CommandOutput {
    /// The lines about GPUs, with the advice behind them.
    fn of_gpus(&self) -> String {
        let shown = self.stdout().replace("PROJECT//", "").replace("PROJECT/", "");
        let mut is_of_gpu = false;
        let about = |line: &&str| {
            if !line.starts_with("      ") {
                let topic = line.get(2..).unwrap_or_default();
                is_of_gpu = ["driver ", "GPUs", "CUDA", "cuda:"].iter().any(|begin| topic.starts_with(begin));
            }
            is_of_gpu
        };
        shown.lines().filter(about).map(|line| line.to_owned() + "\n").collect()
    }
}

#[test]
fn a_gpu_as_it_should_be_has_nothing_against_it() {
    let ended = run(&["doctor"], &[]).code(0);
    assert_eq!(ended.stderr(), "");
    insta::assert_snapshot!("doctor", ended.of_gpus());
    for topic in ["CPU ", "locking clocks ", "performance counters ", "libcupti ", "ncu "] {
        assert!(ended.stdout().lines().any(|line| line[1..].trim_start().starts_with(topic)), "{topic}");
    }
    let last = ended.stdout().lines().next_back().map(str::to_owned).expect("a line");
    assert!(last.starts_with("0 problems (!), "), "{last}");
}

#[test]
fn variables_that_change_times_are_reported() {
    let set = [("CUDA_LAUNCH_BLOCKING", "1"), ("CUDA_MODULE_LOADING", "LAZY")];
    let shown = run(&["doctor"], &set).code(0).of_gpus();
    let found: Vec<&str> = shown.lines().filter(|line| line.contains("CUDA_")).map(str::trim).collect();
    assert_eq!(found.len(), 1, "{shown}");
    assert!(found[0].starts_with("? CUDA_LAUNCH_BLOCKING ") && found[0].ends_with(" 1"), "{shown}");
}

#[test]
fn what_is_against_a_gpu_is_told_with_what_to_do() {
    let faults = [
        ("GPUBENCH_FAKE_GPUS", "2"),
        ("GPUBENCH_FAKE_BROKEN", "1"),
        ("GPUBENCH_FAKE_PROCESSES", "3"),
        ("GPUBENCH_FAKE_SLOWED", "4"),
    ];
    let ended = run(&["doctor"], &faults).code(1);
    insta::assert_snapshot!("doctor-faults", ended.of_gpus());
    let library = library();
    let library = library.to_str().expect("UTF-8");
    let no_sensors = [("GPUBENCH_LIBCUDA", library), ("GPUBENCH_LIBNVML", "no-libnvml-here")];
    insta::assert_snapshot!("doctor-no-sensors", run_with(&["doctor"], &no_sensors).code(0).of_gpus());
}

/// A driver that is missing, too old, refuses to start, or ends whoever starts it costs a line and no more.
#[test]
fn a_driver_that_does_not_work_is_a_problem() {
    let missing = [("GPUBENCH_LIBCUDA", "no-libcuda-here"), ("GPUBENCH_LIBNVML", "no-libnvml-here")];
    let missing = run_with(&["doctor"], &missing).code(1);
    assert!(missing.stdout().contains("CPU "), "{}", missing.stdout());
    let mut told = missing.of_gpus();
    for fault in [
        ("GPUBENCH_FAKE_DRIVER", "11060"),
        ("GPUBENCH_FAKE_FAULT", "cuInit#1=999"),
        ("GPUBENCH_FAKE_INIT", "aborts"),
        ("GPUBENCH_FAKE_INIT", "exits"),
    ] {
        told += &format!("--- {}={}\n", fault.0, fault.1);
        told += &run(&["doctor"], &[fault]).code(1).of_gpus();
    }
    insta::assert_snapshot!("doctor-drivers", told);
}

/// A wrong setting of the fake driver ends each process that loads it with a message alone, and by no signal.
#[test]
fn the_fake_driver_refuses_a_wrong_setting() {
    let ended = run(&["doctor"], &[("GPUBENCH_FAKE_KERNEL", "fill")]).code(1);
    let (told, findings) = (ended.stderr(), ended.stdout());
    let is_reason = |line: &str| line.starts_with("the fake libcuda: a kernel's fault is `name:nothing`");
    assert!(!told.is_empty() && told.lines().all(is_reason), "{told}");
    assert!(findings.contains("its process exited with code 2"), "{findings}");
}

/// The CPU can be measured.
#[test]
fn a_machine_without_a_gpu_is_no_problem() {
    let ended = run(&["doctor"], &[("GPUBENCH_FAKE_FAULT", "cuInit#1=100")]).code(0);
    assert!(
        ended.stdout().contains("  GPUs ") && ended.stdout().contains("0 problems"),
        "{}",
        ended.stdout()
    );
    // Where a driver is installed, its GPU is examined.
    let ended = run_with(&["doctor"], &[("GPUBENCH_LIBNVML", "no-libnvml-here")]);
    if ended.of_gpus().contains("libcuda.so.1 not found") {
        assert!(ended.code(0).stdout().contains("0 problems"));
    }
}

#[test]
fn json_has_every_finding() {
    let ended = run(&["doctor", "--json"], &[("GPUBENCH_FAKE_BROKEN", "0")]).code(1);
    let answer: serde_json::Value = serde_json::from_str(&ended.stdout()).expect("JSON");
    assert_eq!(answer["schema"], "gpubench-doctor/1");
    let findings = answer["findings"].as_array().expect("a list");
    let broken = findings.iter().find(|finding| finding["device"] == "cuda:0").expect("the GPU");
    assert_eq!(broken["level"], "problem");
    assert_eq!(broken["topic"], "GPU");
    assert!(broken["advice"].as_str().is_some_and(|advice| advice.contains("nvidia-smi")), "{broken}");
    assert!(findings.iter().any(|finding| finding["topic"] == "CPU" && finding["level"] == "good"));
}

/// Resetting calls one function, for the GPUs that are named. Nothing else changes the machine.
#[test]
fn clocks_are_reset() {
    let folder = TestProject::new();
    let log = folder.text("calls.log");
    let with_log = |words: &[&str], more: &[(&str, &str)]| {
        let settings =
            [("GPUBENCH_FAKE_LOG", &*log), ("GPUBENCH_FAKE_GPUS", "2"), ("GPUBENCH_FAKE_CLOCKS", "1410")];
        let ended = run(&[&["doctor"], words].concat(), &[&settings, more].concat());
        let calls = std::fs::read_to_string(&log).unwrap_or_default();
        let changes = calls.lines().filter(|line| line.contains("LockedClocks")).count();
        drop(std::fs::remove_file(&log));
        (ended, changes)
    };
    let (examined, changes) = with_log(&[], &[]);
    assert_eq!((examined.code(0).stderr(), changes), (String::new(), 0));
    let (reset, changes) = with_log(&["--reset-clocks"], &[]);
    assert_eq!(changes, 2);
    insta::assert_snapshot!(reset.code(0).stdout(), @"
    cuda:0 (NVIDIA H200): clocks reset
    cuda:1 (NVIDIA H200): clocks reset
    ");
    let (reset, changes) = with_log(&["--reset-clocks=1"], &[]);
    assert_eq!((reset.code(0).stdout().lines().count(), changes), (1, 1));
    let (refused, _) = with_log(&["--reset-clocks=cuda:0"], &[("GPUBENCH_FAKE_UNLOCK", "4")]);
    insta::assert_snapshot!(refused.code(1).stderr(), @"error: cuda:0: clocks are locked by root only");
    let (unknown, changes) = with_log(&["--reset-clocks=cuda:2"], &[]);
    assert_eq!(changes, 0);
    insta::assert_snapshot!(unknown.code(5).stderr(), @"error: there is no device `cuda:2`: give one of cuda:0, cuda:1");
    let none = run_with(&["doctor", "--reset-clocks"], &[("GPUBENCH_LIBCUDA", "no-libcuda-here")]).code(5);
    insta::assert_snapshot!(none.stderr(), @"error: there is no GPU whose clocks could be unlocked: no-libcuda-here not found");
}
