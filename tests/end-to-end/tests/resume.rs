//! `--resume` on runs that ended early: valid records are not measured again, and dropped ones are reported.

use std::fs::{self, File};
use std::path::PathBuf;

use end_to_end::here;
use end_to_end::reliability::{quoted, row};
use end_to_end::running::{Ended, cases, run_with, without_checksums};
use gpubench_records::files;
use gpubench_records::record::Run;
use tempfile::TempDir;

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");
const SWEEP: [&str; 4] = ["sweep", "--quick", "--device", "clockwork"];
/// Three cases: `sweep` of 1, 2 and 10.
const ALL: [&str; 3] =
    ["two_devices::sweep[n=1] hot", "two_devices::sweep[n=2] hot", "two_devices::sweep[n=10] hot"];

/// A folder of runs, with one in it that is complete.
struct Runs(TempDir);

impl Runs {
    fn new() -> Self {
        let runs = Self(tempfile::tempdir().expect("a folder"));
        let ended = runs.run(&SWEEP).with_code(0);
        assert_eq!(ended.stderr, "");
        assert_eq!(runs.names().len(), 1);
        runs
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let runs = self.0.path().join("runs");
        run_with(SUITE, arguments, &[("GPUBENCH_RUNS_DIR", runs.to_str().expect("UTF-8"))])
    }

    fn resume(&self) -> Ended {
        self.run(&[&SWEEP[..], &["--resume"]].concat())
    }

    /// The names of all runs, the latest last.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path().join("runs")).expect("runs are kept");
        let names = entries.map(|entry| entry.expect("it can be read").file_name().into_string());
        let mut names: Vec<String> = names.map(|name| name.expect("UTF-8")).collect();
        names.sort();
        names
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join("runs").join(name).join("records.jsonl")
    }

    /// The latest run on disk.
    #[track_caller]
    fn latest(&self) -> Run {
        let names = self.names();
        let file = File::open(self.file(names.last().expect("there is one"))).expect("it is there");
        files::read(file).unwrap_or_else(|error| panic!("it {error}")).run
    }

    /// Does something to the lines of the only run, which have no checksums, and goes on from it.
    #[track_caller]
    fn resume_after(&self, change: impl FnOnce(&mut Vec<String>)) -> Ended {
        let [name] = &self.names()[..] else { panic!("{:?}", self.names()) };
        let text = fs::read_to_string(self.file(name)).expect("UTF-8");
        self.resume_with(&without_checksums(&text), change)
    }

    /// Does something to the lines of the only run, and goes on from it.
    #[track_caller]
    fn resume_with(&self, text: &str, change: impl FnOnce(&mut Vec<String>)) -> Ended {
        let name = &self.names()[0];
        let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
        assert_eq!(lines.len(), 5, "a beginning, three records and an end: {text}");
        change(&mut lines);
        fs::write(self.file(name), lines.concat()).expect("it can be written");
        self.resume()
    }

    /// Asserts that the run has all cases, of which so many were kept, on standard output and on disk.
    #[track_caller]
    fn has_all(&self, ended: &Ended, kept: usize) {
        ended.shows("3 results: 3 valid, 0 suspect, 0 invalid");
        let note = format!("resumed: {kept} of 3 results were measured by the run of ");
        assert_eq!(ended.stdout.contains(&note), kept > 0, "{ended}");
        let mut stored = cases(&self.latest());
        stored.sort_by_key(|case| ALL.iter().position(|other| other == case));
        assert_eq!(stored, ALL);
    }
}

/// The words of the page about the other rows.
fn kept(kept: usize, of: usize) -> String {
    format!("{kept} of {of} kept")
}

/// With 20 runs of a later year there, the run that began last is the last.
#[test]
fn a_clock_that_was_set_back_hides_and_removes_no_run() {
    let runs = Runs::new();
    let whole = runs.file(&runs.names()[0]);
    for second in 10..30 {
        let later = runs.file(&format!("2099-01-01T00-00-{second}Z"));
        fs::create_dir(later.parent().expect("a folder")).expect("it can be made");
        fs::copy(&whole, later).expect("it can be written");
    }
    fs::remove_dir_all(whole.parent().expect("a folder")).expect("it is there");
    _ = runs.run(&SWEEP).with_code(0);
    let begun = runs.file(runs.names().last().expect("there are some"));
    let text = fs::read_to_string(&begun).expect("UTF-8");
    let lines: Vec<&str> = text.lines().take(3).collect();
    fs::write(&begun, lines.join("\n") + "\n").expect("it can be written");
    let ended = runs.resume().with_code(0);
    runs.has_all(&ended, 2);
    assert!(begun.is_file(), "{:?}", runs.names());
    row(
        here!(),
        "a clock that was set back",
        "as if nothing had happened: the run that began last is the last, and none that can be resumed is removed",
        &kept(2, 3),
    );
}

