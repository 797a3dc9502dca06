//! Lists of arguments run in a process of their own: whatever they do to it costs their benchmark, and neither the suite's
//! process nor any other row.

use std::time::{Duration, Instant};
use std::{fs, process};

use end_to_end::here;
use end_to_end::reliability::{quoted, row};
use end_to_end::running::{Ended, cases, command, record, run};
use gpubench_records::record::Run;
use gpubench_records::verdict::State;

const SUITE: &str = env!("CARGO_BIN_EXE_lists");
const CLOCKWORK: [&str; 5] = ["--quick", "--device", "clockwork", "--timeout", "1"];
const OTHERS: &str = "all measured";

/// Runs the suite in a folder of its own, where the paths of the command line are.
#[track_caller]
fn measured(arguments: &[&str]) -> (Ended, Run) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("results")).expect("a folder");
    let mut suite = command(SUITE);
    suite.args(CLOCKWORK).args(arguments).current_dir(folder.path());
    suite.args(["--json", "results/run.json", "--runs-dir", "runs"]).stdin(process::Stdio::null());
    let ended = Ended::from(suite.output().expect("the suite starts"));
    let stored =
        fs::read(folder.path().join("results/run.json")).unwrap_or_else(|error| panic!("{error}: {ended}"));
    assert_eq!(fs::read_dir(folder.path().join("runs")).expect("runs are kept").count(), 1, "{ended}");
    (ended, Run::parse(&stored).expect("a run"))
}

#[test]
fn a_list_costs_its_own_benchmark_whatever_it_does() {
    let begin = Instant::now();
    let (ended, run) = measured(&[]);
    assert!(begin.elapsed() < Duration::from_secs(30), "a list that hangs is given up");
    let ended = ended.with_code(1);
    let measured = ["lists::good hot", "lists::list_changes_folder[n=1] hot"];
    for case in measured {
        assert_eq!(record(&run, case).verdict.state, State::Valid, "{ended}");
    }
    for (fault, name, reason) in [
        (
            "`exit(0)` in `args`",
            "list_exits",
            "args: its process exited with code 0 before it was done: does the code call `exit`?",
        ),
        ("`abort` in `args`", "list_aborts", "args: its process was ended by SIGABRT"),
        (
            "`args` that never end",
            "list_hangs",
            "args: took longer than 1 s, and was killed (--timeout sets the limit)",
        ),
        ("`abort` in `skip_if`", "condition_aborts", "args: its process was ended by SIGABRT"),
    ] {
        let case = format!("lists::{name} hot");
        let record = record(&run, &case);
        assert_eq!(record.verdict.state, State::Invalid, "{case}");
        assert_eq!(record.verdict.reasons.iter().map(ToString::to_string).collect::<Vec<_>>(), [reason]);
        ended.shows_against(&case, &format!("invalid: {reason}"));
        row(here!(), fault, &quoted(reason), OTHERS);
    }
    assert_eq!(cases(&run).len(), 6, "{ended}");
    row(
        here!(),
        "`chdir` in `args`",
        "measured; `--json` and `--runs-dir` are where the user started the suite",
        OTHERS,
    );
}

/// A list that ends its process is no empty suite, and no success.
#[test]
fn a_suite_whose_only_list_exits_fails() {
    let (ended, run) = measured(&["list_exits"]);
    assert_eq!((ended.code, run.records.len()), (Some(1), 1), "{ended}");
    let ended = run_in_test_mode("list_exits").with_code(1);
    ended.shows("lists::list_exits: args: its process exited with code 0 before it was done: does the code call `exit`?");
    run_in_test_mode("good").with_code(0).shows("1 passed; 0 failed");
}

fn run_in_test_mode(name: &str) -> Ended {
    run(SUITE, &[&CLOCKWORK[..], &["--test", name]].concat())
}

/// As one whose list panics.
#[test]
fn a_list_shows_benchmarks_whose_lists_fail() {
    let ended = run(SUITE, &["--list", "--format", "terse", "--timeout", "1"]).with_code(0);
    for name in
        ["good", "list_exits", "list_aborts", "list_hangs", "list_changes_folder[n=1]", "condition_aborts"]
    {
        ended.shows(&format!("lists::{name}: benchmark"));
    }
}
