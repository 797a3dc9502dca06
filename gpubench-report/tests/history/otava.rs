//! Apache Otava as a second opinion. In: the series of the test repository, with the changes that Otava finds in them (`otava.json`, which
//! `scripts/otava` writes); out: what it finds of the planted changes we find.

use gpubench_report::history::{History, HistoryReport};
use serde_json::{Value, json};

use super::{RULES, planted};

/// The places of the planted steps in a series, in which commits 18 and 19 stand twice, and that of the drift's first value.
const STEPS: [usize; 2] = [42, 46];
const DRIFT: usize = 53;

/// The seeds of the series that Otava has judged.
const SEEDS: u64 = 20;

fn report(seed: u64) -> HistoryReport {
    History::new(planted(seed)).report(RULES)
}

/// The joined series in whole nanoseconds.
fn times(report: &HistoryReport) -> Vec<u64> {
    report.cases[0].series[0].points.iter().map(|point| point.adjusted.round() as u64).collect()
}

/// The places of our changes.
fn places(report: &HistoryReport) -> Vec<usize> {
    report.changes().iter().map(|(_, change)| change.at).collect()
}

#[test]
fn what_otava_finds_of_the_planted_changes_we_find() {
    let judged: Value = serde_json::from_str(include_str!("otava.json")).expect("JSON");
    assert_eq!(judged["apache-otava"], "0.8.0");
    let series = judged["series"].as_array().expect("a list");
    assert_eq!(series.len() as u64, SEEDS);
    let (mut theirs_of_steps, mut drifts) = (0, [0, 0]);
    for (seed, judged) in (0..).zip(series) {
        let report = report(seed);
        assert_eq!(judged["times"], json!(times(&report)), "seed {seed}: scripts/otava writes it anew");
        let theirs = judged["changes"].as_array().expect("a list").iter();
        let theirs: Vec<usize> = theirs.map(|at| at.as_u64().expect("a place") as usize).collect();
        let ours = places(&report);
        let near = |found: &[usize], step: usize| found.iter().any(|at| at.abs_diff(step) <= 1);
        for step in STEPS.into_iter().filter(|step| near(&theirs, *step)) {
            theirs_of_steps += 1;
            assert!(near(&ours, step), "seed {seed}: {step} is in {theirs:?}, not in {ours:?}");
        }
        for at in &ours {
            let is_planted = STEPS.iter().any(|step| at.abs_diff(*step) <= 1) || *at >= DRIFT - 1;
            assert!(is_planted, "seed {seed}: nothing was planted at {at}; Otava has {theirs:?}");
        }
        for (count, found) in drifts.iter_mut().zip([&ours, &theirs]) {
            *count += usize::from(found.iter().any(|at| *at >= DRIFT - 1));
        }
    }
    assert_eq!(theirs_of_steps as u64, 2 * SEEDS, "Otava has them all");
    assert!(drifts[0] + 2 >= drifts[1], "the drift, ours and theirs: {drifts:?}");
}

/// The series for `scripts/otava`.
#[test]
#[ignore = "prints the series that scripts/otava judges"]
#[expect(clippy::print_stdout, reason = "the script reads them")]
fn series_for_otava() {
    for seed in 0..SEEDS {
        println!("series {}", json!(times(&report(seed))));
    }
}
