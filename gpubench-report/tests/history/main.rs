//! Histories: of a run that was recorded, with the times of a test repository in its place.

mod kept;
mod otava;
mod rules;

use gpubench_records::device_info::{DRIVER, Property, Value};
use gpubench_records::files;
use gpubench_records::record::{Package, Run};
use gpubench_report::history::HistoryRun;
use gpubench_report::history::{CommitOrder, History, HistoryReport, HistoryRules};
use gpubench_stats::Interval;
use gpubench_stats::units::Nanoseconds;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal};

const RULES: HistoryRules = HistoryRules { equivalence_margin: 0.005, last: None };

/// A recorded run with one case.
fn template() -> Run {
    let lines = include_bytes!("../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
    let mut run = files::read(&lines[..]).expect("a run").run;
    run.records.truncate(1);
    run
}

/// A run of this commit, on this day, with this time.
fn run_of(template: &Run, commit: usize, day: usize, time: f64) -> Run {
    let mut run = template.clone();
    run.started = 1_760_000_000 + 86_400 * day as u64;
    let package = Package { commit: Some(format!("{commit:040x}")), ..Package::default() };
    run.program.package = Some(package);
    let measured = run.records[0].measurement.as_mut().expect("it was measured");
    measured.samples.time.median = Nanoseconds(time);
    measured.samples.time.median_ci =
        Interval { low: Nanoseconds(0.999 * time), high: Nanoseconds(1.001 * time) };
    run
}

fn with_driver(mut run: Run, driver: &str) -> Run {
    let info = &mut run.devices[0];
    info.properties.retain(|property| property.name != DRIVER);
    info.properties.push(Property::new(DRIVER, Value::Text(driver.to_owned())));
    run
}

/// The time that a night adds or takes.
fn night(random: &mut SmallRng) -> f64 {
    1.0 + Normal::new(0.0, 0.002).expect("it is one").sample(random)
        + 0.01 * f64::from(random.random_bool(0.01))
}

/// The test repository: 60 commits, of which the first 40 change nothing, one adds 3 %, one 10 %, and the last ones 0.3 % each.
fn planted(seed: u64) -> Vec<HistoryRun> {
    let mut random = SmallRng::seed_from_u64(seed);
    let template = template();
    let code = |commit: usize| match commit {
        0..40 => 1.0,
        40..44 => 1.03,
        commit => 1.133 + 0.003 * commit.saturating_sub(50) as f64,
    };
    let run = |commit: usize| run_of(&template, commit, commit, 1e5 * code(commit) * night(&mut random));
    (0..60).map(run).map(|run| HistoryRun::new(&run)).collect()
}

/// The numbers of the commits that the changes of the only case begin with, in their order.
fn found(report: &HistoryReport) -> Vec<usize> {
    let commit = |label: &Option<String>| {
        usize::from_str_radix(label.as_deref().expect("a commit"), 16).expect("a number")
    };
    let mut found: Vec<usize> = report.changes().iter().map(|(_, it)| commit(&it.begins.commit)).collect();
    found.reverse();
    found
}

/// Every planted change is found within one commit, and of the 40 commits that change nothing one in at most one
/// of 100 seeds is said to.
#[test]
fn changes_of_the_test_repository_are_found() {
    let (mut alarms, mut drifts) = (0, 0);
    for seed in 0..100 {
        let report = History::new(planted(seed)).report(RULES);
        assert_eq!((report.cases.len(), report.cases[0].series.len(), report.runs), (1, 1, 60));
        let found = found(&report);
        for planted in [40, 44] {
            assert!(found.iter().any(|at| at.abs_diff(planted) <= 1), "seed {seed}: {found:?}");
        }
        alarms += usize::from(found.iter().any(|at| *at < 39));
        drifts += usize::from(found.iter().any(|at| *at > 46));
        let others = found.iter().filter(|at| (39..=46).contains(*at)).count();
        assert_eq!(others, 2, "seed {seed}: {found:?}");
    }
    assert!(alarms <= 1, "false alarms in {alarms} of 100");
    assert!(drifts >= 80, "the drift of 3 % over ten commits in {drifts} of 100");
}

/// Three devices of a model take 100, 200 and 800 µs: their geometric mean is the cube root of the product, in any order.
#[test]
fn devices_of_a_model_count_alike() {
    for times in [[1e5, 2e5, 8e5], [8e5, 1e5, 2e5], [2e5, 8e5, 1e5]] {
        let mut run = run_of(&template(), 0, 0, times[0]);
        for (number, time) in times.into_iter().enumerate().skip(1) {
            let mut device = run.devices[0].clone();
            device.device = format!("{}:{number}", device.device);
            let mut record = run_of(&template(), 0, 0, time).records.remove(0);
            record.device.clone_from(&device.device);
            run.devices.push(device);
            run.records.push(record);
        }
        let history = History::new([HistoryRun::new(&run)]);
        let report = history.report(RULES);
        let [case] = &report.cases[..] else { panic!("{:?}", report.cases) };
        let mean = (1e5_f64 * 2e5 * 8e5).cbrt();
        let found = case.series[0].points[0].time.as_f64();
        assert!((found / mean - 1.0).abs() < 1e-9, "{found} of {times:?}, not {mean}");
    }
}

/// A commit that is measured late stands where it belongs: nights of 40 commits, of which every third was measured after all others.
#[test]
fn runs_are_in_the_order_of_their_commits() {
    let template = template();
    let runs = |begins: usize| {
        let template = &template;
        (0..40).map(move |commit: usize| {
            let day = if commit % 3 == 2 { 100 + commit } else { commit };
            let time = (1e5 + (commit % 2) as f64) * if commit < begins { 1.0 } else { 1.03 };
            HistoryRun::new(&run_of(template, commit, day, time))
        })
    };
    let order: CommitOrder = (0..40).map(|commit| (format!("{commit:040x}"), commit)).collect();
    let report = History::new(runs(20)).ordered_by_commits(&order).report(RULES);
    assert_eq!(found(&report), [20]);
    let change = report.changes()[0].1.clone();
    let number = |commit: &Option<String>| usize::from_str_radix(commit.as_deref().expect("one"), 16);
    assert_eq!((number(&change.after.commit), number(&change.until.commit)), (Ok(19), Ok(20)));
    // By their times the level goes up and down.
    assert_ne!(found(&History::new(runs(20)).report(RULES)), [20]);
    // A run of which no place is known stays behind those that were measured before it.
    let mut unknown = order.clone();
    unknown.remove(&format!("{:040x}", 25));
    assert_eq!(found(&History::new(runs(20)).ordered_by_commits(&unknown).report(RULES)), [20]);
    assert_eq!(History::new(runs(20)).commits().len(), 40);
}
