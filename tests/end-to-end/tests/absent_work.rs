//! Work that is declared and not there, on the CPU: launch functions that ignore their stream, and loops that the compiler removed.

use end_to_end::running::{Ended, SettingsFile, measure, measure_with, record, run};
use gpubench_records::Observation;
use gpubench_records::device_info::Quantity;
use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};

const SUITE: &str = env!("CARGO_BIN_EXE_absent_work");
const QUICK: [&str; 6] = ["--device", "host", "--quick", "--samples", "30", "--explain"];

fn reasons<'a>(run: &'a Run, case: &str) -> &'a [Reason] {
    &record(run, &format!("absent_work::{case} hot")).verdict.reasons
}

fn is_missing(run: &Run, case: &str) -> bool {
    reasons(run, case).iter().any(Reason::is_missing_work)
}

#[test]
fn a_launch_that_ignores_its_stream_is_suspect() {
    let (ended, run) = measure(SUITE, &[&QUICK[..], &["::copies"]].concat());
    // The time on the host is the time itself.
    assert!(
        !ended.stdout.contains("on the host") && !ended.stdout.contains("the first launch took"),
        "{ended}"
    );
    for n in ["4096", "1048576"] {
        assert!(!is_missing(&run, &format!("copies[n={n}]")), "{:?}", run.records);
        let case = format!("copies_beside_its_stream[n={n}]");
        assert!(reasons(&run, &case).contains(&Reason::Observed(Observation::NoWork)), "{:?}", run.records);
        ended.shows_against(
            &format!("absent_work::{case} hot"),
            "suspect: no work on its stream: the launch function never calls `stream.run`",
        );
    }
}

#[test]
fn a_loop_that_the_compiler_removed_is_suspect() {
    let (ended, run) = measure(SUITE, &[&QUICK[..], &["::sums[", "::sums_for", "::fills"]].concat());
    for case in ["sums[n=4096]", "sums[n=1048576]", "fills[n=4096]"] {
        assert!(!is_missing(&run, case), "{:?}", run.records);
    }
    let removed = "sums_for_nobody[n=1048576]";
    assert!(is_missing(&run, removed), "{:?}", run.records);
    assert_eq!(record(&run, &format!("absent_work::{removed} hot")).verdict.state, State::Suspect);
    ended.shows("pass inputs and results through `std::hint::black_box` in `stream.run`");
}

/// Its data was in no cache.
#[test]
fn work_that_is_not_there_is_not_served_by_caches() {
    let peak = SettingsFile::peak("host", "memory=1GB/s");
    let arguments = [&QUICK[..], &["sums_for_nobody[n=1048576]"]].concat();
    let (ended, run) = measure_with(SUITE, &arguments, &[peak.variable()]);
    let measured = run.records[0].measurement.as_ref().expect("it was measured");
    assert!(measured.metrics.share(&Quantity::MemoryBandwidth).is_some_and(|share| share > 1.0), "{run:?}");
    let cell = |ended: &Ended, name: &str| {
        let line = ended.stdout.lines().find(|line| line.contains(name) && line.contains(" hot "));
        line.unwrap_or_else(|| panic!("{ended}")).contains(" cache ")
    };
    assert!(!cell(&ended, "sums_for_nobody"), "{ended}");
    let peak = SettingsFile::peak("host", "memory=1MB/s");
    let (ended, _) = measure_with(SUITE, &[&QUICK[..], &["fills"]].concat(), &[peak.variable()]);
    assert!(cell(&ended, "fills"), "{ended}");
    assert!(ended.stdout.contains("results above 100 % of a peak: the peak is too low"), "{ended}");
}

#[test]
fn more_bytes_than_cores_can_load_are_not_valid() {
    let (_, run) = measure(SUITE, &[&QUICK[..], &["sums_in_parallel_for_nobody"]].concat());
    let above = |reason: &Reason| matches!(reason, Reason::AboveCoreBandwidth { .. });
    assert!(reasons(&run, "sums_in_parallel_for_nobody[n=4096]").iter().any(above), "{:?}", run.records);
}

/// Without a folder that can be written, too.
#[test]
fn the_peaks_of_a_cpu_are_measured_on_request() {
    for arguments in [&["--measure-peaks"][..], &["--measure-peaks", "--device", "host"]] {
        let ended = run(SUITE, arguments).with_code(0);
        ended.shows("  peak DRAM bandwidth ");
        ended.shows("(measured: y += x, bytes read + written, best of 5 on 20");
    }
}
