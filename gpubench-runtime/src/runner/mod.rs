//! Leads a run: asks for the devices' facts, gives each job to the lane of its device when its turn has come, and collects the
//! records. In: a plan. Out: a [`Run`].

mod audit;
pub(crate) mod clock_lock;
pub(crate) mod clocks;
pub(crate) mod devices;
pub(crate) mod error;
mod events;
mod job;
mod lane;
pub(crate) mod lister;
pub(crate) mod lock;
mod results;
pub(crate) mod resume;
mod round;
mod schedule;
pub(crate) mod single_cases;
pub(crate) mod supervisor;
#[cfg(test)]
mod tests;
pub(crate) mod trial;

use crate::devices::kinds;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) use self::error::RunError;
pub use self::events::RunEvents;

use self::lane::{Command, LaneEvent, Lanes, MakeSupervisor};
use self::lock::Lock;
use self::results::{Rows, RunResults};
use self::schedule::{Schedule, Scheduled};
use self::supervisor::Supervisor;
use crate::device::Available;
use crate::environment::environment;
use crate::peaks::PeakSources;
use crate::plan::{Job, JobStatus, Plan};
use crate::runner::resume::ResumedRecords;
use crate::worker::Libraries;
use gpubench_records::device_info::{Property, Value};
use gpubench_records::merge::merged;
use gpubench_records::record::{Program, Run, SCHEMA, Skipped};
use gpubench_records::sampling::Sampling;
use gpubench_records::task::Task;
use gpubench_stats::units::Nanoseconds;

/// The settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunConfig {
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
    /// The shared libraries of its workers.
    pub libraries: Libraries,
    /// True if CUPTI traces launches after the samples of a case.
    pub verify: bool,
}

impl RunConfig {
    /// Returns the wall time that a case of `job` may take.
    #[must_use]
    pub(crate) fn limit(&self, job: &Job) -> Duration {
        job.timeout.filter(|_| self.own_timeout).unwrap_or(self.timeout)
    }

    /// Returns the property of a device whose clocks are locked.
    fn locked_to(&self, device: &str) -> impl Iterator<Item = Property> {
        let locked = self.locked.iter().filter(move |(locked, _)| locked == device);
        locked.map(|(_, to)| Property::new("clocks", Value::Text(to.clone())))
    }
}

/// The facts that a run begins with, beside its plan.
#[derive(Debug)]
pub(crate) struct Beginning<'a> {
    /// The program that measures.
    pub program: Program,
    /// Notes that a reader must see first.
    pub notes: Vec<String>,
    /// The records of an earlier run that are still valid.
    pub resumed: ResumedRecords,
    /// The task that the run is, if it is one of several.
    pub task: Option<Task>,
    /// The locks of its devices.
    pub locks: &'a mut [Lock],
}

/// Returns true if the user wants to stop.
pub(crate) type Stop<'a> = dyn Fn() -> bool + Sync + 'a;

/// The plans of a run.
pub(crate) struct Plans<'a> {
    /// The cases of the run.
    pub plan: &'a Plan,
    /// Returns the cases of a run so far that are measured once more, in new workers, as long as there are any.
    pub again: &'a mut dyn FnMut(&Run) -> Option<Plan>,
}

/// Measures the rest of the plan on `devices`, and what is measured again, until it is done or `stop` returns true. The run holds
/// everything that was measured, even if it ended early.
pub(crate) fn measure(
    plans: Plans<'_>,
    devices: &[Available],
    beginning: Beginning<'_>,
    config: &RunConfig,
    observer: &mut dyn RunEvents,
    stop: &Stop<'_>,
) -> (Run, Result<(), RunError>) {
    let supervisor = || Supervisor::new(config.in_process, config.libraries.clone(), stop);
    measure_by(&supervisor, plans, devices, beginning, config, observer, stop)
}

/// Measures with the workers of supervisors that `supervisor` makes.
fn measure_by<'a>(
    supervisor: &MakeSupervisor<'a>,
    Plans { plan, again }: Plans<'_>,
    devices: &[Available],
    beginning: Beginning<'_>,
    config: &RunConfig,
    observer: &mut dyn RunEvents,
    stop: &Stop<'_>,
) -> (Run, Result<(), RunError>) {
    let Beginning { program, notes, resumed, task, locks } = beginning;
    let begin = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let run = Run {
        schema: SCHEMA.to_owned(),
        program,
        environment: environment(task),
        started,
        wall_time: resumed.wall(),
        notes,
        resumed: None,
        sampling: config.sampling,
        timeout: Some(config.timeout.into()),
        planned_cases: plan.cases(),
        devices: Vec::new(),
        records: Vec::new(),
        skipped: skipped(plan),
        regression_threshold: None,
        baseline_comparison: None,
    };
    let is_traced =
        |(job, fate): &(Job, JobStatus)| *fate == JobStatus::Measured && kinds::is_profiled(&job.device);
    if config.verify && !plan.jobs.iter().any(is_traced) {
        observer.warning("--verify: no case is on a device that CUPTI traces, so that none is verified");
    }
    let mut results = RunResults::new(run, observer);
    let ended = thread::scope(|scope| {
        let lanes = Lanes::start(scope, devices, config, supervisor)?;
        let mut runner = Runner { results: &mut results, resumed, lanes, config, locks, stop };
        runner.devices(devices, plan)?;
        runner.plans(plan)?;
        runner.again(again)
    });
    let mut run = results.run;
    // What was measured several times may have ended early.
    run.records = merged(run.records);
    run.wall_time += Nanoseconds::from(begin.elapsed());
    (run, ended)
}

