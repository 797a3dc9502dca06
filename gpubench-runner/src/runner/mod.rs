//! Leads a run: asks for the properties of the devices, gives each job to the thread of its device when the schedule allows it, and
//! collects the records.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{io, ops::Range, path::PathBuf, thread};

use self::device_thread::{DeviceThreads, MakeSupervisor, Schedule, Scheduled};
use self::results::{RunResults, check_completeness};
use self::supervisor::{ShowWarning, Supervisor, WorkerStarter};
use crate::runner::resume::ResumedRecords;
use crate::{peaks::PeakSources, plan::Plan, settings::Settings, system::environment};
use gpubench_records::record::{SCHEMA, Skipped};
use gpubench_records::{Failure, Program, Record, Run, Stage, Step, Task, merge::merged};
use gpubench_runtime::worker::{MeasureRequest, Reply, Request};
use gpubench_runtime::{Job, JobStatus, device::Available, devices::kinds};
use gpubench_stats::{Map, Nanoseconds};

pub(crate) use self::results::RunFileStatus;

pub(crate) mod clock_lock;
mod device_thread;
pub(crate) mod lister;
pub(crate) mod lock;
mod results;
pub(crate) mod resume;
pub(crate) mod single_cases;
pub(crate) mod supervisor;
#[cfg(test)]
mod tests;

/// The reason that a run ended before its plan did.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// A device cannot be used, or another benchmark binary measures on it too.
    #[error("{0}")]
    Device(String),
    /// The records are not those of the plan.
    #[error("{0}")]
    OtherRecords(String),
    /// No worker process can be started.
    #[error("cannot start a process to measure in: {0}")]
    NoWorker(io::Error),
}

/// What a run measures with, besides its plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunConfig {
    /// The settings of the user.
    pub settings: Settings,
    /// Peaks that devices do not report.
    pub peak_sources: PeakSources,
    /// Devices with locked clocks, and the clock of each.
    pub locked: Vec<(String, String)>,
    /// Starts worker processes.
    pub starter: WorkerStarter,
    /// True if only the file of the run needs samples: a finished case then keeps none in memory.
    pub drops_samples: bool,
}

impl RunConfig {
    /// Returns a supervisor of workers. Their requests end when `stop` returns true, and `warn` shows their warnings.
    pub(crate) fn supervisor<'a>(&self, stop: &'a dyn Fn() -> bool, warn: ShowWarning<'a>) -> Supervisor<'a> {
        Supervisor::new(self.settings.in_process, self.starter.clone(), stop, warn)
    }

    /// Returns the wall time that a case of `job` may take: the user's `--timeout`, else the benchmark's own, else the default.
    pub(crate) fn limit(&self, job: &Job) -> Duration {
        job.timeout.filter(|_| self.settings.timeout.is_none()).unwrap_or(self.settings.time_limit())
    }

    /// Returns the request for the properties of a device.
    fn info_request(&self, device: &str) -> Request {
        Request::DeviceInfo { device: device.to_owned(), peaks: self.peak_sources.stored.clone() }
    }
}

/// A run before it begins.
#[derive(Debug, Default)]
pub(crate) struct RunSetup {
    /// The cases to measure.
    pub plan: Plan,
    /// The devices to measure them on.
    pub devices: Vec<Available>,
    /// The program that measures.
    pub program: Program,
    /// Notes that a reader must see first.
    pub notes: Vec<String>,
    /// The records of an earlier run that are still valid.
    pub resumed: ResumedRecords,
    /// The task that the run is, if it is one of several.
    pub task: Option<Task>,
    /// The folder of its file, and true if the run fails without it.
    pub store: Option<(PathBuf, bool)>,
}

/// Returns true if the user wants to stop.
pub(crate) type Stop<'a> = dyn Fn() -> bool + Sync + 'a;

/// A function that returns the seeming regressions of a run so far, as a part of its plan, which are measured once more in new workers. `None`
/// ends the run.
pub(crate) type RetryRegressions<'a> = dyn FnMut(&Plan, &Run) -> Option<Plan> + 'a;

