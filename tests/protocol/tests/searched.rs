//! The search for devices runs in a process of its own: a driver that crashes, exits or hangs when it starts costs neither the
//! suite's process nor its exit code, and a GPU that is broken costs itself.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use end_to_end::here;
use end_to_end::reliability::{quoted, row};
use end_to_end::running::{Ended, command, run_with};
use gpubench_records::verdict::State;
use protocol::fake::{library, measure};
use rustix::process::{Pid, Signal, kill_process};

/// Benchmarks for GPUs and for this machine's CPU.
const MIXED: &str = env!("CARGO_BIN_EXE_kernels");
const GPU_ONLY: &str = env!("CARGO_BIN_EXE_gpu_only");

/// A copy on both, for one size.
const COPIES: [&str; 8] = [
    "--quick",
    "--exact",
    "gpubench_kernels::cuda::copy[n=4096]",
    "gpubench_kernels::host::copy[n=4096]",
    "--arg",
    "n=4096",
    "--cache",
    "hot",
];

/// Runs a suite on a driver of which `asked` asks something.
fn on(program: &str, arguments: &[&str], asked: (&str, &str)) -> Ended {
    let (name, value) = asked;
    let name = format!("GPUBENCH_FAKE_{name}");
    run_with(program, arguments, &[("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8")), (&name, value)])
}

/// The CPU is no stand-in: a GPU may be there.
#[test]
fn a_driver_that_ends_its_process_is_told_and_nothing_is_measured_instead() {
    for (fault, what, words) in [
        ("driver that aborts when it starts", "aborts", "its process was ended by SIGABRT"),
        (
            "driver that exits when it starts",
            "exits",
            "its process exited with code 0 before it was done: does the code call `exit`?",
        ),
    ] {
        let says = format!("; no CUDA device ({words})");
        for (program, arguments) in [
            (MIXED, &COPIES[..]),
            (MIXED, &["--test"][..]),
            (GPU_ONLY, &[][..]),
            (GPU_ONLY, &["--device", "all"]),
        ] {
            let ended = on(program, arguments, ("INIT", what)).with_code(5);
            ended.says_only(&says);
            assert!(ended.stderr.contains("error: the search for devices failed: "), "{ended}");
        }
        // Who asks for the CPU needs no driver.
        let host = [&COPIES[..], &["--device", "host"]].concat();
        on(MIXED, &host, ("INIT", what)).with_code(0).shows("1 result: ");
        on(GPU_ONLY, &["--list"], ("INIT", what)).with_code(0).shows("4 benchmarks");
        row(
            here!(),
            fault,
            &format!("no run: exit 5, {}", quoted(&format!("error: the search for devices failed: …{says}"))),
            "–",
        );
    }
}

/// A user who has waited long enough ends it; nobody who waits longer than the limit gets a run of the CPU.
#[test]
fn a_driver_that_hangs_can_be_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    // Jobs of a script may be told to ignore the signal, and this test with them.
    let mut suite = command("env");
    suite
        .args(["--default-signal=INT", MIXED])
        .args(COPIES)
        .env("GPUBENCH_LIBCUDA", library())
        .env("GPUBENCH_FAKE_FAULT", "cuInit=4294967295");
    suite.env("TMPDIR", folder.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let suite = suite.spawn().expect("the suite starts");
    thread::sleep(Duration::from_secs(1));
    kill_process(Pid::from_child(&suite), Signal::INT).expect("it waits for the driver");
    let ended = Ended::from(suite.wait_with_output().expect("it was started"));
    assert_eq!((ended.code, &*ended.stdout), (None, ""), "{ended}");
    row(
        here!(),
        "driver that hangs when it starts",
        "no run; Ctrl-C ends the wait, and after 60 s it is told as one that aborts",
        "–",
    );
}

#[test]
fn one_broken_gpu_of_two_costs_itself_alone() {
    let asked = [("GPUS", "2"), ("BROKEN", "0")];
    let copies = [&COPIES[..], &["--device", "0,1"]].concat();
    let measured = measure(MIXED, &copies, &asked);
    assert_eq!(measured.ended.code, Some(1), "{}", measured.ended);
    let states: Vec<(&str, State)> =
        measured.run.records.iter().map(|record| (&*record.device, record.verdict.state)).collect();
    assert_eq!(states, [("cuda:0", State::Invalid), ("cuda:1", State::Valid)], "{}", measured.ended);
    let reason = measured.run.records[0].verdict.reasons[0].to_string();
    assert_eq!(
        reason,
        "device: cannot be opened: cuDeviceGet returned 101 (CUDA_ERROR_INVALID_DEVICE): invalid device ordinal"
    );
    row(
        here!(),
        "one broken GPU of two",
        &quoted(&reason),
        "all measured; by default the other GPU is, with a note",
    );
    // Where nobody names one, the other is measured, and one line says why.
    let usual = measure(MIXED, &COPIES, &asked);
    assert_eq!(usual.ended.code, Some(0), "{}", usual.ended);
    usual.ended.shows("`cuda:0` does not work (cannot be opened: cuDeviceGet returned 101");
    usual.ended.shows("measuring `cuda:1`");
    assert!(usual.run.records.iter().all(|record| record.device == "cuda:1"), "{}", usual.ended);
    // It alone is an error, and no run of the CPU.
    let alone = run_with(
        MIXED,
        &COPIES,
        &[("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8")), ("GPUBENCH_FAKE_BROKEN", "0")],
    );
    alone.with_code(5).says_only("error: device `cuda:0`: cannot be opened: ");
}
