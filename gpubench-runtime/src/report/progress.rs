//! How far a run has come, on standard error while that is a terminal. In: what a run's observer hears; out: one line
//! that moves.

use indicatif::{ProgressBar, ProgressStyle};

use crate::device::Facts;
use crate::plan::Job;
use crate::record::Record;
use crate::run::Observer;

/// A progress line.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A line for a run of `cases`; hidden where standard error is no terminal.
    #[must_use]
    pub fn over(cases: usize) -> Self {
        let bar = ProgressBar::new(cases as u64);
        // The template is a constant; a mistake in it would leave the plain style.
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// What is being done.
    pub fn says(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    /// A job of a run that measures nothing begins.
    pub fn begins(&mut self, job: &Job) {
        self.bar.set_message(job.to_string());
        self.bar.inc(1);
    }
}

impl Observer for Progress {
    fn device(&mut self, _: &Facts) {}

    fn job(&mut self, job: &Job) {
        self.bar.set_message(job.to_string());
    }

    fn record(&mut self, _: &Record) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
