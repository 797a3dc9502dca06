//! The observer of a run in progress. In: the events of the run. Out: the progress line, and the file that
//! the run is kept in.

use std::io;
use std::path::Path;

use super::messages::warn;
use super::progress::Progress;
use crate::plan::{Job, Plan};
use crate::runner::RunEvents;
use crate::suite::cli::{Exit, Options, RunsDir};
use gpubench_records::files::Store;
use gpubench_records::record::{Record, Run};

/// The observer of a run: it updates the progress line and the file that the run is kept in.
pub(super) struct RunObserver<'a> {
    pub(super) progress: Progress,
    /// The folder for runs in progress, and true if the user named it.
    runs: Option<&'a Path>,
    asked: bool,
    store: Option<Store>,
    failed: bool,
}

impl<'a> RunObserver<'a> {
    pub(super) fn of(plan: &Plan, options: &Options, runs: Option<&'a Path>) -> Self {
        let asked = matches!(options.runs_dir, RunsDir::In(_));
        Self {
            progress: Progress::over(plan.cases() * options.runs, "cases"),
            runs,
            asked,
            store: None,
            failed: false,
        }
    }

    /// Ends the file of the run. Returns true if there is one.
    pub(super) fn end(mut self, run: &Run) -> Result<bool, Exit> {
        let ended = self.store.take().map(|store| store.end(run.wall));
        let kept = ended.is_some();
        if let Some(Err(error)) = ended {
            self.lost(&error);
        }
        if self.failed { Err(Exit::Failed) } else { Ok(kept) }
    }

    fn lost(&mut self, error: &io::Error) {
        self.tells(&format!("this run is no longer kept: {error}"));
        self.failed = true;
    }
}

impl RunEvents for RunObserver<'_> {
    fn begins(&mut self, run: &Run, kept: &[&Record]) {
        self.progress.begins_with(kept.len());
        // A run with nothing left to measure already has a file.
        let Some(folder) = self.runs.filter(|_| kept.len() < run.planned) else { return };
        match Store::create(folder, run, kept) {
            Ok(store) => self.store = Some(store),
            Err(error) => {
                self.tells(&format!("this run is not kept: {}: {error}", folder.display()));
                self.failed = self.asked;
            }
        }
    }

    fn job(&mut self, job: &Job) {
        self.progress.comes_to(job);
    }

    fn record(&mut self, record: &Record) {
        self.progress.advances();
        if let Some(Err(error)) = self.store.as_mut().map(|store| store.add(record)) {
            self.store = None;
            self.lost(&error);
        }
    }

    fn tells(&mut self, remark: &str) {
        self.progress.aside(|| warn(remark));
    }
}
