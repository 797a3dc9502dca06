//! The events of a run in progress, for whoever shows it. In: what the runner does. Out: calls of an observer.

use std::path::Path;

use crate::plan::{Job, Plan};
use gpubench_records::failure::Step;
use gpubench_records::record::{Record, Run};

/// Observes a run while it goes on. Each method has an empty default: an observer implements those it needs.
///
/// The unit type `()` observes nothing.
#[expect(unused_variables, reason = "the defaults ignore every event")]
pub trait RunEvents {
    /// The cases to measure are known. `plan` will be measured `runs` times.
    fn planned(&mut self, plan: &Plan, runs: usize) {}
    /// The devices are about to be opened, and their peaks to be measured.
    fn devices_opening(&mut self) {}
    /// All devices are known and measurement is about to begin. `run` is complete except for its records, which will
    /// begin with those that are `resumed` from an earlier run.
    fn run_started(&mut self, run: &Run, resumed: &[&Record]) {}
    /// The run is being stored in this file.
    fn run_stored(&mut self, file: &Path) {}
    /// A job begins. Jobs on several devices are in progress together.
    fn job_started(&mut self, job: &Job) {}
    /// The current case of `job` has come to this step.
    fn step_reached(&mut self, job: &Job, step: Step) {}
    /// The median of the current case of `job` is known to this part of it, from so many samples.
    fn interval_narrowed(&mut self, job: &Job, samples: usize, half_width: f64) {}
    /// A case is finished: measured or failed.
    fn record_finished(&mut self, record: &Record) {}
    /// All cases of a benchmark with its arguments are finished, on all devices, also those from an earlier run. `records` are
    /// theirs, in the order of the run.
    fn job_finished(&mut self, records: &[Record]) {}
    /// Returns true if nobody reads the samples of a finished job again: the run then keeps its figures alone.
    fn is_done_with_samples(&self) -> bool {
        false
    }
    /// The cases of `plan` are about to be measured once more, in new processes: they seem slower than a baseline allows.
    fn measured_again(&mut self, plan: &Plan) {}
    /// The run has ended, early or not.
    fn run_ended(&mut self, run: &Run) {}
    /// The measured ceilings of a device are stored in this file.
    fn ceilings_stored(&mut self, file: &Path) {}
    /// Something that the user needs to know and that is no result.
    fn warning(&mut self, warning: &str) {}
}

impl RunEvents for () {}
