//! A run as it is shown while it is measured. In: its events. Out: rows on standard output as soon as their launch is
//! measured, and its progress on standard error, neither of which spoils the other.

use std::path::Path;

use super::progress::Progress;
use super::show::{LiveOutput, Printer};
use crate::plan::{Job, JobStatus, Plan};
use crate::runner::RunEvents;
use gpubench_records::failure::Step;
use gpubench_records::record::{Record, Run};
use gpubench_table::{self as report, Planned, TableWriter};

/// Shows a run while it is measured.
pub(super) struct Live<'a> {
    progress: Progress,
    printer: &'a Printer<'a>,
    /// The jobs that are to have rows.
    jobs: Vec<Job>,
    /// False where rows are known at the end alone: those of several processes are made of all of them.
    streams: bool,
    shown: LiveOutput,
}

impl<'a> Live<'a> {
    pub(super) fn new(printer: &'a Printer<'a>, progress: Progress) -> Self {
        Self { progress, printer, jobs: Vec::new(), streams: false, shown: LiveOutput::default() }
    }

    /// Ends the progress, and returns what is printed.
    pub(super) fn end(self) -> LiveOutput {
        self.shown
    }

    fn print(&mut self, text: &str) {
        let printed = self.progress.aside(|| self.printer.print(text));
        if let Err(error) = printed {
            self.shown.problem.get_or_insert(error);
        }
    }
}

impl RunEvents for Live<'_> {
    fn planned(&mut self, plan: &Plan, runs: usize) {
        self.progress.planned(plan, runs);
        let has_rows = |fate: &JobStatus| !matches!(fate, JobStatus::Skipped(_));
        let jobs = plan.jobs.iter().filter(|(_, fate)| has_rows(fate));
        self.jobs = jobs.map(|(job, _)| job.clone()).collect();
        self.streams = runs == 1 && self.printer.prints_rows();
    }

    fn devices_opening(&mut self) {
        self.progress.devices_opening();
    }

    fn run_started(&mut self, run: &Run, resumed: &[&Record]) {
        self.progress.run_started(run, resumed);
        if self.streams {
            let page = self.printer.page();
            let planned = self.jobs.iter().map(|job| Planned {
                benchmark: &job.benchmark,
                args: &job.args,
                device: &job.device,
            });
            self.shown.table = Some(TableWriter::new(run, planned, page));
            self.print(&report::header(run, page));
        }
    }

    fn run_stored(&mut self, file: &Path) {
        self.shown.file = Some(file.to_owned());
    }

    fn job_started(&mut self, job: &Job) {
        self.progress.job_started(job);
    }

    fn step_reached(&mut self, job: &Job, step: Step) {
        self.progress.step_reached(job, step);
    }

    fn interval_narrowed(&mut self, job: &Job, samples: usize, half_width: f64) {
        self.progress.interval_narrowed(job, samples, half_width);
    }

    fn record_finished(&mut self, record: &Record) {
        self.progress.record_finished(record);
    }

    fn job_finished(&mut self, records: &[Record]) {
        self.progress.job_finished(records);
        let records: Vec<&Record> = records.iter().collect();
        if let Some(rows) = self.shown.table.as_mut().map(|table| table.rows(&records)) {
            self.print(&rows);
        }
    }

    fn is_done_with_samples(&self) -> bool {
        self.printer.prints_rows_alone()
    }

    fn measured_again(&mut self, plan: &Plan) {
        self.progress.measured_again(plan);
    }

    fn run_ended(&mut self, run: &Run) {
        self.progress.run_ended(run);
    }

    fn ceilings_stored(&mut self, file: &Path) {
        self.progress.ceilings_stored(file);
    }

    fn warning(&mut self, warning: &str) {
        self.progress.warning(warning);
    }
}
