//! Shows a run in progress: its warnings, and one line that moves if standard error is a terminal. In a benchmark binary, rows go to
//! standard output as soon as all cases of a benchmark are measured.

use indicatif::{ProgressBar, ProgressStyle};

use super::error::say;
use super::printer::{LiveOutput, Printer};
use crate::plan::{Job, JobStatus, Plan};
use crate::runner::{RunEvent, RunEvents};
use gpubench_records::{Run, text::printable};
use gpubench_stats::format;
use gpubench_table::{self as report, Planned, TableWriter};

/// Shows the progress of a run on standard error, with its warnings, as suites do: the current case with its step or its samples so far,
/// and the number of cases done.
#[derive(Debug)]
pub struct Progress<'a> {
    bar: ProgressBar,
    is_quiet: bool,
    /// True if jobs on several devices are in progress together.
    several_devices: bool,
    /// True once cases are measured again.
    is_again: bool,
    /// Prints the rows, in a benchmark binary.
    printer: Option<&'a Printer<'a>>,
    /// The jobs that are to have rows. Empty where rows are known at the end alone: those of several processes are made of all of them.
    jobs: Vec<Job>,
    shown: LiveOutput,
}

impl Default for Progress<'_> {
    fn default() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            is_quiet: false,
            several_devices: false,
            is_again: false,
            printer: None,
            jobs: Vec::new(),
            shown: LiveOutput::default(),
        }
    }
}

impl<'a> Progress<'a> {
    /// Shows warnings and no progress.
    #[must_use]
    pub fn quiet() -> Self {
        let mut progress = Self::default();
        progress.is_quiet = true;
        progress
    }

    /// Returns a progress that counts up to `total` of `what`, such as benchmarks.
    pub(super) fn over(total: usize, what: &str) -> Self {
        let mut progress = Self::default();
        progress.begin(total, what);
        progress
    }

    /// Prints rows as soon as they are measured.
    pub(super) fn show_rows(&mut self, printer: &'a Printer<'a>) {
        self.printer = Some(printer);
    }

    /// Ends the progress, and returns what is printed.
    pub(super) fn into_output(mut self) -> LiveOutput {
        std::mem::take(&mut self.shown)
    }

    fn begin(&mut self, total: usize, what: &str) {
        if !self.is_quiet {
            self.bar = ProgressBar::new(total as u64);
        }
        self.set_style(&format!("{{bar:16}} {{pos}}/{{len}} {what} {{elapsed}}  {{wide_msg}}"));
    }

    /// Counts measurements, of which nobody knows how many there will be.
    pub(super) fn begin_uncounted(&mut self) {
        if !self.is_quiet {
            self.bar = ProgressBar::new_spinner();
        }
        self.set_style("{spinner} {pos} measurements {elapsed}  {wide_msg}");
    }

    /// Sets the template of the line. A mistake in it would leave the plain style.
    fn set_style(&mut self, template: &str) {
        _ = ProgressStyle::with_template(template).map(|style| self.bar.set_style(style));
    }

    /// Shows a job that ends without a record, and counts it.
    pub(super) fn try_job(&mut self, job: &Job) {
        self.show(self.name(job));
        self.bar.inc(1);
    }

