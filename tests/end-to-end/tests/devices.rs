//! One program measures on several devices, whether they are gpubench's or a user's, and whatever is wrong with some.

use std::collections::HashSet;
use std::time::Instant;

use end_to_end::running::{cases, measure, record, run};
use gpubench_records::method::Flush;
use gpubench_records::verdict::{Reason, State};

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");
const ODD: &str = env!("CARGO_BIN_EXE_odd_devices");

#[test]
fn one_binary_measures_on_two_devices() {
    let (ended, run) = measure(SUITE, &["s::beat", "sum", "--quick", "--color", "never"]);
    let ended = ended.with_code(0);
    assert_eq!(ended.stderr, "");
    let note = "no CUDA device (no-libcuda-here not found): measuring this machine's CPU";
    assert_eq!((run.notes.as_slice(), ended.stdout.lines().next()), (&[note.to_owned()][..], Some(note)));
    let devices: HashSet<&str> = run.devices.iter().map(|info| info.device.as_str()).collect();
    assert_eq!(devices, HashSet::from(["clockwork", "host"]));
    for (case, device) in [("beat hot", "clockwork"), ("beat cold", "clockwork"), ("sum[n=1024] hot", "host")]
    {
        let record = record(&run, &format!("two_devices::{case}"));
        assert_eq!(record.device, device);
        let measured = record.measurement.as_ref().expect("it was measured");
        assert!(measured.metrics.bandwidth.is_some_and(|rate| rate.0 > 0.0), "{measured:?}");
    }
}

/// Of inputs whose memory is known, a cold sample on an x86-64 CPU drops the lines; with others, the row says why the whole cache is swept.
#[test]
fn cold_samples_of_a_cpu_drop_the_lines_of_inputs_that_are_known() {
    let drops = cfg!(target_arch = "x86_64")
        && std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|info| info.contains("clflushopt"));
    if !drops {
        return;
    }
    let (ended, measured) =
        measure(SUITE, &["sum", "rows", "--cache", "cold", "--quick", "--color", "never"]);
    let ended = ended.with_code(0);
    for (case, flush) in [("sum[n=1024] cold", Flush::Lines), ("rows cold", Flush::Read)] {
        let record = record(&measured, &format!("two_devices::{case}"));
        let samples = &record.measurement.as_ref().expect("it was measured").samples;
        assert_eq!(samples.method.flush, flush, "{case}");
    }
    let why = "flushed by `read`, not by `lines`, since gpubench does not know all memory that launches use";
    assert!(ended.stdout.replace("\n  ", " ").contains(why), "{ended}");

    let refused = run(SUITE, &["rows", "--cache", "cold", "--flush", "lines"]).with_code(1);
    assert!(refused.stdout.contains("--flush lines: gpubench does not know all memory"), "{refused}");
    let swept = run(SUITE, &["sum", "--cache", "cold", "--flush", "read", "--quick"]).with_code(0);
    assert!(swept.stdout.contains("flushed by `read`\n"), "what was asked for needs no reason: {swept}");
}

/// Both stand in one module: what tells their rows apart is the device.
#[test]
fn rows_of_two_devices_are_told_apart() {
    let ended =
        run(SUITE, &["s::beat", "sum", "--samples", "1", "--warmup", "0", "--color", "never"]).with_code(0);
    let headings: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("two_devices")).collect();
    assert_eq!(headings.len(), 2, "{ended}");
    assert_ne!(headings[0], headings[1], "{ended}");
}

#[test]
fn the_device_asked_for_is_the_only_one() {
    for (device, cases_on_it) in [("clockwork", 19), ("host", 5), ("host,clockwork", 24), ("all", 24)] {
        let arguments = ["--device", device, "--quick", "--samples", "5"];
        let (ended, run) = measure(SUITE, &arguments);
        let ended = ended.with_code(0);
        assert_eq!(cases(&run).len(), cases_on_it, "--device {device}: {ended}");
        assert!(run.notes.is_empty(), "{:?}", run.notes);
    }
}

#[test]
fn a_device_that_cannot_be_opened_is_told() {
    let ended = run(ODD, &["--device", "absent"]).with_code(5);
    assert!(ended.stderr.contains("device `absent`: it is not plugged in"), "{ended}");
}

