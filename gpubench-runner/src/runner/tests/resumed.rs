//! The rest of an earlier run, in memory: its order, and which of its cases are measured again.

use super::*;
use crate::settings::StatedPeak;
use gpubench_records::{
    Answer as Compares, BenchmarkId, Compared, Comparison, EarlierRun, Package, Sampling,
};

use gpubench_stats::Nanoseconds;

/// The program that measured then and measures now.
fn program() -> Program {
    Program { fingerprint: Some("0123456789abcdef".to_owned()), ..Program::default() }
}

/// Measures the rest of `plan`, of which `earlier` is a part, with this sampling and a limit of this many seconds.
fn resumed(plan: &Plan, earlier: Run, sampling: Sampling, limit: u64) -> TestRun {
    let earlier = EarlierRun { name: "then".to_owned(), run: earlier, remarks: Vec::new() };
    let (program, limit) = (program(), Duration::from_secs(limit));
    let resumed = ResumedRecords::from_earlier(earlier, plan, &program, &sampling, limit.into());
    let setup = RunSetup { program, resumed, ..setup(plan) };
    let mut config = config(1);
    config.settings.timeout = Some(limit);
    TestRun::of_setup(setup, WorkerScript::default(), &config, &|| false)
}

/// Returns what is valid of `earlier` for `plan`, with the settings of then.
fn valid_of(earlier: Run, plan: &Plan) -> ResumedRecords {
    let earlier = EarlierRun { name: "then".to_owned(), run: earlier, remarks: Vec::new() };
    let limit = Duration::from_secs(7);
    ResumedRecords::from_earlier(earlier, plan, &program(), &Sampling::USUAL, limit.into())
}

/// A run of `plan` that ended before the cases of `lost`.
fn earlier(plan: &Plan, lost: &[&str], faults: &[WorkerFault]) -> Run {
    let mut run = measured(plan, faults).run;
    run.program = program();
    run.records.retain(|record| !lost.contains(&record.case.to_string().as_str()));
    run
}

#[test]
fn what_is_there_is_not_measured_again_and_stands_in_the_order_of_the_plan() {
    let plan = plan(&["a", "b", "c"], &["fake"]);
    let mut earlier = earlier(&plan, &["a cold", "b hot", "b cold"], &[]);
    earlier.records.reverse();
    let done = resumed(&plan, earlier, Sampling::USUAL, 7);
    assert!(done.ended.is_ok());
    let all = ["a hot", "a cold", "b hot", "b cold", "c hot", "c cold"];
    assert_eq!(done.rows(), all.map(valid), "each once, in the order of the plan");
    assert_eq!(done.heard.records, ["a cold", "b hot", "b cold"]);
    let asked = done.script.asked.iter().filter(|(_, what)| what.starts_with('c'));
    assert_eq!(
        (&done.heard.jobs[..], asked.count()),
        (&["a".to_owned(), "b".to_owned()][..], 0),
        "nothing of `c` is left"
    );
    let note = done.run.resumed.expect("a part is of the earlier run");
    assert_eq!((&*note.run, note.kept, note.planned), ("then", 3, 6));
    assert_eq!(done.heard.warnings, [""; 0], "there is nothing to remark");
}

#[test]
fn a_whole_run_is_measured_no_more() {
    let plan = plan(&["a"], &["fake"]);
    let done = resumed(&plan, earlier(&plan, &[], &[]), Sampling::USUAL, 7);
    assert_eq!(done.rows(), [valid("a hot"), valid("a cold")]);
    assert_eq!((done.script.started, done.script.asked.len(), done.heard.records.len()), (0, 0, 0));
}

#[test]
fn other_settings_or_another_build_measure_everything_again() {
    let plan = plan(&["a"], &["fake"]);
    let finer = Sampling { precision: 0.001, ..Sampling::USUAL };
    let done = resumed(&plan, earlier(&plan, &[], &[]), finer, 7);
    assert_eq!((done.heard.records.len(), done.run.resumed), (2, None));
    let mut rebuilt = earlier(&plan, &[], &[]);
    rebuilt.program.fingerprint = Some("fedcba9876543210".to_owned());
    let done = resumed(&plan, rebuilt, Sampling::USUAL, 7);
    assert_eq!(done.heard.records.len(), 2);
    let told = "resuming then: this program was built anew since: all cases are measured again";
    assert_eq!(done.heard.warnings, [told]);
    // Of a program without a fingerprint nobody knows.
    let mut unknown = earlier(&plan, &[], &[]);
    unknown.program.fingerprint = None;
    let then = EarlierRun { name: "then".to_owned(), run: unknown.clone(), remarks: Vec::new() };
    let limit = Duration::from_secs(7).into();
    let none = ResumedRecords::from_earlier(then, &plan, &unknown.program, &Sampling::USUAL, limit);
    assert_eq!((none.for_plan(&plan).len(), none.remarks()), (0, vec![told.to_owned()]));
}

