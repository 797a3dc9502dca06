//! Stores a run while it is measured. In: the events of the run. Out: its file in the folder for runs; all events go on
//! to the observer of whoever measures.

use std::io;
use std::path::Path;

use crate::plan::{Job, Plan};
use crate::runner::RunEvents;
use crate::settings::{RunsDir, Settings};
use gpubench_records::failure::Step;
use gpubench_records::files::Store;
use gpubench_records::record::{Record, Run};

/// An observer that stores the records of a run.
pub(super) struct Recorder<'a> {
    events: &'a mut dyn RunEvents,
    /// The folder for runs in progress.
    folder: Option<&'a Path>,
    /// True if the user named the folder: a run that cannot be stored there has then failed.
    required: bool,
    /// True if the run is compared with another when it has ended, or merged from several.
    is_compared: bool,
    store: Option<Store>,
    failed: bool,
}

/// The file of a run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunFile {
    /// It is complete.
    Stored,
    /// There is none, and none was needed.
    None,
    /// It could not be written.
    Failed,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(events: &'a mut dyn RunEvents, folder: Option<&'a Path>, options: &Settings) -> Self {
        let required = matches!(options.runs_dir, Some(RunsDir::In(_)));
        let baselines = options.baselines();
        let is_compared = options.repeats() > 1 || baselines.against.is_some() || baselines.save.is_some();
        Self { events, folder, required, is_compared, store: None, failed: false }
    }

    /// Ends the file of the run.
    pub(super) fn end(mut self, run: &Run) -> RunFile {
        let ended = self.store.take().map(|store| store.end(run.wall_time));
        let stored = ended.is_some();
        if let Some(Err(error)) = ended {
            self.lost(&error);
        }
        match (self.failed, stored) {
            (true, _) => RunFile::Failed,
            (false, true) => RunFile::Stored,
            (false, false) => RunFile::None,
        }
    }

    fn lost(&mut self, error: &io::Error) {
        self.events.warning(&format!("this run is no longer kept: {error}"));
        self.failed = true;
    }
}

impl RunEvents for Recorder<'_> {
    fn run_started(&mut self, run: &Run, resumed: &[&Record]) {
        self.events.run_started(run, resumed);
        // A run with nothing left to measure already has a file.
        let Some(folder) = self.folder.filter(|_| resumed.len() < run.planned_cases) else { return };
        match Store::create(folder, run, resumed) {
            Ok(store) => {
                self.events.run_stored(store.path());
                self.store = Some(store);
            }
            Err(error) => {
                self.events.warning(&format!("this run is not kept: {}: {error}", folder.display()));
                self.failed = self.required;
            }
        }
    }

    fn job_started(&mut self, job: &Job) {
        self.events.job_started(job);
    }

    fn step_reached(&mut self, job: &Job, step: Step) {
        self.events.step_reached(job, step);
    }

    fn interval_narrowed(&mut self, job: &Job, samples: usize, half_width: f64) {
        self.events.interval_narrowed(job, samples, half_width);
    }

    fn measured_again(&mut self, plan: &Plan) {
        self.events.measured_again(plan);
    }

    fn job_finished(&mut self, records: &[Record]) {
        self.events.job_finished(records);
    }

    fn record_finished(&mut self, record: &Record) {
        self.events.record_finished(record);
        if let Some(Err(error)) = self.store.as_mut().map(|store| store.add(record)) {
            self.store = None;
            self.lost(&error);
        }
    }

    fn is_done_with_samples(&self) -> bool {
        self.store.is_some() && !self.is_compared && self.events.is_done_with_samples()
    }

    fn warning(&mut self, warning: &str) {
        self.events.warning(warning);
    }
}
