//! The results of a run so far. In: records and failures; out: the run, and each record to its observer.

use super::RunEvents;
use crate::plan::Job;
use gpubench_records::failure::Failure;
use gpubench_records::record::{Record, Run};

/// The results so far, and their observer.
pub(super) struct RunResults<'a> {
    pub(super) run: Run,
    pub(super) observer: &'a mut dyn RunEvents,
}

impl RunResults<'_> {
    pub(super) fn add(&mut self, mut record: Record) {
        let device = self.run.devices.iter().find(|facts| facts.device == record.case.device);
        record.fake = device.is_some_and(|facts| facts.fake);
        self.observer.record_finished(&record);
        self.run.records.push(record);
    }

    /// Records the same failure for every case of `job`.
    pub(super) fn fail(&mut self, job: &Job, failure: &Failure) {
        for cache in &job.caches {
            self.add(Record::failed(job.case(*cache), failure.clone()));
        }
    }
}