#[test]
fn a_case_that_failed_for_want_of_time_is_measured_again_with_another_limit() {
    let plan = plan(&["a", "b"], &["fake"]);
    let hung = || earlier(&plan, &[], &[WorkerFault::Hangs("a")]);
    let again = resumed(&plan, hung(), Sampling::USUAL, 9);
    assert_eq!(again.rows(), [valid("a hot"), valid("a cold"), valid("b hot"), valid("b cold")]);
    assert_eq!(again.heard.records, ["a hot"]);
    let told = "resuming then: 1 result that failed for want of a device or of time: measured again";
    assert_eq!(again.heard.warnings, [told]);
    // With the same limit it would hang again.
    let same = resumed(&plan, hung(), Sampling::USUAL, 7);
    assert_eq!((&same.rows()[0], same.heard.records.len()), (&invalid("a hot"), 0));
}

#[test]
fn records_of_cases_that_are_not_planned_now_are_left_out() {
    let (both, one) = (plan(&["a", "b"], &["fake"]), plan(&["b"], &["fake"]));
    let done = resumed(&one, earlier(&both, &["b cold"], &[]), Sampling::USUAL, 7);
    assert_eq!(done.rows(), [valid("b hot"), valid("b cold")]);
    assert_eq!(done.heard.records, ["b cold"]);
    let told = "resuming then: 2 results that the filters leave out, such as a hot, will not be in the new run: for a run with all results, use --resume=then without filters";
    assert_eq!(done.heard.warnings, [told]);
}

/// Whatever the limit is. What failed in its launch would fail again.
#[test]
fn a_case_that_had_no_device_is_measured_again() {
    let plan = plan(&["a", "fails"], &["fake"]);
    let mut then = earlier(&plan, &[], &[]);
    let device = Failure::new(Stage::Device, "it is closed");
    then.records[1] = Record::failed(then.records[1].planned(), device);
    for limit in [7, 9] {
        assert_eq!(resumed(&plan, then.clone(), Sampling::USUAL, limit).heard.records, ["a cold"]);
    }
}

/// The failure of a case may be that of its comparison, which is another case.
#[test]
fn failures_of_a_run_with_comparisons_are_measured_again() {
    let plan = plan(&["a", "fails"], &["fake"]);
    let mut then = earlier(&plan, &[], &[]);
    let measured = scripted::measurement("clockwork.jsonl");
    for record in &mut then.records[..2] {
        record.measurement = Some(measured.clone());
    }
    assert_eq!(valid_of(then.clone(), &plan).for_plan(&plan).len(), 4);
    let with = BenchmarkId { benchmark: "b".to_owned(), args: Vec::new() };
    let comparison = Comparison {
        ratio: None,
        equivalence_margin: 0.01,
        answer: Compares::Undecided,
        rounds: Vec::new(),
        seed: None,
    };
    let verdict = Verdict::of(Vec::new());
    then.records[0].compared = Some(Box::new(Compared { with, comparison, measurement: measured, verdict }));
    // The plan compares nothing, so that the comparison is no case of it either.
    let left = valid_of(then, &plan);
    assert_eq!(
        left.for_plan(&plan).iter().map(|record| record.case.to_string()).collect::<Vec<_>>(),
        ["a cold"]
    );
    assert_eq!(
        left.remarks(),
        [
            "resuming then: 2 results that failed for want of a device or of time: measured again",
            "resuming then: 1 result that the filters leave out, such as a against b hot, will not be in the new run: for a run with all results, use --resume=then without filters"
        ]
    );
}

#[test]
fn a_run_keeps_its_time() {
    let plan = plan(&["a", "b"], &["fake"]);
    let mut then = earlier(&plan, &[], &[]);
    then.wall_time = Nanoseconds::from_seconds(1000.0);
    let done = resumed(&plan, then, Sampling::USUAL, 7);
    assert!((1000.0..1060.0).contains(&done.run.wall_time.as_seconds()), "{:?}", done.run.wall_time);
}

