//! Launches that deceive, launches that were mistaken once and launches that are as they should be: each has the verdict that it
//! must have, and `docs/results/caught.md` says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use end_to_end::caught::marked;
use end_to_end::reliability::is_written;
use end_to_end::running::{Ended, SettingsFile, run_with};
use protocol::fake::library;

const CAUGHT: &str = env!("CARGO_BIN_EXE_caught_on_a_fake");

/// The marks between which the page has its tables.
const BEGIN: &str = "<!-- the tables: scripts/reliability -->\n";
const END: &str = "<!-- end of the tables -->\n";

const QUICK: &str = "quick = true";

/// Settings on which no verdict may depend.
const SETTINGS: [&str; 8] = [
    QUICK,
    "warmup = 0",
    "warmup = 1",
    "warmup = 2",
    "warmup = 33",
    "samples = 6",
    "samples = 7",
    "samples = 33",
];

/// Reasons that describe the distribution of the samples, and so depend on their number.
const OF_SAMPLES: [&str; 5] = ["drift", "not converged", "too few samples", "two modes", "wide interval"];

/// Runs the program with a line of settings on the fake, of which `asked` asks something.
fn caught(arguments: &[&str], setting: &str, asked: &[(&str, &str)]) -> Ended {
    let settings = SettingsFile::new(setting);
    let folder = tempfile::tempdir().expect("a folder");
    let library = library().to_str().expect("UTF-8");
    let mut environment =
        vec![("GPUBENCH_LIBCUDA", library), ("TMPDIR", folder.path().to_str().expect("UTF-8"))];
    environment.push(settings.variable());
    environment.extend(asked);
    run_with(CAUGHT, arguments, &environment)
}

#[test]
fn every_launch_is_judged_as_it_should_be_and_the_page_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let tables = folder.path().join("tables.md");
    let ended = caught(&["--markdown", tables.to_str().expect("UTF-8")], QUICK, &[]);
    assert_eq!(marked(&ended.stdout), [""; 0], "{ended}");
    assert_eq!(ended.code, Some(0), "{ended}");
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{ended}");

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/caught.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("where the tables begin");
    let (there, after) = rest.split_once(END).expect("where they end");
    let current = format!("\n{}\n", fs::read_to_string(tables).expect("the program wrote it"));
    if is_written() {
        return fs::write(&path, [before, BEGIN, &current, END, after].concat()).expect("it can be written");
    }
    assert_eq!(there, current, "docs/results/caught.md is not current: scripts/reliability writes it anew");
}

/// The management library still reports the power cap of the row before; the device's own counters know of nothing.
#[test]
fn a_row_that_follows_a_power_cap_is_judged_by_its_own_time() {
    let library = library().to_str().expect("UTF-8");
    let asked =
        [("GPUBENCH_LIBNVML", library), ("GPUBENCH_FAKE_SLOWED", "4"), ("GPUBENCH_FAKE_CLOCKS", "1980")];
    let ended = caught(&["after_power_cap"], QUICK, &asked);
    assert_eq!(marked(&ended.stdout), [""; 0], "{ended}");
}

/// The tables under a setting, and the launches whose verdicts are not the expected ones.
fn judged(setting: &str) -> (Vec<Judged>, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let tables = folder.path().join("tables.md");
    let ended = caught(&["--markdown", tables.to_str().expect("UTF-8")], setting, &[]);
    let tables = fs::read_to_string(tables).unwrap_or_else(|error| panic!("{error}: {ended}"));
    (
        tables.lines().filter_map(Judged::read).collect(),
        marked(&ended.stdout).into_iter().map(Into::into).collect(),
    )
}

/// A row of the tables: the launch, its verdict, and the reasons that its samples alone do not decide.
#[derive(Debug, PartialEq, Eq)]
struct Judged {
    launch: String,
    verdict: String,
    reasons: BTreeSet<String>,
}

impl Judged {
    fn read(row: &str) -> Option<Self> {
        // The head of a table names no launch.
        let cells: Vec<&str> = row.strip_prefix("| `")?.split('|').map(str::trim).collect();
        let [launch, _, verdict, reasons, _] = cells[..] else { return None };
        let reasons = reasons.split("; ").filter(|reason| !OF_SAMPLES.contains(reason)).map(Into::into);
        let reasons = reasons.filter(|reason: &String| !reason.is_empty()).collect();
        Some(Self { launch: launch.replace('`', ""), verdict: verdict.into(), reasons })
    }
}

#[test]
#[ignore = "slow: .ci/release runs it"]
fn verdicts_do_not_depend_on_warm_up_and_samples() {
    let mut all = Vec::new();
    for two in SETTINGS.chunks(2) {
        let running = thread::scope(|scope| {
            let running: Vec<_> = two.iter().map(|setting| scope.spawn(|| judged(setting))).collect();
            running.into_iter().map(|run| run.join().expect("it runs")).collect::<Vec<_>>()
        });
        all.extend(two.iter().zip(running));
    }
    let mut wrong = Vec::new();
    let (_, (usual, _)) = &all[0];
    assert!(usual.len() > 80, "{} rows", usual.len());
    for (setting, (rows, marked)) in &all {
        if !marked.is_empty() {
            wrong.push(format!("{setting}: not as expected: {}", marked.join(", ")));
        }
        assert_eq!(rows.len(), usual.len(), "{setting}");
        let differing = rows.iter().zip(usual).filter(|(row, usual)| row != usual);
        wrong.extend(differing.map(|(row, usual)| format!("{setting}: {row:?}, otherwise {usual:?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
