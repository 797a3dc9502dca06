//! Places of results: the stored document, the printed table that is made of it and nothing else, colours, pipes that are
//! closed and files that are full.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use anstream::adapter::strip_str;
use end_to_end::here;
use end_to_end::reliability::{quoted, row};
use end_to_end::running::{Ended, command, copy, measure, run, run_with};
use gpubench_records::record::{Run, SCHEMA};
use gpubench_report::loading::load;

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");
const FAULTS: &str = env!("CARGO_BIN_EXE_faults");
const LEAVES: &str = env!("CARGO_BIN_EXE_leaves");
const CLOCKWORK: [&str; 3] = ["--quick", "--device", "clockwork"];
const ESCAPE: char = '\u{1b}';

#[test]
fn the_stored_run_is_all_that_was_found_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let arguments = [&CLOCKWORK[..], &["s::beat", "tick", "--json", file.to_str().expect("UTF-8")]].concat();
    _ = run_with(SUITE, &arguments, &[]).with_code(0);
    let text = fs::read_to_string(&file).expect("it was written");
    assert!(text.ends_with("}\n"));

    let stored: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((stored["schema"].as_str(), SCHEMA), (Some("gpubench/3"), "gpubench/3"));
    assert_eq!(stored["program"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(stored["program"]["package"]["name"], "end-to-end");
    let records = stored["records"].as_array().expect("a list");
    assert_eq!(records.len(), 4);
    for record in records {
        let measured = &record["measurement"];
        let samples = measured["event_times"].as_array().expect("a list");
        assert_eq!(measured["time"]["samples"], samples.len());
        assert!(samples.iter().all(serde_json::Value::is_number), "{samples:?}");
    }

    let run = Run::parse(text.as_bytes()).expect("a run");
    assert_eq!(serde_json::to_string(&run).expect("it was JSON") + "\n", text);
}

/// A run that nobody reads the samples of at its end is stored with them, and drops them once they are: its table is the same.
#[test]
fn a_table_needs_no_samples_but_those_on_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["beat", "tick", "--runs-dir", folder.path().to_str().expect("UTF-8")];
    let printed = |more: &[&str]| {
        let shown = run(SUITE, &[&CLOCKWORK[..], &arguments, more].concat()).with_code(0).stdout;
        let lines = shown.lines().map(|line| line.split(", in ").next().unwrap_or_default().to_owned());
        lines.collect::<Vec<_>>()
    };
    let json = folder.path().join("run.json");
    let dropped = printed(&[]);
    assert!(dropped.len() > 8, "{dropped:?}");
    assert_eq!(dropped, printed(&["--json", json.to_str().expect("UTF-8")]));
    let stored: Vec<_> = fs::read_dir(folder.path()).expect("it is there").flatten().collect();
    let runs = stored.iter().filter_map(|run| load(&run.path().join("records.jsonl")).ok());
    let samples = |run: Run| {
        run.records
            .iter()
            .filter_map(|record| Some(record.measurement.as_ref()?.samples.event_times.len()))
            .sum::<usize>()
    };
    let samples: Vec<usize> = runs.map(|stored| samples(stored.run)).collect();
    assert!(samples.len() == 2 && samples[0] > 0 && samples[0] == samples[1], "{samples:?}");
}

/// The system would end a process that writes more than it may, without a word.
#[test]
fn a_limit_on_the_size_of_files_costs_the_file_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let arguments = [&CLOCKWORK[..], &["beat", "--runs-dir", runs.to_str().expect("UTF-8")]].concat();
    // Of two KiB, less than a run takes.
    let mut limited = command("sh");
    limited.args(["-c", "ulimit -f 4 && exec \"$0\" \"$@\"", SUITE]).args(&arguments);
    let ended = limited.output().expect("a shell starts");
    let (shown, told) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.code(), Some(1), "{shown}{told}");
    assert!(shown.contains(" valid, ") && told.contains("File too large"), "{shown}{told}");
}

/// Whoever asks for a check that nothing here can do is told.
#[test]
fn a_check_that_no_case_has_is_told() {
    let ended = run(SUITE, &[&CLOCKWORK[..], &["beat", "--verify", "cupti"]].concat()).with_code(0);
    assert!(ended.stderr.contains("none is verified"), "{ended}");
    assert!(!run(SUITE, &[&CLOCKWORK[..], &["beat"]].concat()).with_code(0).stderr.contains("verified"));
}

