//! What goes wrong costs its own rows, each of which says why, and nothing else: all that can be measured is.

use std::collections::HashSet;

use end_to_end::running::{Ended, cases, measure, record, run};
use gpubench_runtime::record::Run;
use gpubench_runtime::units::Nanoseconds;
use gpubench_runtime::verdict::{Reason, State};
use rustix::process::{Pid, Signal, kill_process};

const SUITE: &str = env!("CARGO_BIN_EXE_faults");

#[track_caller]
fn faults(arguments: &[&str]) -> (Ended, Run) {
    measure(SUITE, &[&["--quick", "--device", "clockwork"], arguments].concat())
}

/// Why a case failed, in the words of its row.
#[track_caller]
fn reason(run: &Run, case: &str) -> String {
    let record = record(run, case);
    assert_eq!(record.verdict.state, State::Invalid, "{case}");
    assert_eq!(record.measurement, None, "{case}");
    let [reason @ Reason::Failed(_)] = &record.verdict.reasons[..] else { panic!("{:?}", record.verdict) };
    reason.to_string()
}

#[track_caller]
fn is_measured(run: &Run, case: &str) {
    let record = record(run, case);
    assert_eq!(record.verdict.state, State::Valid, "{case}: {:?}", record.verdict);
    assert_eq!(record.measurement.as_ref().map(|measured| measured.time.median.0), Some(3_200.0), "{case}");
}

/// Errors and panics, each with its stage, its words and the place where it panicked.
const FAILURES: [(&str, &[&str]); 9] = [
    ("list_panics hot", &["args: panicked at ", "src/bin/faults.rs:", ": the list is lost"]),
    ("setup_fails hot", &["setup: the inputs are lost"]),
    ("setup_fails cold", &["setup: the inputs are lost"]),
    ("setup_panics hot", &["setup: panicked at ", "src/bin/faults.rs:", ": the inputs are broken"]),
    ("counts_nothing hot", &["counts: `reads` is 0: it must be at least 1"]),
    ("check_fails hot", &["check: x is 0, not 1"]),
    ("launch_fails hot", &["launch: out of work"]),
    ("launch_panics hot", &["launch: panicked at ", "src/bin/faults.rs:", ": the launch is off"]),
    ("fails_when_cold cold", &["launch: too cold to start"]),
];

/// What costs the process.
const LOSSES: [(&str, &[&str]); 4] = [
    ("aborts_when_hot hot", &["worker: ", "ended by signal SIGABRT"]),
    ("aborts hot", &["worker: ", "ended by signal SIGABRT"]),
    ("exits hot", &["worker: ", "exited with code 0"]),
    ("never_ends hot", &["worker: took longer than 0.5 s, and was killed (--timeout sets the limit)"]),
];

const MEASURED: [&str; 4] = ["good hot", "fails_when_cold hot", "aborts_when_hot cold", "prints hot"];

#[test]
fn every_fault_has_its_row_and_the_rest_is_measured() {
    let (ended, run) = faults(&["--timeout", "0.5", "--skip", "leaves_a_child"]);
    let ended = ended.with_code(1);
    for (case, words) in FAILURES.iter().chain(&LOSSES) {
        let case = format!("faults::{case}");
        let reason = reason(&run, &case);
        assert!(words.iter().all(|words| reason.contains(words)), "{case}: {reason}");
        ended.shows(&format!("invalid {case}: {reason}"));
    }
    for case in MEASURED {
        is_measured(&run, &format!("faults::{case}"));
    }
    let expected: HashSet<String> = FAILURES
        .iter()
        .chain(&LOSSES)
        .map(|(case, _)| *case)
        .chain(MEASURED)
        .map(|case| format!("faults::{case}"))
        .collect();
    assert_eq!(cases(&run).into_iter().collect::<HashSet<_>>(), expected);
    assert_eq!(run.records.len(), expected.len());
    ended.shows("17 cases: 4 valid, 0 suspect, 13 invalid");
}

#[test]
fn without_a_fault_all_is_well() {
    let (ended, run) = faults(&["good"]);
    assert_eq!(ended.with_code(0).stderr, "");
    is_measured(&run, "faults::good hot");
}

