//! Series that are joined by commits that were measured under both. In: planted times under two drivers; out: changes of the commits, and none
//! of the driver.

use gpubench_records::device_info::{Property, UUID, Value};
use gpubench_records::exit::Exit;
use gpubench_records::history::HistoryRun;
use gpubench_report::history::{CommitOrder, History, HistoryReport};
use gpubench_stats::units::Nanoseconds;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal, StudentT};

use super::{RULES, found, night, run_of, template, with_driver};

#[test]
fn drivers_are_apart_unless_two_commits_were_measured_under_both() {
    let template = template();
    let both = |shared: usize| {
        let run = |driver: &str, commit: usize, day: usize, time: f64| {
            HistoryRun::new(&with_driver(run_of(&template, commit, day, time), driver))
        };
        let old = (0..25).map(|commit| run("580.1", commit, commit, 1e5 + commit as f64));
        let again =
            (25 - shared..25).map(|commit| run("590.2", commit, 30 + commit, 2e5 + 2.0 * commit as f64));
        let new = (25..50).map(|commit| run("590.2", commit, 60 + commit, 2e5 + 2.0 * commit as f64));
        History::new(old.chain(again).chain(new)).report(RULES)
    };
    for (shared, expected) in [(0, 2), (1, 2), (2, 1)] {
        let report = both(shared);
        assert_eq!(report.cases[0].series.len(), expected, "{shared} in common");
        assert!(report.changes().is_empty(), "a driver is no commit: {:?}", report.changes());
        assert_eq!(report.exit(true), Exit::Done);
    }
}

/// Two GPUs of a model that measure every commit, one of them 2 % slower; a third takes the place of the first. A step of the second
/// alone is its own, and one of all is told of each.
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
        let (uuid, factor) = if commit < 40 { ("GPU-1", 1.0) } else { ("GPU-3", 0.99) };
        runs.push(run(uuid, commit, 2 * commit, code * factor));
        runs.push(run("GPU-2", commit, 2 * commit + 1, code * 1.02 * own_step));
    }
    // The new GPU has measured two commits of the old one before it took its place.
    runs.extend([run("GPU-3", 38, 80, 1.05e5 * 0.99), run("GPU-3", 39, 80, 1.05e5 * 0.99)]);
    let told = |history: History| {
        let order: CommitOrder = (0..60).map(|commit| (format!("{commit:040x}"), commit)).collect();
        let report = history.in_order(&order).report(RULES);
        let mut told: Vec<_> = report
            .changes()
            .iter()
            .map(|(_, it)| {
                let commit = it.begins.commit.as_deref().map(|it| usize::from_str_radix(it, 16));
                (commit, it.uuid.clone())
            })
            .collect();
        told.sort_by_key(|(commit, uuid)| (commit.clone().and_then(Result::ok), uuid.clone()));
        let series = report.cases[0].series.len();
        (series, told)
    };
    let uuid = |uuid: &str| Some(uuid.to_owned());
    let found = told(History::new(runs.clone()));
    let expected =
        vec![(Some(Ok(30)), uuid("GPU-2")), (Some(Ok(30)), uuid("GPU-3")), (Some(Ok(45)), uuid("GPU-2"))];
    assert_eq!(found, (2, expected));
}

/// Forty commits under one driver and twenty under another by which all takes 4 % longer, with these levels, the commits `again` measured under
/// both, in the order of their commits or of their times.
fn under_two_drivers(
    night: impl Fn(&mut SmallRng) -> f64,
    seed: u64,
    again: [usize; 2],
    level: impl Fn(usize) -> f64,
    by_commit: bool,
) -> HistoryReport {
    let mut random = SmallRng::seed_from_u64(seed);
    let template = template();
    let mut run = |driver: &str, commit: usize, day: usize| {
        let slower = if driver == "580.1" { 1.0 } else { 1.04 };
        let time = 1e5 * level(commit) * slower * night(&mut random);
        HistoryRun::new(&with_driver(run_of(&template, commit, day, time), driver))
    };
    let mut runs: Vec<HistoryRun> = (0..40).map(|commit| run("580.1", commit, commit)).collect();
    runs.extend(again.map(|commit| run("590.2", commit, 50)));
    runs.extend((40..60).map(|commit| run("590.2", commit, 60 + commit)));
    let order: CommitOrder = (0..60).map(|commit| (format!("{commit:040x}"), commit)).collect();
    let history = History::new(runs);
    let history = if by_commit { history.in_order(&order) } else { history };
    history.report(RULES)
}