/// A pipe has no end of lines, unless the user says so.
#[test]
fn lines_are_as_wide_as_the_user_wants() {
    let arguments = [&CLOCKWORK[..], &["beat", "tick", "hair"]].concat();
    let widest = |ended: &Ended| ended.stdout.lines().map(|line| line.chars().count()).max();
    let narrow = run_with(SUITE, &arguments, &[("COLUMNS", "60")]).with_code(0);
    assert!(widest(&narrow).is_some_and(|width| (40..=60).contains(&width)), "{narrow}");
    narrow.shows("columns left out, since they do not fit: ");
    let piped = run(SUITE, &arguments).with_code(0);
    assert!(
        widest(&piped).is_some_and(|width| width > 120) && !piped.stdout.contains("not shown"),
        "{piped}"
    );
}

/// Of a stored run the same is printed as of a live one.
#[test]
fn what_is_printed_is_made_of_what_is_stored() {
    for (suite, arguments) in
        [(SUITE, &["beat", "tick", "hair"] as &[&str]), (FAULTS, &["good", "fails", "panics"])]
    {
        let (coloured, run) = measure(suite, &[&CLOCKWORK[..], arguments, &["--color", "always"]].concat());
        assert_eq!(gpubench_table::render(&run, gpubench_table::Page::default()), coloured.stdout);
        let (plain, run) = measure(suite, &[&CLOCKWORK[..], arguments, &["--color", "never"]].concat());
        assert_eq!(
            strip_str(&gpubench_table::render(&run, gpubench_table::Page::default())).to_string(),
            plain.stdout
        );
        assert!(coloured.stdout.contains(ESCAPE) && !plain.stdout.contains(ESCAPE));
    }
}

#[test]
fn colours_follow_the_flag_and_then_the_environment() {
    for (flags, environment, coloured) in [
        (&[] as &[&str], &[] as &[(&str, &str)], false),
        (&[], &[("CLICOLOR_FORCE", "1")], true),
        (&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        (&["--color", "auto"], &[("CLICOLOR_FORCE", "1")], true),
        (&["--color", "always"], &[("NO_COLOR", "1")], true),
        (&["--color", "never"], &[("CLICOLOR_FORCE", "1")], false),
    ] {
        let arguments = [&CLOCKWORK[..], &["s::beat"], flags].concat();
        let ended = run_with(SUITE, &arguments, environment).with_code(0);
        assert_eq!(ended.stdout.contains(ESCAPE), coloured, "{flags:?} {environment:?} {ended}");
    }
}

/// As when it is piped into `head`, which has seen enough.
#[test]
fn a_closed_pipe_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let json = ["--json", file.to_str().expect("UTF-8")];
    let measuring = [&CLOCKWORK[..], &["s::beat"], &json].concat();
    for arguments in [&measuring[..], &["--list"], &["--help"]] {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let suite = command(SUITE).args(arguments).stdout(writer).stderr(Stdio::piped()).spawn();
        let ended: Ended = suite.and_then(Child::wait_with_output).expect("the suite starts").into();
        assert_eq!(ended.with_code(0).stderr, "", "{arguments:?}");
    }
    // The other results are not lost with it.
    let stored = fs::read_to_string(&file).expect("it was written");
    assert_eq!(Run::parse(stored.as_bytes()).expect("a run").records.len(), 2);
    row(here!(), "standard output closed", "as if nothing had happened: exit 0", "all measured; in the JSON");
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = || File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut suite = command(SUITE);
    let output = suite.args(CLOCKWORK).arg("s::beat").stdout(full()).output().expect("the suite starts");
    let ended = Ended::from(output).with_code(1);
    ended.says_only("the results cannot be printed: ");
    row(here!(), "standard output full", &format!("exit 1, {}", quoted(ended.stderr.trim())), "all measured");

    let mut help = command(SUITE);
    let ended: Ended = help.arg("--help").stdout(full()).output().expect("the suite starts").into();
    ended.with_code(1).says_only("the results cannot be printed: ");

    let arguments = [&CLOCKWORK[..], &["s::beat", "--json", "/dev/full"]].concat();
    let ended = run_with(SUITE, &arguments, &[]).with_code(1);
    assert!(ended.stderr.contains("--json /dev/full: "), "{ended}");
    ended.shows("2 results: 2 valid");
    row(
        here!(),
        "JSON file full",
        &format!("exit 1, {}", quoted(ended.stderr.trim())),
        "all measured and printed",
    );
}