    /// Hides the line while `print` prints something else.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    fn say(&self, message: &str) {
        self.aside(|| say(message));
    }

    /// Returns the name of a job, with its device if there are several.
    fn name(&self, job: &Job) -> String {
        let on = if self.several_devices { format!(" on {}", job.device) } else { String::new() };
        printable(&format!("{job}{on}"))
    }

    /// Shows the activity.
    fn show(&self, activity: String) {
        self.bar.set_message(activity);
    }

    fn plan(&mut self, plan: &Plan, runs: usize) {
        self.begin(plan.cases() * runs, "cases");
        let mut devices = plan.jobs.iter().map(|(job, _)| &job.device);
        self.several_devices = devices.next().is_some_and(|first| devices.any(|device| device != first));
        if runs == 1 && self.printer.is_some_and(Printer::prints_rows) {
            let has_row = |status: &JobStatus| !matches!(status, JobStatus::Skipped(_));
            let jobs = plan.jobs.iter().filter(|(_, status)| has_row(status));
            self.jobs = jobs.map(|(job, _)| job.clone()).collect();
        }
    }

    /// Prints the header, and begins the table.
    fn begin_table(&mut self, run: &Run) {
        if let Some(printer) = self.printer.filter(|_| !self.jobs.is_empty()) {
            let page = printer.page();
            let planned = self.jobs.iter().map(|job| Planned {
                benchmark: &job.benchmark,
                args: &job.args,
                device: &job.device,
            });
            self.shown.table = Some(TableWriter::new(run, planned, page));
            self.print(&report::header(run, page));
        }
    }

    fn print(&mut self, text: &str) {
        if let Some(Err(error)) = self.printer.map(|printer| self.aside(|| printer.print(text))) {
            self.shown.problem.get_or_insert(error);
        }
    }
}

impl RunEvents for Progress<'_> {
    fn event(&mut self, event: &RunEvent<'_>) {
        match *event {
            RunEvent::Planned(plan, runs) => self.plan(plan, runs),
            RunEvent::DevicesOpening => self.show("measuring the device's peaks".to_owned()),
            RunEvent::RunStarted(run, resumed) => {
                self.bar.inc(resumed.len() as u64);
                self.begin_table(run);
            }
            RunEvent::JobStarted(job) => self.show(self.name(job)),
            RunEvent::StepReached(job, step) => self.show(format!("{step}: {}", self.name(job))),
            RunEvent::RecordFinished(_) => self.bar.inc(1),
            RunEvent::JobFinished(records) => {
                let records: Vec<_> = records.iter().collect();
                if let Some(rows) = self.shown.table.as_mut().map(|table| table.rows(&records)) {
                    self.print(&rows);
                }
            }
            RunEvent::MeasuredAgain(plan) => {
                self.bar.inc_length(plan.cases() as u64);
                if !std::mem::replace(&mut self.is_again, true) && !self.is_quiet {
                    let seem = if plan.cases() == 1 { "seems" } else { "seem" };
                    let cases = format::counted(plan.cases(), "case");
                    self.say(&format!("measuring {cases} again, which {seem} slower than the baseline"));
                }
            }
            RunEvent::RunEnded(_) => self.bar.finish_and_clear(),
            RunEvent::Warning(warning) => self.say(&format!("warning: {warning}")),
            RunEvent::Remark(remark) => self.say(remark),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SharedResource;
    use gpubench_records::failure::{Failure, Stage, Step};
    use gpubench_records::method::Cache;
    use gpubench_records::record::Record;

    fn job(benchmark: &str) -> Job {
        Job {
            benchmark: benchmark.to_owned(),
            args: Vec::new(),
            device: "host".to_owned(),
            caches: vec![Cache::Hot, Cache::Cold],
            timeout: None,
            with: None,
            shares: SharedResource::Nothing,
        }
    }

    #[test]
    fn the_line_has_the_case_in_progress_and_the_number_of_those_done() {
        let mut progress = Progress::default();
        let jobs = ["copy", "dot\u{1b}"].map(|name| (job(name), JobStatus::Measured)).to_vec();
        progress.event(&RunEvent::Planned(&Plan { jobs, ..Plan::default() }, 3));
        let failure = Failure::new(Stage::Launch, "no");
        progress.event(&RunEvent::RecordFinished(&Record::failed(job("copy").case(Cache::Hot), failure)));
        progress.event(&RunEvent::StepReached(&job("dot\u{1b}"), Step::Samples(64)));
        assert_eq!((progress.bar.position(), progress.bar.length()), (1, Some(12)));
        assert_eq!(progress.bar.message(), "after 64 samples: dot\\u{1b}", "no escape of a name");
    }
}
