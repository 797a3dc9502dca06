//! Test mode: launches every job once, checks its outputs and times nothing. A job that crashes or hangs costs itself and no other.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use crate::plan::{Job, JobStatus, Plan};
use crate::runner::RunError;
use crate::runner::single_cases::SingleCases;
use gpubench_records::failure::{Failure, Stage};

/// A job in test mode.
#[derive(Debug)]
pub(crate) struct Trial {
    /// Its name, with its device if it is tried on several.
    pub name: String,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The outcome of a job in test mode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It launched and passed its check.
    Passed,
    /// It launched; it has no check.
    Launched,
    /// It is left out, for the reason that its benchmark gives.
    Skipped(String),
    /// It needs a missing device.
    Ignored(String),
    /// Something went wrong.
    Failed(Failure),
}

impl Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("ok"),
            Self::Launched => f.write_str("ok (launched, nothing to check)"),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
            // As `cargo test` prints it.
            Self::Ignored(why) => write!(f, "ignored, {why}"),
            Self::Failed(_) => f.write_str("FAILED"),
        }
    }
}

/// Tries every job of `plan` until all are done or the user wants to stop; with `fail_fast`, until one fails. Calls `job_started` before
/// each launch.
pub(crate) fn run(
    cases: &mut SingleCases<'_>,
    plan: &Plan,
    fail_fast: bool,
    job_started: &mut dyn FnMut(&Job),
) -> (Vec<Trial>, Result<(), RunError>) {
    let mut trials = Vec::with_capacity(plan.jobs.len());
    let mut jobs_by_name: BTreeMap<String, usize> = BTreeMap::new();
    plan.jobs.iter().for_each(|(job, _)| *jobs_by_name.entry(job.to_string()).or_default() += 1);
    for (job, status) in &plan.jobs {
        let outcome = match status {
            JobStatus::Skipped(why) => Outcome::Skipped(why.clone()),
            JobStatus::Broken(failure) => Outcome::Failed(failure.clone()),
            JobStatus::Measured if cases.stops() => return (trials, Err(RunError::Interrupted)),
            JobStatus::Measured => {
                job_started(job);
                match cases.test(job) {
                    Ok(Ok(true)) => Outcome::Passed,
                    Ok(Ok(false)) => Outcome::Launched,
                    Ok(Err(failure)) => Outcome::Failed(failure),
                    Err(error) => return (trials, Err(error)),
                }
            }
        };
        let is_last = fail_fast && matches!(outcome, Outcome::Failed(_));
        let name = job.to_string();
        let name = if jobs_by_name[&name] > 1 { format!("{name} on {}", job.device) } else { name };
        trials.push(Trial { name, outcome });
        if is_last {
            break;
        }
    }
    cases.dismiss();
    (trials, Ok(()))
}

/// Returns the jobs of `plan` that need a missing device. They fail if exactly those were `demanded`.
pub(crate) fn absent(plan: &Plan, demanded: bool) -> impl Iterator<Item = Trial> {
    plan.absent.iter().map(move |(job, why)| {
        let outcome = match demanded {
            true => Outcome::Failed(Failure::new(Stage::Device, why)),
            false => Outcome::Ignored(why.clone()),
        };
        Trial { name: job.to_string(), outcome }
    })
}
