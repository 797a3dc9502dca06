//! A run against an earlier one: what became slower, what cannot be compared, and what is wrong with what is stored.

use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::running::{Ended, files, run_with};
use gpubench_records::Exit;
use gpubench_records::comparison::{Answer, BaselineFinding};
use gpubench_records::record::Run;
use gpubench_report::export::JUNIT;
use tempfile::TempDir;

const SUITE: &str = env!("CARGO_BIN_EXE_compared");
const CLOCKWORK: [&str; 2] = ["--device", "clockwork"];

/// A folder of cargo's, as far as the suite knows.
struct Target(TempDir);

impl Target {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path of the baseline `name`.
    fn baseline(&self, name: &str) -> PathBuf {
        self.path("gpubench/baselines").join(name)
    }

    #[track_caller]
    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
        let here = self.0.path().to_str().expect("UTF-8");
        let environment = [environment, &[("CARGO_TARGET_DIR", here)]].concat();
        run_with(SUITE, &[&CLOCKWORK[..], &["--quick"], arguments].concat(), &environment)
    }

    /// Runs to the end, and reads what was stored.
    #[track_caller]
    fn measure(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (Ended, Run) {
        let file = self.path("run.json");
        let ended = self.run(&[arguments, &["--json", text(&file)]].concat(), environment);
        let run = fs::read(&file).unwrap_or_else(|error| panic!("{error}: {ended}"));
        (ended, Run::parse(&run).expect("a run"))
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The finding about a case.
#[track_caller]
fn finding<'a>(run: &'a Run, name: &str) -> &'a BaselineFinding {
    let check = run.baseline_comparison.as_ref().expect("it was compared with a baseline");
    let line = check.findings.iter().find(|line| format!("{} {}", line.name, line.cache) == name);
    &line.unwrap_or_else(|| panic!("no `{name}` in {check:?}")).finding
}

#[test]
fn a_slower_case_is_a_regression_and_says_by_how_much() {
    let target = Target::new();
    let gate = ["told", "--baseline", "main", "--fail-on-regression", "5%"];
    _ = target.run(&["told", "compared::plain", "--save-baseline", "main"], &[]).with_code(0);
    let same = target.run(&gate, &[]).with_code(0);
    let row = "compared::told[n=10]  hot   320.0 µs  was 320.0 µs  +0.00 %  (-1.97 to +2.01 %)";
    same.shows(&format!("{row}  undecided: two runs can differ by 2.00 %"));
    same.shows("4 results: two runs are assumed to differ by up to 2.00 %: measure both with --runs 5 to see smaller changes");
    same.shows("0 regressions of 5.00 % or more");

    let slower = target.run(&gate, &[("SUITE_TIME", "106")]).with_code(3);
    let row = "compared::told[n=1]   cold  33.92 µs  was 32.00 µs  +6.00 %  (+5.89 to +6.11 %)  slower";
    slower.shows(&format!("{row}, measured again 8 times"));
    slower.shows("4 regressions of 5.00 % or more");
    slower.shows("compared::told[n=10] hot: +6.00 % (+5.99 to +6.01 %)");
    // Slower beyond doubt, and not by as much.
    let less = target.run(&gate, &[("SUITE_TIME", "104")]).with_code(0);
    less.shows("+4.00 %  (+1.95 to +6.09 %)  slower");
    // Without a gate it is told, and no more.
    target.run(&gate[..3], &[("SUITE_TIME", "106")]).with_code(0).shows("slower");
    target.run(&gate, &[("SUITE_TIME", "90")]).with_code(0).shows("faster");
    // A threshold below the band is one all the same.
    let arguments = ["told[n=10]", "--baseline", "main", "--fail-on-regression", "0.4%", "--arg", "n=10"];
    let (_, run) = target.measure(&arguments, &[]);
    assert_eq!(run.sampling.equivalence_margin, 0.004);
}

