//! Leads a run: asks workers for the devices' facts and for one job after another, and collects the records.
//! In: a plan. Out: a [`Run`]. A lost worker costs one case; the next worker goes on with the rest.

pub(crate) mod clock_lock;
mod events;
pub(crate) mod lock;
pub mod resume;
pub(crate) mod supervisor;
#[cfg(test)]
mod tests;
pub mod trial;

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use self::events::RunEvents;

use crate::device::Available;
use crate::environment::environment;
use crate::peaks::PeakSources;
use crate::plan::{Fate, Job, Plan};
use crate::runner::resume::ResumedRecords;
use crate::runner::supervisor::{Ended, Supervisor};
use crate::worker::{Reply, Request};
use gpubench_records::facts::{Facts, Property, Value};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::merge::merged;
use gpubench_records::record::{Program, Record, Run, SCHEMA, Skipped};
use gpubench_records::sampling::Sampling;
use gpubench_stats::units::Nanoseconds;

/// The limit for the facts of a device. This is no case, and may take longer than a case may.
const FACTS_LIMIT: Duration = Duration::from_secs(60);

/// The limit for write detection, which may well hang.
const WRITES_LIMIT: Duration = Duration::from_secs(10);

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

/// The reason that a run ended before its plan did.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// A found device cannot be used.
    #[error("device `{device}`: {why}")]
    Device {
        /// The device.
        device: String,
        /// The reason.
        why: DeviceRefusal,
    },
    /// No worker process can be started.
    #[error("cannot start a process to measure in: {0}")]
    NoWorker(io::Error),
}

/// The reason that no case can be measured on a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceRefusal {
    /// The worker cannot open it.
    #[error("{0}")]
    NotOpened(String),
    /// The worker was lost while it opened it.
    #[error("{}", .0.message)]
    WorkerLost(Failure),
    /// The worker answered without its facts.
    #[error("the worker did not tell what is known of it")]
    NoFacts,
}

impl From<Ended> for RunError {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Interrupted => Self::Interrupted,
            Ended::NoWorker(error) => Self::NoWorker(error),
        }
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
    let Beginning { program, notes, resumed } = beginning;
    let begin = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let run = Run {
        schema: SCHEMA.to_owned(),
        program,
        environment: environment(),
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

/// The reason that a device cannot be opened.
struct Refused {
    why: DeviceRefusal,
    /// The number of processes in a row that it refused.
    times: usize,
}

/// The number of processes that try to open a device before it is given up. The first may have lost the
/// device itself.
const OPENINGS: usize = 2;

/// The results so far, and their observer.
struct RunResults<'a> {
    run: Run,
    observer: &'a mut dyn RunEvents,
}

impl RunResults<'_> {
    fn add(&mut self, mut record: Record) {
        let device = self.run.devices.iter().find(|facts| facts.device == record.case.device);
        record.fake = device.is_some_and(|facts| facts.fake);
        self.observer.record_finished(&record);
        self.run.records.push(record);
    }

    /// Records the same failure for every case of `job`.
    fn fail(&mut self, job: &Job, failure: &Failure) {
        for cache in &job.caches {
            self.add(Record::failed(job.case(*cache), failure.clone()));
        }
    }
}