#[test]
fn a_complete_run_is_just_reported() {
    let runs = Runs::new();
    let first = runs.latest();
    let ended = runs.resume().with_code(0);
    assert_eq!(ended.stderr, "");
    ended.shows("3 results: 3 valid, 0 suspect, 0 invalid");
    ended.shows("resumed: 3 of 3 results were measured by the run of ");
    assert_eq!(runs.names().len(), 1, "nothing is stored twice");
    assert_eq!(runs.latest(), first);
    // By its name, and without the device, which is that run's.
    let name = &runs.names()[0];
    let ended = runs.run(&["sweep", "--quick", &format!("--resume={name}")]).with_code(0);
    ended.shows("resumed: 3 of 3 results");
    row(here!(), "a run that is complete", "reported", "nothing is measured");
}

#[test]
fn a_line_that_is_cut_off_costs_its_case() {
    let runs = Runs::new();
    let ended = runs.resume_after(|lines| {
        lines.truncate(3);
        let half = lines[2].len() / 2;
        lines[2].truncate(half);
    });
    let ended = ended.with_code(0);
    let remark = "its last line is cut off: that case is measured again";
    assert!(ended.stderr.contains(remark), "{ended}");
    runs.has_all(&ended, 1);
    // The new run has them in its file, and the old one is as it was.
    assert_eq!(runs.names().len(), 2);
    row(here!(), "last line cut off", &format!("measured again: {}", quoted(remark)), "kept");
}

#[test]
fn foreign_lines_cost_nothing_but_themselves() {
    let runs = Runs::new();
    let ended = runs.resume_after(|lines| {
        lines[2] = "{\"benchmark\":\"of something else\"}\n".to_owned();
        lines.insert(3, "not JSON\n".to_owned());
        lines.insert(4, "\u{0}\u{fffd}\n".to_owned());
    });
    let ended = ended.with_code(0);
    assert!(ended.stderr.contains("line 3 is no record (unknown variant"), "{ended}");
    assert!(ended.stderr.contains(", and 2 lines like it: left out"), "{ended}");
    runs.has_all(&ended, 2);
    row(here!(), "foreign lines", "measured again; the first such line is told", "kept");
}

/// The line is refused with its number and the reason, whether its checksum or its time gives it away.
#[test]
fn a_line_that_was_changed_by_hand_is_refused() {
    let median = |line: &mut String| {
        let (begin, rest) = line.split_once("\"median\":").expect("a median");
        let (_, end) = rest.split_once(',').expect("more behind it");
        *line = format!("{begin}\"median\":-5.0,{end}");
    };
    let refused = |text: &dyn Fn(&str) -> String, place: usize, reason: &str| {
        let runs = Runs::new();
        let stored = fs::read_to_string(runs.file(&runs.names()[0])).expect("UTF-8");
        let ended = runs.resume_with(&text(&stored), |lines| median(&mut lines[place])).with_code(0);
        assert!(
            ended.stderr.contains(&format!("line {} is no record ({reason}): left out", place + 1)),
            "{ended}"
        );
        runs.has_all(&ended, 2);
    };
    let reason = "it was changed after it was written: its checksum is another";
    refused(&str::to_owned, 2, reason);
    refused(
        &without_checksums,
        2,
        "`two_devices::sweep[n=2] hot` has a median of -5.000 ns, which no clock gives",
    );
    row(here!(), "a line that was changed by hand", &format!("measured again: {}", quoted(reason)), "kept");

    // A line without a checksum among others, and a first line that was changed.
    let runs = Runs::new();
    let stored = fs::read_to_string(runs.file(&runs.names()[0])).expect("UTF-8");
    let ended = runs.resume_with(&stored, |lines| lines[2] = without_checksums(&lines[2])).with_code(0);
    assert!(
        ended.stderr.contains("line 3 is no record (it has no checksum, which the first line has)"),
        "{ended}"
    );
    runs.has_all(&ended, 2);
    let runs = Runs::new();
    let stored = fs::read_to_string(runs.file(&runs.names()[0])).expect("UTF-8");
    let name = runs.names().remove(0);
    let changed = stored.replacen("\"planned_cases\":3", "\"planned_cases\":4", 1);
    assert_ne!(changed, stored);
    fs::write(runs.file(&name), changed).expect("it can be written");
    let ended = runs.run(&[&SWEEP[..], &[&format!("--resume={name}")]].concat());
    ended.with_code(2).says_only(&format!("not a stored run: line 1: {reason}"));
}

