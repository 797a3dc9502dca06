//! A machine without a GPU: what needs one is never said to have passed, and one line says why it does not run.

use end_to_end::running::{run, run_with};
use protocol::fake::library;

/// Three benchmarks, and one that is ignored.
const GPU_ONLY: &str = env!("CARGO_BIN_EXE_gpu_only");
/// Benchmarks for GPUs and for this machine's CPU.
const MIXED: &str = env!("CARGO_BIN_EXE_kernels");

/// A copy on both, for one size.
const COPIES: [&str; 5] = [
    "--exact",
    "gpubench_kernels::cuda::copy[n=4096]",
    "gpubench_kernels::host::copy[n=4096]",
    "--arg",
    "n=4096",
];

#[test]
fn a_crate_of_gpu_benchmarks_says_what_it_needs() {
    for arguments in [&[] as &[&str], &["--device", "all"], &["--cache", "hot"]] {
        let ended = run(GPU_ONLY, arguments).with_code(5);
        assert_eq!(
            ended.stderr,
            "error: no CUDA device (no-libcuda-here not found), needed by 2 selected benchmarks\n\
             with a GPU: check that `nvidia-smi` lists it, with driver 515 or newer, that CUDA_VISIBLE_DEVICES is not set, and that\n\
             the machine was restarted after the last update of the driver (in a container: that the driver is passed in)\n\
             without a GPU: measure the CPU, with benchmarks that take `&host::Stream`; or use the fake driver, which invents\n\
             times: run `cargo build -p fake-cuda` in gpubench's folder, and set GPUBENCH_LIBCUDA to its\n\
             target/debug/libfake_cuda.so\n"
        );
        assert_eq!(ended.stdout, "");
    }
    run(GPU_ONLY, &["clears_more"]).with_code(5).says_only(", needed by 1 selected benchmark\n");
    run(GPU_ONLY, &["--include-ignored"]).with_code(5).says_only(", needed by 3 selected benchmarks\n");
    // What is not there at all needs nothing.
    run(GPU_ONLY, &["no_such"])
        .with_code(4)
        .says_only("error: no benchmark matches `no_such`; --list without a filter shows all\n");
    run(GPU_ONLY, &["--device", "0"]).with_code(5).says_only("there is no device `0`");
}

#[test]
fn a_list_needs_no_device() {
    let ended = run(GPU_ONLY, &["--list"]).with_code(0);
    assert_eq!(
        ended.stdout,
        "gpu_only::clears[n=1024]: benchmark\n\
         gpu_only::clears[n=1048576]: benchmark\n\
         gpu_only::clears_more[n=1024]: benchmark\n\
         gpu_only::clears_at_night[n=1024]: benchmark (ignored)\n\
         \n\
         4 benchmarks: 0 skipped, 1 ignored; the others give 5 results (hot and cold count as two)\n"
    );
    assert_eq!(ended.stderr, "");
}

#[test]
fn test_mode_ignores_them_with_the_reason() {
    let ended = run(GPU_ONLY, &["--test"]).with_code(0);
    assert_eq!(
        ended.stdout,
        "test gpu_only::clears[n=1024] ... ignored, no CUDA device (no-libcuda-here not found)\n\
         test gpu_only::clears[n=1048576] ... ignored, no CUDA device (no-libcuda-here not found)\n\
         test gpu_only::clears_more[n=1024] ... ignored, no CUDA device (no-libcuda-here not found)\n\
         \n\
         test result: ok. 0 passed; 0 failed; 0 skipped; 4 ignored; nothing timed\n"
    );
    let ended = run(GPU_ONLY, &["--test", "--include-ignored"]).with_code(0);
    ended.shows("0 passed; 0 failed; 0 skipped; 4 ignored");
}

/// The names that a list for test runners shows.
#[track_caller]
fn listed(program: &str, more: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
    let arguments = [&["--list", "--format", "terse"], more].concat();
    let ended = run_with(program, &arguments, environment).with_code(0);
    assert_eq!(ended.stderr, "");
    let name = |line: &str| line.strip_suffix(": benchmark").expect("a terse line").to_owned();
    ended.stdout.lines().map(name).collect()
}

const ALL: [&str; 4] = [
    "gpu_only::clears[n=1024]",
    "gpu_only::clears[n=1048576]",
    "gpu_only::clears_more[n=1024]",
    "gpu_only::clears_at_night[n=1024]",
];

/// cargo-nextest takes what both lists have for ignored, runs each other benchmark by its name, and those that are ignored
/// with `--ignored` where its user wants them. It looks at the exit code alone.
#[test]
fn nextest_learns_that_they_are_ignored() {
    assert_eq!(listed(GPU_ONLY, &[], &[]), ALL);
    assert_eq!(listed(GPU_ONLY, &["--ignored"], &[]), ALL);
    for name in ALL {
        let forced =
            run_with(GPU_ONLY, &["--test", "--exact", name, "--nocapture", "--ignored"], &[]).with_code(5);
        forced.shows(&format!("{name}: device: no CUDA device (no-libcuda-here not found)"));
        forced.shows("test result: FAILED. 0 passed; 1 failed; 0 skipped");
    }
    let ended = run_with(GPU_ONLY, &["--test", "--exact", ALL[0], "--nocapture"], &[]).with_code(0);
    ended.shows("0 passed; 0 failed; 0 skipped; 1 ignored");
}

/// With a GPU they are as their attribute says.
#[test]
fn with_a_gpu_none_but_its_own_is_ignored() {
    let there = [("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8"))];
    assert_eq!(listed(GPU_ONLY, &["--ignored"], &there), ALL[3..]);
    run_with(GPU_ONLY, &["--test", "--exact", ALL[0], "--nocapture"], &there)
        .with_code(0)
        .shows("1 passed; 0 failed");
    run_with(GPU_ONLY, &["--test"], &there).with_code(0).shows("3 passed; 0 failed; 0 skipped; 1 ignored");
}

/// Of a suite for both, one line says what is left out.
#[test]
fn what_is_left_out_of_a_suite_for_both_is_said() {
    let arguments = [&["--quick", "--color", "never", "--cache", "hot"], &COPIES[..]].concat();
    let ended = run(MIXED, &arguments).with_code(0);
    let note =
        "no CUDA device (no-libcuda-here not found): measuring this machine's CPU; 1 benchmark left out";
    assert_eq!(ended.stdout.lines().next(), Some(note), "{ended}");
    ended.shows("1 result: ");
    // Who asks for the CPU hears of nothing else.
    let ended = run(MIXED, &[&arguments[..], &["--device", "host"]].concat()).with_code(0);
    assert!(!ended.stdout.contains("CUDA device"), "{ended}");
    run(MIXED, &["cuda::saxpy", "--arg", "n=4096,8192"])
        .with_code(5)
        .says_only("error: no CUDA device (no-libcuda-here not found), needed by 1 selected benchmark\n");
    let ended = run(MIXED, &[&["--test"], &COPIES[..]].concat()).with_code(0);
    ended.shows("test gpubench_kernels::cuda::copy[n=4096] ... ignored, no CUDA device");
    ended.shows("test gpubench_kernels::host::copy[n=4096] ... ok");
    ended.shows("test result: ok. 1 passed; 0 failed; 0 skipped; 1 ignored");
}

/// A driver that has no GPU is another reason, told in the same place.
#[test]
fn a_driver_without_a_gpu_says_so() {
    let there = [("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8")), ("GPUBENCH_FAKE_GPUS", "0")];
    run_with(GPU_ONLY, &[], &there)
        .with_code(5)
        .says_only("error: no CUDA device (the driver lists none), needed by 2 selected benchmarks\n");
}