impl Runner<'_> {
    /// Asks each device that is still needed for its facts. An unusable device costs only its own cases,
    /// unless it is the only one.
    fn devices(&mut self, devices: &[Available], plan: &Plan) -> Result<(), RunError> {
        for Available { device, .. } in devices {
            let facts = match self.resumed.instead_of(device, plan, &self.config.peak_sources) {
                Some(facts) => Ok(facts),
                None => self.device(device)?,
            };
            match facts {
                Ok(mut facts) => {
                    self.results.run.notes.extend(self.config.peak_sources.add_to(&mut facts));
                    self.results.run.devices.push(self.resumed.on(facts));
                }
                Err(why) if devices.len() == 1 => {
                    return Err(RunError::Device { device: device.clone(), why });
                }
                Err(why) => {
                    self.refused.insert(device.clone(), Refused { why, times: OPENINGS });
                }
            }
        }
        for remark in self.resumed.remarks() {
            self.results.observer.warning(&remark);
        }
        let resumed = self.resumed.of(plan);
        self.results.run.resumed = self.resumed.note(resumed.len(), plan.cases());
        self.results.observer.run_started(&self.results.run, &resumed);
        Ok(())
    }

    /// Asks a worker for the facts of `device`.
    fn device(&mut self, device: &str) -> Result<Result<Facts, DeviceRefusal>, RunError> {
        let request = Request::Facts { device: device.to_owned() };
        let mut answer = Err(DeviceRefusal::NoFacts);
        let limit = FACTS_LIMIT.max(self.config.timeout);
        let lost = self.supervisor.ask(&request, limit, &mut |reply| match reply {
            // The name under which its cases ask for it, whatever it calls itself.
            Reply::Facts(facts) => {
                let locked = self.config.locked.iter().filter(|(locked, _)| locked == device);
                let locked = locked.map(|(_, to)| Property::new("clocks", Value::Text(to.clone())));
                let properties = facts.properties.into_iter().chain(locked).collect();
                answer = Ok(Facts { device: device.to_owned(), properties, ..facts });
            }
            Reply::NoDevice(message) => answer = Err(DeviceRefusal::NotOpened(message)),
            Reply::Step(_)
            | Reply::Interval { .. }
            | Reply::Record(_)
            | Reply::Tested(_)
            | Reply::Writes(_)
            | Reply::DeviceLost
            | Reply::Done => {}
        })?;
        Ok(lost.map_or(answer, |lost| Err(DeviceRefusal::WorkerLost(lost.failure()))))
    }

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

    /// Measures a job. If it seems to have written nothing, runs write detection before its records are added.
    fn job(&mut self, job: Job) -> Result<(), RunError> {
        let mut unwritten = Vec::new();
        let measured = self.measure(job.clone(), &mut unwritten);
        let writes = match unwritten.is_empty() || measured.is_err() {
            true => Ok(None),
            false => self.writes(&job),
        };
        for mut record in unwritten {
            record.set_written_when_altered(*writes.as_ref().unwrap_or(&None));
            self.results.add(record);
        }
        measured.and(writes.map(drop))
    }

    /// Measures a job. Each lost worker costs one of its cases. Records of cases that may have written
    /// nothing go to `unwritten`; all others to the results.
    fn measure(&mut self, mut job: Job, unwritten: &mut Vec<Record>) -> Result<(), RunError> {
        while !job.caches.is_empty() {
            if let Some(refused) = self.refused.get(&job.device).filter(|refused| refused.times >= OPENINGS) {
                let failure = Failure::new(Stage::Device, &refused.why);
                self.results.fail(&job, &failure);
                return Ok(());
            }
            let facts = self.results.run.devices.iter().find(|facts| facts.device == job.device);
            let Some(facts) = facts.cloned().map(Box::new) else { return Ok(()) };
            let (sampling, limit) = (self.config.sampling, self.config.limit(&job));
            let request = Request::Measure { job: job.clone(), sampling, facts, limit };
            let before = job.caches.len();
            let mut refused = None;
            let results = &mut self.results;
            let lost = self.supervisor.ask(&request, limit, &mut |reply| match reply {
                Reply::Record(record) => {
                    job.caches.retain(|cache| *cache != record.case.cache);
                    if record.write_undetected() { unwritten.push(*record) } else { results.add(*record) }
                }
                Reply::NoDevice(message) => refused = Some(DeviceRefusal::NotOpened(message)),
                Reply::Step(step) => results.observer.step_reached(step),
                Reply::Interval { samples, half_width } => {
                    results.observer.interval_narrowed(samples, half_width);
                }
                Reply::Facts(_) | Reply::Tested(_) | Reply::Writes(_) | Reply::DeviceLost | Reply::Done => {}
            })?;
            if let Some(lost) = lost.as_ref().filter(|lost| lost.before_the_case()) {
                refused = Some(DeviceRefusal::WorkerLost(lost.failure()));
            }
            if let Some(why) = refused {
                self.supervisor.replace(&job.device);
                let times = self.refused.get(&job.device).map_or(1, |refused| refused.times + 1);
                self.refused.insert(job.device.clone(), Refused { why, times });
                continue;
            }
            self.refused.remove(&job.device);
            let failure = match lost {
                Some(lost) => lost.failure(),
                // The device was lost after a case. A new worker measures the others.
                None if job.caches.len() < before => continue,
                None => Failure::new(Stage::Worker, "sent no result"),
            };
            if let Some(cache) = job.caches.first().copied() {
                job.caches.remove(0);
                self.results.add(Record::failed(job.case(cache), failure));
            }
        }
        Ok(())
    }

    /// Returns true if launches of `job` write anything when memory holds other values than before. They may
    /// go astray, so they run in a worker that ends afterwards. Without worker processes there is no test.
    fn writes(&mut self, job: &Job) -> Result<Option<bool>, RunError> {
        if self.config.in_process {
            return Ok(None);
        }
        let request = Request::Writes { job: job.clone() };
        let mut writes = None;
        let limit = self.config.limit(job).min(WRITES_LIMIT);
        let lost = self.supervisor.ask(&request, limit, &mut |reply| {
            if let Reply::Writes(found) = reply {
                writes = found;
            }
        })?;
        self.supervisor.replace(&job.device);
        Ok(writes.filter(|_| lost.is_none()))
    }
}
