//! Leads a run: has a worker tell the devices' facts and measure job by job, and collects the records. In: a plan; out: a
//! [`Run`]. What is lost with a worker is one case; the next worker goes on with the rest.

pub(crate) mod clock_lock;
pub(crate) mod lock;
pub mod resume;
pub(crate) mod supervisor;
#[cfg(test)]
mod tests;
pub mod trial;

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::device::Available;
use crate::peaks::PeakSources;
use crate::plan::{Fate, Job, Plan};
use crate::runner::resume::ResumedRecords;
use crate::runner::supervisor::{Ended, Supervisor};
use crate::worker::{Reply, Request};
use gpubench_records::facts::Facts;
use gpubench_records::facts::{Property, Value};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::merge::merged;
use gpubench_records::record::{Program, Record, Run, SCHEMA, Skipped};
use gpubench_records::sampling::Sampling;

/// Looking at a device is no case, and may take longer than one is allowed to.
const FACTS_LIMIT: Duration = Duration::from_secs(60);

/// Nor is finding out what a launch writes, which may well hang.
const WRITES_LIMIT: Duration = Duration::from_secs(10);

/// How a plan is carried out.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// How cases are sampled.
    pub sampling: Sampling,
    /// Peaks that devices do not tell by themselves.
    pub known: PeakSources,
    /// The wall time a case may take.
    pub timeout: Duration,
    /// Whether a benchmark's own `timeout` goes before that.
    pub own_timeout: bool,
    /// Measure in this process.
    pub in_process: bool,
    /// Devices whose clocks are locked, and what to.
    pub locked: Vec<(String, String)>,
    /// How often the plan is carried out, each time by a process of its own.
    pub runs: usize,
}

impl RunConfig {
    /// The wall time that a case of `job` may take.
    #[must_use]
    pub fn limit(&self, job: &Job) -> Duration {
        job.timeout.filter(|_| self.own_timeout).unwrap_or(self.timeout)
    }
}

/// Follows a run while it goes on.
pub trait RunEvents {
    /// All devices are known, and cases are about to be measured: `run` has everything but its records, which begin with
    /// those that are `kept` of an earlier run.
    fn begins(&mut self, run: &Run, kept: &[&Record]);
    /// A job begins.
    fn job(&mut self, job: &Job);
    /// A case is done.
    fn record(&mut self, record: &Record);
    /// Something that the user should hear of, and that is no result.
    fn tells(&mut self, remark: &str);
}

/// Why a run ended before its plan did.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// A device that was found cannot be used.
    #[error("device `{device}`: {message}")]
    Device {
        /// The device.
        device: String,
        /// Why not.
        message: String,
    },
    /// No worker process can be started.
    #[error("cannot start a process to measure in: {0}")]
    NoWorker(io::Error),
}

impl From<Ended> for RunError {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Interrupted => Self::Interrupted,
            Ended::NoWorker(error) => Self::NoWorker(error),
        }
    }
}

/// What a run begins with, beside its plan.
#[derive(Debug)]
pub struct Beginning {
    /// What measures.
    pub program: Program,
    /// What a reader must know first.
    pub notes: Vec<String>,
    /// The records of an earlier run that still hold.
    pub kept: ResumedRecords,
}

/// Measures what is left of `plan` on `devices`, until it is done or `stop` says so. The run holds all that was measured,
/// also where it ended early.
pub fn measure(
    plan: &Plan,
    devices: &[Available],
    beginning: Beginning,
    conduct: &RunConfig,
    observer: &mut dyn RunEvents,
    stop: &dyn Fn() -> bool,
) -> (Run, Result<(), RunError>) {
    let supervisor = Supervisor::new(conduct.in_process, stop);
    measure_by(supervisor, plan, devices, beginning, conduct, observer)
}

/// Measures with the workers of `supervisor`.
fn measure_by(
    supervisor: Supervisor<'_>,
    plan: &Plan,
    devices: &[Available],
    beginning: Beginning,
    conduct: &RunConfig,
    observer: &mut dyn RunEvents,
) -> (Run, Result<(), RunError>) {
    let Beginning { program, notes, kept } = beginning;
    let begin = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let run = Run {
        schema: SCHEMA.to_owned(),
        program,
        started,
        wall: kept.wall(),
        notes,
        resumed: None,
        sampling: conduct.sampling,
        timeout: Some(conduct.timeout.into()),
        planned: plan.cases(),
        devices: Vec::new(),
        records: Vec::new(),
        skipped: skipped(plan),
        threshold: None,
        check: None,
    };
    let mut lead =
        Runner { found: Results { run, observer }, kept, supervisor, refused: BTreeMap::new(), conduct };
    let ended = lead.devices(devices, plan).and_then(|()| lead.plans(plan));
    lead.supervisor.dismiss();
    let mut run = lead.found.run;
    if conduct.runs > 1 {
        run.records = merged(run.records);
    }
    run.wall += begin.elapsed().into();
    (run, ended)
}

