//! Test mode: launches each benchmark once, and prints the outcomes much as `cargo test` does, in the formats of libtest: a line or a letter
//! for each benchmark, then the failures with their reasons, then a line that counts them; or an object of JSON a line.

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::cli::TextFormat;
use super::measure::ended_early;
use super::prepare::{Planner, Task};
use super::{SuiteError, error::warn, progress::Progress, share::Share};
use crate::plan::{Plan, PlanError};
use crate::runner::RunConfig;
use crate::runner::single_cases::{Outcome, SingleCases, Trial, absent_trials, run_trials};
use crate::{peaks::PeakSources, settings::Settings, system::stopping::SignalWatch};
use gpubench_records::State;
use gpubench_records::exit::Exit;
use gpubench_records::text::{printable, printable_lines};
use gpubench_table::style::{BOLD, of_state};

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
    let mut planner = Planner::new(Task::Test, &entries, options, Share::default())?;
    let plan = match planner.plan_on_devices(options.device.as_deref())?.0 {
        Ok(plan) => plan,
        Err(PlanError::Nothing { ignored, .. }) => Plan { ignored, ..Plan::default() },
        Err(error) => return Err(error.into()),
    };
    let plan = Share::new(options).map_err(SuiteError::usage)?.narrow(plan);
    let driver = planner.lister.library.take();
    drop(planner);
    let watch = SignalWatch::start();
    let mut progress = Progress::over(plan.jobs.len(), "benchmarks");
    let config = RunConfig::new(options, PeakSources::default(), None, driver);
    let stops = || watch.has_signal();
    let show_warning = Box::new(|warning: String| warn(&warning));
    let mut cases = SingleCases::new(config.supervisor(&stops, show_warning), &config);
    let (mut trials, ended) = run_trials(&mut cases, &plan, fail_fast, &mut |job| progress.try_job(job));
    drop(cases);
    drop(progress);
    let left = plan.jobs.len() - trials.len();
    let demanded = options.ignored && !options.include_ignored;
    trials.extend(absent_trials(&plan, demanded));
    let counts = Counts::new(&trials, plan.ignored, left);
    let ended = match ended {
        Ok(()) => {
            let exit = if counts.failed > 0 { Exit::Failed } else { Exit::Done };
            Ok(if demanded && !plan.absent.is_empty() { exit.min(Exit::NoDevice) } else { exit })
        }
        Err(cause) => Err(ended_early(cause, &watch, false)),
    };
    let text = match format {
        TextFormat::Pretty | TextFormat::Terse => lines(&trials, &counts, format),
        TextFormat::Json => json(&trials, &counts, began.elapsed()),
    };
    Ok((text, ended))
}

/// The numbers of outcomes.
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Also the benchmarks that are marked `ignore`.
    ignored: usize,
    /// Benchmarks without an outcome, since an earlier one failed or a signal came.
    left: usize,
}

impl Counts {
    fn new(trials: &[Trial], ignored: usize, left: usize) -> Self {
        let mut counts = Self { passed: 0, failed: 0, skipped: 0, ignored, left };
        for trial in trials {
            *match trial.outcome {
                Outcome::Passed | Outcome::Launched => &mut counts.passed,
                Outcome::Failed(_) => &mut counts.failed,
                Outcome::Skipped(_) => &mut counts.skipped,
                Outcome::Ignored(_) => &mut counts.ignored,
            } += 1;
        }
        counts
    }
}

fn lines(trials: &[Trial], counts: &Counts, format: TextFormat) -> String {
    // Writing to a string cannot fail.
    let (mut text, mut failures) = (String::new(), String::new());
    for Trial { name, outcome } in trials {
        let (name, words) = (printable(name), printable(&outcome.to_string()));
        let (state, letter) = match outcome {
            Outcome::Passed | Outcome::Launched => (State::Valid, '.'),
            Outcome::Skipped(_) => (State::Valid, 'i'),
            // It is unknown if it works.
            Outcome::Ignored(_) => (State::Suspect, 'i'),
            Outcome::Failed(failure) => {
                _ = writeln!(failures, "  {name}: {}", printable_lines(&failure.to_string()));
                (State::Invalid, 'F')
            }
        };
        let style = of_state(state);
        _ = match format {
            TextFormat::Terse => write!(text, "{style}{letter}{style:#}"),
            _ => writeln!(text, "test {name} ... {style}{words}{style:#}"),
        };
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if !failures.is_empty() {
        _ = write!(text, "\n{BOLD}failures{BOLD:#}:\n{failures}");
    }
    let Counts { passed, failed, skipped, ignored, left } = counts;
    let (word, state) = match (failed, left) {
        (0, 0) => ("ok", State::Valid),
        (0, _) => ("incomplete", State::Suspect),
        _ => ("FAILED", State::Invalid),
    };
    let style = of_state(state);
    let left = if *left == 0 { String::new() } else { format!("{left} not tested; ") };
    _ = writeln!(
        text,
        "\ntest result: {style}{word}{style:#}. {passed} passed; {failed} failed; {skipped} skipped; {ignored} ignored; \
         {left}nothing timed"
    );
    text
}

/// Returns the events of libtest's JSON, which editors read.
fn json(trials: &[Trial], counts: &Counts, elapsed: Duration) -> String {
    let mut text = json_line(&[
        ("type", "suite".into()),
        ("event", "started".into()),
        ("test_count", trials.len().into()),
    ]);
    for Trial { name, outcome } in trials {
        let mut test = |event: &str, more: Option<(&str, String)>| {
            let mut pairs =
                vec![("type", "test".into()), ("event", event.into()), ("name", name.as_str().into())];
            pairs.extend(more.map(|(key, value)| (key, value.into())));
            text += &json_line(&pairs);
        };
        test("started", None);
        match outcome {
            Outcome::Passed | Outcome::Launched => test("ok", None),
            Outcome::Skipped(why) | Outcome::Ignored(why) => test("ignored", Some(("message", why.clone()))),
            // Editors show this as output of the test.
            Outcome::Failed(failure) => test("failed", Some(("stdout", format!("{failure}\n")))),
        }
    }
    let Counts { passed, failed, skipped, ignored, left } = *counts;
    text + &json_line(&[
        ("type", "suite".into()),
        ("event", if failed + left == 0 { "ok" } else { "failed" }.into()),
        ("passed", passed.into()),
        ("failed", failed.into()),
        ("ignored", (ignored + skipped).into()),
        ("measured", 0.into()),
        ("filtered_out", left.into()),
        ("exec_time", elapsed.as_secs_f64().into()),
    ])
}

/// Returns an object as a line, with its keys in this order.
pub(super) fn json_line(pairs: &[(&str, Value)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}\n", pairs.join(","))
}