/// A device all of whose cases are there is not opened, and another is.
#[test]
fn a_device_is_asked_for_its_facts_if_something_is_left_to_measure_on_it() {
    let plan = plan(&["a"], &["fake:0", "fake:1"]);
    let mut then = earlier(&plan, &[], &[]);
    then.records.retain(|record| record.device != "fake:1" || record.case.cache == Cache::Hot);
    let done = resumed(&plan, then.clone(), Sampling::USUAL, 7);
    assert_eq!(
        done.script.asked.iter().map(|(_, what)| &**what).collect::<Vec<_>>(),
        ["facts of fake:1", "a on fake:1"]
    );
    // Records of one that is another now are dropped, and those of the others kept.
    then.devices[1].name = "another fake".to_owned();
    let done = resumed(&plan, then, Sampling::USUAL, 7);
    assert_eq!(done.heard.records, ["a hot", "a cold"]);
    let told = "resuming then: `fake:1` was another fake, and is a fake: 1 case measured again";
    assert_eq!(done.heard.warnings, [told]);
}

/// Peaks that the user gives are of a run: the same ones change nothing, and others need new verdicts.
#[test]
fn other_peaks_of_the_user_measure_everything_again() {
    let plan = plan(&["a"], &["fake"]);
    let with_peak = |bytes: f64, resumed: ResumedRecords| {
        let mut config = config(1);
        let (device, quantity) = ("fake".to_owned(), "memory".to_owned());
        config.peak_sources.stated.push(StatedPeak {
            device,
            quantity,
            value: format!("{}GB/s", bytes / 1e9),
        });
        let setup = RunSetup { program: program(), resumed, ..setup(&plan) };
        TestRun::of_setup(setup, WorkerScript::default(), &config, &|| false)
    };
    let mut then = with_peak(1e12, ResumedRecords::default()).run;
    then.program = program();
    let same = with_peak(1e12, valid_of(then.clone(), &plan));
    assert_eq!((same.script.started, same.heard.records.len()), (0, 0));
    assert_eq!(same.run.devices[0].peaks, then.devices[0].peaks, "each is there once");
    let other = with_peak(2e12, valid_of(then, &plan));
    assert_eq!(other.heard.records.len(), 2);
    assert_eq!(
        other.heard.warnings,
        ["resuming then: other peaks are given for `fake` now: 2 cases measured again"]
    );
}

/// The commit of one build may be known at one time and not at another.
#[test]
fn what_is_known_of_the_package_makes_no_other_build() {
    let plan = plan(&["a", "b"], &["fake"]);
    let mut earlier = earlier(&plan, &["b cold"], &[]);
    earlier.program.package = Some(Package { name: "kernels".to_owned(), ..Package::default() });
    assert_eq!(resumed(&plan, earlier, Sampling::USUAL, 7).heard.records, ["b cold"]);
}

#[test]
fn records_of_another_device_are_measured_again_and_the_user_is_told() {
    let plan = plan(&["a", "b"], &["fake"]);
    let mut earlier = earlier(&plan, &["b hot"], &[]);
    earlier.devices[0].name = "another fake".to_owned();
    let done = resumed(&plan, earlier, Sampling::USUAL, 7);
    assert_eq!(done.heard.records.len(), 4);
    let told = "resuming then: `fake` was another fake, and is a fake: 3 cases measured again";
    assert_eq!(done.heard.warnings, [told]);
}

/// A file that was damaged may have lost records.
#[test]
fn damage_of_the_earlier_file_is_told() {
    let plan = plan(&["a", "b"], &["fake"]);
    let run = earlier(&plan, &["b cold"], &[]);
    let remarks = vec!["line 3 is damaged".to_owned()];
    let earlier = EarlierRun { name: "then".to_owned(), run, remarks };
    let limit = Duration::from_secs(7);
    let resumed = ResumedRecords::from_earlier(earlier, &plan, &program(), &Sampling::USUAL, limit.into());
    let setup = RunSetup { program: program(), resumed, ..setup(&plan) };
    let done = TestRun::of_setup(setup, WorkerScript::default(), &config(1), &|| false);
    assert_eq!(done.heard.warnings, ["resuming then: line 3 is damaged"]);
}
