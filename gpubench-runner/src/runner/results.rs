//! The results of a run so far: each record goes to the file of the run and to its observer. The records of a group, those of a benchmark
//! with its arguments on all devices, are together. A run that lost a record must not look complete.

use std::path::PathBuf;

use super::{RunEvent, RunEvents, device_thread::Scheduled};
use crate::plan::Plan;
use gpubench_records::{Failure, PlannedCase, Record, Run, files::Store};
use gpubench_runtime::Job;
use gpubench_stats::{Map, Set};

/// The state of the file of a run, which decides on the exit code and on the hint to `--resume`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunFileStatus {
    /// It has all records so far.
    Stored,
    /// There is no file, and none is needed: the user wants none, nothing was left to measure, or the default
    /// folder could not be used.
    None,
    /// It could not be created in the folder that the user named, or a write to it failed. A warning has said
    /// so.
    Failed,
}

/// A record after its place in the plan: the number of its job, and its position among the job's cache
/// states.
type PositionedRecord = ((usize, usize), Record);

/// The results of a run so far, its file, and the observer of its events.
pub(super) struct RunResults<'a> {
    /// The run, with the records of all groups that are finished.
    pub run: Run,
    events: &'a mut dyn RunEvents,
    store: Option<Store>,
    file: RunFileStatus,
    /// True if only the file of the run needs samples: a finished group then keeps none in memory.
    drops_samples: bool,
    /// The records of each group in progress, by the number of the group.
    groups: Map<usize, Vec<PositionedRecord>>,
    /// True once [`begin_retry`](Self::begin_retry) was called: all cases were measured, and some are
    /// measured again.
    is_retry: bool,
    /// The warnings so far, so that each is reported once.
    warnings: Set<String>,
}

impl<'a> RunResults<'a> {
    /// Creates the results of `run`, which has no records yet. [`start_run`](Self::start_run) creates the
    /// file.
    pub(super) fn new(run: Run, events: &'a mut dyn RunEvents, drops_samples: bool) -> Self {
        let (store, file, groups) = (None, RunFileStatus::None, Map::default());
        Self { run, events, store, file, drops_samples, groups, is_retry: false, warnings: Set::default() }
    }

    /// Reports an event to the observer.
    pub(super) fn event(&mut self, event: &RunEvent<'_>) {
        self.events.event(event);
    }

    /// Reports a warning to the observer, unless the same text was reported before.
    pub(super) fn warn(&mut self, warning: &str) {
        if self.warnings.insert(warning.to_owned()) {
            self.event(&RunEvent::Warning(warning));
        }
    }

    /// Reports to the observer that the run starts with the records `resumed`. Unless they are all that is
    /// planned, creates the file of the run in the folder `store`. If that fails, warns; with true in
    /// `store`, the file then counts as [`Failed`](RunFileStatus::Failed).
    pub(super) fn start_run(&mut self, resumed: &[&Record], store: Option<(PathBuf, bool)>) {
        self.events.event(&RunEvent::RunStarted(&self.run, resumed));
        // A run with nothing left to measure already has a file.
        let Some((folder, required)) = store.filter(|_| resumed.len() < self.run.planned_cases) else {
            return;
        };
        match Store::create(&folder, &self.run, resumed) {
            Ok(store) => (self.store, self.file) = (Some(store), RunFileStatus::Stored),
            Err(error) => {
                self.warn(&format!("this run is not kept: {}: {error}", folder.display()));
                self.file = if required { RunFileStatus::Failed } else { RunFileStatus::None };
            }
        }
    }

    /// Ends the file of the run, and returns the run with the state of the file. The returned run lacks the
    /// records of groups that are not finished. `ended_early` is true if the run ended before its plan did.
    pub(super) fn into_run(mut self, ended_early: bool) -> (Run, RunFileStatus) {
        let ended = self.store.take().map_or(Ok(()), |store| store.end(&self.run, ended_early));
        self.drop_file_on_error(ended);
        (self.run, self.file)
    }

    /// Warns and gives up the file of the run if `written` is an error.
    fn drop_file_on_error(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.warn(&format!("this run is no longer kept: {error}"));
            (self.store, self.file) = (None, RunFileStatus::Failed);
        }
    }

    /// Reports to the observer that the cases of `plan` are measured again. Records that are added later
    /// count as measured again.
    pub(super) fn begin_retry(&mut self, plan: &Plan) {
        self.event(&RunEvent::MeasuredAgain(plan));
        self.is_retry = true;
    }

    /// Adds a new record of `job`: sets its device model and whether it was measured again, reports it to the
    /// observer and writes it to the file.
    pub(super) fn add(&mut self, (scheduled, job): (Scheduled, &Job), mut record: Record) {
        if let Some(info) = self.run.device_of(&record) {
            record.set_device(info);
        }
        record.remeasured = usize::from(self.is_retry);
        self.event(&RunEvent::RecordFinished(&record));
        let written = self.store.as_mut().map_or(Ok(()), |store| store.add(&record));
        self.drop_file_on_error(written);
        self.add_to_group((scheduled, job), record);
    }

    /// Adds a record to its group without reporting it or writing it to the file.
    pub(super) fn add_to_group(&mut self, (scheduled, job): (Scheduled, &Job), record: Record) {
        let position = job.caches.iter().position(|cache| *cache == record.case.cache).unwrap_or_default();
        let group = self.groups.or_insert(scheduled.group, Vec::new());
        group.push(((scheduled.number, position), record));
    }

    /// Adds a record with `failure` for each case of `left`, the part of `job` that is not measured yet.
    pub(super) fn add_failures(&mut self, scheduled: (Scheduled, &Job), left: &Job, failure: &Failure) {
        for cache in &left.caches {
            self.add(scheduled, Record::failed(left.case(*cache), failure.clone()));
        }
    }

    /// Finishes all groups as they are, even if some of their jobs have not ended.
    pub(super) fn finish_all_groups(&mut self) {
        while let Some((group, _)) = self.groups.first() {
            self.finish_group(*group);
        }
    }

    /// Moves the records of a group to the run, in the order of the plan. Reports the group to the observer,
    /// unless it has no records or is measured again.
    pub(super) fn finish_group(&mut self, group: usize) {
        let mut records = self.groups.remove(&group).unwrap_or_default();
        gpubench_stats::sort_by_key(&mut records, |(position, _)| *position);
        let mut records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
        // A group that is measured again is there already.
        if !records.is_empty() && !self.is_retry {
            self.event(&RunEvent::JobFinished(&records));
        }
        if self.drops_samples && self.store.is_some() {
            records.iter_mut().for_each(Record::forget_samples);
        }
        self.run.records.extend(records);
    }
}

/// Checks that `records` has exactly `runs` records of each case of `plan`.
///
/// # Errors
/// Returns an error that names the first case with more or fewer records.
pub(super) fn check_completeness(plan: &Plan, records: &[Record], runs: usize) -> Result<(), String> {
    let mut missing: Map<Box<PlannedCase>, isize> = Map::default();
    for (job, cache) in plan.planned_cases() {
        *missing.or_insert(Box::new(job.case(cache)), 0) += runs as isize;
    }
    records.iter().for_each(|record| *missing.or_insert(Box::new(record.planned()), 0) -= 1);
    let missing = missing.into_iter().filter(|(_, missing)| *missing != 0).min();
    let Some((case, missing)) = missing else { return Ok(()) };
    let difference = if missing > 0 { "lacks" } else { "has more than" };
    Err(format!("the run {difference} its records of `{case}` on `{}`", case.device))
}