/// A report of a stored run, such as JUnit for CI, shows the regressions of the run itself.
#[test]
fn a_stored_run_has_its_comparison_and_its_gate() {
    let target = Target::new();
    _ = target.run(&["told", "--save-baseline", "main"], &[]).with_code(0);
    let runs = target.path("runs");
    let arguments = ["told", "--baseline", "main", "--fail-on-regression", "5%", "--runs-dir", text(&runs)];
    let (ended, run) = target.measure(&arguments, &[("SUITE_TIME", "106")]);
    _ = ended.with_code(3);
    let [stored] = &files(&runs)[..] else { panic!("one run") };
    let stored = gpubench_report::loading::load(&stored.join("records.jsonl")).expect("a run").run;
    assert_eq!(stored.baseline_comparison, run.baseline_comparison);
    let mut junit = Vec::new();
    (JUNIT.write)(&stored, &mut junit).expect("a vector takes everything");
    let junit = String::from_utf8(junit).expect("UTF-8");
    assert_eq!(junit.matches("<failure ").count(), 4, "{junit}");
}

#[test]
fn the_last_complete_run_is_a_baseline() {
    let target = Target::new();
    let runs = target.path("runs");
    let run = |arguments: &[&str], time: &str| {
        let arguments = [&["told", "--runs-dir", text(&runs)], arguments].concat();
        target.run(&arguments, &[("SUITE_TIME", time)])
    };
    let gate = ["--baseline", "last", "--fail-on-regression", "5%"];
    run(&gate, "100").with_code(2).says_only("there is no earlier complete run of `");
    _ = run(&[], "100").with_code(0);
    run(&gate, "106").with_code(3).shows("4 regressions of 5.00 % or more");
    run(&gate, "106").with_code(0).shows("0 regressions of 5.00 % or more");
}

#[test]
fn other_work_is_not_comparable() {
    let target = Target::new();
    _ = target.run(&["told", "--save-baseline", "main"], &[]).with_code(0);
    let gate = ["told", "--baseline", "main", "--fail-on-regression", "5%"];
    let ended = target.run(&gate, &[("SUITE_BYTES", "200"), ("SUITE_TIME", "200")]).with_code(1);
    ended.shows("compared::told[n=1]   hot   not comparable: bytes read 12800, was 6400");
    ended.shows("0 regressions of 5.00 % or more");
    ended.shows("gate failed: 4 results not comparable: compared::told[n=1] hot, compared::told[n=1] cold, ");
    // Without a gate it is told, and no more.
    _ = target.run(&gate[..3], &[("SUITE_BYTES", "200"), ("SUITE_TIME", "200")]).with_code(0);
}