/// Measures the rest of the plan, then `retry_regressions`, until all is done or `stop` returns true. Each device has its own workers, which
/// `supervisor` starts. The run contains everything that was measured, even if it ended early. `conclude` completes it before its file ends.
pub(crate) fn measure<'a>(
    supervisor: &MakeSupervisor<'a>,
    setup: RunSetup,
    config: &RunConfig,
    retry_regressions: &mut RetryRegressions<'_>,
    conclude: &dyn Fn(&mut Run),
    events: &mut dyn RunEvents,
    stop: &Stop<'_>,
) -> (Run, RunFileStatus, Result<(), RunError>) {
    let RunSetup { plan, devices, program, notes, resumed, task, store } = setup;
    let begin = Instant::now();
    let skipped = plan.jobs.iter().filter_map(|(job, status)| match status {
        JobStatus::Skipped(reason) => {
            let Job { benchmark, args, device, .. } = job.clone();
            Some(Skipped { benchmark, args, device, reason: reason.clone() })
        }
        _ => None,
    });
    let run = Run {
        schema: SCHEMA.to_owned(),
        program,
        environment: environment(task),
        started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        wall_time: resumed.wall_time,
        notes,
        resumed: None,
        sampling: config.settings.sampling(),
        timeout: Some(config.settings.time_limit().into()),
        columns: config.settings.columns.clone(),
        planned_cases: plan.cases(),
        devices: Vec::new(),
        records: Vec::new(),
        skipped: skipped.collect(),
        regression_threshold: None,
        baseline_comparison: None,
    };
    let mut results = RunResults::new(run, events, config.drops_samples);
    #[cfg(feature = "verify")]
    if config.settings.verify.is_some() {
        device_thread::traces::warning_if_untraced(&plan)
            .into_iter()
            .for_each(|warning| results.warn(warning));
    }
    let ended = thread::scope(|scope| {
        let threads = DeviceThreads::start(scope, &devices, config, supervisor)?;
        let (results, unusable) = (&mut results, Map::default());
        let mut runner = Runner { results, resumed, threads, config, stop, unusable };
        runner.open_devices(&devices, &plan, store)?;
        runner.measure_repeatedly(&plan)?;
        runner.retry_regressions(&mut |run| retry_regressions(&plan, run))
    });
    // Cases that were measured several times may have ended early.
    results.run.records = merged(std::mem::take(&mut results.run.records));
    results.run.wall_time += Nanoseconds::from(begin.elapsed());
    conclude(&mut results.run);
    let (run, file) = results.into_run(ended.is_err());
    (run, file, ended)
}

/// A run in progress: the threads of its devices and the results so far.
struct Runner<'a, 'r> {
    results: &'a mut RunResults<'r>,
    resumed: ResumedRecords,
    threads: DeviceThreads,
    config: &'a RunConfig,
    stop: &'a Stop<'a>,
    /// The devices that cannot be used, with the reasons.
    unusable: Map<String, String>,
}

impl Runner<'_, '_> {
    /// Asks each device that is still needed for its properties, one after the other: they may measure what they share. An unusable
    /// device costs only its own cases, unless it is the only one.
    fn open_devices(
        &mut self,
        devices: &[Available],
        plan: &Plan,
        store: Option<(PathBuf, bool)>,
    ) -> Result<(), RunError> {
        let runs_concurrently =
            |device: &str| kinds::kind_of(device).is_some_and(|kind| kind.runs_concurrently);
        let some_run_concurrently = devices.iter().any(|found| runs_concurrently(&found.device));
        for Available { device, .. } in devices {
            let thread = self.threads.thread_of(device);
            let complete = self.resumed.info_if_complete(device, plan, &self.config.peak_sources);
            let mut answer = complete.ok_or_else(|| "it sent no properties".to_owned());
            if answer.is_err() {
                self.threads.ask(thread, self.config.info_request(device), &mut |reply| match reply {
                    Reply::DeviceInfo(info) => answer = Ok(info),
                    Reply::NoDevice(why) => answer = Err(why),
                    Reply::Remark(remark) => self.results.warn(&remark),
                    _ => {}
                })?;
            }
            if self.threads.count() > 1 && some_run_concurrently && !runs_concurrently(device) {
                // Its cases come last. Other devices report every other process on their GPU, so this worker exits until then.
                self.replace_workers(thread..thread + 1)?;
            }
            match answer {
                Ok(mut info) => {
                    self.results.run.notes.extend(self.config.peak_sources.add_to(&mut info));
                    self.results.run.devices.push(self.resumed.adopt_info(info));
                }
                Err(why) if devices.len() == 1 => {
                    return Err(RunError::Device(format!("device `{device}`: {why}")));
                }
                Err(why) => _ = self.unusable.insert(device.clone(), why),
            }
        }
        self.resumed.remarks().iter().for_each(|remark| self.results.warn(remark));
        let resumed = self.resumed.for_plan(plan);
        self.results.run.resumed = self.resumed.note(resumed.len(), plan.cases());
        self.results.start_run(&resumed, store);
        Ok(())
    }

    /// Measures `plan` the requested number of times, each time with new workers.
    fn measure_repeatedly(&mut self, plan: &Plan) -> Result<(), RunError> {
        let runs = self.config.settings.repeats();
        for number in 0..runs {
            if number > 0 {
                self.replace_workers(0..self.threads.count())?;
            }
            self.measure_plan(plan)?;
        }
        check_completeness(plan, &self.results.run.records, runs).map_err(RunError::OtherRecords)
    }