/// Returns the cases that benchmarks leave out.
fn skipped(plan: &Plan) -> Vec<Skipped> {
    let why = |fate: &JobStatus| if let JobStatus::Skipped(why) = fate { Some(why.clone()) } else { None };
    let skipped = plan.jobs.iter().filter_map(|(job, fate)| Some((job.clone(), why(fate)?)));
    skipped
        .map(|(Job { benchmark, args, device, .. }, why)| Skipped { benchmark, args, device, reason: why })
        .collect()
}

struct Runner<'a, 'r> {
    results: &'a mut RunResults<'r>,
    resumed: ResumedRecords,
    lanes: Lanes,
    config: &'a RunConfig,
    locks: &'a mut [Lock],
    stop: &'a Stop<'a>,
}

impl Runner<'_, '_> {
    /// Measures `plan` the requested number of times, each time with new workers.
    fn plans(&mut self, plan: &Plan) -> Result<(), RunError> {
        for number in 0..self.config.runs.max(1) {
            if number > 0 {
                self.renew(0..self.lanes.count())?;
            }
            let ended = self.plan(plan);
            self.results.end();
            ended?;
        }
        audit::audit(plan, &self.results.run.records, self.config.runs.max(1))
    }

    /// Measures what `next` returns for the run so far, each time with new workers, until that is nothing.
    fn again(&mut self, next: &mut dyn FnMut(&Run) -> Option<Plan>) -> Result<(), RunError> {
        loop {
            let records = &mut self.results.run.records;
            *records = merged(std::mem::take(records));
            let before = records.len();
            let Some(plan) = next(&self.results.run) else { return Ok(()) };
            self.renew(0..self.lanes.count())?;
            self.results.begin_again(&plan);
            let ended = self.plan(&plan);
            self.results.end();
            ended?;
            audit::audit(&plan, &self.results.run.records[before..], 1)?;
        }
    }

    /// Ends the workers of these lanes, so that the next ones begin anew.
    fn renew(&mut self, lanes: Range<usize>) -> Result<(), RunError> {
        for lane in lanes {
            self.lanes.send(lane, Command::Renew);
            loop {
                if let LaneEvent::Done(done) = self.lanes.wait()?.1 {
                    break done?;
                }
            }
        }
        Ok(())
    }

    /// Measures `plan` once. After an error nothing new begins, and what is in progress comes to its end.
    fn plan(&mut self, plan: &Plan) -> Result<(), RunError> {
        let rows = Rows::of(plan);
        let scheduled = |(number, (job, _)): (usize, &(Job, JobStatus))| Scheduled {
            lane: self.lanes.of(&job.device),
            row: rows.of_job(number),
            shares: job.shares,
        };
        let jobs: Vec<Scheduled> = plan.jobs.iter().enumerate().map(scheduled).collect();
        let mut schedule = Schedule::of(&jobs, self.lanes.count());
        self.results.begin(rows);
        let mut ended = Ok(());
        loop {
            while ended.is_ok()
                && let Some(number) = schedule.next()
            {
                match self.begin(plan, number) {
                    Ok(true) => {}
                    Ok(false) => {
                        schedule.end(number);
                        self.results.job_done(number);
                    }
                    Err(error) => {
                        schedule.end(number);
                        ended = Err(error);
                    }
                }
            }
            if schedule.is_idle() {
                return ended;
            }
            let (lane, event) = self.lanes.wait()?;
            let Some(number) = schedule.on(lane) else { continue };
            let job = &plan.jobs[number].0;
            match event {
                LaneEvent::Step(step) => self.results.observer.step_reached(job, step),
                LaneEvent::Interval { samples, half_width } => {
                    self.results.observer.interval_narrowed(job, samples, half_width);
                }
                LaneEvent::Record(record) => self.results.add((number, job), *record),
                LaneEvent::Warning(warning) => self.results.observer.warning(&warning),
                LaneEvent::DeviceInfo(_) => {}
                LaneEvent::Done(done) => {
                    schedule.end(number);
                    match done {
                        Ok(()) => self.results.job_done(number),
                        Err(error) => ended = ended.and(Err(error.into())),
                    }
                }
            }
        }
    }

    /// Begins a job of the plan, if any of it is left to measure. Returns true if a lane is at work on it.
    fn begin(&mut self, plan: &Plan, number: usize) -> Result<bool, RunError> {
        let (job, fate) = &plan.jobs[number];
        let left = self.left_of(number, job);
        match fate {
            JobStatus::Skipped(_) => {}
            JobStatus::Broken(failure) => self.results.fail((number, job), &left, failure),
            JobStatus::Measured if left.caches.is_empty() => {}
            JobStatus::Measured => {
                if (self.stop)() {
                    return Err(RunError::Interrupted);
                }
                self.locks.iter_mut().try_for_each(Lock::keep)?;
                self.results.observer.job_started(job);
                let info = self.results.run.devices.iter().find(|info| info.device == job.device);
                let info = info.cloned().map(Box::new);
                self.lanes.send(self.lanes.of(&job.device), Command::Measure(Box::new(left), info));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the cases of `job` that are still to be measured. Moves the records of the others to the run.
    fn left_of(&mut self, number: usize, job: &Job) -> Job {
        let mut left = job.clone();
        left.caches.retain(|cache| match self.resumed.take(job, *cache) {
            Some(record) => {
                self.results.keep((number, job), record);
                false
            }
            None => true,
        });
        left
    }
}
