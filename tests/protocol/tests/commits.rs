//! A repository of 60 commits, measured on the fake by a suite, one process a night.

use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::running::run_with;
use gpubench_records::record::Run;
use gpubench_report::history::add_to_history;
use gpubench_report::history::{CommitOrder, History, HistoryRules};
use protocol::fake::library;

const PLANTED: &str = env!("CARGO_BIN_EXE_planted");

/// The time of a commit: 40 that change nothing, one that adds 3 %, one that adds 10 %, and from the 51st on each 0.3 %.
fn planted(commit: usize) -> f64 {
    let code = match commit {
        0..40 => 1.0,
        40..44 => 1.03,
        commit => 1.133 + 0.003 * commit.saturating_sub(50) as f64,
    };
    50_000.0 * code
}

/// The time of a night over the usual one: up to 0.3 % off. It looks random, and is the same in each run of the test.
fn night(number: usize) -> f64 {
    let random = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    1.0 + 0.006 * (random as f64 / (1_u64 << 24) as f64 - 0.5)
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words);
    let told = command.output().expect("there is git");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    String::from_utf8(told.stdout).expect("text")
}

/// Measures a commit in a night.
fn measure(folder: &Path, commit: usize, number: usize) -> Run {
    let stored = folder.join("run.json");
    let nanoseconds = (planted(commit) * night(number)).round().to_string();
    let (seed, library) = (number.to_string(), library().to_str().expect("UTF-8"));
    let environment = [
        ("GPUBENCH_LIBCUDA", library),
        ("GPUBENCH_LIBNVML", library),
        ("GPUBENCH_FAKE_RELEASE", "580.1"),
        ("GPUBENCH_FAKE_NOISE", "0.01"),
        ("GPUBENCH_FAKE_SEED", &seed),
        ("PLANTED_NS", &nanoseconds),
        ("TMPDIR", folder.to_str().expect("UTF-8")),
    ];
    _ = run_with(PLANTED, &["--quick", "--json", stored.to_str().expect("UTF-8")], &environment).with_code(0);
    let mut run = Run::parse(&fs::read(&stored).expect("it was written")).expect("a run");
    // The nights follow each other, and the fake takes none.
    run.started = 1_760_000_000 + 86_400 * number as u64;
    run
}

/// Every planted change is found within one commit; the 40 commits that change nothing are not told, and a slow drift is one change at
/// most. The commits of the middle are measured last.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn a_repository_of_sixty_commits_tells_its_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (repository, kept) = (folder.path().join("repository"), folder.path().join("history"));
    fs::create_dir(&repository).expect("a folder");
    git(&repository, &["init", "--quiet"]);
    for commit in 0..60 {
        git(&repository, &["commit", "--quiet", "--allow-empty", "--message", &commit.to_string()]);
    }
    let listed = git(&repository, &["rev-list", "--reverse", "HEAD"]);
    let hashes: Vec<&str> = listed.lines().collect();
    let order: CommitOrder = hashes.iter().map(|hash| (*hash).to_owned()).zip(0..).collect();

    let late = |commit: &usize| (30..35).contains(commit);
    let nights = (0..60).filter(|commit| !late(commit)).chain(30..35);
    for (number, commit) in nights.enumerate() {
        let run = measure(folder.path(), commit, number);
        add_to_history(&kept, &run, Some(hashes[commit])).expect("it can be added");
    }
    let history = History::read(&kept, &[]).expect("it is there").ordered_by_commits(&order);
    let report = history.report(HistoryRules { equivalence_margin: 0.005, last: None });
    assert_eq!((report.runs, report.cases.len(), report.faults.len()), (60, 1, 0));
    assert_eq!(report.cases[0].series.len(), 1);
    let place = |label: &Option<String>| order[label.as_deref().expect("a commit")];
    let changes = report.changes();
    let mut found: Vec<usize> = changes.iter().map(|(_, change)| place(&change.begins.commit)).collect();
    found.sort_unstable();
    let [three, ten, drift @ ..] = &found[..] else { panic!("{found:?}") };
    assert!(three.abs_diff(40) <= 1 && ten.abs_diff(44) <= 1, "{found:?}");
    assert!(drift.len() <= 1 && drift.iter().all(|commit| *commit > 46), "{found:?}");
    for (_, change) in &changes {
        let [after, until] = [&change.after, &change.until].map(|label| place(&label.commit));
        assert!(until - after <= 16, "{after} to {until}");
    }
    let size = |commit: usize| changes.iter().find(|(_, it)| place(&it.begins.commit).abs_diff(commit) <= 1);
    let ratio = |commit| size(commit).expect("it was found").1.ratio;
    assert!((ratio(40) - 1.03).abs() < 0.006 && (ratio(44) - 1.1).abs() < 0.01, "{}", ratio(44));
}
