//! The variants of a race, measured by the workers of their device. In: their jobs; out: coarse times, the checks of outputs, rounds of
//! two that take turns. One worker measures all of them as long as it survives; what fails is tried once more in a new one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::race::{DuelRounds, Racers};
use super::supervisor::{Ended, Supervisor};
use super::{RunConfig, RunError, race_sampling};
use crate::plan::Job;
use crate::worker::{Reply, Request};
use gpubench_records::facts::Facts;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::id::BenchmarkId;
use gpubench_records::record::{Compared, Measurement, Record};
use gpubench_records::sampling::Sampling;
use gpubench_records::work::Counts;
use gpubench_stats::race::Duel;
use gpubench_stats::resolution_of_pairs;
use gpubench_stats::units::Nanoseconds;

/// The number of variants that fail twice at a stage before others are told at their first failure there.
const CONFIRMED: usize = 3;

/// The variants of a problem on a device, in one state of the cache.
pub(crate) struct Variants<'a, 's> {
    supervisor: &'a mut Supervisor<'s>,
    config: &'a RunConfig,
    facts: &'a Facts,
    jobs: Vec<Job>,
    /// What is known of each beside its placing.
    pub(crate) seen: Vec<Seen>,
    confirmed: BTreeMap<Stage, usize>,
    began: Instant,
    /// When the budget is spent.
    deadline: Option<Instant>,
    started: &'a mut dyn FnMut(&Job),
}

/// What is seen of a variant beside its placing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    time: Option<Nanoseconds>,
    /// True once a step was measured of it as the contender.
    dueled: bool,
    pub(crate) counts: Counts,
    pub(crate) checked: bool,
}

impl<'a, 's> Variants<'a, 's> {
    /// The variants that `jobs` measure, each of one case. Calls `started` before each is measured.
    pub(crate) fn new(
        supervisor: &'a mut Supervisor<'s>,
        config: &'a RunConfig,
        facts: &'a Facts,
        jobs: Vec<Job>,
        deadline: Option<Instant>,
        started: &'a mut dyn FnMut(&Job),
    ) -> Self {
        let seen = vec![Seen::default(); jobs.len()];
        Self {
            supervisor,
            config,
            facts,
            jobs,
            seen,
            confirmed: BTreeMap::new(),
            began: Instant::now(),
            deadline,
            started,
        }
    }

    /// Measures a job.
    fn record(&mut self, job: &Job, sampling: Sampling) -> Result<Result<Record, Failure>, Ended> {
        (self.started)(job);
        let (limit, facts) = (self.config.limit(job), Box::new(self.facts.clone()));
        let verify = false;
        let request = Request::Measure { job: job.clone(), sampling, facts, limit, verify, unchecked: true };
        self.confirmed(job, &mut |variants| {
            variants.ask(&request, limit, |reply| match reply {
                Reply::Record(sent) => Some(usable(*sent)),
                _ => None,
            })
        })
    }

    /// Does what is asked for with a job, once more in a new worker if it fails. A job that took its whole limit in a worker of its
    /// own is not tried again.
    fn confirmed<T>(
        &mut self,
        job: &Job,
        asked: &mut dyn FnMut(&mut Self) -> Result<Answered<T>, Ended>,
    ) -> Result<Result<T, Failure>, Ended> {
        let is_used = self.supervisor.is_used(&job.device);
        let (first, timed_out) = asked(self)?;
        let Err(failure) = first else { return Ok(first) };
        let confirmed = self.confirmed.get(&failure.stage).is_some_and(|times| *times >= CONFIRMED);
        if self.config.in_process || confirmed || (timed_out && !is_used) {
            return Ok(Err(failure));
        }
        self.supervisor.replace(&job.device);
        let (second, _) = asked(self)?;
        if second.is_err() {
            *self.confirmed.entry(failure.stage).or_default() += 1;
            return Ok(Err(failure));
        }
        Ok(second)
    }

    /// Asks a worker, and returns the answer among its replies.
    fn ask<T>(
        &mut self,
        request: &Request,
        limit: Duration,
        answer: impl Fn(Reply) -> Option<Result<T, Failure>>,
    ) -> Result<Answered<T>, Ended> {
        let mut found = None;
        let lost = self.supervisor.ask(request, limit, &mut |reply| match reply {
            Reply::NoDevice(message) => found = Some(Err(Failure::new(Stage::Device, message))),
            reply => found = answer(reply).or_else(|| found.take()),
        })?;
        let timed_out = lost.as_ref().is_some_and(super::supervisor::Lost::timed_out);
        let silent = || Failure::new(Stage::Worker, "sent no result");
        let found = found.unwrap_or_else(|| Err(lost.map_or_else(silent, |lost| lost.failure())));
        Ok((found, timed_out))
    }
}

