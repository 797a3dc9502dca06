//! One job of a run, measured by the workers of a lane. In: the job; out: a record or a failure for each of its cases. A lost
//! worker costs one case, and the next one measures the rest.

use std::time::Duration;

use super::devices::OPENINGS;
use super::error::DeviceRefusal;
use super::lane::{Lane, LaneEvent, Refused};
use super::supervisor::Ended;
use crate::plan::Job;
use crate::worker::{Reply, Request};
use gpubench_records::facts::Facts;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::record::Record;

/// The limit for write detection, which may well hang.
const WRITES_LIMIT: Duration = Duration::from_secs(10);

impl Lane<'_> {
    /// Measures a job. If it seems to have written nothing, runs write detection before its records are told.
    pub(super) fn job(&mut self, job: Job, facts: Option<Box<Facts>>) -> Result<(), Ended> {
        let mut unwritten = Vec::new();
        let measured = self.measure(job.clone(), facts, &mut unwritten);
        let writes = match unwritten.is_empty() || measured.is_err() {
            true => Ok(None),
            false => self.writes(&job),
        };
        for mut record in unwritten {
            record.set_written_when_altered(*writes.as_ref().unwrap_or(&None));
            self.tell(LaneEvent::Record(Box::new(record)));
        }
        measured.and(writes.map(drop))
    }

    /// Measures a job. Each lost worker costs one of its cases. Records of cases that may have written
    /// nothing go to `unwritten`; all others are told.
    fn measure(
        &mut self,
        mut job: Job,
        facts: Option<Box<Facts>>,
        unwritten: &mut Vec<Record>,
    ) -> Result<(), Ended> {
        let tell = self.teller();
        while !job.caches.is_empty() {
            if let Some(refused) = self.refused.get(&job.device).filter(|refused| refused.times >= OPENINGS) {
                let failure = Failure::new(Stage::Device, &refused.why);
                let failed = |cache| Record::failed(job.case(cache), failure.clone());
                job.caches.iter().for_each(|cache| tell(LaneEvent::Record(Box::new(failed(*cache)))));
                return Ok(());
            }
            let Some(facts) = facts.clone() else { return Ok(()) };
            let (sampling, limit) = (self.config.sampling, self.config.limit(&job));
            let request = Request::Measure { job: job.clone(), sampling, facts, limit };
            let before = job.caches.len();
            let mut refused = None;
            let lost = self.ask(&request, limit, &mut |reply| match reply {
                Reply::Record(record) => {
                    job.caches.retain(|cache| *cache != record.case.cache);
                    if record.write_undetected() {
                        unwritten.push(*record);
                    } else {
                        tell(LaneEvent::Record(record));
                    }
                }
                Reply::NoDevice(message) => refused = Some(DeviceRefusal::NotOpened(message)),
                Reply::Step(step) => tell(LaneEvent::Step(step)),
                Reply::Interval { samples, half_width } => tell(LaneEvent::Interval { samples, half_width }),
                Reply::Facts(_)
                | Reply::Tested(_)
                | Reply::Writes(_)
                | Reply::Planning(_)
                | Reply::DeviceLost
                | Reply::Done => {}
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
                tell(LaneEvent::Record(Box::new(Record::failed(job.case(cache), failure))));
            }
        }
        Ok(())
    }

    /// Returns true if launches of `job` write anything when memory holds other values than before. They may
    /// go astray, so they run in a worker that ends afterwards. Without worker processes there is no test.
    fn writes(&mut self, job: &Job) -> Result<Option<bool>, Ended> {
        if self.config.in_process {
            return Ok(None);
        }
        let request = Request::Writes { job: job.clone() };
        let mut writes = None;
        let limit = self.config.limit(job).min(WRITES_LIMIT);
        let lost = self.ask(&request, limit, &mut |reply| {
            if let Reply::Writes(found) = reply {
                writes = found;
            }
        })?;
        self.supervisor.replace(&job.device);
        Ok(writes.filter(|_| lost.is_none()))
    }
}
