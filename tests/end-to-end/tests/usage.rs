//! Mistakes of a user: each has its exit code, says on standard error what to do, and leaves standard output and files as
//! they were.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use end_to_end::here;
use end_to_end::reliability::row;
use end_to_end::running::{Ended, command, run, run_with};

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");
const EMPTY: &str = env!("CARGO_BIN_EXE_empty");
const DUPLICATES: &str = env!("CARGO_BIN_EXE_duplicates");

#[test]
fn help_goes_to_standard_output() {
    let help = run(SUITE, &["--help"]).with_code(0);
    for words in ["--quick", "GPUBENCH_DEVICE", "Exit codes"] {
        assert!(help.stdout.contains(words), "no `{words}` in {help}");
    }
    assert_eq!(help.stderr, "");
    let valueless = run(SUITE, &["--precision"]).with_code(2);
    assert!(valueless.stderr.contains("tip: give --precision PERCENT: "), "{valueless}");
    let short = run_with(SUITE, &["-h"], &[("COLUMNS", "80"), ("LINES", "24")]).with_code(0);
    assert!(short.stdout.lines().count() <= 40, "{short}");
    assert!(!short.stdout.contains("GPUBENCH_"), "{short}");
}

#[test]
fn unknown_flags_are_usage_errors() {
    run(SUITE, &["--frobnicate"]).with_code(2).says_only("unexpected argument '--frobnicate'");
    run(SUITE, &["--qiuck"]).with_code(2).says_only("tip: did you mean `--quick`?");
    for (flag, hint) in [
        ("--measurement-time=3", "tip: use --max-time"),
        ("--bytes-count=3", "tip: declare counts in the attribute"),
        ("--min-runs=3", "tip: use --samples N for exactly N launches a case, --runs N for N processes"),
        ("--list=json", "tip: use `cargo bench -- --list`; --format json adds JSON"),
        ("-d", "tip: use --device"),
        ("-b", "tip: give a benchmark's name without a flag, a baseline by --baseline"),
        ("-a", "tip: use --arg"),
        ("--threads=4", "tip: if a benchmark has `args(threads = …)`: --arg threads=4"),
        ("--discard-baseline", "tip: leave it out: only --save-baseline saves a baseline"),
        ("--budget=3s", "tip: give --tune too"),
    ] {
        run(SUITE, &[flag, "0"]).with_code(2).says_only(hint);
    }
    // A guess that is not near is worse than none.
    let ended = run(SUITE, &["--bytes-moved", "3"]).with_code(2);
    assert!(!ended.stderr.contains("tip:") && !ended.stderr.contains("Usage:"), "{ended}");
}

/// A path need not be UTF-8. An error after it looks at all arguments.
#[test]
fn an_error_next_to_a_path_that_is_not_utf_8_is_reported() {
    let file = OsStr::from_bytes(b"/dev/null/\xff");
    let output = command(SUITE).arg("--json").arg(file).args(["--device", "none"]).output();
    let ended = Ended::from(output.expect("it starts")).with_code(5);
    ended.says_only("error: there is no device `none`: ");
}

/// Numbers below 0 are values, so that the error says what to give.
#[test]
fn numbers_below_zero_are_told_what_to_give() {
    for (flag, words) in [
        ("--precision", "'-1' for '--precision <PERCENT>': give a percentage above 0, such as 0.5%"),
        ("--samples", "'-1' for '--samples <N>': give a whole number from 1 to 1000000"),
        ("--timeout", "'-1' for '--timeout <TIME>': give a time, such as 500ms"),
        ("--fail-on-regression", "'-1' for '--fail-on-regression <PERCENT>': give a percentage above 0"),
        ("--device", "there is no device `-1`"),
    ] {
        let ended = run(SUITE, &[flag, "-1"]);
        assert!([Some(2), Some(5)].contains(&ended.code), "{ended}");
        ended.says_only(words);
    }
}

#[test]
fn arguments_need_not_be_unicode() {
    let mut command = command(SUITE);
    command.arg(OsStr::from_bytes(b"caf\xe9")).env("GPUBENCH_DEVICE", OsStr::from_bytes(b"\xe9t\xe9"));
    let ended: Ended = command.output().expect("the suite starts").into();
    ended.with_code(2).says_only("invalid UTF-8: \"caf\\xE9\", GPUBENCH_DEVICE=\"\\xE9t\\xE9\"");
}