/// Commits that are far apart join two series, and hide no change between them. In the order of times a commit that is measured again late is
/// as slow as it was, beside others.
#[test]
fn a_join_hides_no_change_between_its_commits() {
    for (again, by_commit) in [
        ([0, 39], true),
        ([0, 1], true),
        ([10, 30], true),
        ([38, 39], true),
        ([0, 39], false),
        ([20, 39], false),
    ] {
        for seed in 0..20 {
            let level = |commit: usize| if commit < 20 { 1.0 } else { 1.03 };
            let report = under_two_drivers(night, seed, again, level, by_commit);
            assert_eq!(report.cases[0].series.len(), 1);
            assert_eq!(found(&report), [20], "{again:?}, seed {seed}, by commit: {by_commit}");
        }
    }
}

/// A commit that is slower by far more than a join can be off is told, though the driver came with it, and its interval has the error of the join.
/// A small change there may be the join's error, and is counted.
#[test]
fn a_change_beside_a_join_is_told_if_it_is_larger_than_the_error_of_the_join() {
    let (mut within, mut small) = (0, 0);
    for seed in 0..50 {
        let level = |size: f64| move |commit: usize| if commit < 40 { 1.0 } else { 1.0 + size };
        let report = under_two_drivers(night, seed, [38, 39], level(0.05), false);
        assert_eq!(found(&report), [40], "seed {seed}");
        let (_, change) = report.changes()[0];
        within += usize::from(change.interval[0] <= 1.05 && 1.05 <= change.interval[1]);
        assert!(change.interval[1] - change.interval[0] > 0.008, "{:?}", change.interval);
        assert_eq!(report.exit(true), Exit::Regression);

        let report = under_two_drivers(night, seed, [38, 39], level(0.006), false);
        small += report.cases[0].series[0].unclear;
        assert!(report.changes().len() <= 1);
    }
    assert!(within >= 46, "the size is within its interval in {within} of 50");
    assert!(small >= 25, "a small change may be the error of the join in {small} of 50");
}

/// Times before and after a change are those of the driver that it came under, and differ by the change.
#[test]
fn times_of_a_joined_series_agree_with_the_change() {
    let level = |commit: usize| if commit < 50 { 1.0 } else { 1.03 };
    let report = under_two_drivers(night, 1, [38, 39], level, true);
    let [(_, change)] = report.changes()[..] else { panic!("{:?}", report.changes()) };
    let [before, after] = change.times.map(Nanoseconds::as_f64);
    assert!((after / before / change.ratio - 1.0).abs() < 1e-9, "{change:?}");
    assert!((before / 1.04e5 - 1.0).abs() < 0.005 && (after / 1.0712e5 - 1.0).abs() < 0.005, "{change:?}");
}

/// The time of a night over the usual one.
type Night = fn(&mut SmallRng) -> f64;

/// Nights of these kinds of noise.
const KINDS: [(&str, Night); 4] = [
    ("normal", |random| 1.0 + Normal::new(0.0, 0.002).expect("it is one").sample(random)),
    ("heavy tails", |random| 1.0 + 0.002 * StudentT::new(4.0).expect("it is one").sample(random)),
    ("two modes", |random| night(random) + 0.01 * f64::from(random.random_bool(0.3))),
    ("outliers", |random| {
        night(random) + 0.05 * f64::from(random.random_bool(0.02)) * random.random::<f64>()
    }),
];

/// The number of `seeds` in which something is said to have changed by a join of unchanged series.
fn alarms(night: Night, again: [usize; 2], seeds: u64) -> usize {
    let has = |seed: &u64| !under_two_drivers(night, *seed, again, |_| 1.0, false).changes().is_empty();
    (0..seeds).filter(has).count()
}

#[test]
fn a_join_is_no_change() {
    for (kind, night) in KINDS {
        let alarms = alarms(night, [38, 39], 200);
        assert!(alarms <= 2, "{kind}: {alarms} of 200");
    }
}

/// The figures of decision 94 about joins.
#[test]
#[ignore = "a simulation of minutes, which prints its figures"]
#[expect(clippy::print_stdout, reason = "its figures are read by whoever runs it")]
fn simulated_joins() {
    for (kind, night) in KINDS {
        for again in [[38, 39], [0, 39]] {
            println!("{kind}, commits {again:?} twice: alarms in {} of 5000", alarms(night, again, 5000));
        }
    }
}