/// Whatever else makes times another matter: each alone, written into what was stored.
#[test]
fn each_difference_that_matters_is_told() {
    let target = Target::new();
    let file = target.path("then.json");
    _ = target.run(&["told[n=1]", "--cache", "cold", "--json", text(&file)], &[]).with_code(0);
    let stored = fs::read_to_string(&file).expect("it was written");
    let against = |from: &str, to: &str| {
        let changed = stored.replace(from, to);
        assert_ne!(changed, stored, "{from}");
        fs::write(&file, changed).expect("it can be written");
        let arguments = ["told[n=1]", "--cache", "cold", "--baseline", text(&file)];
        let (ended, run) = target.measure(&arguments, &[]);
        (ended.stdout, finding(&run, "compared::told[n=1] cold").clone())
    };
    for (from, to, why) in [
        (
            "\"name\":\"a clock with known hands\"",
            "\"name\":\"a dial\"",
            "device a clock with known hands, was a dial",
        ),
        ("\"path\":\"device\"", "\"path\":\"stream\"", "path device, was stream"),
        ("\"flush\":\"read\"", "\"flush\":\"write\"", "flush read, was write"),
        ("\"flops\":null", "\"flops\":7", "flops not counted, was 7"),
        ("{\"count\":2}", "{\"count\":3}", "hands 2, was 3"),
    ] {
        // The name of the device is the property's too.
        let (_, found) = against(from, to);
        assert_eq!(found, BaselineFinding::NotComparable(vec![why.to_owned()]));
    }
    // These are told, and compared all the same.
    let (shown, found) = against("{\"bytes\":32768}", "{\"bytes\":65536}");
    assert!(matches!(found, BaselineFinding::Compared { answer: Answer::Undecided, .. }), "{found:?}");
    assert!(shown.contains("changed since the baseline: cache 32 KiB, was 64 KiB"), "{shown}");
    let (_, found) = against("\"opt_level\":\"", "\"opt_level\":\"another ");
    assert!(matches!(found, BaselineFinding::Compared { .. }), "the host is not measured: {found:?}");
    // What one side alone tells is told too.
    let (shown, _) = against(
        "{\"name\":\"hands\"",
        "{\"name\":\"clocks\",\"value\":{\"text\":\"locked\"}},{\"name\":\"hands\"",
    );
    assert!(shown.contains("changed since the baseline: clocks not locked, was locked"), "{shown}");
    // Nor is what did not hold then.
    let (_, found) = against("\"state\":\"valid\"", "\"state\":\"invalid\"");
    assert_eq!(found, BaselineFinding::NoTime("invalid then".to_owned()));
}

#[test]
fn what_is_new_and_what_is_missing_is_told() {
    let target = Target::new();
    _ = target.run(&["told", "longer", "--save-baseline", "main"], &[]).with_code(0);
    let ended = target.run(&["told", "blocks", "--arg", "n=1", "--baseline", "main"], &[]).with_code(0);
    ended.shows("compared::blocks[BLOCK=128, n=1]  hot   new");
    // What is not selected is not missed.
    assert!(!ended.stdout.contains("missing"), "{ended}");
    // One more value of an argument is new; where none is as it was, nothing can be compared.
    let more = ["told", "--cache", "hot", "--arg", "n=1,7", "--baseline", "main"];
    target.run(&more, &[]).with_code(0).shows("compared::told[n=7]  hot   new");
    let other = ["told", "--cache", "hot", "--arg", "n=7", "--baseline", "main"];
    let ended = target.run(&other, &[]).with_code(0);
    ended.shows("compared::told[n=7]  hot   not comparable: the baseline has this benchmark with other arguments only");
    // A benchmark that is no longer there is.
    let file = files(&target.baseline("main")).pop().expect("a file");
    let stored = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, stored.replace("compared::told", "compared::told_before")).expect("it can be written");
    let ended = target.run(&["told", "--cache", "hot", "--baseline", "main"], &[]).with_code(0);
    ended.shows("missing: compared::told_before[n=10] hot was not measured");
    assert!(!ended.stdout.contains("cold was not measured"), "{ended}");
    // With a gate, that is no success.
    let gate = ["--baseline", "main", "--fail-on-regression", "5%"];
    let ended = target.run(&[&["told", "--cache", "hot"], &gate[..]].concat(), &[]).with_code(1);
    ended.shows("gate failed: 2 results of the baseline not measured");
    // Nor is it that nothing is in both.
    let ended = target.run(&[&["placed"], &gate[..]].concat(), &[]).with_code(1);
    ended.shows("0 regressions of 5.00 % or more");
    ended.shows("gate failed: the baseline has none of these results");
}

