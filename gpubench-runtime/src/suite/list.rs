//! The output of `--list`: the jobs of a plan, for people, for test runners, or for programs.

use std::fmt::Write;

use serde::Serialize;

use crate::plan::{Fate, Job, Plan};
use crate::suite::cli::ListFormat;
use gpubench_records::method::Cache;
use gpubench_stats::format::counted;

/// Writes one line for each job of `plan`.
#[must_use]
pub(super) fn list(plan: &Plan, format: ListFormat) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (job, fate) in &plan.jobs {
        _ = match (format, fate) {
            (ListFormat::Pretty, Fate::Skipped(why)) => writeln!(text, "{job}: benchmark (skipped: {why})"),
            (ListFormat::Pretty | ListFormat::Terse, _) => writeln!(text, "{job}: benchmark"),
            (ListFormat::Json, _) => writeln!(text, "{}", as_json(job, fate)),
        };
    }
    if format == ListFormat::Pretty {
        let skipped = plan.jobs.iter().filter(|(_, fate)| matches!(fate, Fate::Skipped(_))).count();
        let skipped = if skipped == 0 { String::new() } else { format!(" ({skipped} skipped)") };
        let (benchmarks, cases) = (counted(plan.jobs.len(), "benchmark"), counted(plan.cases(), "case"));
        _ = writeln!(text, "\n{benchmarks}{skipped}, {cases}");
    }
    text
}

#[derive(Serialize)]
struct Line<'a> {
    name: String,
    device: &'a str,
    caches: &'a [Cache],
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'a str>,
}

fn as_json(job: &Job, fate: &Fate) -> String {
    let skipped = if let Fate::Skipped(why) = fate { Some(*why) } else { None };
    let line = Line { name: job.to_string(), device: &job.device, caches: &job.caches, skipped };
    serde_json::to_string(&line).unwrap_or_default()
}
