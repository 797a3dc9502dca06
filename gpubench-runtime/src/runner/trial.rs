//! Test mode: launches every job once, checks its outputs and times nothing. A job that crashes or hangs costs itself and no other.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::Duration;

use crate::plan::{Job, JobStatus, Plan};
use crate::runner::supervisor::Supervisor;
use crate::runner::{RunConfig, RunError};
use crate::worker::{Reply, Request};
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

/// Tries every job of `plan` with the workers of `supervisor`, until all are done or the user wants to stop; with `fail_fast`, until
/// one fails. Calls `job_started` before each launch.
pub(crate) fn run(
    mut supervisor: Supervisor<'_>,
    plan: &Plan,
    config: &RunConfig,
    fail_fast: bool,
    job_started: &mut dyn FnMut(&Job),
) -> (Vec<Trial>, Result<(), RunError>) {
    let mut trials = Vec::with_capacity(plan.jobs.len());
    let mut jobs_by_name: BTreeMap<String, usize> = BTreeMap::new();
    plan.jobs.iter().for_each(|(job, _)| *jobs_by_name.entry(job.to_string()).or_default() += 1);
    for (job, status) in &plan.jobs {
        let outcome = match status {
            JobStatus::Skipped(why) => Ok(Outcome::Skipped(why.clone())),
            JobStatus::Broken(failure) => Ok(Outcome::Failed(failure.clone())),
            JobStatus::Measured if supervisor.stops() => Err(RunError::Interrupted),
            JobStatus::Measured => {
                job_started(job);
                let is_used = supervisor.is_used(&job.device);
                match test(&mut supervisor, job, config.limit(job)) {
                    // Something that an earlier job has left behind may be at fault: it is tried once more, alone.
                    Ok(Outcome::Failed(_)) if is_used && !config.in_process => {
                        supervisor.replace(&job.device);
                        test(&mut supervisor, job, config.limit(job))
                    }
                    tested => tested,
                }
            }
        };
        match outcome {
            Ok(outcome) => {
                let name = job.to_string();
                let is_on_several = jobs_by_name.get(&name).is_some_and(|number| *number > 1);
                let name = if is_on_several { format!("{name} on {}", job.device) } else { name };
                trials.push(Trial { name, outcome });
            }
            Err(error) => return (trials, Err(error)),
        }
        if fail_fast && trials.last().is_some_and(|trial| matches!(trial.outcome, Outcome::Failed(_))) {
            break;
        }
    }
    supervisor.dismiss();
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

fn test(supervisor: &mut Supervisor<'_>, job: &Job, limit: Duration) -> Result<Outcome, RunError> {
    let (tested, _) =
        supervisor.answer(&Request::Test { job: job.clone() }, limit, &|reply| match reply {
            Reply::Tested(outcome) => Some(outcome),
            _ => None,
        })?;
    Ok(match tested {
        Ok(true) => Outcome::Passed,
        Ok(false) => Outcome::Launched,
        Err(failure) => Outcome::Failed(failure),
    })
}