/// A run of some cases brings those up to date and leaves the others alone.
#[test]
fn the_newest_record_of_a_case_counts() {
    let target = Target::new();
    _ = target.run(&["told", "--save-baseline", "main"], &[]).with_code(0);
    _ = target.run(&["told[n=1]", "--save-baseline", "main"], &[("SUITE_TIME", "106")]).with_code(0);
    assert_eq!(files(&target.baseline("main")).len(), 2);
    let ended = target.run(&["told", "--baseline", "main"], &[]).with_code(0);
    ended.shows("compared::told[n=1]   hot   32.00 µs  was 33.92 µs");
    ended.shows("compared::told[n=10]  hot   320.0 µs  was 320.0 µs");
    // A run of all of them leaves nothing of those before; and nothing unfinished lies about.
    _ = target.run(&["told", "--save-baseline", "main", "--baseline", "main"], &[]).with_code(0);
    let [file] = &files(&target.baseline("main"))[..] else { panic!("one file is left") };
    assert!(text(file).ends_with(".json"));
    target.run(&["told", "--baseline", "main"], &[]).with_code(0).shows("was 32.00 µs");
}

#[test]
fn a_path_will_do() {
    let target = Target::new();
    let then = target.path("then.json");
    _ = target.run(&["told", "--save-baseline", text(&then)], &[]).with_code(0);
    let arguments = ["told", "--baseline", text(&then), "--fail-on-regression", "5%"];
    let (ended, run) = target.measure(&arguments, &[("SUITE_TIME", "106")]);
    let ended = ended.with_code(3);
    ended.shows("compared::told[n=1]   hot   33.92 µs  was 32.00 µs  +6.00 %");
    ended.shows("4 regressions of 5.00 % or more");
    assert_eq!(run.gate().expect("a gate").regressions().len(), 4);
    // A report of a baseline that a gated run saved has the gate of that run.
    let now = target.path("now.json");
    _ = target.run(&[&arguments[..], &["--save-baseline", text(&now)]].concat(), &[]).with_code(0);
    let saved = Run::parse(&fs::read(now).expect("it was written")).expect("a run");
    assert_eq!(saved.gate().expect("a gate").exit(), Exit::Done);
    fs::write(&then, "{}").expect("it can be written");
    target.run(&arguments, &[]).with_code(2).says_only("then.json: ");
}

#[test]
fn what_is_wrong_with_a_baseline_is_told_before_anything_is_measured() {
    let target = Target::new();
    target.run(&["told", "--baseline", "main"], &[]).with_code(2).says_only("there is no baseline `main`");
    _ = target.run(&["told", "--save-baseline", "other"], &[]).with_code(0);
    target
        .run(&["told", "--baseline", "main"], &[])
        .with_code(2)
        .says_only("there is `other`. --save-baseline main stores one");

    let [file] = &files(&target.baseline("other"))[..] else { panic!("one file") };
    let stored = fs::read_to_string(file).expect("it is there");
    for (damaged, words) in [
        (
            &stored[..stored.len() / 2],
            ": it is cut off there. Give a file that --json wrote, or measure anew",
        ),
        ("", "not a stored run: it is empty. Give a file that --json wrote, or measure anew"),
        (
            &stored.replace("gpubench/3", "gpubench/9"),
            "its format is `gpubench/9`, not `gpubench/3`: read it with the gpubench that wrote it, or measure anew",
        ),
        (
            &stored.replace("gpubench/3", "gpubench/0"),
            "its format is `gpubench/0`, not `gpubench/3`: read it with the gpubench that wrote it, or measure anew",
        ),
    ] {
        fs::write(file, damaged).expect("it can be written");
        let ended = target.run(&["told", "--baseline", "other"], &[]).with_code(2);
        ended.says_only(words);
        assert!(ended.stderr.contains(text(file)), "{ended}");
    }
    // A file where the folder should be.
    fs::write(target.baseline("taken"), "").expect("it can be written");
    target.run(&["told", "--save-baseline", "taken"], &[]).with_code(2).says_only("baseline `taken`: ");
    for name in ["..", ""] {
        let ended = target.run(&["told", "--baseline", name], &[]).with_code(2);
        ended.says_only(&format!("--baseline `{name}`: give a name, or a path with a `/` in it"));
    }
}