/// What benchmarks say is left out.
fn skipped(plan: &Plan) -> Vec<Skipped> {
    let why = |fate: &Fate| if let Fate::Skipped(why) = fate { Some((*why).to_owned()) } else { None };
    let skipped = plan.jobs.iter().filter_map(|(job, fate)| Some((job.clone(), why(fate)?)));
    skipped
        .map(|(Job { benchmark, args, device, .. }, why)| Skipped { benchmark, args, device, why })
        .collect()
}

struct Runner<'a> {
    found: Results<'a>,
    kept: ResumedRecords,
    supervisor: Supervisor<'a>,
    /// Devices that could not be opened, and why.
    refused: BTreeMap<String, Refused>,
    conduct: &'a RunConfig,
}

/// Why a device cannot be opened.
struct Refused {
    message: String,
    /// In how many processes, one after the other.
    times: usize,
}

/// So many processes may find a device closed before it is given up: the first may have lost it itself.
const OPENINGS: usize = 2;

/// What has come in so far, and who follows it.
struct Results<'a> {
    run: Run,
    observer: &'a mut dyn RunEvents,
}

impl Results<'_> {
    fn keep(&mut self, mut record: Record) {
        let device = self.run.devices.iter().find(|facts| facts.device == record.case.device);
        record.fake = device.is_some_and(|facts| facts.fake);
        self.observer.record(&record);
        self.run.records.push(record);
    }

    /// The same failure for every case of `job`.
    fn fail(&mut self, job: &Job, failure: &Failure) {
        for cache in &job.caches {
            self.keep(Record::failed(job.case(*cache), failure.clone()));
        }
    }
}