#[test]
fn values_that_make_no_sense_are_usage_errors() {
    for (arguments, words) in [
        (
            &["--precision", "0%"] as &[&str],
            "invalid value '0%' for '--precision <PERCENT>': give a percentage above 0, such as 0.5%",
        ),
        (&["--precision", "fine"], "'fine' for '--precision <PERCENT>': give a percentage"),
        (&["--samples", "0"], "'0' for '--samples <N>': give a whole number from 1 to 1000000"),
        (&["--samples", "1e9"], "'1e9' for '--samples <N>': give a whole number from 1 to 1000000"),
        (&["--runs", "ten"], "'ten' for '--runs <N>': give a whole number from 1 to 10000"),
        (&["--max-time", "0"], "'0' for '--max-time <TIME>': give a time above 0"),
        (&["--runs", "3", "--in-process"], "--runs and --in-process: each run needs a process of its own"),
        (&["--test", "--json", "-"], "'--test' cannot be used with '--json <FILE>'"),
        (&["--baseline", "/etc/passwd"], "Give a file that --json wrote, or measure anew"),
        (&["--warmup", "NaN"], "'NaN' for '--warmup <TIME|N>': give a time with its unit"),
        (&["--max-time=-1"], "'-1' for '--max-time <TIME>': give a time"),
        (
            &["--max-time", "1 fortnight"],
            "'1 fortnight' for '--max-time <TIME>': give a time, such as 500ms, 2min or 0.5 (seconds)",
        ),
        (&["--timeout", "0"], "'0' for '--timeout <TIME>': give a time above 0"),
        (&["--min-time", "2", "--max-time", "1"], "--min-time is more than --max-time"),
        (&["--min-time", "4", "--max-time", "3.5", "--quick"], "--min-time is more than --max-time"),
        (&["--cache", "warm"], "[possible values: hot, cold, both]"),
        (&["--arg", "n"], "'n' for '--arg <NAME=VALUE,…>': give a name and its values, such as n=1024,4096"),
        (&["--arg", "n=1,,2"], "'n=1,,2' for '--arg <NAME=VALUE,…>': give a name and its values"),
        (
            &["--warmup", "0.5"],
            "'0.5' for '--warmup <TIME|N>': give a time with its unit, such as 5ms, or a number of launches",
        ),
        (
            &["--cool-down", "60"],
            "'60' for '--cool-down <LEVEL>': give a temperature or a power, such as 60C or 150W",
        ),
        (
            &["--lock-clocks", "fast"],
            "'fast' for '--lock-clocks <CLOCK>': give `base`, `max`, or a clock in MHz such as 1500",
        ),
        (
            &["--lock-clocks", "base", "--device", "clockwork"],
            "--lock-clocks base: there is no GPU whose clocks could be locked",
        ),
        (
            &["--device", ""],
            "--device ``: give a number such as 0, a device such as cuda:0, a kind such as cuda",
        ),
        (&["--device", "host,"], "--device `host,`: give a number such as 0"),
        (
            &["--device", "all,0"],
            "--device all,0: `all` is every device; give `all` alone, or the devices by name",
        ),
        (&["--samples", "12000000"], "'12000000' for '--samples <N>': give a whole number from 1 to 1000000"),
        (&["--list", "--format", "xml"], "[possible values: pretty, terse, json]"),
        (&["--list", "--json", "out.json"], "'--list' cannot be used with '--json <FILE>'"),
    ] {
        run(SUITE, arguments).with_code(2).says_only(words);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().to_str().expect("UTF-8");
    let words = format!("there is no baseline `{empty}`: {empty} has no run in it");
    run(SUITE, &["--baseline", empty]).with_code(2).says_only(&words);
}

#[test]
fn arguments_that_no_benchmark_takes_are_usage_errors() {
    run(SUITE, &["sweep", "--arg", "n=few"]).with_code(2).says_only(
        "--arg n: `few` cannot be read as a value of `n`; the benchmark's own values are 1, 2, 10 (benchmark two_devices::sweep)",
    );
    // Without a parser, only what is listed can be chosen.
    run(SUITE, &["grid", "--arg", "unit=Tack"]).with_code(2).says_only(
        "--arg unit: `Tack` cannot be read as a value of `unit`; the benchmark's own values are Tick, Tock",
    );
    run(SUITE, &["sweep", "--arg", "n=1Gb"])
        .with_code(2)
        .says_only("`1Gb` cannot be read as a value of `n`; the benchmark's own values are 1, 2, 10 (benchmark two_devices::sweep; numbers may end in k, M, G");
    run(SUITE, &["sweep", "--arg", "m=1"])
        .with_code(2)
        .says_only("--arg m=…: no selected benchmark has an argument `m`; their arguments: n");
    // `grid` has a `unit`; it is not selected.
    run(SUITE, &["sweep", "--arg", "unit=Tick"])
        .with_code(2)
        .says_only("--arg unit=…: no selected benchmark");
    run(SUITE, &["--list", "--arg", "m=1"]).with_code(2).says_only("--arg m=…: no selected benchmark");
}

#[test]
fn a_filter_that_matches_nothing_says_so() {
    run(SUITE, &["no_such", "other", "--skip", "beat"])
        .with_code(4)
        .says_only("no benchmark matches `no_such` or `other` without `beat` on ");
    run(SUITE, &["sum", "--device", "clockwork"])
        .with_code(4)
        .says_only("no benchmark matches `sum` on clockwork; --list without a filter shows all\n");
    for (filter, hint) in [
        ("swepe", "on clockwork, host: did you mean `sweep`?\n"),
        ("two_devices::swepe", "did you mean `two_devices::sweep`?\n"),
        ("*sweep*", "or a regular expression between slashes, as in `/sum.*n=1024/`\n"),
        ("^sw.*p", "or a regular expression between slashes, as in `/sum.*n=1024/`\n"),
        ("transpose", "; --list without a filter shows all\n"),
    ] {
        run(SUITE, &[filter]).with_code(4).says_only(hint);
        // A list of nothing is no list, but test runners ask every program.
        run(SUITE, &["--list", filter]).with_code(4).says_only(hint);
        let terse = run(SUITE, &["--list", "--format", "terse", filter]).with_code(0);
        assert_eq!((&*terse.stdout, &*terse.stderr), ("", ""));
    }
    let words = ": --exact takes whole names, such as `two_devices::sweep`\n";
    run(SUITE, &["sweep", "--exact"]).with_code(4).says_only(words);
    run(SUITE, &["swepe", "--exact"]).with_code(4).says_only(": --exact takes whole names\n");
    let skipped = run(SUITE, &["--list", "--skip", "two_devices"]).with_code(4);
    skipped.says_only("; --list without a filter shows all\n");
    let untagged = run(SUITE, &["--list", "--tag", "no_such"]).with_code(4);
    untagged.says_only(": no benchmark of this program has a tag\n");
}

/// An error about the value of a variable names the variable.
#[test]
fn a_variable_is_named_that_has_a_wrong_value() {
    for (variable, value, words) in [
        ("GPUBENCH_DEVICE", "H200", "there is no device `H200`: --device takes `clockwork`, `host` ("),
        ("GPUBENCH_DEVICE", "all,0", "--device all,0: `all` is every device"),
        ("GPUBENCH_FILTER", "no_such,other", "no benchmark matches `no_such` or `other`"),
        ("GPUBENCH_RUNS_DIR", "/proc/none", "--runs-dir `/proc/none`: "),
        ("GPUBENCH_SHARE", "split", "--share `split`: no scheduler"),
    ] {
        let ended = run_with(SUITE, &[], &[(variable, value)]);
        ended.says_only(words);
        assert!(ended.stderr.contains(&format!("` is from {variable})\n")), "{ended}");
    }
    let ended = run_with(SUITE, &["--device", "H100"], &[("GPUBENCH_DEVICE", "host")]).with_code(5);
    assert!(!ended.stderr.contains("from GPUBENCH_DEVICE"), "{ended}");
}

#[test]
fn a_suite_without_benchmarks_says_how_to_link_them() {
    run(EMPTY, &[]).with_code(4).says_only("gpubench::main!(my_kernels)");
}

#[test]
fn two_benchmarks_of_one_name_are_refused_with_both_places() {
    for arguments in [&[] as &[&str], &["--list"], &["nothing_of_this_name"]] {
        let ended = run(DUPLICATES, arguments).with_code(2);
        ended.says_only("two benchmarks are called `duplicates::twin`");
        let (_, places) = ended.stderr.split_once(':').expect("a colon");
        let lines: Vec<_> = places.match_indices("src/bin/duplicates.rs:").collect();
        assert_eq!(lines.len(), 2, "{ended}");
        assert!(
            places.contains("duplicates.rs:10:5 and ") && places.contains("duplicates.rs:18:5."),
            "{ended}"
        );
    }
}

#[test]
fn a_device_that_is_not_there_is_told_with_those_that_are() {
    let ended = run(SUITE, &["--device", "7"]).with_code(5);
    ended.says_only("there is no device `7`: --device takes `clockwork`, `host` (");
    assert!(ended.stderr.contains(") or all; no CUDA device (no-libcuda-here not found)\n"), "{ended}");
    run(SUITE, &["--device", "host,7"]).with_code(5).says_only("there is no device `7`");
    // A filter that would match nothing either comes second.
    run(SUITE, &["--device", "7", "no_such"]).with_code(5).says_only("there is no device `7`");
}

#[test]
fn a_kind_that_no_benchmark_is_for_is_refused() {
    let ended = run(SUITE, &["--device", "wgpu:0"]).with_code(5);
    ended.says_only("there is no device `wgpu:0`: --device takes `clockwork`, `host` (");
    run(SUITE, &["--list", "--device", "wgpu:0"])
        .with_code(5)
        .says_only("no benchmark of this program runs on such a device");
    // A runner lists each program of a workspace, of which this one has none.
    let listed = run(SUITE, &["--list", "--format", "terse", "--device", "wgpu:0"]).with_code(0);
    assert_eq!((&*listed.stdout, &*listed.stderr), ("", ""));
}

#[test]
fn results_that_could_not_be_stored_are_not_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("file"), "").expect("it can be written");
    for (path, words) in [
        ("no/such/folder/run.json", "its folder does not exist: make the folder, or give another file"),
        (".", "it is a folder: give a file"),
        ("file/run.json", "Not a directory"),
        ("/proc/none.json", "its folder takes no files: give another file"),
    ] {
        let path = folder.path().join(path);
        let path = path.to_str().expect("UTF-8");
        // `waits` would take a minute.
        let arguments = ["waits", "--json", path];
        run(env!("CARGO_BIN_EXE_interrupted"), &arguments)
            .with_code(2)
            .says_only(&format!("--json {path}: {words}"));
    }
    // Nor are two results in one file, be it through a link to nothing.
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::os::unix::fs::symlink("new", path("link")).expect("it can be made");
    let arguments = ["waits", "--json", &path("new"), "--csv", &path("link")];
    run(env!("CARGO_BIN_EXE_interrupted"), &arguments).with_code(2).says_only("give each a file of its own");
    row(
        here!(),
        "output path under a file",
        "no run: exit 2, `--json …: Not a directory (os error 20)`",
        "–",
    );
}

#[test]
fn a_run_that_does_not_begin_leaves_earlier_results_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let path = file.to_str().expect("UTF-8");
    for (arguments, code) in [
        (&["no_such"] as &[&str], 4),
        (&["--device", "7"], 5),
        (&["sweep", "--arg", "m=1"], 2),
        (&["--samples", "0"], 2),
        (&["--list"], 2),
    ] {
        let ended = run(SUITE, &[arguments, &["--json", path]].concat()).with_code(code);
        assert!(!file.exists(), "{arguments:?} left a file: {ended}");
    }
    fs::write(&file, "earlier").expect("the file can be written");
    for arguments in [&["no_such"] as &[&str], &["--device", "7"], &["--samples", "0"], &["--list"]] {
        let ended = run(SUITE, &[arguments, &["--json", path]].concat());
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "earlier", "{arguments:?}: {ended}");
    }
}
