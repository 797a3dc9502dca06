//! What `--list` prints: the jobs of a plan, for people, for test runners, or for programs.

use std::fmt::Write;

use serde::Serialize;

use crate::cli::ListFormat;
use crate::device::Cache;
use crate::plan::{Job, Plan};

/// One line for each job of `plan`.
#[must_use]
pub fn list(plan: &Plan, format: ListFormat) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for job in plan.all_jobs() {
        _ = match format {
            ListFormat::Pretty | ListFormat::Terse => writeln!(text, "{job}: benchmark"),
            ListFormat::Json => writeln!(text, "{}", as_json(job)),
        };
    }
    if format == ListFormat::Pretty {
        _ = writeln!(text, "\n{} benchmarks, {} cases", plan.all_jobs().count(), plan.cases());
    }
    text
}

#[derive(Serialize)]
struct Line<'a> {
    name: String,
    device: &'a str,
    caches: &'a [Cache],
}

fn as_json(job: &Job) -> String {
    let line = Line { name: job.to_string(), device: &job.device, caches: &job.caches };
    serde_json::to_string(&line).unwrap_or_default()
}