/// The first process takes 10 % more than the baseline, the next ones 1 and 2 % more: on average that is no regression of 5 %.
/// Where all of them take more, it is one.
#[test]
fn what_seems_slower_is_measured_again_before_it_is_a_regression() {
    let target = Target::new();
    let case = ["told[n=10]", "--cache", "hot"];
    _ = target.run(&[&case[..], &["--save-baseline", "main"]].concat(), &[]).with_code(0);
    let gate = [&case[..], &["--baseline", "main", "--fail-on-regression", "5%"]].concat();
    let folder = tempfile::tempdir().expect("a folder");
    let slow = [("SUITE_FIRST", "110"), ("SUITE_PROCESSES", text(folder.path()))];
    let now = target.path("now.json");
    let ended = target.run(&[&gate[..], &["--json", text(&now)]].concat(), &slow).with_code(0);
    let run = Run::parse(&fs::read(&now).expect("it was written")).expect("a run");
    ended.shows("measured again 2 times");
    ended.shows("0 regressions of 5.00 % or more");
    // The row of the first process is printed at once, and the one that the table ends with after it.
    let rows: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("  told[n=10]  hot")).collect();
    let [first, last] = rows[..] else { panic!("two rows: {ended}") };
    assert!(first.contains("352.0   µs") && last.contains("3: 323.2 µs to 352.0 µs"), "{ended}");
    ended.shows("measured again; these results replace those above:");
    assert_eq!(ended.stderr, "measuring 1 result again that may be slower than the baseline\n");
    let [record] = &run.records[..] else { panic!("one row: {run:?}") };
    assert_eq!((record.remeasured, record.other_processes.len()), (2, 2), "nothing is lost");

    let ended = target.run(&gate, &[("SUITE_TIME", "110")]).with_code(3);
    ended.shows("slower, measured again 8 times");
    ended.shows("1 regression of 5.00 % or more");
}

/// Processes of 100 to 104 % then, and one of 106 or 125 % now: what they differ by is 1.6 %.
#[test]
fn what_processes_differ_by_is_noise() {
    let target = Target::new();
    let folder = tempfile::tempdir().expect("a folder");
    let here = ("CLOCKWORK_UUID", "one");
    let each = [("SUITE_PROCESSES", text(folder.path())), here];
    let arguments = ["told[n=10]", "--cache", "hot", "--runs", "5", "--save-baseline", "main", "--explain"];
    let (ended, run) = target.measure(&arguments, &each);
    let ended = ended.with_code(0);
    assert_eq!(ended.stderr, "saved 1 result as baseline `main`\n");
    ended.shows("processes medians of 5 processes: 320.0 µs to 332.8 µs; the middle one is shown");
    // The row itself says so too.
    let row = ended.stdout.lines().find(|line| line.starts_with("  told[n=10]  hot  326.4   µs  4.71"));
    assert!(row.is_some_and(|row| row.contains("5: 320.0 µs to 332.8 µs")), "{ended}");
    let [record] = &run.records[..] else { panic!("one case: {run:?}") };
    assert_eq!(record.measurement.as_ref().expect("a number").median().0, 326_400.0);
    let others: Vec<f64> = record.other_processes.iter().map(|other| other.median().0).collect();
    assert_eq!(others, [320_000.0, 323_200.0, 329_600.0, 332_800.0]);

    let gate = ["told[n=10]", "--cache", "hot", "--baseline", "main", "--fail-on-regression", "noise"];
    // Without a gate nothing is measured again.
    let within = target.run(&gate[..5], &[("SUITE_TIME", "106"), here]).with_code(0);
    within.shows("undecided");
    within.shows("processes: 1 now, 5 in the baseline; a time is the mean of the processes");
    let then = [320.0, 323.2, 326.4, 329.6, 332.8_f64].map(f64::ln).iter().sum::<f64>() / 5.0;
    let (now, then) = (339.2, then.exp());
    within.shows(&format!("{now:.1} µs  was {then:.1} µs  {:+.2} %", 100.0 * (now / then - 1.0)));
    // As many processes as know better find that it is more.
    let again = target.run(&gate, &[("SUITE_TIME", "106"), here]).with_code(3);
    again.shows("slower, measured again 8 times");
    let beyond = target.run(&gate, &[("SUITE_TIME", "125"), here]).with_code(3);
    beyond.shows("1 regression beyond noise");

    // Nor is it what another device's processes differ by.
    let elsewhere = target.run(&gate, &[("SUITE_TIME", "125"), ("CLOCKWORK_UUID", "another")]).with_code(1);
    elsewhere.shows("gate failed: 1 result whose noise is unknown");
    elsewhere.shows("changed since the baseline: another device of its kind");
    // Of one process then and one now nobody knows.
    _ = target.run(&["told[n=10]", "--cache", "hot", "--save-baseline", "one"], &[]).with_code(0);
    let gate = ["told[n=10]", "--cache", "hot", "--baseline", "one", "--fail-on-regression", "noise"];
    let unknown = target.run(&gate, &[]).with_code(1);
    unknown.shows("gate failed: 1 result whose noise is unknown");
    // What seems slower is measured again, after which it is.
    target.run(&gate, &[("SUITE_TIME", "125")]).with_code(3).shows("slower, measured again 8 times");
    target.run(&["told", "--runs", "0"], &[]).with_code(2).says_only("give a whole number from 1 to 10000");
}

