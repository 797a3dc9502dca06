//! The rest of an earlier run, in memory: its order, and which of its cases are measured again.

use super::*;
use gpubench_records::files::EarlierRun;
use gpubench_records::record::Package;
use gpubench_records::sampling::Sampling;

/// The program that measured then and measures now.
fn program() -> Program {
    Program { fingerprint: Some("0123456789abcdef".to_owned()), ..Program::default() }
}

/// Measures the rest of `plan`, of which `earlier` is a part, with this sampling and a limit of so many seconds.
fn resumed(plan: &Plan, earlier: Run, sampling: Sampling, limit: u64) -> Outcome {
    let earlier = EarlierRun { name: "then".to_owned(), run: earlier, remarks: Vec::new() };
    let (program, limit) = (program(), Duration::from_secs(limit));
    let resumed = ResumedRecords::of_earlier(earlier, plan, &program, &sampling, limit.into());
    let beginning = Beginning { program, notes: Vec::new(), resumed, task: None };
    let config = RunConfig { sampling, timeout: limit, ..config(1) };
    Outcome::beginning_with(plan, Script::default(), beginning, &config, &|| false)
}

/// A run of `plan` that ended before the cases of `lost`.
fn earlier(plan: &Plan, lost: &[&str], faults: &[Fault]) -> Run {
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
    assert_eq!(resumed(&plan, rebuilt, Sampling::USUAL, 7).heard.records.len(), 2);
}

#[test]
fn a_case_that_failed_for_want_of_time_is_measured_again_with_another_limit() {
    let plan = plan(&["a", "b"], &["fake"]);
    let hung = || earlier(&plan, &[], &[Fault::Hangs("a")]);
    let again = resumed(&plan, hung(), Sampling::USUAL, 9);
    assert_eq!(again.rows(), [valid("a hot"), valid("a cold"), valid("b hot"), valid("b cold")]);
    assert_eq!(again.heard.records, ["a hot"]);
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
    let resumed = ResumedRecords::of_earlier(earlier, &plan, &program(), &Sampling::USUAL, limit.into());
    let beginning = Beginning { program: program(), notes: Vec::new(), resumed, task: None };
    let done = Outcome::beginning_with(&plan, Script::default(), beginning, &config(1), &|| false);
    assert_eq!(done.heard.warnings, ["resuming then: line 3 is damaged"]);
}