#[test]
fn what_is_no_run_of_this_suite_is_refused() {
    let refused = |change: &dyn Fn(&mut Vec<String>), words: &str| {
        let runs = Runs::new();
        let name = runs.names().remove(0);
        let text = without_checksums(&fs::read_to_string(runs.file(&name)).expect("UTF-8"));
        let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
        change(&mut lines);
        fs::write(runs.file(&name), lines.concat()).expect("it can be written");
        let ended = runs.run(&[&SWEEP[..], &[&format!("--resume={name}")]].concat()).with_code(2);
        ended.says_only(words);
        ended
            .stderr
            .split(&name)
            .last()
            .unwrap_or_default()
            .trim_start_matches("/records.jsonl: ")
            .trim_start_matches("/records.jsonl ")
            .trim()
            .to_owned()
    };
    let said = refused(
        &|lines| lines[0] = lines[0].replace("gpubench/3", "gpubench/99"),
        "its format is `gpubench/99`, not `gpubench/3`",
    );
    row(here!(), "another schema", &format!("no run: exit 2, {}", quoted(&said)), "–");
    let said = refused(&|lines| lines.clear(), "not a stored run: it is empty");
    row(here!(), "no run at all", &format!("no run: exit 2, {}", quoted(&said)), "–");
    refused(
        &|lines| lines[0] = "[1, 2]\n".to_owned(),
        "not a stored run: line 1, column 6: invalid type: sequence, expected an object with a `schema`",
    );
    refused(&|lines| drop(lines.remove(0)), "not a stored run: it has no `schema`");
    let said = refused(
        &|lines| lines[0] = lines[0].replace("end-to-end/two_devices", "end-to-end/another"),
        "is a run of `end-to-end/another`; this is `end-to-end/two_devices`",
    );
    row(here!(), "another suite's run", &format!("no run: exit 2, {}", quoted(&said)), "–");
}

#[test]
fn a_run_that_is_not_there_is_refused_with_those_that_are() {
    let runs = Runs::new();
    let name = runs.names().remove(0);
    let ended = runs.run(&[&SWEEP[..], &["--resume=2001-01-01T00-00-00Z"]].concat()).with_code(2);
    ended.says_only("--resume: there is no run `2001-01-01T00-00-00Z`; the runs in ");
    assert!(ended.stderr.contains(&format!(" are: {name}")), "{ended}");
    fs::remove_dir_all(runs.0.path().join("runs")).expect("it is there");
    runs.resume().with_code(2).says_only("--resume: there is nothing to resume, as ");
    runs.run(&[&SWEEP[..], &["--resume", "--runs-dir", "none"]].concat())
        .with_code(2)
        .says_only("--resume needs a folder of runs");
}

/// Whoever writes a run has it locked.
#[test]
fn a_run_in_progress_is_refused() {
    let runs = Runs::new();
    let file = File::open(runs.file(&runs.names()[0])).expect("it is there");
    file.lock().expect("nobody else has it");
    runs.resume().with_code(2).says_only("is still being measured by another process");
    drop(file);
    _ = runs.resume().with_code(0);
    row(here!(), "a run in progress", "no run: exit 2, `is still being measured by another process`", "–");
}

#[test]
fn cases_that_are_gone_are_left_out() {
    let runs = Runs::new();
    let old = runs.names().remove(0);
    let ended =
        runs.run(&["sweep[n=2]", "sweep[n=10]", "--quick", "--device", "clockwork", "--resume"]).with_code(0);
    ended.shows("2 results: 2 valid");
    let remark = format!(
        "1 result that the filters leave out, such as two_devices::sweep[n=1] hot, will not be in the new run: for a run with all \
         results, use --resume={old} without filters"
    );
    assert!(ended.stderr.contains(&remark), "{ended}");
    let words = ["sweep", "--quick", "--device", "clockwork", &format!("--resume={old}")];
    runs.run(&words).with_code(0).shows("resumed: 3 of 3 results");
    row(here!(), "benchmarks gone", "left out, and told", &kept(2, 2));
}

#[test]
fn other_arguments_are_other_cases() {
    let runs = Runs::new();
    let ended = runs.resume_after(|lines| {
        // As if it had been `--arg n=7` then.
        lines[3] = lines[3].replace("\"value\":\"10\"", "\"value\":\"7\"");
    });
    let ended = ended.with_code(0);
    runs.has_all(&ended, 2);
    assert!(
        ended.stderr.contains("1 result that the filters leave out, such as two_devices::sweep[n=7] hot"),
        "{ended}"
    );
    row(here!(), "other arguments", "measured; what is not selected now is left out, and told", &kept(2, 3));
}

