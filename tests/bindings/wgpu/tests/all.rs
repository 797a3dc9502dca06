//! Launches on wgpu on an adapter of this machine, which may be software: rows, verdicts, and faults that cost one row. Without
//! any adapter these tests fail, and say so.

use std::process::Command;

use end_to_end::running::{Ended, measure, record, run_with};
use gpubench_records::device_info::Quantity;
use gpubench_records::failure::Stage;
use gpubench_records::method::{Flush, Path};
use gpubench_records::verdict::State;

const SUITE: &str = env!("CARGO_BIN_EXE_wgpu-suite");
/// As few samples as a row needs.
const SHORT: [&str; 6] = ["--color", "never", "--samples", "8", "--warmup", "0"];

/// Runs the suite with a small cache, whose flush takes no time.
fn run(arguments: &[&str]) -> Ended {
    run_with(SUITE, arguments, &[("GPUBENCH_WGPU_CACHE_MIB", "1")])
}

#[test]
fn launches_are_measured_hot_and_cold() {
    // A launch that takes milliseconds in software: more than other programs on its processors add to an overhead.
    let (ended, run) = measure(SUITE, &[&SHORT[..], &["n=1048576"]].concat());
    ended.shows("wgpu:0: ");
    ended.shows("timestamps between commands");
    ended.shows("peak DRAM bandwidth");
    let [hot, cold] = ["hot", "cold"].map(|cache| {
        let record = record(&run, &format!("wgpu_kernels::saxpy[n=1048576] {cache}"));
        record.measurement.clone().unwrap_or_else(|| panic!("{cache} was not measured: {ended}"))
    });
    assert!(hot.checked && cold.checked, "{ended}");
    for measured in [&hot, &cold] {
        let timer = &measured.samples.timer;
        assert_eq!(measured.samples.method.path, Path::Device);
        assert!(timer.resolution.0 >= 1.0 && timer.is_valid(), "{timer:?}");
        assert_eq!(timer.convention(), Some("an empty launch less one more"));
        // Readings, of which nothing is taken off: software is no steady device.
        assert!(measured.samples.event_times.iter().all(|event| event.0 > 0.0), "{ended}");
        assert!(measured.metrics.share(&Quantity::MemoryBandwidth).is_some(), "{ended}");
    }
    assert_eq!([&hot, &cold].map(|measured| measured.samples.method.flush), [Flush::None, Flush::Read]);
    // The proof is measured, whatever it says of this machine.
    let proof = cold.samples.method.flush_verification.expect("cold rows have a proof");
    assert!(
        [proof.cached_read, proof.flushed_read, proof.large_read, proof.reference_large_read]
            .iter()
            .all(|time| time.0 > 0.0),
        "{proof:?}"
    );
    ended.shows("GPUBENCH_WGPU_CACHE_MIB gives its size");
}

/// A row of a software adapter never looks like a GPU's.
#[test]
fn software_is_named_as_such() {
    let (ended, run) = measure(SUITE, &[&SHORT[..], &["n=4096", "--cache", "hot"]].concat());
    let info = &run.devices[0];
    let software = info.text("adapter") == Some("Cpu");
    assert_eq!(info.name.starts_with("software adapter, no GPU: "), software, "{info:?}");
    if software {
        ended.shows("this is a software adapter, and no GPU");
    }
}

