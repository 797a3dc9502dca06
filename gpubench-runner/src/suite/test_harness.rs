//! The actions that test runners call, with output much as libtest has: `--list` prints the selected benchmarks, and `--test` launches each
//! once and prints the outcomes.

use std::fmt::Write;
use std::time::{Duration, Instant};

use super::prepare::{Planner, Purpose, kinds_of};
use super::{Error, cli::TextFormat, output::warn, progress::Progress, share::TaskShare};
use crate::plan::{Ignored, Plan, PlanError};
use crate::runner::RunConfig;
use crate::runner::single_cases::{SingleCases, Trial, TrialOutcome, run_trials, trials_without_device};
use crate::{select, settings::Settings, system};
use gpubench_records::text::{printable, printable_lines};
use gpubench_records::{Exit, State};
use gpubench_runtime::{Job, JobStatus, device::Available, registry};
use gpubench_stats::format::counted;
use gpubench_table::text::{BOLD, state_style};

/// Returns a value as JSON.
macro_rules! json {
    ($value:expr) => {
        serde_json::to_string(&$value).unwrap_or_default()
    };
}

/// Returns the list of the selected benchmarks, ignored ones included, whether or not this machine has their
/// devices. With `--share`, lists only those of this task. Starts a worker for their arguments.
pub(super) fn list(options: &Settings, format: TextFormat) -> Result<String, Error> {
    let (entries, device) = (registry::entries(), options.device.as_deref());
    let mut kinds: Vec<_> = kinds_of(&entries)
        .into_iter()
        .filter(|kind| device.is_none_or(|device| select::may_name_kind(device, kind)))
        .map(|kind| Available::new(kind, kind))
        .collect();
    // A runner lists all programs of a workspace for one device: of those for others it lists nothing.
    if let (Some(device), [], false) = (device, &kinds[..], format == TextFormat::Terse) {
        let message = format!(
            "--device {device}: no benchmark of this program runs on such a device: leave out --device and GPUBENCH_DEVICE to list all"
        );
        return Err(Error::new(message, Exit::NoDevice));
    }
    let mut planner = Planner::new(Purpose::Measure, &entries, options, TaskShare::new(options)?)?;
    // A test runner learns here which benchmarks are ignored. On this machine these include the ones without a device.
    planner.selection.absent_are_ignored = true;
    let missing = if planner.selection.ignored == Ignored::Only && format == TextFormat::Terse {
        planner.search_devices(device).missing(device)
    } else {
        Vec::new()
    };
    // Test runners expect ignored benchmarks in a list.
    let leaves_out_ignored = planner.selection.ignored == Ignored::Excluded;
    if leaves_out_ignored {
        planner.selection.ignored = Ignored::Included;
    }
    kinds.retain(|found| missing.iter().all(|missing| missing.kind != found.kind));
    let asks_for_ignored = options.ignored && options.filter.is_empty();
    let plan = match Plan::new(&entries, &planner.selection, &kinds, &missing, &mut planner.lister) {
        Ok(mut plan) => {
            plan.jobs.extend(plan.absent.drain(..).map(|(job, _)| (job, JobStatus::Measured)));
            plan
        }
        // A test runner asks each program, and most have nothing for it. That nothing is ignored is no mistake.
        Err(PlanError::Nothing { .. }) if format == TextFormat::Terse || asks_for_ignored => Plan::default(),
        Err(error) => return Err(error.into()),
    };
    let is_ignored = |job: &Job| {
        leaves_out_ignored
            && entries.iter().any(|entry| entry.options.ignore && entry.path() == job.benchmark)
    };
    Ok(list_text(&planner.share.keep_own_part(plan), format, is_ignored))
}

