//! Delays the records of a request until CUPTI has traced their launches, for `--verify cupti`.

use super::{DeviceThread, JobAttempts, RunError};
use crate::plan::Plan;
use crate::runner::{results::RunResults, supervisor::LostWorker};
use gpubench_records::{Cache, CuptiPass, Record};
use gpubench_runtime::{Job, JobStatus, devices::kinds};

/// Warns if no case of the plan is measured on a device that CUPTI traces.
pub(in crate::runner) fn warn_if_untraced(plan: &Plan, results: &mut RunResults<'_>) {
    let is_traced = |(job, status): &(Job, JobStatus)| {
        *status == JobStatus::Measured && kinds::kind_of(&job.device).is_some_and(|kind| kind.profiled)
    };
    if !plan.jobs.iter().any(is_traced) {
        results.warn("--verify: no case is on a device that CUPTI traces, so that none is verified");
    }
}

/// The records of a request whose launches are traced after the samples of all its cases.
#[derive(Default)]
pub(super) struct Traces {
    records: Vec<Record>,
    was_traced: bool,
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
}

impl DeviceThread<'_> {
    /// Accepts the records of a request that `ended`. A record without a trace says why it has none.
    pub(super) fn accept_traced(
        &mut self,
        traces: Traces,
        device: &str,
        ended: &Result<Option<LostWorker>, RunError>,
        attempts: &mut JobAttempts<'_>,
    ) {
        if traces.was_traced {
            // Tracing changes the process.
            self.supervisor.dismiss_worker_of(device);
        }
        let lost = ended.as_ref().ok().and_then(Option::as_ref);
        let why = lost.map_or_else(|| "nothing came of it".to_owned(), LostWorker::to_string);
        for mut record in traces.records {
            if record.lacks_cupti() {
                record.set_cupti(CuptiPass::Failed(why.clone()));
            }
            attempts.accept(record, false);
        }
    }
}
