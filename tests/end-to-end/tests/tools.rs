//! The command lines that cargo, nextest, rust-analyzer and RustRover send to a bench target, and what ran. Cargo runs it in the
//! package's folder, with the user's arguments before its own `--bench`.

use end_to_end::running::{Ended, measure, run_with};

const SUITE: &str = env!("CARGO_BIN_EXE_bench_target");

/// Runs the suite as a tool does, on the device whose clock is known.
#[track_caller]
fn sent(arguments: &[&str]) -> Ended {
    run_with(SUITE, arguments, &[("GPUBENCH_DEVICE", "clockwork")])
}

/// The benchmarks that were measured, in order.
#[track_caller]
fn measured(arguments: &[&str]) -> Vec<String> {
    let (ended, run) = measure(SUITE, &[arguments, &["--device", "clockwork"]].concat());
    _ = ended.with_code(0);
    run.records.iter().map(|record| record.case.name().replace("bench_target::", "")).collect()
}

const ALL: &str = "\
bench_target::ticks[n=1]: benchmark
bench_target::ticks[n=2]: benchmark
bench_target::words[pair=a,b]: benchmark
bench_target::words[pair=c, d]: benchmark
bench_target::slow: benchmark
bench_target::nightly: benchmark
bench_target::wrong: benchmark
";

#[test]
fn cargo_bench_measures() {
    let all = ["ticks[n=1]", "ticks[n=2]", "words[pair=a,b]", "words[pair=c, d]"];
    assert_eq!(measured(&["--bench"]), all);
    // cargo bench -- --quick
    assert_eq!(measured(&["--quick", "--bench"]), all);
    // cargo bench ticks
    assert_eq!(measured(&["ticks", "--bench"]), ["ticks[n=1]", "ticks[n=2]"]);
    // cargo bench -- --exact NAME, as editors run one benchmark
    assert_eq!(measured(&["bench_target::ticks[n=2]", "--exact", "--nocapture", "--bench"]), ["ticks[n=2]"]);
    // cargo bench -- --test
    sent(&["--test", "--bench"]).with_code(0).shows("4 passed; 0 failed; 1 skipped; 2 ignored");
}

