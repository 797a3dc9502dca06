//! How far a run has come, on standard error while that is a terminal. In: what whoever follows a run hears; out: one line
//! that moves.

use indicatif::{ProgressBar, ProgressStyle};

use crate::plan::Job;

/// A progress line.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A line that counts up to `total` of `what`, such as cases; hidden where standard error is no terminal.
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

    /// What is being done.
    pub(super) fn says(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// A job of a run that measures nothing begins.
    pub(super) fn tries(&mut self, job: &Job) {
        self.comes_to(job);
        self.advances();
    }

    /// A job begins.
    pub(super) fn comes_to(&mut self, job: &Job) {
        self.bar.set_message(job.to_string());
    }

    /// A case is done.
    pub(super) fn advances(&mut self) {
        self.bar.inc(1);
    }

    /// So many cases are done before the first begins.
    pub(super) fn begins_with(&mut self, cases: usize) {
        self.bar.inc(cases as u64);
        // What is left is what the time is estimated from.
        self.bar.reset_eta();
    }

    /// Says something else meanwhile, with the line out of its way.
    pub(super) fn aside(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