/// Its records are whole up to where the disk was full, and the run goes on without.
#[test]
fn a_run_that_no_longer_fits_the_disk_is_measured_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    // Files may have 16 blocks of 512 bytes, and who writes more is told so rather than ended.
    let limited = format!("trap '' XFSZ && ulimit -f 16 && exec {SUITE} \"$@\"");
    let arguments = ["-c", &limited, "sh", "--quick", "--device", "clockwork", "sweep"];
    let ended =
        run_with("sh", &arguments, &[("GPUBENCH_RUNS_DIR", runs.to_str().expect("UTF-8"))]).with_code(1);
    let says = "warning: this run is no longer kept: File too large (os error 27)\n";
    assert_eq!(ended.stderr, says);
    ended.shows("3 results: 3 valid, 0 suspect, 0 invalid");
    let run =
        fs::read_dir(&runs).expect("runs are kept").next().expect("one").expect("it can be read").path();
    let stored = fs::read_to_string(run.join("records.jsonl")).expect("UTF-8");
    assert!(stored.ends_with("}\n") && stored.lines().count() == 2, "a beginning and a record: {stored}");
    row(
        here!(),
        "file of the run full",
        &format!("exit 1, {}", quoted(ended.stderr.trim())),
        "all measured and printed; those before it in the file",
    );
}

/// Results that are nowhere must not look kept, whether records follow or not.
#[test]
fn a_run_whose_file_is_removed_meanwhile_is_told_to_be_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = folder.path().join("runs");
    let environment = [("GPUBENCH_RUNS_DIR", runs.to_str().expect("UTF-8"))];
    for (names, shown) in [
        (&["removes_the_runs"] as &[_], "1 result: 1 valid"),
        (&["removes_the_runs", "one_thing[what=nothing]"], "2 results: 2 valid"),
    ] {
        let arguments = [&["--quick", "--device", "clockwork"], names].concat();
        let ended = run_with(LEAVES, &arguments, &environment).with_code(1);
        ended.shows(shown);
        let (begin, end) = ("warning: this run is no longer kept: ", "records.jsonl was removed meanwhile\n");
        assert!(ended.stderr.starts_with(begin) && ended.stderr.ends_with(end) && !runs.exists(), "{ended}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    }
    row(
        here!(),
        "file of the run removed",
        "exit 1, `warning: this run is no longer kept: …/records.jsonl was removed meanwhile`",
        "all measured and printed",
    );
}

#[test]
fn a_run_that_cannot_be_kept_where_the_user_says_is_not_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("file"), "").expect("it can be written");
    let runs = folder.path().join("file/runs");
    let runs = runs.to_str().expect("UTF-8");
    let ended = run_with(SUITE, &["--runs-dir", runs], &[]).with_code(2);
    ended.says_only(&format!("--runs-dir `{runs}`: Not a directory"));
    row(
        here!(),
        "folder of runs under a file",
        "no run: exit 2, `--runs-dir …: Not a directory (os error 20)`",
        "–",
    );
}

/// Without the user's say, a run that cannot be kept is measured all the same. An installed program keeps its runs in the
/// user's state folder.
#[test]
fn a_run_that_cannot_be_kept_is_measured_all_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("installed");
    copy(SUITE, &program);
    let run = |state: &str| {
        let mut suite = command(program.to_str().expect("UTF-8"));
        suite
            .args(CLOCKWORK)
            .arg("hair")
            .env_remove("GPUBENCH_RUNS_DIR")
            .env("XDG_STATE_HOME", folder.path().join(state));
        Ended::from(suite.output().expect("the suite starts")).with_code(0)
    };
    assert_eq!(run("state").stderr, "");
    assert_eq!(fs::read_dir(folder.path().join("state/gpubench/runs")).expect("runs are kept").count(), 1);
    let ended = run("installed");
    let says = "warning: this run is not kept: --runs-dir ";
    assert!(ended.stderr.starts_with(says) && ended.stderr.contains("Not a directory"), "{ended}");
    ended.shows("1 result: ");
}

#[test]
fn a_shorter_run_leaves_nothing_of_a_longer_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let json = ["--json", file.to_str().expect("UTF-8")];
    for filter in ["t", "s::beat"] {
        _ = run_with(SUITE, &[&CLOCKWORK[..], &[filter], &json].concat(), &[]).with_code(0);
    }
    let stored = fs::read_to_string(&file).expect("it was written");
    assert_eq!(Run::parse(stored.as_bytes()).expect("a run and nothing after it").records.len(), 2);
}

/// As `--json >(jq …)` does.
#[test]
fn json_can_go_into_a_pipe() {
    let (mut reader, writer) = io::pipe().expect("a pipe");
    let mut suite = command(SUITE);
    suite.args(CLOCKWORK).args(["hair", "--samples", "1", "--json", "/dev/stdin"]).stdin(writer);
    let output = suite.output().expect("the suite starts");
    drop(suite);
    _ = Ended::from(output).with_code(0);
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("UTF-8");
    assert_eq!(Run::parse(text.as_bytes()).expect("a run").records.len(), 1);
}

