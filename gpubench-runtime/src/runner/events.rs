//! The events of a run in progress, for its observers.

use crate::plan::{Job, Plan};
use gpubench_records::failure::Step;
use gpubench_records::record::{Record, Run};

/// An event of a run in progress.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// The cases to measure are known, and the number of times that they are measured.
    Planned(&'a Plan, usize),
    /// The devices are about to be opened, and their peaks to be measured.
    DevicesOpening,
    /// All devices are known and measurement is about to begin. The run is complete except for its records, which will begin with
    /// these of an earlier run.
    RunStarted(&'a Run, &'a [&'a Record]),
    /// A job begins. Jobs on several devices are in progress together.
    JobStarted(&'a Job),
    /// The current case of a job has come to this step.
    StepReached(&'a Job, Step),
    /// The median of the current case of a job is known to this relative precision.
    IntervalNarrowed {
        /// The job.
        job: &'a Job,
        /// The number of samples so far.
        samples: usize,
        /// Half of the interval over the median.
        half_width: f64,
    },
    /// A case is finished: measured or failed.
    RecordFinished(&'a Record),
    /// All cases of a benchmark with its arguments are finished, on all devices, also those from an earlier run. The records are in
    /// the order of the run.
    JobFinished(&'a [Record]),
    /// These cases are about to be measured once more, in new processes: they seem slower than a baseline allows.
    MeasuredAgain(&'a Plan),
    /// The run has ended, early or not.
    RunEnded(&'a Run),
    /// Something that the user needs to know and that is no result.
    Warning(&'a str),
    /// A message that is no warning.
    Remark(&'a str),
}

/// Observes a run in progress.
///
/// The unit type `()` observes nothing.
pub trait RunEvents {
    /// Called for each event, in order.
    fn event(&mut self, event: &RunEvent<'_>);
}

impl RunEvents for () {
    fn event(&mut self, _: &RunEvent<'_>) {}
}
