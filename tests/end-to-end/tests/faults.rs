//! A fault costs its own rows, each of which says why, and nothing else: all other cases are measured.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use end_to_end::here;
use end_to_end::reliability::{PARTS, is_written, path, quoted, row};
use end_to_end::running::{Ended, are_gone, cases, measure, record, run, run_with};
use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};
use gpubench_stats::units::Nanoseconds;

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
    assert_eq!(record.measurement.as_ref().map(|measured| measured.median().0), Some(3_200.0), "{case}");
}

/// A fault by its name on the page, a case that has it, and what its row must say.
type Fault = (&'static str, &'static str, &'static [&'static str]);

/// Errors and panics, each with its stage, its words and the place where it panicked.
const FAILURES: [Fault; 14] = [
    (
        "panic in `args`",
        "list_panics hot",
        &["args: panicked at ", "src/bin/faults.rs:", ": the list is lost"],
    ),
    ("error in `setup`", "setup_fails hot", &["setup: the inputs are lost"]),
    ("error in `setup`", "setup_fails cold", &["setup: the inputs are lost"]),
    (
        "panic in `setup`",
        "setup_panics hot",
        &["setup: panicked at ", "src/bin/faults.rs:", ": the inputs are broken"],
    ),
    ("a count of nothing", "counts_nothing hot", &["counts: `reads` is 0: it must be at least 1"]),
    ("panic in a count", "count_panics hot", &["counts: panicked at ", ": index out of bounds"]),
    ("wrong output", "check_fails hot", &["check: x is 0, not 1"]),
    ("panic in `check`", "check_panics hot", &["check: panicked at ", ": the check is lost"]),
    (
        "panic in `reset`",
        "reset_panics hot",
        &["reset: panicked at ", "src/bin/faults.rs:", ": the reset is lost"],
    ),
    ("error of a launch", "launch_fails hot", &["first launch: out of work"]),
    (
        "panic in a launch",
        "launch_panics hot",
        &["first launch: panicked at ", "src/bin/faults.rs:", ": the launch is off"],
    ),
    (WHILE, "fails_when_cold cold", &["launch (warm-up, after 0 launches): too cold to start"]),
    (WHILE, "fails_later hot", &["launch (warm-up, after 73 launches): worn out"]),
    (WHILE, "fails_later cold", &["launch (after 128 samples): worn out"]),
];

const WHILE: &str = "error of a launch after a while";
const FORKS: &str = "a launch that forks and returns twice";

/// Faults that cost the process.
const LOSSES: [Fault; 9] = [
    ("`abort` in a launch", "aborts_when_hot hot", &["warm-up, after 0 launches: ", "ended by SIGABRT"]),
    ("`abort` in a launch", "aborts hot", &["first launch: ", "ended by SIGABRT"]),
    ("`exit(0)` in a launch", "exits hot", &["first launch: ", "exited with code 0"]),
    (FORKS, "forks hot", &["its process was ended by SIGKILL"]),
    ("segmentation fault", "segfaults hot", &["first launch: ", "ended by SIGSEGV"]),
    ("stack overflow", "overflows_its_stack hot", &["first launch: ", "ended by SIGABRT"]),
    (
        "a launch that never ends",
        "never_ends hot",
        &["first launch: took longer than 1.5 s, and was killed (--timeout sets the limit)"],
    ),
    (
        "a launch that never ends, deaf to SIGTERM",
        "never_ends_and_does_not_listen hot",
        &["warm-up, after 0 launches: took longer than 1.5 s, and was killed"],
    ),
    ("a `setup` that never ends", "setup_never_ends hot", &["setup: took longer than 1.5 s, and was killed"]),
];

const MEASURED: [&str; 4] = ["good hot", "fails_when_cold hot", "aborts_when_hot cold", "prints[n=1] hot"];

/// A case whose process ends after its samples, which are kept.
const KEPT: &str = "aborts_when_dropped hot";

/// The state of the rows that are not the fault's own.
const OTHERS: &str = "all measured";

