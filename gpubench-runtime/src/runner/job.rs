//! One job of a run, measured by workers. In: the job; out: a record or a failure for each of its cases. A lost worker costs one
//! case, and the next one measures the rest.

use std::time::Duration;

use super::Runner;
use super::devices::{OPENINGS, Refused};
use super::error::{DeviceRefusal, RunError};
use crate::plan::Job;
use crate::worker::{Reply, Request};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::record::Record;

/// The limit for write detection, which may well hang.
const WRITES_LIMIT: Duration = Duration::from_secs(10);

impl Runner<'_> {
    /// Measures a job. If it seems to have written nothing, runs write detection before its records are added.
    pub(super) fn job(&mut self, job: Job) -> Result<(), RunError> {
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
