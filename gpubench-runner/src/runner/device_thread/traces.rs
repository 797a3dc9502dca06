//! Delays the records of a request until CUPTI has traced their launches, for `--verify cupti`.

use crate::plan::Plan;
use crate::runner::supervisor::LostWorker;
use gpubench_records::{Cache, CuptiPass, Record};
use gpubench_runtime::{Job, JobStatus, devices::kinds};

/// Returns a warning if no case of the plan is measured on a device that CUPTI traces.
pub(in crate::runner) fn warning_if_untraced(plan: &Plan) -> Option<&'static str> {
    let is_traced = |(job, status): &(Job, JobStatus)| {
        *status == JobStatus::Measured && kinds::kind_of(&job.device).is_some_and(|kind| kind.profiled)
    };
    let warning = "--verify: no case is on a device that CUPTI traces, so that none is verified";
    (!plan.jobs.iter().any(is_traced)).then_some(warning)
}

/// The records of a request whose launches are traced after the samples of all its cases.
#[derive(Default)]
pub(super) struct Traces {
    records: Vec<Record>,
    /// True once a trace has come. Tracing changes the process.
    pub was_traced: bool,
}

impl Traces {
    /// Delays a record until its launches are traced.
    pub(super) fn await_trace(&mut self, record: Record) {
        self.records.push(record);
    }

    /// Stores the trace of the case in this cache state.
    pub(super) fn add(&mut self, cache: Cache, pass: CuptiPass) {
        self.was_traced = true;
        let record = self.records.iter_mut().find(|record| record.case.cache == cache);
        record.into_iter().for_each(|record| record.set_cupti(pass.clone()));
    }

    /// Returns the records after a request that lost the worker if `lost`. A record without a trace says why it has none.
    pub(super) fn into_records(self, lost: Option<&LostWorker>) -> Vec<Record> {
        let why = lost.map_or_else(|| "nothing came of it".to_owned(), LostWorker::to_string);
        let mut records = self.records;
        for record in records.iter_mut().filter(|record| record.lacks_cupti()) {
            record.set_cupti(CuptiPass::Failed(why.clone()));
        }
        records
    }
}