#[test]
fn other_options_and_other_builds_keep_nothing() {
    let words = "it was sampled with other settings (samples)";
    for (arguments, says) in [
        (["--samples", "12"], &*format!("{words}: all cases are")),
        (
            ["--max-time", "0.01"],
            "it was sampled with other settings (extended-max-time, max-time): all cases are",
        ),
    ] {
        let runs = Runs::new();
        let ended = runs.run(&[&SWEEP[..], &["--resume"], &arguments].concat()).with_code(0);
        assert!(ended.stderr.contains(&format!("{says} measured again")), "{ended}");
        runs.has_all(&ended, 0);
    }
    row(here!(), "other options", &format!("measured again: {}", quoted(words)), &kept(0, 3));
    let runs = Runs::new();
    let ended =
        runs.resume_after(|lines| lines[0] = lines[0].replace("\"fingerprint\":\"", "\"fingerprint\":\"0"));
    let words = "this program was built anew since";
    assert!(ended.stderr.contains(&format!("{words}: all cases are measured again")), "{ended}");
    runs.has_all(&ended, 0);
    row(here!(), "another build", &format!("measured again: {}", quoted(words)), &kept(0, 3));
}

#[test]
fn another_device_is_measured_anew() {
    let runs = Runs::new();
    let ended = runs.resume_after(|lines| {
        assert!(lines[0].contains("{\"count\":2}"), "a clock has two hands: {}", lines[0]);
        lines[0] = lines[0].replace("{\"count\":2}", "{\"count\":3}");
        lines.truncate(3);
    });
    let ended = ended.with_code(0);
    let words = "`clockwork` is another device now (its hands is another): 2 cases measured again";
    assert!(ended.stderr.contains(words), "{ended}");
    runs.has_all(&ended, 0);
    row(here!(), "another device", "measured again, and told what differs", &kept(0, 3));
}

#[test]
fn what_had_no_device_or_too_little_time_is_tried_again() {
    let failed = |stage: &str, message: &str| {
        format!(
            "\"measurement\":null,\"verdict\":{{\"state\":\"invalid\",\"reasons\":[{{\"failed\":{{\"stage\":\"{stage}\",\
             \"message\":\"{message}\"}}}}]}}"
        )
    };
    let fail = |line: &mut String, stage: &str| {
        let (begin, _) = line.split_once("\"measurement\":").expect("a record");
        *line = format!("{begin}{}}}}}}}\n", failed(stage, "was lost"));
    };
    // What failed for reasons of its own did fail.
    let runs = Runs::new();
    let ended = runs.resume_after(|lines| fail(&mut lines[2], "launch")).with_code(1);
    assert_eq!(ended.stderr, "");
    ended.shows("resumed: 3 of 3 results");
    ended.shows_against("two_devices::sweep[n=2] hot", "invalid: launch: was lost");

    let runs = Runs::new();
    let ended = runs.resume_after(|lines| fail(&mut lines[2], "device")).with_code(0);
    assert!(
        ended.stderr.contains("1 result that failed for want of a device or of time: measured again"),
        "{ended}"
    );
    runs.has_all(&ended, 2);
    row(here!(), "cases that had no device", "measured again, and told", &kept(2, 3));

    let runs = Runs::new();
    _ = runs.resume_after(|lines| fail(&mut lines[2], "worker")).with_code(1);
    let ended = runs.run(&[&SWEEP[..], &["--resume", "--timeout", "7"]].concat()).with_code(0);
    runs.has_all(&ended, 2);
    row(here!(), "cases that had too little time", "measured again if `--timeout` is another", &kept(2, 3));
}

/// Twenty of each suite stay.
#[test]
fn old_runs_go() {
    let runs = Runs::new();
    let first = runs.names().remove(0);
    for year in 2000..2030 {
        let file = runs.file(&format!("{year}-01-01T00-00-00Z"));
        fs::create_dir(file.parent().expect("a folder")).expect("it is new");
        fs::copy(runs.file(&first), &file).expect("it can be copied");
    }
    let theirs = runs.file("1999-01-01T00-00-00Z");
    fs::create_dir(theirs.parent().expect("a folder")).expect("it is new");
    let text = fs::read_to_string(runs.file(&first)).expect("UTF-8");
    fs::write(&theirs, without_checksums(&text).replace("end-to-end/two_devices", "end-to-end/another"))
        .expect("it can be written");
    let busy = File::open(runs.file("2000-01-01T00-00-00Z")).expect("it is there");
    busy.lock().expect("nobody else has it");

    _ = runs.run(&SWEEP).with_code(0);
    let names = runs.names();
    // What is being written stays, and what is another suite's.
    assert_eq!(names.len(), 20 + 2, "{names:?}");
    assert_eq!(names[..2], ["1999-01-01T00-00-00Z", "2000-01-01T00-00-00Z"]);
    assert!(names.contains(&first) && !names.contains(&"2001-01-01T00-00-00Z".to_owned()), "{names:?}");
}
