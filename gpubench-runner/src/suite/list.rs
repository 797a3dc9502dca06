//! Lists the selected benchmarks: for people, for test runners, or for programs.

use std::fmt::Write;

use super::cli::TextFormat;
use super::prepare::{Planner, Purpose, kinds_of};
use super::{SuiteError, share::Share};
use crate::plan::{Ignored, Plan, PlanError};
use crate::{select, settings::Settings};
use gpubench_records::exit::Exit;
use gpubench_records::text::printable;
use gpubench_runtime::{Job, JobStatus, device::Available, registry};
use gpubench_stats::format::counted;
use serde_json::json;

/// Lists the selected benchmarks, with or without their devices; of a run that is shared, those of this task.
pub(super) fn list(options: &Settings, format: TextFormat) -> Result<String, SuiteError> {
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
        return Err(SuiteError::new(message, Exit::NoDevice));
    }
    let mut planner = Planner::new(Purpose::Measure, &entries, options, Share::new(options)?)?;
    // A test runner learns here which benchmarks are ignored. On this machine these include the ones without a device.
    planner.selection.absent_are_ignored = true;
    let missing = if planner.selection.ignored == Ignored::Only && format == TextFormat::Terse {
        planner.search_devices(device).missing(device)
    } else {
        Vec::new()
    };
    // Test runners expect ignored benchmarks in a list.
    if planner.selection.ignored == Ignored::Excluded {
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
    let is_ignored =
        |job: &Job| entries.iter().any(|entry| entry.options.ignore && entry.path() == job.benchmark);
    Ok(list_text(&planner.share.keep_own_part(plan), format, is_ignored))
}

/// Writes one line for each job of `plan`.
fn list_text(plan: &Plan, format: TextFormat, is_ignored: impl Fn(&Job) -> bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (job, status) in &plan.jobs {
        let name = printable(&job.to_string());
        _ = match (format, status) {
            (TextFormat::Pretty, JobStatus::Skipped(why)) => {
                writeln!(text, "{name}: benchmark (skipped: {})", printable(why))
            }
            (TextFormat::Pretty, _) if is_ignored(job) => writeln!(text, "{name}: benchmark (ignored)"),
            (TextFormat::Pretty | TextFormat::Terse, _) => writeln!(text, "{name}: benchmark"),
            (TextFormat::Json, _) => {
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
        let skipped = plan.jobs.iter().filter(|(_, status)| matches!(status, JobStatus::Skipped(_))).count();
        let skipped = if skipped == 0 { String::new() } else { format!(" ({skipped} skipped)") };
        let (benchmarks, results) = (counted(plan.jobs.len(), "benchmark"), counted(plan.cases(), "result"));
        _ = writeln!(text, "\n{benchmarks}{skipped}, {results} (a benchmark measured hot and cold has two)");
    }
    text
}