/// The answer of a worker, and true with it if the worker took longer than it may.
type Answered<T> = (Result<T, Failure>, bool);

/// Returns a record that has a number to be used.
fn usable(record: Record) -> Result<Record, Failure> {
    if let Some(failure) = record.failure() {
        return Err(failure.clone());
    }
    if record.usable_measurement().is_some() {
        return Ok(record);
    }
    let reasons: Vec<String> = record.verdict.reasons.iter().map(ToString::to_string).collect();
    Err(Failure::new(Stage::Sampling, format_args!("its time is invalid: {}", reasons.join("; "))))
}

/// Returns the rounds of a record that was compared.
fn rounds(measured: &Measurement, compared: &Compared) -> DuelRounds {
    let pairs: Vec<[Nanoseconds; 2]> = measured
        .times()
        .into_iter()
        .zip(compared.measurement.times())
        .map(|(contender, leader)| [contender, leader])
        .collect();
    let resolution = resolution_of_pairs(&pairs, measured.samples.timer.step);
    let logs = compared.comparison.rounds.iter().map(|round| round.log_ratio).collect();
    DuelRounds { logs, resolution }
}

impl Racers for Variants<'_, '_> {
    fn coarse(&mut self, variant: usize) -> Result<Result<Nanoseconds, Failure>, Ended> {
        let sampling = race_sampling::alone(self.config.sampling);
        let job = self.jobs[variant].clone();
        Ok(self.record(&job, sampling)?.and_then(|record| {
            let measured = record.measurement.as_ref();
            let measured = measured.ok_or_else(|| Failure::new(Stage::Sampling, "took no samples"))?;
            let (time, counts) = (measured.median(), measured.counts);
            self.seen[variant] = Seen { time: Some(time), counts, ..self.seen[variant] };
            Ok(time)
        }))
    }

    fn check(&mut self, variant: usize) -> Result<Result<(), Failure>, Ended> {
        let job = self.jobs[variant].clone();
        let (request, limit) = (Request::Test { job: job.clone() }, self.config.limit(&job));
        let tested = self.confirmed(&job, &mut |variants| {
            variants.ask(&request, limit, |reply| match reply {
                Reply::Tested(outcome) => Some(outcome),
                _ => None,
            })
        })?;
        Ok(tested.map(|checked| self.seen[variant].checked = checked))
    }

    fn duel(&mut self, duel: Duel) -> Result<Result<DuelRounds, Failure>, Ended> {
        let Job { benchmark, args, .. } = self.jobs[duel.leader].clone();
        let job = Job { with: Some(BenchmarkId { benchmark, args }), ..self.jobs[duel.contender].clone() };
        let times = [duel.contender, duel.leader].map(|one| self.seen[one].time);
        let is_first = !std::mem::replace(&mut self.seen[duel.contender].dueled, true);
        let sampling = race_sampling::step(self.config.sampling, times, is_first);
        Ok(self.record(&job, sampling)?.and_then(|record| {
            let none = || Failure::new(Stage::Sampling, "was not compared");
            let measured = record.measurement.as_ref().ok_or_else(none)?;
            let compared = record.compared.as_deref().ok_or_else(none)?;
            Ok(rounds(measured, compared))
        }))
    }

    fn is_spent(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn elapsed(&self) -> Nanoseconds {
        self.began.elapsed().into()
    }
}

/// The limit for the facts of a device.
const FACTS_LIMIT: Duration = Duration::from_secs(60);

/// Returns the facts of a device, by the name that its cases ask for it.
pub(crate) fn facts(
    supervisor: &mut Supervisor<'_>,
    config: &RunConfig,
    device: &str,
) -> Result<(Facts, Vec<String>), RunError> {
    use super::error::DeviceRefusal;
    let mut answer = Err(DeviceRefusal::NoFacts);
    let ceilings = config.peak_sources.ceilings.clone();
    let request = Request::Facts { device: device.to_owned(), ceilings };
    let lost = supervisor.ask(&request, FACTS_LIMIT.max(config.timeout), &mut |reply| match reply {
        Reply::Facts(facts) => answer = Ok(facts),
        Reply::NoDevice(message) => answer = Err(DeviceRefusal::NotOpened(message)),
        _ => {}
    })?;
    if let Some(lost) = lost {
        answer = Err(DeviceRefusal::WorkerLost(lost.failure()));
    }
    let mut facts = answer.map_err(|why| RunError::Device { device: device.to_owned(), why })?;
    device.clone_into(&mut facts.device);
    facts.properties.extend(config.locked_to(device));
    let notes = config.peak_sources.add_to(&mut facts);
    Ok((facts, notes))
}