impl Runner<'_> {
    /// Has each device that is still needed tell its facts. One that cannot be used costs its own cases, unless there is no
    /// other.
    fn devices(&mut self, devices: &[Available], plan: &Plan) -> Result<(), RunError> {
        for Available { device, .. } in devices {
            let facts = match self.kept.instead_of(device, plan, &self.conduct.known) {
                Some(facts) => Ok(facts),
                None => self.device(device)?,
            };
            match facts {
                Ok(mut facts) => {
                    self.found.run.notes.extend(self.conduct.known.add_to(&mut facts));
                    self.found.run.devices.push(self.kept.on(facts));
                }
                Err(message) if devices.len() == 1 => {
                    return Err(RunError::Device { device: device.clone(), message });
                }
                Err(message) => {
                    self.refused.insert(device.clone(), Refused { message, times: OPENINGS });
                }
            }
        }
        for remark in self.kept.remarks() {
            self.found.observer.tells(&remark);
        }
        let kept = self.kept.of(plan);
        self.found.run.resumed = self.kept.note(kept.len(), plan.cases());
        self.found.observer.begins(&self.found.run, &kept);
        Ok(())
    }

    fn device(&mut self, device: &str) -> Result<Result<Facts, String>, RunError> {
        let request = Request::Facts { device: device.to_owned() };
        let mut answer = Err("the worker did not tell what is known of it".to_owned());
        let limit = FACTS_LIMIT.max(self.conduct.timeout);
        let lost = self.supervisor.ask(&request, limit, &mut |reply| match reply {
            // Whatever it calls itself, its cases ask for it by this name.
            Reply::Facts(facts) => {
                let locked = self.conduct.locked.iter().filter(|(locked, _)| locked == device);
                let locked = locked.map(|(_, to)| Property::new("clocks", Value::Text(to.clone())));
                let properties = facts.properties.into_iter().chain(locked).collect();
                answer = Ok(Facts { device: device.to_owned(), properties, ..facts });
            }
            Reply::NoDevice(message) => answer = Err(message),
            Reply::Step(_)
            | Reply::Record(_)
            | Reply::Tested(_)
            | Reply::Writes(_)
            | Reply::DeviceLost
            | Reply::Done => {}
        })?;
        let answer = lost.map_or(answer, |lost| Err(lost.failure().message));
        Ok(answer)
    }

    /// Carries `plan` out as often as asked, each time by other workers.
    fn plans(&mut self, plan: &Plan) -> Result<(), RunError> {
        for number in 0..self.conduct.runs.max(1) {
            if number > 0 {
                self.supervisor.dismiss();
            }
            self.plan(plan)?;
        }
        Ok(())
    }

    fn plan(&mut self, plan: &Plan) -> Result<(), RunError> {
        for (job, fate) in &plan.jobs {
            let first = self.found.run.records.len();
            let left = self.left_of(job);
            match fate {
                Fate::Skipped(_) => {}
                Fate::Broken(failure) => self.found.fail(&left, failure),
                Fate::Measured if left.caches.is_empty() => {}
                Fate::Measured => {
                    if self.supervisor.stops() {
                        return Err(RunError::Interrupted);
                    }
                    self.found.observer.job(job);
                    self.job(left)?;
                }
            }
            let place = |record: &Record| job.caches.iter().position(|cache| *cache == record.case.cache);
            self.found.run.records[first..].sort_by_key(place);
        }
        Ok(())
    }

    /// The cases of `job` that are still to be measured. The records of the others become the run's.
    fn left_of(&mut self, job: &Job) -> Job {
        let mut left = job.clone();
        left.caches.retain(|cache| match self.kept.take(job, *cache) {
            Some(record) => {
                self.found.run.records.push(record);
                false
            }
            None => true,
        });
        left
    }

    /// Measures a job, and where it seems to have written nothing finds that out before its records are kept.
    fn job(&mut self, job: Job) -> Result<(), RunError> {
        let mut held = Vec::new();
        let measured = self.measure(job.clone(), &mut held);
        let writes = match held.is_empty() || measured.is_err() {
            true => Ok(None),
            false => self.writes(&job),
        };
        for mut record in held {
            record.set_written_when_altered(*writes.as_ref().unwrap_or(&None));
            self.found.keep(record);
        }
        measured.and(writes.map(drop))
    }

    /// Measures a job; each worker that is lost takes one of its cases along. What may have written nothing is `held`, all
    /// other records are kept.
    fn measure(&mut self, mut job: Job, held: &mut Vec<Record>) -> Result<(), RunError> {
        while !job.caches.is_empty() {
            if let Some(refused) = self.refused.get(&job.device).filter(|refused| refused.times >= OPENINGS) {
                let failure = Failure::new(Stage::Device, &refused.message);
                self.found.fail(&job, &failure);
                return Ok(());
            }
            let facts = self.found.run.devices.iter().find(|facts| facts.device == job.device);
            let Some(facts) = facts.cloned().map(Box::new) else { return Ok(()) };
            let (sampling, limit) = (self.conduct.sampling, self.conduct.limit(&job));
            let request = Request::Measure { job: job.clone(), sampling, facts, limit };
            let before = job.caches.len();
            let mut refused = None;
            let found = &mut self.found;
            let lost = self.supervisor.ask(&request, limit, &mut |reply| match reply {
                Reply::Record(record) => {
                    job.caches.retain(|cache| *cache != record.case.cache);
                    if record.write_undetected() { held.push(*record) } else { found.keep(*record) }
                }
                Reply::NoDevice(message) => refused = Some(message),
                Reply::Facts(_)
                | Reply::Tested(_)
                | Reply::Writes(_)
                | Reply::Step(_)
                | Reply::DeviceLost
                | Reply::Done => {}
            })?;
            if let Some(lost) = lost.as_ref().filter(|lost| lost.before_the_case()) {
                refused = Some(lost.failure().message);
            }
            if let Some(message) = refused {
                self.supervisor.replace(&job.device);
                let times = self.refused.get(&job.device).map_or(1, |refused| refused.times + 1);
                self.refused.insert(job.device.clone(), Refused { message, times });
                continue;
            }
            self.refused.remove(&job.device);
            let failure = match lost {
                Some(lost) => lost.failure(),
                // A device that was lost over one case has its others left to a new worker.
                None if job.caches.len() < before => continue,
                None => Failure::new(Stage::Worker, "sent no result"),
            };
            if let Some(cache) = job.caches.first().copied() {
                job.caches.remove(0);
                self.found.keep(Record::failed(job.case(cache), failure));
            }
        }
        Ok(())
    }

    /// Whether launches of `job` write anything where memory holds something else than it did. They may go astray: it is
    /// tried in a worker that ends with it, and not where there is none.
    fn writes(&mut self, job: &Job) -> Result<Option<bool>, RunError> {
        if self.conduct.in_process {
            return Ok(None);
        }
        let request = Request::Writes { job: job.clone() };
        let mut writes = None;
        let limit = self.conduct.limit(job).min(WRITES_LIMIT);
        let lost = self.supervisor.ask(&request, limit, &mut |reply| {
            if let Reply::Writes(found) = reply {
                writes = found;
            }
        })?;
        self.supervisor.replace(&job.device);
        Ok(writes.filter(|_| lost.is_none()))
    }
}
