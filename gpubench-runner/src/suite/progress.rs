//! Shows a run in progress: its warnings, and one line that moves if standard error is a terminal. In a benchmark binary, rows go to
//! standard output as soon as all cases of a benchmark are measured.

use super::error::say;
use super::printer::{LiveOutput, Printer};
use super::status_line::StatusLine;
use crate::plan::Plan;
use crate::runner::{RunEvent, RunEvents};
use gpubench_records::{PlannedCase, Run, failure::Step, text::printable};
use gpubench_runtime::Job;
use gpubench_stats::format;
use gpubench_table::{self as report, TableWriter};

/// Shows the progress of a run on standard error, with its warnings, as suites do: the current case with its step or its samples so far,
/// and the number of cases done.
#[derive(Debug, Default)]
pub struct Progress<'a> {
    line: StatusLine,
    is_quiet: bool,
    /// True if jobs on several devices are in progress together.
    several_devices: bool,
    /// True once cases are measured again.
    is_again: bool,
    /// Prints the rows, in a benchmark binary.
    pub(super) printer: Option<&'a Printer<'a>>,
    /// The cases that are to have rows. Empty where rows are known at the end alone: those of several processes are made of all of them.
    planned: Vec<PlannedCase>,
    /// What is printed.
    pub(super) shown: LiveOutput,
}

impl<'a> Progress<'a> {
    /// Shows warnings and no progress.
    pub fn quiet() -> Self {
        let mut progress = Self::default();
        progress.is_quiet = true;
        progress
    }

    /// Counts up to `total` of `what`, such as benchmarks.
    pub(super) fn begin(&mut self, total: Option<usize>, what: &'static str) {
        self.line = StatusLine::new(total, what, self.is_quiet);
    }

    /// Shows a job that ends without a record, and counts it.
    pub(super) fn try_job(&mut self, job: &Job) {
        self.line.set_message(self.name(job));
        self.line.add_done(1);
    }

    /// Hides the line while `print` prints something else.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.line.aside(print)
    }

    fn say(&self, message: &str) {
        self.aside(|| say(message));
    }

    /// Returns the name of a job, with its device if there are several.
    fn name(&self, job: &Job) -> String {
        let on = if self.several_devices { format!(" on {}", job.device) } else { String::new() };
        printable(&format!("{job}{on}"))
    }

    fn plan(&mut self, plan: &Plan, runs: usize) {
        self.begin(Some(plan.cases() * runs), "cases");
        let mut devices = plan.jobs.iter().map(|(job, _)| &job.device);
        self.several_devices = devices.next().is_some_and(|first| devices.any(|device| device != first));
        if runs == 1 && self.printer.is_some_and(Printer::prints_rows) {
            self.planned = plan.planned_cases().map(|(job, cache)| job.case(cache)).collect();
        }
    }

    /// Prints the header, and begins the table.
    fn begin_table(&mut self, run: &Run) {
        if let Some(printer) = self.printer.filter(|_| !self.planned.is_empty()) {
            let page = printer.page();
            self.shown.table = Some(TableWriter::new(run, self.planned.drain(..), page));
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
            RunEvent::DevicesOpening => self.line.set_message("measuring the device's peaks".to_owned()),
            RunEvent::RunStarted(run, resumed) => {
                self.line.add_done(resumed.len());
                self.begin_table(run);
            }
            RunEvent::JobStarted(job) => self.line.set_message(self.name(job)),
            RunEvent::StepReached(job, step @ Step::Samples(_)) => {
                self.line.update_message(format!("{}: {step}", self.name(job)));
            }
            RunEvent::StepReached(job, step) => self.line.set_message(format!("{}: {step}", self.name(job))),
            RunEvent::RecordFinished(_) => self.line.add_done(1),
            RunEvent::JobFinished(records) => {
                let records: Vec<_> = records.iter().collect();
                if let Some(rows) = self.shown.table.as_mut().map(|table| table.rows(&records)) {
                    self.print(&rows);
                }
            }
            RunEvent::MeasuredAgain(plan) => {
                self.line.add_total(plan.cases());
                if !std::mem::replace(&mut self.is_again, true) && !self.is_quiet {
                    let cases = format::counted(plan.cases(), "result");
                    self.say(&format!("measuring {cases} again that may be slower than the baseline"));
                }
            }
            RunEvent::RunEnded(_) => self.line.end(),
            RunEvent::Warning(warning) => self.say(&format!("warning: {warning}")),
            RunEvent::Remark(remark) => self.say(remark),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.line.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::failure::{Failure, Stage, Step};
    use gpubench_records::method::Cache;
    use gpubench_records::record::Record;
    use gpubench_runtime::JobStatus;

    fn job(benchmark: &str) -> Job {
        Job::new(benchmark.to_owned(), Vec::new(), "host".to_owned(), vec![Cache::Hot, Cache::Cold])
    }

    #[test]
    fn the_line_has_the_case_in_progress_and_the_number_of_those_done() {
        let mut progress = Progress::default();
        let jobs = ["copy", "dot\u{1b}"].map(|name| (job(name), JobStatus::Measured)).to_vec();
        progress.event(&RunEvent::Planned(&Plan { jobs, ..Plan::default() }, 3));
        let failure = Failure::new(Stage::Launch, "no");
        progress.event(&RunEvent::RecordFinished(&Record::failed(job("copy").case(Cache::Hot), failure)));
        progress.event(&RunEvent::StepReached(&job("dot\u{1b}"), Step::Samples(64)));
        let shown = progress.line.text();
        assert!(shown.starts_with("█░░░░░░░░░░░░░░░ 1/12 cases "), "{shown}");
        assert!(shown.ends_with("  dot\\u{1b}: after 64 samples"), "no escape of a name: {shown}");
    }
}