/// Returns the list as text: a line for each job of `plan`. The pretty format also marks jobs that a run leaves out as skipped or
/// ignored, and ends with a blank line and the numbers of benchmarks and results. JSON has the device, the cache states and the reason of a
/// skip.
fn list_text(plan: &Plan, format: TextFormat, is_ignored: impl Fn(&Job) -> bool) -> String {
    let mut text = String::new();
    let (mut skipped, mut ignored, mut results) = (0, 0, 0);
    // Writing to a string cannot fail.
    for (job, status) in &plan.jobs {
        let name = printable(&job.to_string());
        let mark = match status {
            JobStatus::Skipped(why) => {
                skipped += 1;
                format!(" (skipped: {})", printable(why))
            }
            _ if is_ignored(job) => {
                ignored += 1;
                " (ignored)".to_owned()
            }
            _ => {
                results += job.caches.len();
                String::new()
            }
        };
        _ = match format {
            TextFormat::Pretty => writeln!(text, "{name}: benchmark{mark}"),
            TextFormat::Terse => writeln!(text, "{name}: benchmark"),
            TextFormat::Json => {
                let (name, device, caches) = (json!(job.to_string()), json!(job.device), json!(job.caches));
                let skipped = match status {
                    JobStatus::Skipped(why) => format!(",\"skipped\":{}", json!(why)),
                    _ => String::new(),
                };
                writeln!(text, "{{\"name\":{name},\"device\":{device},\"caches\":{caches}{skipped}}}")
            }
        };
    }
    if format == TextFormat::Pretty {
        let [all, results] = [counted(plan.jobs.len(), "benchmark"), counted(results, "result")];
        let results = match skipped + ignored {
            0 => format!(", {results}"),
            _ => format!(": {skipped} skipped, {ignored} ignored; the others give {results}"),
        };
        _ = writeln!(text, "\n{all}{results} (hot and cold count as two)");
    }
    text
}

/// Launches each benchmark once; with `--share`, those of this task. Returns the text to print, and the exit
/// code or the error that ended the tests early. A filter that matches nothing is no error: `cargo test
/// FILTER` passes it to every target. Benchmarks that need a missing device are ignored, but fail if
/// `--ignored` requests ignored ones alone: a test runner takes a successful run of one benchmark as a passed
/// test.
pub(super) fn test(
    options: &Settings,
    format: TextFormat,
    fail_fast: bool,
) -> Result<(String, Result<Exit, Error>), Error> {
    let began = Instant::now();
    let entries = Purpose::Test.entries();
    let mut planner = Planner::new(Purpose::Test, &entries, options, TaskShare::default())?;
    let plan = match planner.plan_on_devices(options.device.as_deref())?.0 {
        Ok(plan) => plan,
        Err(PlanError::Nothing { ignored, .. }) => Plan { ignored, ..Plan::default() },
        Err(error) => return Err(error.into()),
    };
    let plan = TaskShare::new(options)?.keep_own_part(plan);
    let starter = planner.lister.starter.clone();
    drop(planner);
    system::watch_signals();
    let mut progress = Progress::default();
    progress.begin(Some(plan.jobs.len()), "benchmarks");
    let config = RunConfig { settings: options.clone(), starter, ..RunConfig::default() };
    let show_warning = Box::new(|warning: String| warn(&warning));
    let mut cases = SingleCases::new(config.supervisor(&system::has_stop_signal, show_warning), &config);
    let (mut trials, ended) = run_trials(&mut cases, &plan, fail_fast, &mut |job| progress.try_job(job));
    drop(cases);
    drop(progress);
    let left = plan.jobs.len() - trials.len();
    let demanded = options.ignored && !options.include_ignored;
    trials.extend(trials_without_device(&plan, demanded));
    let counts = TrialCounts::new(&trials, plan.ignored, left);
    let exit = if counts.failed > 0 { Exit::Failed } else { Exit::Done };
    let exit = if demanded && !plan.absent.is_empty() { exit.min(Exit::NoDevice) } else { exit };
    let text = match format {
        TextFormat::Pretty | TextFormat::Terse => text_report(&trials, &counts, format),
        TextFormat::Json => json_report(&trials, &counts, began.elapsed()),
    };
    Ok((text, ended.map(|()| exit).map_err(Error::from)))
}

/// The numbers of outcomes in test mode, for the report and the exit code.
struct TrialCounts {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Also the benchmarks that are marked `ignore`.
    ignored: usize,
    /// Benchmarks without an outcome, since an earlier one failed or a signal came.
    left: usize,
}

