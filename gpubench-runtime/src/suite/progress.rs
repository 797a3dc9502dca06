//! The progress of a run, on standard error if that is a terminal. In: the events of the run. Out: one line
//! that moves.

use indicatif::{ProgressBar, ProgressStyle};

use crate::plan::Job;

/// A progress line.
pub(super) struct Progress {
    bar: ProgressBar,
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

    /// Shows the current activity.
    pub(super) fn says(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// Shows that a job of a run that measures nothing begins.
    pub(super) fn tries(&mut self, job: &Job) {
        self.comes_to(job);
        self.advances();
    }

    /// Shows that a job begins.
    pub(super) fn comes_to(&mut self, job: &Job) {
        self.bar.set_message(job.to_string());
    }

    /// Counts a finished case.
    pub(super) fn advances(&mut self) {
        self.bar.inc(1);
    }

    /// Counts the cases that are finished before the first begins.
    pub(super) fn begins_with(&mut self, cases: usize) {
        self.bar.inc(cases as u64);
        // The estimate counts only the remaining cases.
        self.bar.reset_eta();
    }

    /// Hides the line while `say` prints something else.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
