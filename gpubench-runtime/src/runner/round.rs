//! The records of one round over a job: its first, after which failures are checked, or the second, which checks them. In: records
//! as they are made; out: those that are certain, told at once, and the others.

use super::lane::LaneEvent;
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::Cache;
use gpubench_records::record::Record;
use gpubench_stats::units::Bytes;

/// A case that failed.
pub(super) struct FailedTry {
    pub(super) record: Record,
    failure: Failure,
    /// True if it is not to be tried again.
    pub(super) is_final: bool,
}

impl FailedTry {
    /// Returns the benchmark and the stage: failures of one kind are likely to have one cause.
    pub(super) fn kind(&self) -> (String, Stage) {
        (self.record.case.benchmark.clone(), self.failure.stage)
    }
}

/// A round over the cases of a job.
pub(super) struct Round {
    tell: Box<dyn Fn(LaneEvent)>,
    /// The failures of the round before that have no second try yet, if this is the second.
    unchecked: Option<Vec<FailedTry>>,
    /// The failures of this round. Those of a second round are told.
    pub(super) failed: Vec<FailedTry>,
    /// Records whose claim is in doubt, which are not told yet, with the bytes that they must be seen to write.
    pub(super) in_doubt: Vec<(Record, Bytes)>,
    /// The device's facts, by which claims are judged.
    info: Option<Box<DeviceInfo>>,
}

impl Round {
    /// Begins the first round. Its failures are not told.
    pub(super) fn first(tell: impl Fn(LaneEvent) + 'static, info: Option<Box<DeviceInfo>>) -> Self {
        let (failed, in_doubt) = (Vec::new(), Vec::new());
        Self { tell: Box::new(tell), unchecked: None, failed, in_doubt, info }
    }

    /// Begins the round that checks these failures.
    pub(super) fn second(
        tell: impl Fn(LaneEvent) + 'static,
        info: Option<Box<DeviceInfo>>,
        failures: Vec<FailedTry>,
    ) -> Self {
        Self { unchecked: Some(failures), ..Self::first(tell, info) }
    }

    /// Returns the cases that this round checks.
    pub(super) fn caches(&self) -> Vec<Cache> {
        self.unchecked.iter().flatten().map(|failed| failed.record.case.cache).collect()
    }

    /// Tells the failures that could not be checked.
    pub(super) fn tell_unchecked(&mut self) {
        for failed in self.unchecked.take().into_iter().flatten() {
            (self.tell)(LaneEvent::Record(Box::new(failed.record)));
        }
    }

    /// Takes a record.
    pub(super) fn take(&mut self, record: Record) {
        self.add(record, false);
    }

    /// Takes the record of a case that is not to be tried again.
    pub(super) fn end_with(&mut self, record: Record) {
        self.add(record, true);
    }

    fn add(&mut self, mut record: Record, is_final: bool) {
        if let Some(failures) = &mut self.unchecked {
            let place = failures.iter().position(|failed| failed.record.case.cache == record.case.cache);
            if let Some(place) = place {
                record.set_first_failure(&failures.swap_remove(place).failure);
            }
        }
        if let Some(failure) = record.failure().cloned() {
            if self.unchecked.is_some() {
                (self.tell)(LaneEvent::Record(Box::new(record.clone())));
            }
            self.failed.push(FailedTry { record, failure, is_final });
        } else if let Some(enough) = self.info.as_ref().and_then(|info| record.declared_work_in_doubt(info)) {
            self.in_doubt.push((record, enough));
        } else {
            (self.tell)(LaneEvent::Record(Box::new(record)));
        }
    }
}