impl TrialCounts {
    /// Counts the outcomes of `trials`. To those that are ignored it adds `marked_ignored`, the benchmarks that have the option `ignore` and
    /// are no trials. `left` is the number of jobs that were not tried, because an earlier one failed or a signal came.
    fn new(trials: &[Trial], marked_ignored: usize, left: usize) -> Self {
        let mut counts = Self { passed: 0, failed: 0, skipped: 0, ignored: marked_ignored, left };
        for trial in trials {
            *match trial.outcome {
                TrialOutcome::Passed | TrialOutcome::Launched => &mut counts.passed,
                TrialOutcome::Failed(_) => &mut counts.failed,
                TrialOutcome::Skipped(_) => &mut counts.skipped,
                TrialOutcome::Ignored(_) => &mut counts.ignored,
            } += 1;
        }
        counts
    }
}

/// Returns a line for each trial, or a letter in the terse format, the failures with their reasons, and a line with the counts, as `cargo test`
/// prints them.
fn text_report(trials: &[Trial], counts: &TrialCounts, format: TextFormat) -> String {
    // Writing to a string cannot fail.
    let (mut text, mut failures) = (String::new(), String::new());
    for Trial { name, outcome } in trials {
        let name = printable(name);
        let (state, letter, words) = match outcome {
            TrialOutcome::Passed => (State::Valid, '.', "ok".to_owned()),
            TrialOutcome::Launched => (State::Valid, '.', "ok (launched, nothing to check)".to_owned()),
            TrialOutcome::Skipped(why) => (State::Valid, 'i', format!("skipped: {}", printable(why))),
            // It is unknown if it works. As `cargo test` prints it.
            TrialOutcome::Ignored(why) => (State::Suspect, 'i', format!("ignored, {}", printable(why))),
            TrialOutcome::Failed(failure) => {
                _ = writeln!(failures, "  {name}: {}", printable_lines(&failure.to_string()));
                (State::Invalid, 'F', "FAILED".to_owned())
            }
        };
        let style = state_style(state);
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
    let TrialCounts { passed, failed, skipped, ignored, left } = counts;
    let (word, state) = match (failed, left) {
        (0, 0) => ("ok", State::Valid),
        (0, _) => ("incomplete", State::Suspect),
        _ => ("FAILED", State::Invalid),
    };
    let style = state_style(state);
    let left = if *left == 0 { String::new() } else { format!("{left} not tested; ") };
    _ = writeln!(
        text,
        "\ntest result: {style}{word}{style:#}. {passed} passed; {failed} failed; {skipped} skipped; {ignored} ignored; \
         {left}nothing timed"
    );
    text
}

/// Returns the events of libtest's JSON, which editors read, an object in each line. Skipped trials count as ignored there, and jobs that were
/// not tried as filtered out.
fn json_report(trials: &[Trial], counts: &TrialCounts, elapsed: Duration) -> String {
    let mut text = format!("{{\"type\":\"suite\",\"event\":\"started\",\"test_count\":{}}}\n", trials.len());
    for Trial { name, outcome } in trials {
        let (event, more) = match outcome {
            TrialOutcome::Passed | TrialOutcome::Launched => ("ok", String::new()),
            TrialOutcome::Skipped(why) | TrialOutcome::Ignored(why) => {
                ("ignored", format!(",\"message\":{}", json!(why)))
            }
            // Editors show this as output of the test.
            TrialOutcome::Failed(failure) => {
                ("failed", format!(",\"stdout\":{}", json!(format!("{failure}\n"))))
            }
        };
        let name = json!(name);
        _ = writeln!(text, "{{\"type\":\"test\",\"event\":\"started\",\"name\":{name}}}");
        _ = writeln!(text, "{{\"type\":\"test\",\"event\":\"{event}\",\"name\":{name}{more}}}");
    }
    let TrialCounts { passed, failed, skipped, ignored, left } = *counts;
    let (event, ignored) = (if failed + left == 0 { "ok" } else { "failed" }, ignored + skipped);
    let seconds = json!(elapsed.as_secs_f64());
    _ = writeln!(
        text,
        "{{\"type\":\"suite\",\"event\":\"{event}\",\"passed\":{passed},\"failed\":{failed},\"ignored\":{ignored},\"measured\":0,\
         \"filtered_out\":{left},\"exec_time\":{seconds}}}"
    );
    text
}
