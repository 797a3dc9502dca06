//! One job of a run, measured by the workers of a lane. In: the job; out: a record or a failure for each of its cases. A lost
//! worker costs one case, and the next one measures the rest. A case that fails is tried once more, in a new worker, before its
//! failure is told.

use std::time::Duration;

use super::devices::OPENINGS;
use super::error::DeviceRefusal;
use super::lane::{Lane, LaneEvent, Refused};
use super::round::{FailedTry, Round};
use super::supervisor::{Ended, Lost};
use crate::plan::Job;
use crate::worker::{Reply, Request};
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::Cache;
use gpubench_records::record::Record;
use gpubench_records::verdict::Reason;
use gpubench_records::verification::CuptiPass;
use gpubench_stats::units::Bytes;

/// The limit for write detection, which may well hang.
const WRITES_LIMIT: Duration = Duration::from_secs(10);

/// The number of cases of a benchmark that fail twice at a stage before all others are told at their first failure there: the time
/// that failures take is bounded, however many cases there are.
pub(super) const CONFIRMED: usize = 3;

/// Records whose times are still to be checked by other clocks.
#[derive(Default)]
struct Unchecked {
    records: Vec<Record>,
    /// True once launches were traced.
    were_traced: bool,
}

impl Unchecked {
    fn add(&mut self, record: Record) {
        self.records.push(record);
    }

    fn set_cupti(&mut self, cache: Cache, pass: CuptiPass) {
        self.were_traced = true;
        if let Some(record) = self.records.iter_mut().find(|record| record.case.cache == cache) {
            record.set_cupti(pass);
        }
    }

    /// Ends the checks, by the loss of their process if it was lost. What was sampled remains.
    fn end(self, verify: bool, lost: Option<&Lost>) -> impl Iterator<Item = Record> {
        let why = lost.map_or_else(|| "nothing came of it".to_owned(), ToString::to_string);
        self.records.into_iter().map(move |mut record| {
            if verify && record.lacks_cupti() {
                record.set_cupti(CuptiPass::Failed(why.clone()));
            }
            record
        })
    }
}

