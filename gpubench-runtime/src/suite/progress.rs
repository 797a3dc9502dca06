//! The progress of a run on standard error, with its warnings. In: the events of the run. Out: one line that moves, if
//! standard error is a terminal; else a line now and then.

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::estimate::Estimate;
use super::messages::{remark, warn};
use crate::plan::{Job, Plan};
use crate::runner::RunEvents;
use gpubench_records::failure::Step;
use gpubench_records::id::CaseId;
use gpubench_records::record::{Record, Run};
use gpubench_report::printable;
use gpubench_stats::format;

/// The time between two lines where nobody sees a line move.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Shows the progress of a run on standard error, with its warnings, as suites do: the current case with its samples and
/// interval so far, the number of cases done, and the time that is left.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    mode: Mode,
    estimate: Option<Estimate>,
    /// The current job.
    job: String,
}

/// The way in which progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A line that moves.
    Bar,
    /// A line every ten seconds, the last one at this time.
    Lines(Instant),
    /// Not at all.
    Quiet,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new(if io::stderr().is_terminal() { Mode::Bar } else { Mode::Lines(Instant::now()) })
    }
}

impl Progress {
    /// Shows warnings and no progress.
    #[must_use]
    pub fn quiet() -> Self {
        Self::new(Mode::Quiet)
    }

    fn new(mode: Mode) -> Self {
        Self { bar: ProgressBar::hidden(), mode, estimate: None, job: String::new() }
    }

    /// Returns a progress that counts up to `total` of `what`, such as benchmarks.
    #[must_use]
    pub(super) fn over(total: usize, what: &str) -> Self {
        let mut progress = Self::default();
        progress.begin(total, what);
        progress
    }

    fn begin(&mut self, total: usize, what: &str) {
        self.bar = match self.mode {
            Mode::Bar => ProgressBar::new(total as u64),
            Mode::Lines(_) | Mode::Quiet => {
                let bar = ProgressBar::hidden();
                bar.set_length(total as u64);
                bar
            }
        };
        // A mistake in the template would leave the plain style.
        if let Ok(style) = ProgressStyle::with_template(&format!(
            "{{bar:16}} {{pos}}/{{len}} {what} {{elapsed}}{{prefix}}  {{wide_msg}}"
        )) {
            self.bar.set_style(style);
        }
    }

    /// Shows a job of a run that times nothing, and counts it.
    pub(super) fn try_job(&mut self, job: &Job) {
        self.job_started(job);
        self.bar.inc(1);
    }

    /// Hides the line while `print` prints something else.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// The time that is left, behind a comma.
    fn left(&self) -> String {
        let left = self.estimate.as_ref().and_then(Estimate::left);
        left.map(|left| format!(", {} left", minutes(left))).unwrap_or_default()
    }

    /// Shows the activity, with the time that is left.
    fn show(&mut self, activity: String) {
        let left = self.left();
        if let Mode::Lines(last) = self.mode
            && last.elapsed() >= BETWEEN_LINES
        {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
            remark(&format!("{done} of {all} done{left}: {activity}"));
            self.mode = Mode::Lines(Instant::now());
        }
        self.bar.set_prefix(left);
        self.bar.set_message(activity);
    }
}

/// A time that nobody needs to the second: `45 s`, `3 min`.
fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=90 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

impl RunEvents for Progress {
    fn planned(&mut self, plan: &Plan, runs: usize) {
        self.begin(plan.cases() * runs, "cases");
        self.estimate = Some(Estimate::of(plan, runs));
    }

    fn timed_earlier(&mut self, times: &HashMap<CaseId, Duration>) {
        if let Some(estimate) = &mut self.estimate {
            estimate.learn(times.clone());
        }
    }

    fn devices_opening(&mut self) {
        self.show("measuring the device's peaks".to_owned());
    }

    fn run_started(&mut self, _: &Run, resumed: &[&Record]) {
        self.bar.inc(resumed.len() as u64);
        if let Some(estimate) = &mut self.estimate {
            estimate.begin(resumed);
        }
    }

    fn job_started(&mut self, job: &Job) {
        self.job = printable(&job.to_string());
        self.show(self.job.clone());
    }

    fn step_reached(&mut self, step: Step) {
        self.show(format!("{step}: {}", self.job));
    }

    fn interval_narrowed(&mut self, samples: usize, half_width: f64) {
        let samples = format::counted(samples, "sample");
        self.show(format!("{samples}, {}: {}", format::plus_minus(half_width), self.job));
    }

    fn record_finished(&mut self, _: &Record) {
        if let Some(estimate) = &mut self.estimate {
            estimate.count();
        }
        self.bar.set_prefix(self.left());
        self.bar.inc(1);
    }

    fn run_ended(&mut self, _: &Run) {
        self.bar.finish_and_clear();
    }

    fn ceilings_stored(&mut self, file: &Path) {
        self.aside(|| remark(&format!("kept for later runs in {}", file.display())));
    }

    fn warning(&mut self, warning: &str) {
        self.aside(|| warn(warning));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
