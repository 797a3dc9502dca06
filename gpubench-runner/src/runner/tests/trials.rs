//! Test mode against workers in memory.

use super::scripted::{Replies, Scripted, failed, killed};
use super::*;
use crate::runner::single_cases::{SingleCases, Trial, TrialOutcome, run_trials, trials_without_device};

struct Tried {
    outcomes: Vec<(String, String)>,
    ended: Result<(), RunError>,
    started: Vec<String>,
    warnings: Vec<String>,
    workers: Vec<usize>,
    /// The numbers of workers that were started and that were let end by themselves.
    lives: [usize; 2],
}

fn outcomes(trials: &[Trial]) -> Vec<(String, String)> {
    let told = |trial: &Trial| match &trial.outcome {
        TrialOutcome::Passed => "passed".to_owned(),
        TrialOutcome::Launched => "launched".to_owned(),
        TrialOutcome::Skipped(why) => format!("skipped: {why}"),
        TrialOutcome::Ignored(why) => format!("ignored: {why}"),
        TrialOutcome::Failed(failure) => format!("failed: {failure}"),
    };
    trials.iter().map(|trial| (trial.name.clone(), told(trial))).collect()
}

fn tried(
    plan: &Plan,
    config: &RunConfig,
    fail_fast: bool,
    stop: &Stop<'_>,
    script: fn(usize, &Request) -> Replies,
) -> Tried {
    let (scripted, mut started, mut warnings) = (Scripted::by(script), Vec::new(), Vec::new());
    let mut begun = |job: &Job| started.push(job.to_string());
    let warn = Box::new(|warning| warnings.push(warning));
    let mut cases = SingleCases::new(scripted.supervisor(stop, warn), config);
    let (trials, ended) = run_trials(&mut cases, plan, fail_fast, &mut begun);
    drop(cases);
    let (workers, lives) = (scripted.workers(), scripted.lives());
    Tried { outcomes: outcomes(&trials), ended, started, warnings, workers, lives }
}

/// Answers by the name of the benchmark.
fn by_name(_: usize, request: &Request) -> Replies {
    let Request::Test { job } = request else { panic!("{request:?}") };
    match &*job.benchmark {
        "checked" => (vec![Reply::Remark("it prints much".to_owned()), Reply::Tested(Ok(true))], None),
        "launched" => (vec![Reply::Tested(Ok(false))], None),
        "wrong" => (vec![Reply::Tested(Err(failed(Stage::Check)))], None),
        "closed" => (vec![Reply::NoDevice("it is closed".to_owned())], None),
        "silent" => (Vec::new(), None),
        _ => (Vec::new(), Some(killed())),
    }
}

fn told(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, outcome)| ((*name).to_owned(), (*outcome).to_owned())).collect()
}

#[test]
fn each_job_has_its_outcome_and_costs_no_other() {
    let names = ["checked", "skipped", "broken", "wrong", "closed", "silent", "killed", "launched"];
    let mut plan = plan(&names, &["fake"]);
    plan.jobs[1].1 = JobStatus::Skipped("too small".to_owned());
    plan.jobs[2].1 = JobStatus::Broken(failed(Stage::Args));
    let done = tried(&plan, &config(1), false, &|| false, by_name);
    let expected = told(&[
        ("checked", "passed"),
        ("skipped", "skipped: too small"),
        ("broken", "failed: args: out of paper"),
        ("wrong", "failed: check: out of paper"),
        ("closed", "failed: device: it is closed"),
        ("silent", "failed: worker: sent no result"),
        ("killed", "failed: worker: its process was ended by SIGKILL"),
        ("launched", "launched"),
    ]);
    assert!(done.ended.is_ok());
    assert_eq!(done.outcomes, expected);
    assert_eq!(done.started, ["checked", "wrong", "closed", "silent", "killed", "launched"]);
    assert_eq!(done.warnings, ["it prints much"]);
}

/// A worker that ends by itself prints what it has buffered.
#[test]
fn each_device_has_a_worker_of_its_own_that_ends_by_itself() {
    let plan = plan(&["checked", "launched"], &["fake:0", "fake:1"]);
    let done = tried(&plan, &config(1), false, &|| false, by_name);
    assert_eq!((done.workers, done.lives), (vec![1, 1, 2, 2], [2, 2]));
    let names: Vec<_> = done.outcomes.iter().map(|(name, _)| &**name).collect();
    let expected = ["checked on fake:0", "launched on fake:0", "checked on fake:1", "launched on fake:1"];
    assert_eq!(names, expected);
}

/// The state that an earlier job left may be the cause. In this process there is no other to try it in.
#[test]
fn a_failure_is_tried_again_in_a_new_worker() {
    let both = plan(&["checked", "wrong"], &["fake"]);
    let workers = |config: &RunConfig| tried(&both, config, false, &|| false, by_name).workers;
    assert_eq!(workers(&config(1)), [1, 1, 2]);
    assert_eq!(workers(&in_process()), [1, 1]);
    let once: fn(usize, &Request) -> Replies = |number, request| match number {
        2 => by_name(number, request),
        _ => (vec![Reply::Tested(Ok(true))], None),
    };
    let done = tried(&both, &config(1), false, &|| false, once);
    assert_eq!(done.outcomes, told(&[("checked", "passed"), ("wrong", "passed")]));
}

#[test]
fn tests_end_at_a_failure_or_an_interrupt() {
    let plan = plan(&["checked", "wrong", "launched"], &["fake"]);
    let done = tried(&plan, &config(1), true, &|| false, by_name);
    assert!(done.ended.is_ok());
    assert_eq!(done.outcomes.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["checked", "wrong"]);
    let stopped = tried(&plan, &config(1), false, &|| true, by_name);
    assert!(matches!(stopped.ended, Err(RunError::Interrupted)));
    assert!(stopped.outcomes.is_empty() && stopped.started.is_empty());
}

#[test]
fn what_needs_a_missing_device_is_ignored_unless_that_is_demanded() {
    let mut plan = plan(&["a"], &["fake"]);
    let (job, _) = plan.jobs.remove(0);
    plan.absent.push((job, "there is no GPU".to_owned()));
    let absent = |demanded| outcomes(&trials_without_device(&plan, demanded).collect::<Vec<_>>());
    assert_eq!(absent(false), told(&[("a", "ignored: there is no GPU")]));
    assert_eq!(absent(true), told(&[("a", "failed: device: there is no GPU")]));
}