#[test]
fn cargo_test_launches_each_benchmark_once() {
    let ended = sent(&[]).with_code(0);
    insta::assert_snapshot!(ended.stdout, @"
    test bench_target::ticks[n=1] ... ok
    test bench_target::ticks[n=2] ... ok
    test bench_target::words[pair=a,b] ... ok (launched, nothing to check)
    test bench_target::words[pair=c, d] ... ok (launched, nothing to check)
    test bench_target::slow ... skipped: takes too long

    test result: ok. 4 passed; 0 failed; 1 skipped; 2 ignored; nothing timed
    ");
    assert_eq!(ended.stderr, "");
    // cargo test ticks, cargo test -- --nocapture, and all that a user hands to every harness
    sent(&["ticks"]).with_code(0).shows("2 passed; 0 failed; 0 skipped; 0 ignored");
    sent(&["--nocapture", "--nocapture", "--test-threads=1"]).with_code(0).shows("4 passed");
    sent(&["--ignored"]).with_code(1).shows("1 passed; 1 failed");
    sent(&["--include-ignored", "--skip", "wrong"]).with_code(0).shows("5 passed");
    sent(&["no_such"]).with_code(0).shows("0 passed");
    // cargo test -- -q
    let ended = sent(&["-q", "--include-ignored"]).with_code(1);
    insta::assert_snapshot!(ended.stdout, @"
    ....i.F

    failures:
      bench_target::wrong: check: x is 2

    test result: FAILED. 5 passed; 1 failed; 1 skipped; 0 ignored; nothing timed
    ");
    assert_eq!(sent(&["--format", "terse", "--include-ignored"]).stdout, ended.stdout);
}

/// All flags of libtest, in each way of writing them, one at a time and all at once.
#[test]
fn every_flag_of_libtest_is_taken() {
    let flags: [&[&str]; 21] = [
        &["--force-run-in-process"],
        &["--exclude-should-panic"],
        &["--fail-fast"],
        &["--logfile", "/no/such/folder/log"],
        &["--no-capture"],
        &["--nocapture"],
        &["--show-output"],
        &["--test-threads", "4"],
        &["-q"],
        &["--quiet"],
        &["--color", "never"],
        &["--format", "pretty"],
        &["--format=junit"],
        &["-Z", "unstable-options"],
        &["-Zunstable-options"],
        &["--report-time"],
        &["--report-time=colored"],
        &["--ensure-time"],
        &["--shuffle"],
        &["--shuffle-seed", "17"],
        &["--include-ignored", "--skip=wrong"],
    ];
    for flags in flags {
        sent(&[flags, &["ticks"]].concat()).with_code(0).shows("test result: ok. 2 passed; 0 failed");
        assert_eq!(measured(&[&["ticks[n=1]"], flags, &["--bench"]].concat()), ["ticks[n=1]"], "{flags:?}");
        let listed = sent(&[&["--list", "ticks"], flags].concat()).with_code(0);
        assert!(listed.stdout.starts_with("bench_target::ticks[n=1]: benchmark\n"), "{listed}");
    }
    let all = flags.concat();
    sent(&[&all, &["ticks"][..]].concat()).with_code(0).shows("2 passed; 0 failed");
    assert!(!std::path::Path::new("/no/such/folder/log").exists());
}

#[test]
fn nextest_lists_and_runs_one_case_a_process() {
    assert_eq!(sent(&["--list", "--format", "terse"]).with_code(0).stdout, ALL);
    let ignored = sent(&["--list", "--format", "terse", "--ignored"]).with_code(0);
    assert_eq!(ignored.stdout, "bench_target::nightly: benchmark\nbench_target::wrong: benchmark\n");
    assert_eq!(ignored.stderr, "");
    for line in ALL.lines() {
        let name = line.strip_suffix(": benchmark").expect("each line ends so");
        let is_ignored = ignored.stdout.contains(name);
        // cargo nextest run
        let flags: &[&str] = if is_ignored { &["--nocapture", "--ignored"] } else { &["--nocapture"] };
        let ended = sent(&[&["--exact", name], flags].concat());
        let expected = if name.ends_with("wrong") { 1 } else { 0 };
        let ended = ended.with_code(expected);
        let lines: Vec<_> = ended.stdout.lines().filter(|line| line.starts_with("test bench")).collect();
        assert!(lines.len() == 1 && lines[0].starts_with(&format!("test {name} ... ")), "{ended}");
        // cargo nextest bench
        let ended = sent(&[&["--exact", name], flags, &["--bench"]].concat()).with_code(expected);
        let count =
            if name.ends_with("slow") { "no records: 0 results planned, 1 skipped" } else { "1 result: " };
        assert!(ended.stdout.contains(count), "{ended}");
    }
}

/// The test explorer reads libtest's JSON; the lens above a function names it in whole.
#[test]
fn rust_analyzer_reads_what_passed() {
    let explorer = sent(&["ticks", "-Z", "unstable-options", "--format=json"]).with_code(0);
    let without_time = |text: &str| {
        let lines = text.lines().map(|line| line.split("\"exec_time\"").next().unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(without_time(&explorer.stdout), @r#"
    {"type":"suite","event":"started","test_count":2}
    {"type":"test","event":"started","name":"bench_target::ticks[n=1]"}
    {"type":"test","event":"ok","name":"bench_target::ticks[n=1]"}
    {"type":"test","event":"started","name":"bench_target::ticks[n=2]"}
    {"type":"test","event":"ok","name":"bench_target::ticks[n=2]"}
    {"type":"suite","event":"ok","passed":2,"failed":0,"ignored":0,"measured":0,"filtered_out":0,
    "#);
    let lens = ["bench_target::ticks[n=1]", "--exact", "--show-output"];
    sent(&lens).with_code(0).shows("test result: ok. 1 passed; 0 failed");
    // A module's lens is a part of names.
    sent(&["bench_target", "--show-output"]).with_code(0).shows("4 passed");
}

#[test]
fn rust_rover_reads_what_failed_and_why() {
    let sends = ["--ignored", "-Z", "unstable-options", "--format=json", "--show-output"];
    let ended = sent(&sends).with_code(1);
    let events: Vec<serde_json::Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |name: &str, event: &str| {
        let is_it = |it: &&serde_json::Value| it["name"] == name && it["event"] == event;
        events.iter().find(is_it).unwrap_or_else(|| panic!("{ended}")).clone()
    };
    assert_eq!(of("bench_target::wrong", "failed")["stdout"], "check: x is 2\n");
    assert_eq!(of("bench_target::nightly", "ok")["type"], "test");
    let (first, last) = (&events[0], &events[events.len() - 1]);
    assert_eq!((&first["event"], &first["test_count"]), (&"started".into(), &2.into()));
    assert_eq!((&last["event"], &last["passed"], &last["failed"]), (&"failed".into(), &1.into(), &1.into()));
}

#[test]
fn fail_fast_launches_nothing_after_a_failure() {
    let ended = sent(&["--include-ignored", "--fail-fast", "wrong", "nightly"]).with_code(1);
    ended.shows("test result: FAILED. 1 passed; 1 failed");
    let ended =
        run_with(SUITE, &["--fail-fast", "ticks", "--arg", "n=0,1,2"], &[("GPUBENCH_DEVICE", "clockwork")]);
    ended.with_code(1).shows("0 passed; 1 failed; 0 skipped; 0 ignored; 2 not tested; nothing timed");
}

#[test]
fn the_version_is_the_programs_and_that_of_gpubench() {
    for flag in ["--version", "-V"] {
        let ended = sent(&[flag]).with_code(0);
        assert_eq!(
            ended.stdout,
            format!("kernels/bench_target 1.2.3 (gpubench {})\n", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(ended.stderr, "");
    }
}