/// `--runs` shows a row for each case, and so does its stored run. It cannot be resumed.
#[test]
fn a_stored_run_of_several_processes_is_what_the_suite_showed() {
    let target = Target::new();
    let folder = tempfile::tempdir().expect("a folder");
    let runs = target.path("runs");
    let each = [("SUITE_PROCESSES", text(folder.path())), ("GPUBENCH_RUNS_DIR", text(&runs))];
    let ended = target.run(&["told", "--cache", "hot", "--runs", "3"], &each).with_code(0);
    ended.shows("2 results: 2 valid");
    let mut kept = fs::read_dir(&runs).expect("it is there").flatten();
    let records = kept.next().expect("a run").path().join("records.jsonl");
    let stored = gpubench_report::loading::load(&records).expect("it can be read");
    let processes: Vec<_> =
        stored.run.records.iter().filter_map(|record| Some(record.processes()?.1)).collect();
    assert_eq!(processes, [3, 3]);
    let told =
        "is a run of several processes (--runs), which cannot go on: leave out --resume to measure it anew";
    target.run(&["told", "--resume"], &each).with_code(2).says_only(told);
}

/// What each process measured is kept, and the row says that it is not one thing.
#[test]
fn processes_that_claim_different_work_are_told() {
    let target = Target::new();
    let folder = tempfile::tempdir().expect("a folder");
    let each = [("SUITE_PROCESSES", text(folder.path())), ("SUITE_BYTES", "each")];
    let (ended, run) = target.measure(&["told[n=10]", "--cache", "hot", "--runs", "3"], &each);
    ended.with_code(1).shows("invalid: work differs: processes declare different work (bytes read ");
    assert_eq!((run.records.len(), run.records[0].other_processes.len()), (1, 2));
}

/// One of several processes that fails costs the row, and what the others measured is kept.
#[test]
fn a_process_that_fails_shows() {
    let target = Target::new();
    let folder = tempfile::tempdir().expect("a folder");
    // The second repetition, and its second try.
    let each = [("SUITE_PROCESSES", text(folder.path())), ("SUITE_FAILS", "1,2")];
    let (ended, run) = target.measure(&["told[n=10]", "--cache", "hot", "--runs", "3"], &each);
    let both = "process 1 fails; at the second try, in a new process: first launch: process 2 fails";
    ended.with_code(1).shows(both);
    assert_eq!((run.records.len(), run.records[0].other_processes.len()), (1, 2));
}