#[test]
fn adapters_are_listed_and_selected_by_number() {
    let ended = run(&["--list", "--format", "json"]).with_code(0);
    assert!(ended.stdout.contains(r#""device":"wgpu""#), "{ended}");
    run(&["--device", "wgpu:0", "--test", "saxpy"]).with_code(0).shows("2 passed; 0 failed");
    run(&["--device", "wgpu:77"]).with_code(5).says_only("--device takes `wgpu:0`");
}

#[test]
fn two_launches_take_turns() {
    let arguments = [
        "saxpy[n=4096]",
        "--compare-with",
        "wgpu_kernels::saxpy[n=1048576]",
        "--cache",
        "hot",
        "--max-time",
        "0.2",
    ];
    run(&[&["--color", "never", "--quick"], &arguments[..]].concat()).shows("saxpy[n=1048576]");
}

/// Each fault costs its own row, in wgpu's words, and the sound launch behind all of them is measured.
#[test]
fn a_fault_costs_one_row() {
    let (ended, run) =
        measure(SUITE, &[&SHORT[..], &["--ignored", "faults", "--skip", "out_of_memory"]].concat());
    for (name, stage, words) in [
        ("invalid_in_launch", Stage::Launch, "wgpu: validation error: "),
        ("invalid_in_setup", Stage::Setup, "wgpu: validation error: "),
        ("loses_the_device", Stage::Launch, "the device is lost (Destroyed)"),
        ("encodes_nothing", Stage::Launch, "the launch encoded no work"),
        ("wrong_values", Stage::Check, "y is 2, not 3"),
        ("panics", Stage::Launch, "no launch today"),
        ("with_host_work", Stage::Sampling, "timestamp queries do not see the host's part"),
    ] {
        let record = record(&run, &format!("wgpu_suite::faults::{name} hot"));
        let failure = record.failure().unwrap_or_else(|| panic!("{name} did not fail: {ended}"));
        assert_eq!(failure.stage, stage, "{name}: {failure}");
        assert!(failure.message.contains(words), "{name}: {failure}");
        assert_eq!(record.verdict.state, State::Invalid);
    }
    // Its device was lost in a process of its own, twice.
    let later = record(&run, "wgpu_suite::faults::loses_the_device_later hot");
    let failure = later.failure().unwrap_or_else(|| panic!("it did not fail: {ended}"));
    assert!(failure.message.contains("the device is lost (Destroyed)"), "{failure}");
    assert_ne!(failure.stage, Stage::Check, "its first launch was sound: {failure}");
    for cache in ["hot", "cold"] {
        let record = record(&run, &format!("wgpu_suite::faults::sound[n=1024] {cache}"));
        assert!(record.measurement.is_some(), "{cache}: {ended}");
    }
}

/// Memory ends where the system ends it: an adapter that is software has what this process has.
#[cfg(target_os = "linux")]
#[test]
fn the_end_of_memory_costs_one_row() {
    let limited =
        "ulimit -v 16000000; exec \"$0\" --color never --samples 8 --warmup 0 --ignored out_of_memory sound";
    let output = Command::new("sh").args(["-c", limited, SUITE]).output().expect("sh is there");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("wgpu: out of memory: "), "{shown}");
    assert!(shown.contains("sound[n=1024]"), "{shown}");
}

#[test]
fn what_wgpu_cannot_do_is_told_in_the_row() {
    for (arguments, why) in [
        (["--flush", "discard", "--cache", "cold"], "wgpu cannot discard lines of a cache"),
        (["--path", "graph", "--cache", "hot"], "timed by timestamp queries alone"),
    ] {
        let ended = run(&[&SHORT[..], &["n=4096"], &arguments].concat()).with_code(1);
        assert!(ended.stdout.contains(why), "no `{why}` in {ended}");
    }
}

/// A flush that the user asks for is used, and what it leaves behind is told where it is no clean and empty cache.
#[test]
fn a_flush_that_is_asked_for_is_used_and_proven() {
    let (ended, run) =
        measure(SUITE, &[&SHORT[..], &["n=4096", "--cache", "cold", "--flush", "write"]].concat());
    ended.shows("flushed by `write`");
    let record = record(&run, "wgpu_kernels::saxpy[n=4096] cold");
    let method =
        &record.measurement.as_ref().unwrap_or_else(|| panic!("not measured: {ended}")).samples.method;
    let proof = method.flush_verification.expect("cold rows have a proof");
    assert_eq!(method.flush, Flush::Write);
    if !(proof.evicts_cache() && proof.is_clean()) {
        let doubts =
            ["`write` could not be verified", "`write` does not empty", "`write` leaves the cache dirty"];
        let told = method.flush_reason.as_deref().unwrap_or_default();
        assert!(doubts.iter().any(|doubt| told.contains(doubt)), "{told:?} of {proof:?}");
    }
}

/// Software is no steady device: half a second is too short to know its times to a ten-thousandth.
#[test]
fn a_row_that_is_not_precise_in_its_time_is_suspect() {
    let asked = ["n=4096", "--cache", "hot", "--precision", "0.01%", "--max-time", "0.5"];
    let ended = run(&[&["--color", "never"], &asked[..]].concat());
    ended.shows("suspect: not converged: the interval of the median is ± ");
    ended.shows(" %, wider than the target of ± 0.01 %: raise --max-time (which overrides the attribute's `max_time`)");
}

/// A rate above a peak that the user gives is not believed, since the cache is given too and holds less than the launch moves.
#[test]
fn no_row_is_faster_than_its_memory() {
    let arguments = ["n=1048576", "--cache", "cold"];
    let settings = std::env::temp_dir().join(format!("gpubench-{}.toml", std::process::id()));
    std::fs::write(&settings, "[peaks.\"wgpu:0\"]\nmemory = \"1MB/s\"\n").expect("it can be written");
    let mut command = Command::new(SUITE);
    let output = command
        .args(SHORT)
        .args(arguments)
        .env("GPUBENCH_WGPU_CACHE_MIB", "1")
        .env("GPUBENCH_CONFIG", settings)
        .output()
        .expect("it runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("invalid: impossible"), "{shown}");
    assert!(!shown.contains("are assumed"), "{shown}");
}

#[test]
fn a_size_that_is_none_is_refused() {
    let mut command = Command::new(SUITE);
    let output = command.args(["n=4096"]).env("GPUBENCH_WGPU_CACHE_MIB", "many").output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("the size of the cache is a number of MiB"), "{told}");
}
