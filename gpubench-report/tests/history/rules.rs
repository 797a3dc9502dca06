//! The changes that are asked for, the exit code, and which times are of one series.

use gpubench_records::Exit;
use gpubench_records::device_info::{Property, UUID, Value};
use gpubench_records::record::Run;
use gpubench_report::history::HistoryRun;
use gpubench_report::history::{History, HistoryReport, HistoryRules};

use super::{RULES, run_of, template, with_driver};

#[test]
fn a_change_has_its_commits_its_size_and_an_exit_code() {
    let template = template();
    let runs = |factor: f64| {
        let time = move |commit: usize| (1e5 + (commit % 3) as f64) * if commit < 30 { 1.0 } else { factor };
        let template = &template;
        (0..45).map(move |commit| HistoryRun::new(&run_of(template, commit, commit, time(commit))))
    };
    let report = History::new(runs(1.03)).report(RULES);
    let changes = report.changes();
    let [(_, change)] = changes[..] else { panic!("one change: {changes:?}") };
    let number = |commit: &Option<String>| usize::from_str_radix(commit.as_deref().expect("one"), 16);
    assert_eq!((number(&change.after.commit), number(&change.until.commit)), (Ok(29), Ok(30)));
    assert!((change.ratio - 1.03).abs() < 1e-4 && (change.times[1].as_f64() - 1.03e5).abs() < 10.0);
    assert_eq!((report.exit(true), report.exit(false)), (Exit::Regression, Exit::Done));
    assert_eq!(History::new(runs(0.97)).report(RULES).exit(true), Exit::Done, "faster is no alert");
    for (rules, expected) in [
        (HistoryRules { equivalence_margin: 0.04, ..RULES }, 0),
        (HistoryRules { last: Some(15), ..RULES }, 1),
        (HistoryRules { last: Some(14), ..RULES }, 0),
    ] {
        assert_eq!(History::new(runs(1.03)).report(rules).changes().len(), expected, "{rules:?}");
    }
    assert!(History::new(runs(1.03).take(19)).report(RULES).cases[0].series[0].is_short());
    assert_eq!(History::new([]).report(RULES).exit(true), Exit::Nothing);
}

/// Three suites run each night, and one of them became slower five nights ago. The last seven runs are those of its own.
#[test]
fn the_last_runs_are_those_of_the_series() {
    let template = template();
    let runs = (0..40).flat_map(|night| {
        let template = &template;
        ["one", "two", "three"].into_iter().map(move |suite| {
            let slower = if suite == "two" && night >= 35 { 1.05 } else { 1.0 };
            let mut run = run_of(template, night, night, (1e5 + (night % 3) as f64) * slower);
            run.program.suite = suite.to_owned();
            HistoryRun::new(&run)
        })
    });
    let runs: Vec<HistoryRun> = runs.collect();
    for (last, expected) in [(4, 0), (5, 1), (7, 1)] {
        let report = History::new(runs.clone()).report(HistoryRules { last: Some(last), ..RULES });
        assert_eq!(report.changes().len(), expected, "the last {last}");
    }
}

/// A report of one run of each of these levels a night.
fn of_levels(levels: impl IntoIterator<Item = f64>) -> HistoryReport {
    let template = template();
    let run = |(night, level): (usize, f64)| {
        HistoryRun::new(&run_of(&template, night, night, level * (1e5 + (night % 3) as f64)))
    };
    History::new(levels.into_iter().enumerate().map(run)).report(RULES)
}

/// A slowdown that a later commit made good again is told, and fails no longer; one that was halved does.
#[test]
fn what_is_as_fast_again_fails_no_longer() {
    let levels = |last: f64| [[1.0; 20], [1.05; 20], [last; 20]].concat();
    for (last, slower, fails) in [
        (1.0, 1, Exit::Done),
        (1.002, 1, Exit::Done),
        (0.97, 1, Exit::Done),
        (1.02, 1, Exit::Regression),
        (1.08, 2, Exit::Regression),
    ] {
        let report = of_levels(levels(last));
        let changes = report.changes();
        assert_eq!(changes.iter().filter(|(_, it)| it.ratio > 1.0).count(), slower, "{last}: {changes:?}");
        let (_, first) = changes.last().expect("a change");
        assert!((first.remains - last).abs() < 1e-4, "{last}: {first:?}");
        assert_eq!(report.is_undone(first), last < 1.005, "{last}");
        assert_eq!(report.exit(true), fails, "{last}");
    }
    // What was faster for a while, and is as slow as ever, lost what it had.
    let lost = of_levels([[1.0; 20], [0.95; 20], [1.0; 20]].concat());
    assert_eq!(lost.exit(true), Exit::Regression);
}

