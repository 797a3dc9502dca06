//! Test mode: each benchmark is launched once. In: the options. Out: the text that `trials` makes of the outcomes, and the end of the
//! program.

use std::time::Instant;

use super::cli::{Exit, TextFormat};
use super::measure::{ended_early, run_config};
use super::prepare::{Task, lister, plan_on_devices};
use super::progress::Progress;
use super::sharing::Sharing;
use super::signals::Stop;
use super::trials::{self, Uncounted};
use super::{SuiteError, messages};
use crate::peaks::PeakSources;
use crate::plan::{Ignored, Plan, PlanError};
use crate::runner::trial::{self, Outcome, Trial};
use crate::settings::Settings;

/// Launches each benchmark once. Returns the text to print, and the end of the program. A filter that leaves nothing is
/// no error: `cargo test FILTER` passes it to every target. Benchmarks that need a missing device are ignored, unless
/// `--ignored` requests just those: a test runner takes a successful run of one benchmark as a passed test. With `--share`, a task
/// launches its share.
pub(super) fn test(
    options: &Settings,
    format: TextFormat,
    fail_fast: bool,
) -> Result<(String, Result<Exit, SuiteError>), SuiteError> {
    let began = Instant::now();
    let entries = Task::Test.entries();
    let mut lister = lister(options);
    let (planned, _) = plan_on_devices(
        Task::Test,
        &entries,
        options,
        options.device.as_deref(),
        &Sharing::default(),
        &mut lister,
    )?;
    let plan = match planned {
        Ok(plan) => plan,
        Err(PlanError::Nothing { ignored, .. }) => Plan { ignored, ..Plan::default() },
        Err(error) => return Err(error.into()),
    };
    let plan = Sharing::of(options)?.narrow(plan);
    let stop = Stop::on_signals();
    let mut progress = Progress::over(plan.jobs.len(), "benchmarks");
    let config = run_config(options, PeakSources::default(), None, lister.library.take());
    drop(lister);
    let stops = || stop.signal().is_some();
    let (mut trials, ended) =
        trial::run(&plan, &config, fail_fast, &mut |job| progress.try_job(job), &mut messages::warn, &stops);
    drop(progress);
    let left = plan.jobs.len() - trials.len();
    let demanded = options.selection()?.ignored == Ignored::Only;
    trials.extend(trial::absent(&plan, demanded));
    let ended = match ended {
        Ok(()) => Ok(exit(&trials, demanded && !plan.absent.is_empty())),
        Err(cause) => Err(ended_early(cause, &stop, false)),
    };
    let elapsed = began.elapsed();
    Ok((trials::text(&trials, &Uncounted { ignored: plan.ignored, left, elapsed }, format), ended))
}

fn exit(trials: &[Trial], lacks_device: bool) -> Exit {
    let failed = trials.iter().any(|trial| matches!(trial.outcome, Outcome::Failed(_)));
    let exit = if failed { Exit::Failed } else { Exit::Done };
    if lacks_device { exit.min(Exit::NoDevice) } else { exit }
}
