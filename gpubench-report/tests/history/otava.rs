//! Apache Otava as a second opinion, on recorded series of the test repository with the changes that Otava finds in them (`otava.json`,
//! which `scripts/otava` writes).

use gpubench_report::history::History;
use gpubench_report::history::HistoryRun;
use serde_json::Value;

use super::{RULES, run_of, template};

/// The places of the planted steps in a series, in which commits 18 and 19 come twice, and that of the drift's first value.
const STEPS: [usize; 2] = [42, 46];
const DRIFT: usize = 53;

/// Returns the places of our changes in a series.
fn places(times: &[Value]) -> Vec<usize> {
    let template = template();
    let time = |at: usize| times[at].as_f64().expect("a time");
    let runs = (0..times.len()).map(|at| HistoryRun::new(&run_of(&template, at, at, time(at))));
    let report = History::new(runs).report(RULES);
    report.changes().iter().map(|(_, change)| change.at).collect()
}

#[test]
fn what_otava_finds_of_the_planted_changes_we_find() {
    let judged: Value = serde_json::from_str(include_str!("otava.json")).expect("JSON");
    assert_eq!(judged["apache-otava"], "0.8.0");
    let series = judged["series"].as_array().expect("a list");
    assert_eq!(series.len(), 20);
    let (mut theirs_of_steps, mut drifts, mut alarms) = (0, [0, 0], [0, 0]);
    for (number, judged) in series.iter().enumerate() {
        let theirs = judged["changes"].as_array().expect("a list").iter();
        let theirs: Vec<usize> = theirs.map(|at| at.as_u64().expect("a place") as usize).collect();
        let ours = places(judged["times"].as_array().expect("a list"));
        let near = |found: &[usize], step: usize| found.iter().any(|at| at.abs_diff(step) <= 1);
        for step in STEPS.into_iter().filter(|step| near(&theirs, *step)) {
            theirs_of_steps += 1;
            assert!(near(&ours, step), "series {number}: {step} is in {theirs:?}, not in {ours:?}");
        }
        let is_planted = |at: &usize| STEPS.iter().any(|step| at.abs_diff(*step) <= 1) || *at >= DRIFT - 1;
        for (count, found) in alarms.iter_mut().zip([&ours, &theirs]) {
            *count += found.iter().filter(|at| !is_planted(at)).count();
        }
        for (count, found) in drifts.iter_mut().zip([&ours, &theirs]) {
            *count += usize::from(found.iter().any(|at| *at >= DRIFT - 1));
        }
    }
    assert_eq!(theirs_of_steps, 2 * series.len(), "Otava has them all");
    // The series were joined of two drivers behind commit 19, so that some have a small step there.
    assert!(alarms[0] <= alarms[1], "alarms, ours and theirs: {alarms:?}");
    assert!(drifts[0] + 2 >= drifts[1], "the drift, ours and theirs: {drifts:?}");
}