impl Lane<'_> {
    /// Measures a job. Cases that fail are tried once more. If it seems to have written less than it claims, runs write
    /// detection before its records are told.
    pub(super) fn job(&mut self, job: Job, info: Option<Box<DeviceInfo>>) -> Result<(), Ended> {
        let mut first = Round::first(self.teller(), info.clone());
        let mut ended = self.measure(job.clone(), info.clone(), &mut first);
        let mut in_doubt = first.in_doubt;
        let (again, blamed): (Vec<_>, Vec<_>) =
            first.failed.into_iter().partition(|failed| self.is_tried_again(&job, failed));
        blamed.into_iter().for_each(|failed| self.tell(LaneEvent::Record(Box::new(failed.record))));
        let mut second = Round::second(self.teller(), info.clone(), again);
        if ended.is_ok() && !second.caches().is_empty() {
            self.supervisor.replace(&job.device);
            ended = self.measure(Job { caches: second.caches(), ..job.clone() }, info.clone(), &mut second);
        }
        second.failed.iter().for_each(|failed| *self.confirmed.entry(failed.kind()).or_default() += 1);
        // After an interrupt nobody knows if these would have failed again: they are left for the run that resumes this one.
        if !matches!(ended, Err(Ended::Interrupted)) {
            second.tell_unchecked();
        }
        in_doubt.extend(second.in_doubt);
        let enough = in_doubt.iter().map(|(_, enough)| *enough).max_by_key(|enough| enough.0);
        let changed = match enough.filter(|_| ended.is_ok()) {
            None => Ok(None),
            Some(enough) => self.writes(&job, enough),
        };
        for (mut record, _) in in_doubt {
            if let Some(info) = &info {
                record.set_changed_when_altered(*changed.as_ref().unwrap_or(&None), info);
            }
            self.tell(LaneEvent::Record(Box::new(record)));
        }
        ended.and(changed.map(drop))
    }

    /// Returns true if a case that failed is tried once more. One that took its whole limit in a worker of its own is not: it would
    /// take the limit twice.
    fn is_tried_again(&self, job: &Job, failed: &FailedTry) -> bool {
        let confirmed = self.confirmed.get(&failed.kind()).is_some_and(|times| *times >= CONFIRMED);
        let is_open = self.refused.get(&job.device).is_none_or(|refused| refused.times < OPENINGS);
        !self.config.in_process && !failed.is_final && is_open && !confirmed
    }

    /// Measures a job. Each lost worker costs one of its cases. All records go to `round`.
    fn measure(
        &mut self,
        mut job: Job,
        info: Option<Box<DeviceInfo>>,
        round: &mut Round,
    ) -> Result<(), Ended> {
        let tell = self.teller();
        while !job.caches.is_empty() {
            if let Some(refused) = self.refused.get(&job.device).filter(|refused| refused.times >= OPENINGS) {
                let failure = Failure::new(Stage::Device, &refused.why);
                let failed = |cache| Record::failed(job.case(cache), failure.clone());
                job.caches.iter().for_each(|cache| round.end_with(failed(*cache)));
                return Ok(());
            }
            let Some(info) = info.clone() else { return Ok(()) };
            let (sampling, limit) = (self.config.sampling, self.config.limit(&job));
            let verify = self.config.verify;
            let request =
                Request::Measure { job: job.clone(), sampling, info, limit, verify, unchecked: false };
            let mut unchecked = Unchecked::default();
            let (before, is_used) = (job.caches.len(), self.supervisor.is_used(&job.device));
            let (mut refused, mut sampled) = (None, None);
            let asked = self.ask(&request, limit, &mut |reply| match reply {
                Reply::Sampled(record) => sampled = Some(record),
                Reply::Record(record) => {
                    sampled = None;
                    job.caches.retain(|cache| *cache != record.case.cache);
                    if verify { unchecked.add(*record) } else { round.take(*record) }
                }
                Reply::Traced { cache, pass } => unchecked.set_cupti(cache, pass),
                Reply::NoDevice(message) => refused = Some(DeviceRefusal::NotOpened(message)),
                Reply::Step(step) => tell(LaneEvent::Step(step)),
                Reply::Interval { samples, half_width } => tell(LaneEvent::Interval { samples, half_width }),
                Reply::DeviceInfo(_)
                | Reply::Tested(_)
                | Reply::Writes(_)
                | Reply::Planning(_)
                | Reply::Remark(_)
                | Reply::Changed
                | Reply::DeviceLost
                | Reply::Done => {}
            });
            if unchecked.were_traced {
                // Tracing leaves something behind.
                self.supervisor.replace(&job.device);
            }
            let lost = asked.as_ref().ok().and_then(Option::as_ref);
            unchecked.end(verify, lost).for_each(|record| round.take(record));
            let lost = asked?;
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
            let is_final = lost.as_ref().is_some_and(|lost| lost.timed_out() && !is_used);
            let failure = match lost {
                Some(lost) => lost.failure(),
                // The device was lost after a case. A new worker measures the others.
                None if job.caches.len() < before => continue,
                None => Failure::new(Stage::Worker, "sent no result"),
            };
            if let Some(cache) = job.caches.first().copied() {
                job.caches.remove(0);
                let record = match sampled {
                    Some(mut sampled) => {
                        sampled.verdict = sampled.verdict.and(Reason::FailedAfterwards(failure));
                        *sampled
                    }
                    None => Record::failed(job.case(cache), failure),
                };
                if is_final { round.end_with(record) } else { round.take(record) }
            }
        }
        Ok(())
    }

    /// Returns the size of the memory that launches of `job` change when it holds other values than before, up to `enough`.
    /// They may go astray, so they run in a worker that ends afterwards. Without worker processes there is no test.
    fn writes(&mut self, job: &Job, enough: Bytes) -> Result<Option<Bytes>, Ended> {
        if self.config.in_process {
            return Ok(None);
        }
        let request = Request::Writes { job: job.clone(), enough };
        let mut changed = None;
        let limit = self.config.limit(job).min(WRITES_LIMIT);
        let lost = self.ask(&request, limit, &mut |reply| {
            if let Reply::Writes(found) = reply {
                changed = found;
            }
        })?;
        self.supervisor.replace(&job.device);
        Ok(changed.filter(|_| lost.is_none()))
    }
}