#[test]
fn every_fault_has_its_row_and_the_rest_is_measured() {
    let (ended, run) = faults(&["--timeout", "1.5", "--skip", "leaves_a_child"]);
    let ended = ended.with_code(1);
    for (_, case, words) in FAILURES.iter().chain(&LOSSES) {
        let case = format!("faults::{case}");
        let reason = reason(&run, &case);
        assert!(words.iter().all(|words| reason.contains(words)), "{case}: {reason}");
        let first = reason.lines().next().unwrap_or_default();
        ended.shows_against(&case, &format!("invalid: {first}"));
    }
    for case in MEASURED {
        is_measured(&run, &format!("faults::{case}"));
    }
    let kept = record(&run, &format!("faults::{KEPT}"));
    let [Reason::FailedAfterwards(failure)] = &kept.verdict.reasons[..] else { panic!("{:?}", kept.verdict) };
    assert!(failure.to_string().contains("ended by SIGABRT"), "{failure}");
    assert_eq!(kept.measurement.as_ref().map(|measured| measured.median().0), Some(3_200.0));
    let expected: HashSet<String> = FAILURES
        .iter()
        .chain(&LOSSES)
        .map(|(_, case, _)| *case)
        .chain(MEASURED)
        .chain([KEPT])
        .map(|case| format!("faults::{case}"))
        .collect();
    assert_eq!(cases(&run).into_iter().collect::<HashSet<_>>(), expected);
    assert_eq!(run.records.len(), expected.len());
    ended.shows("28 results: 4 valid, 0 suspect, 24 invalid");
    for (fault, case, _) in FAILURES.iter().chain(&LOSSES) {
        // The last of several cases is on the page. The copy ends its worker at any step.
        if *fault != FORKS
            && FAILURES
                .iter()
                .chain(&LOSSES)
                .rfind(|(other, ..)| other == fault)
                .is_some_and(|last| last.1 == *case)
        {
            row(here!(), fault, &quoted(&reason(&run, &format!("faults::{case}"))), OTHERS);
        }
    }
    row(here!(), "`abort` in a destructor", "measured: what ends after its records costs none", OTHERS);
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
    let (ended, run) = faults(&["aborts_when_hot", "setup_fails", "--samples", "6"]);
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

/// Copies that went on launching would double at each launch, and leave no room for another process.
#[test]
fn a_forked_copy_launches_nothing() {
    let (ended, run) = faults(&["forks", "good"]);
    assert!(!ended.stderr.contains("launched by a copy"), "{ended}");
    let told =
        "a launch forked this process and returned in both: have the copy end or become another program";
    assert!(ended.stderr.contains(told), "{ended}");
    assert!(reason(&run, "faults::forks hot").contains("ended by SIGKILL"));
    row(here!(), FORKS, "its process is ended by SIGKILL, and standard error names the fork", OTHERS);
    is_measured(&run, "faults::good hot");
}

/// A child that outlives a worker holds the files that it inherited. The loss is told at once all the same, as what it was;
/// and the child ends with its worker.
#[test]
fn a_child_left_behind_ends_with_its_worker() {
    let (ended, run) = faults(&["leaves_a_child", "good", "--timeout", "3"]);
    let child =
        ended.stderr.lines().find_map(|line| line.strip_prefix("left ")).expect("`left` and a process");
    are_gone(&[child.to_owned()]);
    let reason = reason(&run, "faults::leaves_a_child hot");
    assert!(reason.contains("SIGABRT"), "{reason}");
    is_measured(&run, "faults::good hot");
    row(here!(), "a child that is left behind", &format!("{}; the child ends too", quoted(&reason)), OTHERS);
}

/// Each way in which code of the user's comes to run, in the process that the user started or in a worker.
const PRINTING: [&str; 8] = ["args", "condition", "setup", "counts", "launch", "reset", "check", "drop"];

#[test]
fn what_is_printed_goes_to_standard_error() {
    let ended = prints(&["good", "--quick", "--device", "clockwork"]);
    prints_to_standard_error_only(&ended);
    ended.shows("2 results: 2 valid, 0 suspect, 0 invalid");
    row(here!(), "printing from everywhere", "measured; what was printed is on standard error", OTHERS);
}

#[test]
fn so_it_does_in_process() {
    let ended = prints(&["good", "--quick", "--device", "clockwork", "--in-process"]);
    prints_to_standard_error_only(&ended);
    ended.shows("2 results: 2 valid, 0 suspect, 0 invalid");
}

#[test]
fn what_is_printed_while_listing_is_on_no_list() {
    let ended = prints(&["--list", "--format", "json"]);
    assert!(ended.stderr.contains("printed to standard output by args"), "{ended}");
    assert_eq!(ended.stdout.lines().count(), 1, "{ended}");
    let listed: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON and nothing else");
    assert_eq!(listed["name"], "faults::prints[n=1]");
}

/// Runs the benchmark that prints from everywhere.
#[track_caller]
fn prints(arguments: &[&str]) -> Ended {
    run_with(SUITE, &[&["prints"], arguments].concat(), &[("FAULTS_PRINT", "1")]).with_code(0)
}

#[track_caller]
fn prints_to_standard_error_only(ended: &Ended) {
    for place in PRINTING {
        for words in
            ["printed to standard output by ", "and no line end after ", "printed to standard error by "]
        {
            assert!(
                ended.stderr.contains(&format!("{words}{place}")),
                "no `{words}{place}` on standard error in {ended}"
            );
        }
    }
    assert!(ended.stderr.contains("printed by a child\n"), "{ended}");
    for words in ["printed", "record", "no line end"] {
        assert!(!ended.stdout.contains(words), "`{words}` in {ended}");
    }
}

/// The time and the memory that a failing case costs are bounded, however many there are: this takes a second, in half a GiB
/// of address space for each process.
#[test]
fn ten_thousand_failing_cases_are_ten_thousand_rows() {
    let begin = Instant::now();
    let limited = format!("ulimit -v 524288 && exec {SUITE} \"$@\"");
    let arguments = ["-c", &limited, "sh", "--quick", "--device", "clockwork", "--ignored"];
    let ended = run("sh", &arguments).with_code(1);
    let took = begin.elapsed();
    ended.shows_against("faults::one_of_many_fails[n=9998] hot", "invalid: first launch: 9998 is even");
    ended.shows("10000 results: 0 valid, 0 suspect, 10000 invalid");
    assert!(took < Duration::from_secs(60), "{took:?}");
    row(here!(), "10,000 failing cases", "a row each, in less than a minute and 512 MiB", "–");
}

/// For debuggers: the very same records, without a process in between.
#[test]
fn in_process_records_are_the_same() {
    let select = ["--skip", "aborts,exits,forks,never_ends,segfaults,overflows,leaves,prints"];
    let (apart, records) = faults(&select);
    let (together, same) = faults(&[&select[..], &["--in-process"]].concat());
    assert_eq!((apart.code, together.code), (Some(1), Some(1)), "{together}");
    // All but what they took by this machine's clock.
    let [records, same] = [records, same].map(|run| {
        let mut records = run.records;
        let measured = records.iter_mut().filter_map(|record| record.measurement.as_mut());
        measured.for_each(|measured| {
            measured.samples.wall_time = Nanoseconds(0.0);
            (measured.call_time, measured.launch.first_launch_time) = (None, None);
        });
        records
    });
    assert_eq!(records, same);
    assert_eq!(records.len(), 16);
}

#[test]
fn in_process_an_abort_is_one() {
    let ended = run(SUITE, &["--exact", "faults::aborts", "--device", "clockwork", "--in-process"]);
    // What is printed before a run ends is there, and nothing that looks like its end.
    assert!(ended.code.is_none() && !ended.stdout.contains("aborts"), "{ended}");
    assert!(!ended.stdout.contains(" case"), "{ended}");
}

/// On the host device a launch runs on a thread pool, whose threads a panic must not cost.
#[test]
fn a_panic_in_the_pool_is_told_with_its_place() {
    let (ended, run) = measure(SUITE, &["--quick", "--device", "host", "--cache", "both"]);
    _ = ended.with_code(1);
    for cache in ["hot", "cold"] {
        let reason = reason(&run, &format!("faults::panics_in_the_pool {cache}"));
        assert!(
            reason.starts_with("first launch: panicked at ") && reason.contains("src/bin/faults.rs:"),
            "{reason}"
        );
        assert!(reason.ends_with(": thread 63 is off"), "{reason}");
    }
    let reason = reason(&run, "faults::panics_in_the_pool hot");
    row(here!(), "panic in a thread of a launch", &quoted(&reason), "–");
}

/// The page has a row for each fault that is listed, in that order, each of a test that is there. What the rows say their
/// tests hold against what they see.
#[test]
fn the_page_has_every_fault_and_no_other() {
    if is_written() {
        return;
    }
    let page = fs::read_to_string(path()).expect("the page is there");
    let mut there = Vec::new();
    let mut part = "";
    for line in page.lines() {
        part = line.strip_prefix("## ").unwrap_or(part);
        let cells: Vec<&str> = line.split(" | ").collect();
        if let [fault, _, _, test] = cells[..]
            && fault != "| fault"
        {
            there.push((part, fault.trim_start_matches("| ")));
            is_a_test(test);
        }
    }
    let faults = PARTS.iter().flat_map(|(part, faults)| faults.iter().map(move |fault| (*part, *fault)));
    assert_eq!(there, faults.collect::<Vec<_>>(), "scripts/reliability writes rows that are missing");
}

/// Asserts that `[`name`](../file "…") |` names a test of that file.
#[track_caller]
fn is_a_test(cell: &str) {
    let told = cell.strip_prefix("[`").and_then(|cell| cell.split_once("`](../"));
    let (name, file) = told.unwrap_or_else(|| panic!("{cell}"));
    let file = file.split(' ').next().unwrap_or_default();
    let source = fs::read_to_string(path().with_file_name("..").join(file))
        .unwrap_or_else(|error| panic!("{file}: {error}"));
    assert!(source.contains(&format!("#[test]\nfn {name}()")), "{file} has no test `{name}`");
}