    /// Measures the plan that `next` returns for the run so far, each time with new workers, until it returns `None`.
    fn retry_regressions(&mut self, next: &mut dyn FnMut(&Run) -> Option<Plan>) -> Result<(), RunError> {
        loop {
            let records = &mut self.results.run.records;
            *records = merged(std::mem::take(records));
            let before = records.len();
            let Some(plan) = next(&self.results.run) else { return Ok(()) };
            self.replace_workers(0..self.threads.count())?;
            self.results.begin_retry(&plan);
            self.measure_plan(&plan)?;
            check_completeness(&plan, &self.results.run.records[before..], 1)
                .map_err(RunError::OtherRecords)?;
        }
    }

    /// Ends the workers of these threads, so that the next requests get new ones.
    fn replace_workers(&mut self, threads: Range<usize>) -> Result<(), RunError> {
        for thread in threads {
            self.threads.ask(thread, Request::End, &mut |_| {})?;
        }
        Ok(())
    }

    /// Measures `plan` once. After an error nothing new begins, and jobs in progress come to their end.
    fn measure_plan(&mut self, plan: &Plan) -> Result<(), RunError> {
        let (mut groups, mut jobs) = (Map::default(), Vec::with_capacity(plan.jobs.len()));
        for (number, (Job { benchmark, args, device, with, shares, .. }, _)) in plan.jobs.iter().enumerate() {
            let next = groups.len();
            let group = *groups.or_insert((benchmark, args, with), next);
            jobs.push(Scheduled { number, thread: self.threads.thread_of(device), group, shares: *shares });
        }
        let mut schedule = Schedule::new(jobs, self.threads.count());
        let ended = self.run_schedule(plan, &mut schedule);
        self.results.finish_all_groups();
        ended
    }

    /// Begins jobs as the schedule allows, and processes replies until all jobs have ended. After an error, no further job begins.
    fn run_schedule(&mut self, plan: &Plan, schedule: &mut Schedule) -> Result<(), RunError> {
        let mut ended = Ok(());
        loop {
            while ended.is_ok()
                && let Some(next) = schedule.begin_next()
            {
                let begun = self.begin_job(plan, next);
                if !matches!(begun, Ok(true)) {
                    self.end_job(schedule, next, begun.is_ok());
                }
                ended = begun.map(drop);
            }
            if schedule.running.is_empty() {
                return ended;
            }
            let (last, done) = loop {
                let (thread, reply) = self.threads.next_reply()?;
                let Some(scheduled) = schedule.running_on(thread) else { continue };
                let job = &plan.jobs[scheduled.number].0;
                match reply {
                    Ok(Reply::Step(step)) => self.results.event(&RunEvent::StepReached(job, step)),
                    Ok(Reply::Record(record)) => self.results.add((scheduled, job), *record),
                    Ok(Reply::Remark(remark)) => self.results.warn(&remark),
                    Ok(Reply::Done) => break (scheduled, Ok(())),
                    Ok(_) => {}
                    Err(error) => break (scheduled, Err(error)),
                }
            };
            self.end_job(schedule, last, done.is_ok());
            ended = ended.and(done);
        }
    }

    /// Ends a job. If it was the last of its group and ended without an error (`is_done`), finishes the group.
    fn end_job(&mut self, schedule: &mut Schedule, job: Scheduled, is_done: bool) {
        if schedule.end_job(job) && is_done {
            self.results.finish_group(job.group);
        }
    }

    /// Begins a job of the plan, if any of it is left to measure. Returns true if a thread is at work on it; false if nothing was left, if it is
    /// skipped, or if it failed at once, of which it adds the records.
    fn begin_job(&mut self, plan: &Plan, scheduled: Scheduled) -> Result<bool, RunError> {
        let (job, status) = &plan.jobs[scheduled.number];
        let mut left = job.clone();
        left.caches.retain(|cache| match self.resumed.take(job, *cache) {
            Some(record) => {
                self.results.add_to_group((scheduled, job), record);
                false
            }
            None => true,
        });
        if let JobStatus::Broken(failure) = status {
            self.results.add_failures((scheduled, job), &left, failure);
        }
        if *status != JobStatus::Measured || left.caches.is_empty() {
            return Ok(false);
        }
        if (self.stop)() {
            return Err(RunError::Interrupted);
        }
        self.results.event(&RunEvent::JobStarted(job));
        let info = self.results.run.devices.iter().find(|info| info.device == job.device);
        let Some(info) = info.cloned() else {
            let why = self.unusable.get(&job.device).map_or("it is not there", String::as_str);
            self.results.add_failures((scheduled, job), &left, &Failure::new(Stage::Device, why));
            return Ok(false);
        };
        let request = MeasureRequest {
            job: left,
            sampling: self.results.run.sampling,
            info,
            limit: self.config.limit(job),
            verify: self.config.settings.verify.is_some(),
            unchecked: false,
        };
        self.threads.send(scheduled.thread, Request::Measure(Box::new(request)));
        Ok(true)
    }
}

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
