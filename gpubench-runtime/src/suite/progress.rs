//! The progress of a run on standard error. In: the events of the run. Out: one line that moves, if standard error is a
//! terminal, and warnings.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};

use super::messages::{remark, warn};
use crate::plan::{Job, Plan};
use crate::runner::RunEvents;
use gpubench_records::record::{Record, Run};

/// Shows the progress of a run on standard error, with its warnings, as suites do.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Default for Progress {
    fn default() -> Self {
        Self { bar: ProgressBar::hidden() }
    }
}

impl Progress {
    /// Returns a line that counts up to `total` of `what`, such as cases. It is hidden if standard error is
    /// no terminal.
    #[must_use]
    pub(super) fn over(total: usize, what: &str) -> Self {
        let bar = ProgressBar::new(total as u64);
        // A mistake in the template would leave the plain style.
        if let Ok(style) = ProgressStyle::with_template(&format!(
            "{{bar:24}} {{pos}}/{{len}} {what} {{elapsed}} {{wide_msg}}"
        )) {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// Shows a job of a run that times nothing, and counts it.
    pub(super) fn try_job(&mut self, job: &Job) {
        self.job_started(job);
        self.bar.inc(1);
    }
}

impl RunEvents for Progress {
    fn planned(&mut self, plan: &Plan, runs: usize) {
        *self = Self::over(plan.cases() * runs, "cases");
    }

    fn devices_opening(&mut self) {
        self.bar.set_message("measuring the device's peaks");
        self.bar.tick();
    }

    fn run_started(&mut self, _: &Run, resumed: &[&Record]) {
        self.bar.inc(resumed.len() as u64);
        // The estimate counts only the remaining cases.
        self.bar.reset_eta();
    }

    fn job_started(&mut self, job: &Job) {
        self.bar.set_message(job.to_string());
    }

    fn record_finished(&mut self, _: &Record) {
        self.bar.inc(1);
    }

    fn run_ended(&mut self, _: &Run) {
        self.bar.finish_and_clear();
    }

    fn ceilings_stored(&mut self, file: &Path) {
        self.bar.suspend(|| remark(&format!("kept for later runs in {}", file.display())));
    }

    fn warning(&mut self, warning: &str) {
        self.bar.suspend(|| warn(warning));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