/// One that is lost hot is tried cold, in a new process; one that fails while it is set up fails for both.
#[test]
fn what_is_lost_hot_is_tried_cold() {
    let (ended, run) = faults(&["aborts_when_hot", "setup_fails", "--samples", "3"]);
    _ = ended.with_code(1);
    assert_eq!(
        cases(&run),
        [
            "faults::setup_fails hot",
            "faults::setup_fails cold",
            "faults::aborts_when_hot hot",
            "faults::aborts_when_hot cold"
        ]
    );
    is_measured(&run, "faults::aborts_when_hot cold");
}

/// A child that outlives a worker holds the files that it inherited. The loss is told at once all the same, as what it
/// was.
#[test]
fn a_child_left_behind_does_not_hold_up_the_run() {
    let (ended, run) = faults(&["leaves_a_child", "--timeout", "3"]);
    for line in ended.stderr.lines() {
        let child = line.strip_prefix("left ").and_then(|child| Pid::from_raw(child.parse().ok()?));
        kill_process(child.expect("`left` and a process"), Signal::KILL).expect("it is ours to end");
    }
    assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    let reason = reason(&run, "faults::leaves_a_child hot");
    assert!(reason.contains("SIGABRT"), "{reason}");
}

#[test]
fn what_launches_print_goes_to_standard_error() {
    let ended = run(SUITE, &["prints", "--quick", "--device", "clockwork"]).with_code(0);
    prints_to_standard_error_only(&ended);
}

#[test]
fn so_it_does_in_process() {
    let ended = run(SUITE, &["prints", "--quick", "--device", "clockwork", "--in-process"]).with_code(0);
    prints_to_standard_error_only(&ended);
}

#[track_caller]
fn prints_to_standard_error_only(ended: &Ended) {
    for words in ["printed to standard output\n", "{\"record\":null}\n", "printed to standard error\n"] {
        assert!(ended.stderr.contains(words), "no `{words}` on standard error in {ended}");
    }
    for words in ["printed", "record", "no line end"] {
        assert!(!ended.stdout.contains(words), "`{words}` in {ended}");
    }
    ended.shows("1 case: 1 valid, 0 suspect, 0 invalid");
}

#[test]
fn what_launches_print_without_a_line_end_is_not_lost() {
    let ended = run(SUITE, &["prints", "--quick", "--device", "clockwork"]).with_code(0);
    assert!(ended.stderr.contains("and no line end"), "{ended}");
}

/// For debuggers: the very same records, without a process in between.
#[test]
fn in_process_records_are_the_same() {
    let select = [
        "--skip",
        "aborts",
        "--skip",
        "exits",
        "--skip",
        "never_ends",
        "--skip",
        "leaves",
        "--skip",
        "prints",
    ];
    let (apart, records) = faults(&select);
    let (together, same) = faults(&[&select[..], &["--in-process"]].concat());
    assert_eq!((apart.code, together.code), (Some(1), Some(1)), "{together}");
    // All but what they took by this machine's clock.
    let [records, same] = [records, same].map(|run| {
        let mut records = run.records;
        let measured = records.iter_mut().filter_map(|record| record.measurement.as_mut());
        measured.for_each(|measured| measured.wall = Nanoseconds(0.0));
        records
    });
    assert_eq!(records, same);
    assert_eq!(records.len(), 11);
}

#[test]
fn in_process_an_abort_is_one() {
    let ended = run(SUITE, &["aborts", "--exact", "faults::aborts", "--device", "clockwork", "--in-process"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (None, ""), "{ended}");
}

/// On the host device a launch runs on a thread pool, whose threads a panic must not cost.
#[test]
fn a_panic_in_the_pool_is_told_with_its_place() {
    let (ended, run) = measure(SUITE, &["--quick", "--device", "host", "--cache", "both"]);
    _ = ended.with_code(1);
    for cache in ["hot", "cold"] {
        let reason = reason(&run, &format!("faults::panics_in_the_pool {cache}"));
        assert!(
            reason.starts_with("launch: panicked at ") && reason.contains("src/bin/faults.rs:"),
            "{reason}"
        );
        assert!(reason.ends_with(": thread 63 is off"), "{reason}");
    }
}
