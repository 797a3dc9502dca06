//! Shows a run in progress on standard error: its warnings, and one line that is redrawn if standard error is a terminal. In a benchmark
//! binary, rows go to standard output as soon as all cases of a benchmark are measured.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use terminal_size::{Width, terminal_size_of};

use super::output::{LiveOutput, Printer, say};
use crate::plan::Plan;
use crate::runner::{RunEvent, RunEvents};
use gpubench_records::{PlannedCase, Run, failure::Step, text::printable, unique};
use gpubench_runtime::Job;
use gpubench_stats::format;
use gpubench_table::{self as report, TableWriter, text::shortened};

/// The number of terminal columns of the bar of progress.
const BAR_COLUMNS: usize = 16;
/// The minimum time after a message before [`StatusLine::update_message`] shows another. Messages before that are dropped.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(50);

/// The line of progress on standard error, which is redrawn in place: the number of things that are done, and the current activity.
#[derive(Debug, Default)]
pub(super) struct StatusLine {
    done: usize,
    /// The number of all, if it is known.
    total: Option<usize>,
    /// The name of the things, such as `cases`.
    unit: &'static str,
    message: String,
    /// The time at which the line was created; `None` if it is hidden for good.
    began: Option<Instant>,
    /// The time of the last message.
    message_shown: Option<Instant>,
}

impl StatusLine {
    /// Creates a line that counts from 0. It is hidden for good if `is_quiet`, or if standard error is not a
    /// terminal whose cursor can move.
    pub(super) fn new(total: Option<usize>, unit: &'static str, is_quiet: bool) -> Self {
        let can_move = env::var_os("TERM").is_some_and(|terminal| terminal != "dumb");
        let began = (!is_quiet && can_move && io::stderr().is_terminal()).then(Instant::now);
        Self { total, unit, began, ..Self::default() }
    }

    /// Shows `message` as the current activity.
    pub(super) fn set_message(&mut self, message: String) {
        self.message = message;
        self.message_shown = Some(Instant::now());
        self.draw();
    }

    /// Shows `message` as the current activity, unless another was shown within [`MESSAGE_INTERVAL`].
    pub(super) fn update_message(&mut self, message: String) {
        if self.message_shown.is_none_or(|shown| shown.elapsed() > MESSAGE_INTERVAL) {
            self.set_message(message);
        }
    }

    /// Counts `more` as done.
    pub(super) fn add_done(&mut self, more: usize) {
        self.done += more;
        self.draw();
    }

    /// Adds `more` to the total, if that is known.
    pub(super) fn add_total(&mut self, more: usize) {
        self.total = self.total.map(|total| total + more);
        self.draw();
    }

    /// Hides the line for good.
    pub(super) fn end(&mut self) {
        self.write("");
        self.began = None;
    }

    /// Draws the line anew, shortened to the width of the terminal.
    fn draw(&self) {
        let columns: usize = terminal_size_of(io::stderr()).map_or(80, |(Width(columns), _)| columns.into());
        // Some terminals begin a new line after the last column.
        self.write(&shortened(&self.text(), columns.saturating_sub(1)));
    }

    /// Writes `text` in place of the line, unless it is hidden. Ignores errors.
    fn write(&self, text: &str) {
        if self.began.is_some() {
            _ = io::stderr().write_all(format!("\r{text}\x1b[K").as_bytes());
        }
    }

    /// Returns the line, as in `████░░░░ 3/6 cases 5s  copy: checked launch`.
    pub(super) fn text(&self) -> String {
        let Self { done, unit, message, .. } = self;
        let seconds = self.began.map_or(0, |began| began.elapsed().as_secs());
        let elapsed = humantime::format_duration(Duration::from_secs(seconds));
        let Some(total) = self.total else { return format!("{done} {unit} {elapsed}  {message}") };
        let full = (BAR_COLUMNS * done / total.max(1)).min(BAR_COLUMNS);
        let (full, rest) = ("█".repeat(full), "░".repeat(BAR_COLUMNS - full));
        format!("{full}{rest} {done}/{total} {unit} {elapsed}  {message}")
    }
}

/// Shows the progress of a run on standard error, with its warnings, as benchmark binaries do: the current
/// case with its step or its samples so far, and the number of cases done.
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
    /// The cases that will have rows, until the table begins. Empty if rows are printed only at the end: with
    /// several processes, a row needs the records of all of them.
    planned: Vec<PlannedCase>,
    /// The table of the rows that were printed, and the first error of printing.
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

    /// Shows the name of a job in the progress line and counts the job as done. For jobs without a
    /// [`RecordFinished`](RunEvent::RecordFinished), as with `--test`.
    #[doc(hidden)]
    pub fn try_job(&mut self, job: &Job) {
        self.line.set_message(self.name(job));
        self.line.add_done(1);
    }

    /// Hides the line while `print` prints something else.
    #[doc(hidden)]
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.line.write("");
        let printed = print();
        self.line.draw();
        printed
    }

    /// Prints a message on standard error without damaging the line.
    fn say(&self, message: &str) {
        self.aside(|| say(message));
    }

    /// Returns the name of a job, with its device if there are several.
    fn name(&self, job: &Job) -> String {
        let on = if self.several_devices { format!(" on {}", job.device) } else { String::new() };
        printable(&format!("{job}{on}"))
    }

    /// Sets the number of cases, each measured `runs` times, and prepares the rows if they can be printed
    /// during the run.
    fn plan(&mut self, plan: &Plan, runs: usize) {
        self.begin(Some(plan.cases() * runs), "cases");
        self.several_devices = unique(plan.jobs.iter().map(|(job, _)| &job.device)).len() > 1;
        if runs == 1 && self.printer.is_some_and(Printer::prints_rows) {
            self.planned = plan.planned_cases().map(|(job, cache)| job.case(cache)).collect();
        }
    }

    /// Prints the header, and begins the table, if rows are printed during the run.
    fn begin_table(&mut self, run: &Run) {
        if let Some(printer) = self.printer.filter(|_| !self.planned.is_empty()) {
            let page = printer.page();
            self.shown.table = Some(TableWriter::new(run, self.planned.drain(..), page));
            self.print(&report::header(run, page));
        }
    }

    /// Prints rows on standard output, and stores the first error.
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
mod progress_tests {
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
