//! Test mode: each benchmark is launched once. In: the options. Out: much the same as from `cargo test`: a line for each
//! benchmark, then the failures with their reasons, then a line that counts them.

use std::fmt::Write;

use super::cli::Exit;
use super::measure::{ended_early, run_config};
use super::options::MeasureOptions;
use super::prepare::{Task, lister, plan_on_devices};
use super::progress::Progress;
use super::sharing::Sharing;
use super::signals::Stop;
use super::{Error, messages};
use crate::peaks::PeakSources;
use crate::plan::{Ignored, Plan, PlanError};
use crate::runner::trial::{self, Outcome, Trial};
use gpubench_records::text::{printable, printable_lines};
use gpubench_records::verdict::State;
use gpubench_report::style::{BOLD, of_state};

/// Launches each benchmark once. Returns the text to print, and the end of the program. A filter that leaves nothing is
/// no error: `cargo test FILTER` passes it to every target. Benchmarks that need a missing device are ignored, unless
/// `--ignored` requests just those: a test runner takes a successful run of one benchmark as a passed test. Of a `suite` that is
/// split, a task launches its share.
pub(super) fn test(options: &MeasureOptions, suite: &str) -> Result<(String, Result<Exit, Error>), Error> {
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
    let plan = Sharing::of(options, suite, None)?.narrow(plan);
    let stop = Stop::on_signals();
    let mut progress = Progress::over(plan.jobs.len(), "benchmarks");
    let config = run_config(options, PeakSources::default(), Vec::new(), lister.library.take());
    drop(lister);
    let stops = || stop.signal().is_some();
    let (mut trials, ended) =
        trial::run(&plan, &config, &mut |job| progress.try_job(job), &mut messages::warn, &stops);
    drop(progress);
    let demanded = options.selection.ignored == Ignored::Only;
    trials.extend(trial::absent(&plan, demanded));
    let ended = match ended {
        Ok(()) => Ok(exit(&trials, demanded && !plan.absent.is_empty())),
        Err(cause) => Err(ended_early(cause, &stop, false)),
    };
    Ok((text(&trials, plan.ignored), ended))
}

fn exit(trials: &[Trial], lacks_device: bool) -> Exit {
    let failed = trials.iter().any(|trial| matches!(trial.outcome, Outcome::Failed(_)));
    let exit = if failed { Exit::Failed } else { Exit::Done };
    if lacks_device { exit.min(Exit::NoDevice) } else { exit }
}

/// Formats the results of test mode. `ignored` is the number of further benchmarks that were left out.
fn text(trials: &[Trial], ignored: usize) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for Trial { name, outcome } in trials {
        let style = of_state(state(outcome));
        let (name, outcome) = (printable(name), printable(&outcome.to_string()));
        _ = writeln!(text, "test {name} ... {style}{outcome}{style:#}");
    }
    let failures = || {
        trials.iter().filter_map(|trial| match &trial.outcome {
            Outcome::Failed(failure) => Some((&trial.name, failure)),
            _ => None,
        })
    };
    if failures().next().is_some() {
        _ = writeln!(text, "\n{BOLD}failures{BOLD:#}:");
    }
    for (name, failure) in failures() {
        _ = writeln!(text, "  {}: {}", printable(name), printable_lines(&failure.to_string()));
    }
    let failed = failures().count();
    let skipped = trials.iter().filter(|trial| matches!(trial.outcome, Outcome::Skipped(_))).count();
    let without_device = trials.iter().filter(|trial| matches!(trial.outcome, Outcome::Ignored(_))).count();
    let passed = trials.len() - failed - skipped - without_device;
    let ignored = ignored + without_device;
    let (word, style) =
        if failed == 0 { ("ok", of_state(State::Valid)) } else { ("FAILED", of_state(State::Invalid)) };
    _ = writeln!(
        text,
        "\ntest result: {style}{word}{style:#}. {passed} passed; {failed} failed; {skipped} skipped; {ignored} ignored; \
         nothing timed"
    );
    text
}

fn state(outcome: &Outcome) -> State {
    match outcome {
        Outcome::Passed | Outcome::Launched | Outcome::Skipped(_) => State::Valid,
        // It is unknown if it works.
        Outcome::Ignored(_) => State::Suspect,
        Outcome::Failed(_) => State::Invalid,
    }
}
