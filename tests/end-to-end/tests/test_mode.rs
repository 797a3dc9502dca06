//! Test mode: each benchmark once, checked and untimed. What of it depends on the target is tested with the crate in
//! `tests/downstream`.

use end_to_end::running::{Ended, run};

const OPTIONS: &str = env!("CARGO_BIN_EXE_options");
const FAULTS: &str = env!("CARGO_BIN_EXE_faults");
const TEST: [&str; 3] = ["--test", "--device", "clockwork"];

#[track_caller]
fn test(program: &str, arguments: &[&str]) -> Ended {
    run(program, &[&TEST[..], arguments].concat())
}

#[test]
fn each_benchmark_is_launched_once_and_checked() {
    let ended = test(OPTIONS, &["::odd", "zipped[a=1", "nightly"]).with_code(0);
    insta::assert_snapshot!(ended.stdout, @"
    test options::zipped[a=1, n=1, m=one] ... ok (launched, nothing to check)
    test options::zipped[a=1, n=2, m=two] ... ok (launched, nothing to check)
    test options::zipped[a=1, n=3, m=three] ... ok (launched, nothing to check)
    test options::nightly tests::tagged ... ok (launched, nothing to check)
    test options::odd[n=1] ... ok
    test options::odd[n=2] ... skipped: only odd sizes
    test options::odd[n=3] ... ok
    test options::odd[n=4] ... skipped: only odd sizes

    test result: ok. 6 passed; 0 failed; 2 skipped; 1 ignored; nothing timed
    ");
    assert_eq!(ended.stderr, "");
}

#[test]
fn what_fails_is_told_with_its_reason() {
    let ended = test(OPTIONS, &["wrong", "zipped_unevenly", "named"]).with_code(1);
    insta::assert_snapshot!(ended.stdout, @"
    test options::zipped_unevenly ... FAILED
    test options::named::by another name ... ok (launched, nothing to check)
    test options::wrong ... FAILED

    failures:
      options::zipped_unevenly: args: `n` and `m` go together, and `n` has 3 values where `m` has 2
      options::wrong: check: x is 2

    test result: FAILED. 1 passed; 2 failed; 0 skipped; 0 ignored; nothing timed
    ");
}

/// One that crashes or hangs costs no other.
#[test]
fn what_costs_the_process_costs_itself() {
    let ended = test(FAULTS, &["--timeout", "0.5", "faults::aborts", "never_ends", "good", "setup_fails"])
        .with_code(1);
    ended.shows("test faults::good ... ok");
    ended.shows("faults::aborts: first launch: its process was ended by SIGABRT");
    ended.shows("faults::never_ends: first launch: took longer than 0.5 s");
    ended.shows("faults::setup_fails: setup: the inputs are lost");
}

/// Flags of `cargo test` reach every target.
#[test]
fn flags_for_other_tests_do_no_harm() {
    for flags in
        [&["--nocapture"] as &[&str], &["--show-output", "--test-threads", "1"], &["--test-threads=4"]]
    {
        test(OPTIONS, &[&["named"], flags].concat()).with_code(0).shows("1 passed; 0 failed");
    }
}

/// `cargo test FILTER` hands its filter to every target.
#[test]
fn a_filter_that_leaves_nothing_is_no_error() {
    test(OPTIONS, &["no_such"]).with_code(0).shows("0 passed; 0 failed; 0 skipped; 0 ignored");
    test(OPTIONS, &["tests::ignored"]).with_code(0).shows("0 passed; 0 failed; 0 skipped; 1 ignored");
    test(OPTIONS, &["tests::ignored", "--ignored"]).with_code(0).shows("1 passed; 0 failed");
    test(OPTIONS, &["odd", "--arg", "m=1"]).with_code(2).says_only("--arg m=…: no selected benchmark");
}
