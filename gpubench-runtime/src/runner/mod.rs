//! Leads a run: asks workers for the devices' facts and for one job after another, and collects the records.
//! In: a plan. Out: a [`Run`]. A lost worker costs one case; the next worker goes on with the rest.

pub(crate) mod clock_lock;
mod devices;
mod error;
mod events;
mod job;
pub(crate) mod lock;
mod results;
pub mod resume;
pub(crate) mod supervisor;
#[cfg(test)]
mod tests;
pub mod trial;

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use self::error::{DeviceRefusal, RunError};
pub use self::events::RunEvents;

use self::devices::Refused;
use self::results::RunResults;
use self::supervisor::Supervisor;
use crate::device::Available;
use crate::environment::environment;
use crate::peaks::PeakSources;
use crate::plan::{Fate, Job, Plan};
use crate::runner::resume::ResumedRecords;
use gpubench_records::merge::merged;
use gpubench_records::record::{Program, Record, Run, SCHEMA, Skipped};
use gpubench_records::sampling::Sampling;
use gpubench_records::task::Task;
use gpubench_stats::units::Nanoseconds;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// The sampling of cases.
    pub sampling: Sampling,
    /// Peaks that devices do not report.
    pub peak_sources: PeakSources,
    /// The wall time a case may take.
    pub timeout: Duration,
    /// True if a benchmark's own `timeout` overrides that.
    pub own_timeout: bool,
    /// Measures in this process.
    pub in_process: bool,
    /// Devices with locked clocks, and the clock of each.
    pub locked: Vec<(String, String)>,
    /// The number of times to measure the plan, each time in a new process.
    pub runs: usize,
}

impl RunConfig {
    /// Returns the wall time that a case of `job` may take.
    #[must_use]
    pub fn limit(&self, job: &Job) -> Duration {
        job.timeout.filter(|_| self.own_timeout).unwrap_or(self.timeout)
    }
}

/// The facts that a run begins with, beside its plan.
#[derive(Debug)]
pub struct Beginning {
    /// The program that measures.
    pub program: Program,
    /// Notes that a reader must see first.
    pub notes: Vec<String>,
    /// The records of an earlier run that are still valid.
    pub resumed: ResumedRecords,
    /// The task that the run is, if it is one of several.
    pub task: Option<Task>,
}

/// Measures the rest of `plan` on `devices`, until it is done or `stop` returns true. The run holds
/// everything that was measured, even if it ended early.
pub fn measure(
    plan: &Plan,
    devices: &[Available],
    beginning: Beginning,
    config: &RunConfig,
    observer: &mut dyn RunEvents,
    stop: &dyn Fn() -> bool,
) -> (Run, Result<(), RunError>) {
    let supervisor = Supervisor::new(config.in_process, stop);
    measure_by(supervisor, plan, devices, beginning, config, observer)
}

/// Measures with the workers of `supervisor`.
fn measure_by(
    supervisor: Supervisor<'_>,
    plan: &Plan,
    devices: &[Available],
    beginning: Beginning,
    config: &RunConfig,
    observer: &mut dyn RunEvents,
) -> (Run, Result<(), RunError>) {
    let Beginning { program, notes, resumed, task } = beginning;
    let begin = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let run = Run {
        schema: SCHEMA.to_owned(),
        program,
        environment: environment(task),
        started,
        wall: resumed.wall(),
        notes,
        resumed: None,
        sampling: config.sampling,
        timeout: Some(config.timeout.into()),
        planned: plan.cases(),
        devices: Vec::new(),
        records: Vec::new(),
        skipped: skipped(plan),
        threshold: None,
        check: None,
    };
    let mut runner = Runner {
        results: RunResults { run, observer },
        resumed,
        supervisor,
        refused: BTreeMap::new(),
        config,
    };
    let ended = runner.devices(devices, plan).and_then(|()| runner.plans(plan));
    runner.supervisor.dismiss();
    let mut run = runner.results.run;
    if config.runs > 1 {
        run.records = merged(run.records);
    }
    run.wall += Nanoseconds::from(begin.elapsed());
    (run, ended)
}

/// Returns the cases that benchmarks leave out.
fn skipped(plan: &Plan) -> Vec<Skipped> {
    let why = |fate: &Fate| if let Fate::Skipped(why) = fate { Some((*why).to_owned()) } else { None };
    let skipped = plan.jobs.iter().filter_map(|(job, fate)| Some((job.clone(), why(fate)?)));
    skipped
        .map(|(Job { benchmark, args, device, .. }, why)| Skipped { benchmark, args, device, why })
        .collect()
}

struct Runner<'a> {
    results: RunResults<'a>,
    resumed: ResumedRecords,
    supervisor: Supervisor<'a>,
    /// Devices that could not be opened, and the reasons.
    refused: BTreeMap<String, Refused>,
    config: &'a RunConfig,
}

impl Runner<'_> {
    /// Measures `plan` the requested number of times, each time with new workers.
    fn plans(&mut self, plan: &Plan) -> Result<(), RunError> {
        for number in 0..self.config.runs.max(1) {
            if number > 0 {
                self.supervisor.dismiss();
            }
            self.plan(plan)?;
        }
        Ok(())
    }

    fn plan(&mut self, plan: &Plan) -> Result<(), RunError> {
        for (job, fate) in &plan.jobs {
            let first = self.results.run.records.len();
            let left = self.left_of(job);
            let mut ended = Ok(());
            match fate {
                Fate::Skipped(_) => {}
                Fate::Broken(failure) => self.results.fail(&left, failure),
                Fate::Measured if left.caches.is_empty() => {}
                Fate::Measured => {
                    if self.supervisor.stops() {
                        return Err(RunError::Interrupted);
                    }
                    self.results.observer.job_started(job);
                    ended = self.job(left);
                }
            }
            let place = |record: &Record| job.caches.iter().position(|cache| *cache == record.case.cache);
            let records = &mut self.results.run.records[first..];
            records.sort_by_key(place);
            if !records.is_empty() {
                self.results.observer.job_finished(records);
            }
            ended?;
        }
        Ok(())
    }

    /// Returns the cases of `job` that are still to be measured. Moves the records of the others to the run.
    fn left_of(&mut self, job: &Job) -> Job {
        let mut left = job.clone();
        left.caches.retain(|cache| match self.resumed.take(job, *cache) {
            Some(record) => {
                self.results.run.records.push(record);
                false
            }
            None => true,
        });
        left
    }
}