/// Nobody asked for it: it costs its own cases.
#[test]
fn a_device_that_cannot_be_opened_costs_no_other() {
    let (ended, run) = measure(ODD, &["on_absent", "on_slow", "--quick"]);
    assert_eq!(record(&run, "odd_devices::on_slow hot").verdict.state, State::Valid, "{ended}");
    assert_ne!(ended.code, Some(0), "{ended}");
    assert!(
        ended.stdout.contains("it is not plugged in") || ended.stderr.contains("it is not plugged in"),
        "{ended}"
    );
}

/// Looking at a device is no case.
#[test]
fn a_case_time_limit_is_not_one_for_measuring_peaks() {
    let (ended, run) = measure(ODD, &["on_slow", "--device", "slow", "--quick", "--timeout", "1"]);
    assert_eq!(record(&run, "odd_devices::on_slow hot").verdict.state, State::Valid, "{ended}");
    _ = ended.with_code(0);
}

#[test]
fn a_device_that_calls_itself_something_else_loses_no_case() {
    let ended = run(ODD, &["on_misnamed", "--device", "misnamed", "--quick"]);
    let told = ended.stdout.contains("on_misnamed") || ended.code != Some(0);
    assert!(told, "a case was planned, and nothing tells what became of it: {ended}");
}

/// A reading in a hundred is enough, on any device.
#[test]
fn a_broken_clock_makes_a_row_invalid() {
    for (device, words) in [
        ("backwards", "event times are below zero"),
        ("no-number", "event times are not valid times (not a number, infinite, or over eleven days)"),
        ("fast", "are too short for all samples together"),
    ] {
        let name = format!("on_{}", device.replace('-', "_"));
        let arguments =
            [&*name, "--device", device, "--samples", "500", "--warmup", "5ms", "--color", "never"];
        let (ended, run) = measure(ODD, &arguments);
        let record = record(&run, &format!("odd_devices::{name} hot"));
        assert_eq!(record.verdict.state, State::Invalid, "{ended}");
        let [reason] = &record.verdict.reasons[..] else { panic!("{:?}", record.verdict) };
        let reason = reason.to_string();
        assert!(reason.starts_with("broken clock: ") && reason.contains(words), "{device}: {reason}");
        assert!(record.measurement.is_some(), "all else that was read is kept");
        ended.with_code(1).shows_against(&format!("odd_devices::{name} hot"), "invalid: broken clock: ");
    }
}

/// A launch that keeps the host and not the device ends at its budget, with its samples. The best of five: other programs may use
/// the machine too.
#[test]
fn a_budget_holds_by_this_machines_clock() {
    let within = || {
        let begin = Instant::now();
        let arguments = ["on_waiting", "--device", "waiting", "--max-time", "0.3", "--warmup", "20ms"];
        let (ended, run) = measure(ODD, &arguments);
        let took = begin.elapsed().as_secs_f64();
        let record = record(&run, "odd_devices::on_waiting hot");
        assert!(matches!(record.verdict.reasons[..], [Reason::NotConverged { .. }]), "{:?}", record.verdict);
        let samples = &record.measurement.as_ref().expect("it was measured").samples;
        let (wall, count) = (samples.wall_time.as_seconds(), samples.event_times.len());
        _ = ended.with_code(0);
        // The process, the checked launch, and a warm-up of five times 0.02 s at most.
        (wall < 0.4 && count > 20 && took < 1.3).then_some(()).ok_or((wall, count, took))
    };
    let tries: Vec<_> = (0..5).map_while(|_| within().err()).collect();
    assert!(tries.len() < 5, "{tries:?}");
}

/// Before it would be killed, with its samples lost.
#[test]
fn a_case_ends_before_its_timeout() {
    let arguments =
        ["on_waiting", "--device", "waiting", "--max-time", "100", "--timeout", "2", "--warmup", "20ms"];
    let (ended, run) = measure(ODD, &arguments);
    let record = record(&run, "odd_devices::on_waiting hot");
    assert!(matches!(record.verdict.reasons[..], [Reason::NotConverged { .. }]), "{:?}", record.verdict);
    _ = ended.with_code(0);
}