/// A GPU whose last nights were slower was taken away: its series is of the past once another has as many runs as a series needs.
#[test]
fn a_series_that_is_over_fails_no_longer() {
    let template = template();
    let run = |uuid: &str, night: usize, level: f64| {
        let mut run: Run = run_of(&template, night, night, level * (1e5 + (night % 3) as f64));
        run.devices[0].properties.push(Property::new(UUID, Value::Text(uuid.to_owned())));
        HistoryRun::new(&run)
    };
    let old = |night| run("GPU-1", night, if night < 20 { 1.0 } else { 1.05 });
    for (nights, is_over) in [(19, false), (20, true)] {
        let report = |last| {
            let new = (25..25 + nights).map(|night| run("GPU-2", night, 1.2));
            History::new((0..25).map(old).chain(new)).report(HistoryRules { last, ..RULES })
        };
        let [first, second] = &report(None).cases[0].series[..] else { panic!("two series") };
        assert_eq!((first.is_over, second.is_over, first.changes.len()), (is_over, false, 1));
        let code = if is_over { Exit::Done } else { Exit::Regression };
        assert_eq!(report(None).exit(true), code, "{nights} nights");
        assert_eq!(report(Some(7)).changes().len(), usize::from(!is_over), "{nights} nights");
    }
}

#[test]
fn drivers_are_apart() {
    let template = template();
    let run = |commit: usize| {
        let (driver, time) = if commit < 25 { ("580.1", 1e5) } else { ("590.2", 2e5) };
        HistoryRun::new(&with_driver(run_of(&template, commit, commit, time + commit as f64), driver))
    };
    let report = History::new((0..50).map(run)).report(RULES);
    assert_eq!(report.cases[0].series.len(), 2);
    assert!(report.changes().is_empty(), "a driver is no commit: {:?}", report.changes());
    assert_eq!(report.exit(true), Exit::Done);
}

/// Two GPUs of a model measure every commit, one of them 2 % slower, and one of them has a step of its own.
#[test]
fn gpus_of_a_model_are_series_of_their_own() {
    let template = template();
    let run = |uuid: &str, commit: usize, day: usize, time: f64| {
        let mut run = run_of(&template, commit, day, time + (commit % 3) as f64);
        run.devices[0].properties.push(Property::new(UUID, Value::Text(uuid.to_owned())));
        HistoryRun::new(&run)
    };
    let mut runs = Vec::new();
    for commit in 0..60 {
        let code = if commit < 30 { 1e5 } else { 1.05e5 };
        let own_step = if commit < 45 { 1.0 } else { 1.03 };
        runs.push(run("GPU-1", commit, 2 * commit, code));
        runs.push(run("GPU-2", commit, 2 * commit + 1, code * 1.02 * own_step));
    }
    let report = History::new(runs).report(RULES);
    assert_eq!(report.cases[0].series.len(), 2);
    let changes = report.changes();
    let told = changes.iter().map(|(_, it)| {
        let commit = it.begins.commit.as_deref().map(|it| usize::from_str_radix(it, 16));
        (commit, it.uuid.as_deref())
    });
    let mut told: Vec<_> = told.collect();
    told.sort_by_key(|(commit, uuid)| (commit.clone().and_then(Result::ok), *uuid));
    let expected = [(30, "GPU-1"), (30, "GPU-2"), (45, "GPU-2")].map(|(at, uuid)| (Some(Ok(at)), Some(uuid)));
    assert_eq!(told, expected);
}
