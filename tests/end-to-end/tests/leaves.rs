//! Nothing is blamed wrongly: what a benchmark leaves behind reaches no other row, and a failure that does not happen again is
//! only a remark.

use end_to_end::here;
use end_to_end::reliability::{quoted, row};
use end_to_end::running::{Ended, measure, record, run_with};
use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};

const SUITE: &str = env!("CARGO_BIN_EXE_leaves");
const OTHERS: &str = "all measured";

#[track_caller]
fn measured(names: &[&str]) -> (Ended, Run) {
    measure(SUITE, &[&["--quick", "--device", "clockwork"], names].concat())
}

#[track_caller]
fn is_valid(run: &Run, ended: &Ended, name: &str) {
    let record = record(run, &format!("leaves::{name} hot"));
    assert_eq!((record.verdict.state, record.verdict.reasons.len()), (State::Valid, 0), "{name}: {ended}");
}

#[test]
fn each_thing_left_changed_costs_its_worker() {
    let (ended, run) = measured(&["one_thing"]);
    let ended = ended.with_code(0);
    for what in ["denormals", "rounding", "thread", "nothing"] {
        is_valid(&run, &ended, &format!("leaves_one_thing[what={what}]"));
    }
    let warning = "warning: `leaves::leaves_one_thing[what=thread]` left threads running: later cases get a new process";
    assert!(ended.stderr.contains(warning), "{ended}");
    row(
        here!(),
        "rounding mode changed or a thread left running",
        "measured; later rows get a new process, and a warning names the benchmark of the thread",
        OTHERS,
    );
}

#[test]
fn a_panic_is_told_whatever_hook_an_earlier_benchmark_has_set() {
    let (ended, run) = measured(&["hides_panics", "panics_after"]);
    let ended = ended.with_code(1);
    is_valid(&run, &ended, "hides_panics");
    let failure = record(&run, "leaves::panics_after_that hot").failure().expect("it failed").to_string();
    assert!(failure.contains("src/bin/leaves.rs:") && failure.ends_with(": it is not hidden"), "{failure}");
}

#[test]
fn an_alarm_costs_no_row() {
    let (ended, run) = measured(&["alarm"]);
    let ended = ended.with_code(0);
    is_valid(&run, &ended, "leaves_an_alarm");
    let record = record(&run, "leaves::after_an_alarm hot");
    let [reason @ Reason::SecondTry(_)] = &record.verdict.reasons[..] else { panic!("{:?}", record.verdict) };
    assert_eq!(record.verdict.state, State::Valid);
    let told = reason.to_string();
    assert!(told.contains("first launch: its process was ended by SIGALRM"), "{told}");
    ended.shows(&format!("    [1] valid: {told}"));
    row(
        here!(),
        "an alarm that is left",
        &format!("measured; the row that it hits says {}", quoted(&told)),
        OTHERS,
    );
}

#[test]
fn a_panic_in_a_thread_that_nobody_waits_for_fails_its_own_case() {
    let (ended, run) = measured(&["panics_in_a_thread", "fails_once"]);
    let ended = ended.with_code(1);
    for cache in ["hot", "cold"] {
        let record = record(&run, &format!("leaves::panics_in_a_thread {cache}"));
        let reason = record.failure().unwrap_or_else(|| panic!("{ended}")).to_string();
        assert!(reason.starts_with("launch: a thread that nobody waits for panicked at "), "{reason}");
        assert!(reason.contains("src/bin/leaves.rs:") && reason.ends_with(": nobody waits"), "{reason}");
    }
    is_valid(&run, &ended, "fails_once");
    let reason = record(&run, "leaves::panics_in_a_thread hot").failure().expect("it failed").to_string();
    row(here!(), "panic in a thread that nobody waits for", &quoted(&reason), OTHERS);
    let tested =
        run_with(SUITE, &["--test", "panics_in_a_thread", "--device", "clockwork"], &[]).with_code(1);
    tested.shows("launch: a thread that nobody waits for panicked at ");
}

#[test]
fn a_panic_that_comes_late_costs_no_row() {
    let (ended, run) = measured(&["panics_later", "after_a_thread"]);
    let ended = ended.with_code(0);
    is_valid(&run, &ended, "panics_later");
    let record = record(&run, "leaves::after_a_thread hot");
    let [reason @ Reason::SecondTry(_)] = &record.verdict.reasons[..] else { panic!("{:?}", record.verdict) };
    assert_eq!(record.verdict.state, State::Valid);
    let told = reason.to_string();
    assert!(told.contains("panicked at ") && told.contains(": it is another's turn"), "{told}");
    row(here!(), "panic in a thread after its row", "measured; the row that it hits says so", OTHERS);
}

#[test]
fn a_failure_that_does_not_happen_again_is_a_remark() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("run.json");
    let json = json.to_str().expect("UTF-8");
    let arguments = ["once", "--quick", "--device", "clockwork", "--json", json];
    let environment = [("LEAVES_FOLDER", folder.path().to_str().expect("UTF-8"))];
    let ended = run_with(SUITE, &arguments, &environment).with_code(0);
    let run = Run::parse(&std::fs::read(json).expect("it was written")).expect("a run");
    for (fault, name, first) in [
        ("error of a launch that comes once", "fails_once", "first launch: out of memory for once"),
        (
            "`abort` that comes once",
            "aborts_once",
            "first launch: its process was ended by SIGABRT: to find the place, run `gdb --args PROGRAM --bench --in-process NAME` with the program that `cargo bench --no-run` prints",
        ),
    ] {
        let record = record(&run, &format!("leaves::{name} hot"));
        assert_eq!(record.verdict.state, State::Valid, "{ended}");
        assert!(record.measurement.is_some());
        let told = format!("second try: measured in a new process, after the first process failed ({first})");
        assert_eq!(record.verdict.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(), [&*told]);
        ended.shows(&format!("] valid: {told}"));
        row(here!(), fault, &format!("measured: {}", quoted(&told)), OTHERS);
    }
    ended.shows("2 results: 2 valid, 0 suspect, 0 invalid");
}