/// Standard output carries the run and nothing else: no table, no explanations, and nothing that a launch prints.
#[test]
fn json_can_go_to_standard_output() {
    let arguments = [&CLOCKWORK[..], &["s::beat", "--json", "-", "--explain"]].concat();
    let ended = run_with(SUITE, &arguments, &[]).with_code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    let run = Run::parse(ended.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {ended}"));
    assert_eq!(run.records.len(), 2);
    assert!(!Path::new("-").exists(), "it is no file's name");
    // After what a file has already.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    fs::write(&file, "first\n").expect("it can be written");
    let behind = File::options().append(true).open(&file).expect("it is there");
    let mut suite = command(SUITE);
    suite.args(CLOCKWORK).args(["s::beat", "--json", "-"]);
    _ = Ended::from(suite.stdout(behind).output().expect("the suite starts")).with_code(0);
    let text = fs::read_to_string(&file).expect("UTF-8");
    let (first, json) = text.split_once('\n').expect("two lines");
    assert_eq!((first, json.lines().count()), ("first", 1));
    // Failures are in the exit code and in the run.
    let ended = run_with(FAULTS, &[&CLOCKWORK[..], &["::fails", "--json", "-"]].concat(), &[]).with_code(1);
    assert!(Run::parse(ended.stdout.as_bytes()).is_ok(), "{ended}");
}

/// Each format in a file of its own, and at most one of them on standard output.
#[test]
fn a_run_can_be_written_in_several_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (json, csv, markdown) = (path("run.json"), path("run.csv"), path("run.md"));
    let files = ["--json", &*json, "--csv", &*csv, "--markdown", &*markdown];
    let ended = run_with(SUITE, &[&CLOCKWORK[..], &["s::beat"], &files].concat(), &[]).with_code(0);
    ended.shows("2 results: 2 valid");
    let read = |path: &str| fs::read_to_string(path).expect("it was written");
    assert_eq!(Run::parse(read(&json).as_bytes()).expect("a run").records.len(), 2);
    assert_eq!(read(&csv).lines().count(), 3);
    assert!(read(&csv).starts_with("suite,started_s,benchmark,"), "{}", read(&csv));
    assert_eq!([",hot,", ",cold,"].map(|state| read(&csv).matches(state).count()), [1, 1]);
    assert!(read(&markdown).contains("| two\\_devices::beat | cold | "), "{}", read(&markdown));
    assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 3, "no temporary file is left");
    let both = ["s::beat", "--csv", "-", "--json", "-"];
    let told = "--json - and --csv -: give each a file of its own";
    run_with(SUITE, &both, &[]).with_code(2).says_only(told);
}

/// A commit is told where it is certain, and a program without git runs all the same.
#[test]
fn a_run_tells_the_package_and_its_commit() {
    let package = |environment: &[(&str, &str)]| {
        let arguments = [&CLOCKWORK[..], &["hair", "--json", "-"]].concat();
        let ended = run_with(SUITE, &arguments, environment).with_code(0);
        assert_eq!(ended.stderr, "");
        assert!(!ended.stdout.contains(env!("CARGO_MANIFEST_DIR")), "no folder is stored");
        let run = Run::parse(ended.stdout.as_bytes()).expect("a run");
        run.program.package.expect("cargo built this")
    };
    let here = std::process::Command::new("git").args(["rev-parse", "HEAD"]).output().expect("git is here");
    let found = package(&[]);
    assert_eq!((&*found.name, &*found.version), (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")));
    if let Some(commit) = &found.commit {
        assert_eq!(*commit, String::from_utf8_lossy(&here.stdout).trim());
    }
    let without_git = package(&[("PATH", "/nowhere")]);
    assert_eq!((without_git.commit, without_git.dirty), (None, None));
    let explained = run_with(
        SUITE,
        &[&CLOCKWORK[..], &["hair", "--explain", "--color", "never"]].concat(),
        &[("PATH", "")],
    );
    let version = env!("CARGO_PKG_VERSION");
    explained
        .with_code(0)
        .shows(&format!("package `end-to-end` {version}, commit unknown; measured by gpubench {version}"));
}

/// As a parent such as node has it: a socket that does not block, and that is read late.
#[test]
fn output_that_takes_nothing_for_a_moment_is_waited_for() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    const MANY: &str = env!("CARGO_BIN_EXE_many");
    let expected = run(MANY, &["--list", "--format", "json"]).with_code(0).stdout;
    let (mut ours, theirs) = UnixStream::pair().expect("a socket");
    theirs.set_nonblocking(true).expect("it is open");
    let mut suite = command(MANY);
    suite.args(["--list", "--format", "json"]).stdin(Stdio::null()).stdout(OwnedFd::from(theirs));
    let mut listing = suite.spawn().expect("the suite starts");
    drop(suite);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let mut text = String::new();
    ours.read_to_string(&mut text).expect("UTF-8");
    assert!(text == expected, "{} of {} bytes", text.len(), expected.len());
    assert!(listing.wait().expect("it was started").success());
}
