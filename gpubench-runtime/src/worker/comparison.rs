//! One job compared with another. Makes the inputs of both, anew for each round, and times their launches in turn. In:
//! a job, its partner and their open device; out: a record for each of the job's cases, with the comparison.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use super::Reply;
use super::afterwards::{Afterwards, no_time_for_fresh_inputs};
use super::job::own_sampling;
use super::measurement::MeasurementContext;
use super::mirrored::Mirrored;
use super::prepared::{Launches, PreparedCase, launch, remarked, report_lost_device, select, set_up};
use super::progress::StepReporter;
use crate::catch::catch;
use crate::device::{Device, PairSampler, SampleOptions};
use crate::measure::{self, Placement, Rounds, StepObserver};
use crate::plan::Job;
use crate::registry::{ArgAxis, BenchmarkOptions, Case, Entry, Variant, Visitor};
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::id::BenchmarkId;
use gpubench_records::method::Cache;
use gpubench_records::record::{Compared, Measurement, Record};
use gpubench_records::sampling::Sampling;
use gpubench_records::verdict::{State, Verdict, launched};
use gpubench_stats::units::Nanoseconds;

/// The job, its partner, and the options of their comparison.
pub(super) struct ComparisonTask<'a> {
    pub(super) job: &'a Job,
    pub(super) with: &'a BenchmarkId,
    /// The benchmarks and variants of both.
    pub(super) found: [(&'a Entry, &'a Variant); 2],
    pub(super) sampling: &'a Sampling,
    pub(super) info: &'a DeviceInfo,
    /// The longest wall time of a case.
    pub(super) limit: Duration,
    /// True to check neither outputs nor writes.
    pub(super) unchecked: bool,
}

/// Compares the cases of a job, and passes each record to `reply` as soon as it is made. After a failure that lost the
/// device, the remaining cases get no record.
pub(super) fn run(task: &ComparisonTask<'_>, device: &mut dyn Device, reply: &mut dyn FnMut(Reply)) {
    let mut left = &task.job.caches[..];
    let mut outer = Outer { task, device, reply, left: &mut left };
    let [(_, variant), _] = task.found;
    let visited = catch(Stage::Args, || {
        (variant.visit)(&mut outer);
        Ok(())
    });
    if let Err(failure) = visited {
        outer.fail(&failure);
    }
}

/// Selects the job's arguments, then visits its partner.
struct Outer<'a> {
    task: &'a ComparisonTask<'a>,
    device: &'a mut dyn Device,
    reply: &'a mut dyn FnMut(Reply),
    /// The cases without a record.
    left: &'a mut &'a [Cache],
}

impl Visitor for Outer<'_> {
    fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case) {
        if let Err(failure) = select(&self.task.job.args, sweeps) {
            return self.fail(&failure);
        }
        let [_, (_, variant)] = self.task.found;
        (variant.visit)(&mut Inner { outer: self, case });
    }
}

impl Outer<'_> {
    /// Replies with the same failure for every case that has no record yet.
    fn fail(&mut self, failure: &Failure) {
        while let Some(&cache) = self.left.first() {
            self.finish(Record::failed(self.task.job.case(cache), failure.clone()));
        }
    }

    fn finish(&mut self, record: Record) {
        *self.left = &self.left[1..];
        (self.reply)(Reply::Record(Box::new(record)));
    }
}

/// Selects the partner's arguments, then compares.
struct Inner<'a, 'o> {
    outer: &'a mut Outer<'o>,
    case: &'a mut dyn Case,
}

impl Visitor for Inner<'_, '_> {
    fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], partner: &mut dyn Case) {
        let opened = select(&self.outer.task.with.args, sweeps)
            .map_err(|failure| self.of_partner(failure))
            .and_then(|()| open(self.case, partner, self.outer.device));
        if let Err(failure) = opened {
            self.outer.fail(&failure);
            report_lost_device(self.outer.device, self.outer.reply);
            return;
        }
        let mut hot = None;
        while let Some(&cache) = self.outer.left.first() {
            let record = self.record(partner, cache, hot);
            let failed = record.measurement.is_none();
            if cache == Cache::Hot {
                hot = Hot::of(&record);
            }
            self.outer.finish(record);
            if failed && report_lost_device(self.outer.device, self.outer.reply) {
                return;
            }
        }
    }
}

/// Opens both cases on one stream.
fn open(case: &mut dyn Case, partner: &mut dyn Case, device: &mut dyn Device) -> Result<(), Failure> {
    case.open(device)?;
    let stream = case.stream().ok_or_else(|| Failure::new(Stage::Device, "there is no stream"))?;
    partner.open_on(stream)
}

/// The hot times of both.
#[derive(Clone, Copy)]
struct Hot([Option<Nanoseconds>; 2]);

impl Hot {
    fn of(record: &Record) -> Option<Self> {
        let compared = record.compared.as_ref()?;
        let own = record.measurement.as_ref().filter(|_| record.verdict.state != State::Invalid);
        let other = Some(&compared.measurement).filter(|_| compared.verdict.state != State::Invalid);
        Some(Self([own, other].map(|measured| measured.map(Measurement::median))))
    }
}

impl Inner<'_, '_> {
    fn record(&mut self, partner: &mut dyn Case, cache: Cache, hot: Option<Hot>) -> Record {
        let ComparisonTask { job, with, found, sampling, info, limit, unchecked } = *self.outer.task;
        let [own, other] = found.map(|(entry, _)| &entry.options);
        let sampling = own_sampling(own, sampling);
        let (begin, host_works) = (Instant::now(), [own, other].map(|options| options.host_work));
        let device = &mut *self.outer.device;
        let monitor = device.monitor().ok();
        let wanted = SampleOptions::new(cache).with_flush(sampling.flush).with_path(sampling.path);
        let wanted = wanted.with_host_work(own.host_work || other.host_work);
        let options = [own, other];
        let works = [Launches(self.case), Launches(partner)];
        let progress = RefCell::new(StepReporter::new(self.outer.reply));
        let report_step = |step| progress.borrow_mut().step_reached(step);
        let mut shared = SharedProgress(&progress);
        let mut beside = Beside {
            works,
            options,
            with,
            device: &mut *device,
            wanted,
            unchecked,
            report_step: &report_step,
            prepared: None,
        };
        let compared = catch(Stage::Launch, || {
            // The worker is killed at `limit`, and its samples are lost with it: this stops earlier.
            measure::compare(&mut beside, drawn_seed(), &sampling, limit / 2, monitor, &mut shared)
        });
        let prepared = beside.prepared;
        let step = progress.borrow().step;
        let at = |failure: Failure| match step {
            // The stage already says so.
            Step::Setup | Step::Reset | Step::Counts | Step::Check => failure,
            step => failure.at(step),
        };
        let compared = compared.map_err(at).map_err(|failure| match failure.stage {
            // The sampler's own failures already contain the driver's words.
            Stage::Sampling => failure,
            _ => remarked(failure, device),
        });
        let (compared, prepared) = match (compared, prepared) {
            (Ok(compared), Some(prepared)) => (compared, prepared),
            (Ok(_), None) => {
                return Record::failed(job.case(cache), Failure::new(Stage::Sampling, "took no samples"));
            }
            (Err(failure), _) => return Record::failed(job.case(cache), failure),
        };
        let found = |options: &BenchmarkOptions, samples, prepared, hot| {
            MeasurementContext { options, sampling: &sampling, info }.build(
                (samples, None),
                prepared,
                cache,
                hot,
            )
        };
        let Hot(hot) = hot.unwrap_or(Hot([None; 2]));
        let [samples, others] = compared.samples;
        let (measurement, verdict) = found(own, samples, &prepared[0], hot[0]);
        let (other, others_verdict) = found(other, others, &prepared[1], hot[1]);
        let mut record = Record::new(job.case(cache), Some(measurement), verdict);
        let mut compared = Compared {
            with: with.clone(),
            comparison: compared.comparison,
            measurement: other,
            verdict: others_verdict,
        };
        if !unchecked {
            // A round makes the inputs of both, and samples them.
            let round = begin.elapsed() / compared.measurement.samples.groups.max(1) as u32;
            let mut check = |case: &mut dyn Case, host_work, measurement: &mut Measurement, verdict| {
                let left = limit.saturating_sub(begin.elapsed());
                check_again(Afterwards { case, device, host_work }, (round, left), measurement, verdict)
            };
            if let Some(measurement) = &mut record.measurement {
                record.verdict = check(self.case, host_works[0], measurement, record.verdict);
            }
            compared.verdict = check(partner, host_works[1], &mut compared.measurement, compared.verdict);
        }
        record.compared = Some(Box::new(compared));
        record
    }

    fn of_partner(&self, failure: Failure) -> Failure {
        of_partner(failure, self.outer.task.with)
    }
}

/// Launches on fresh inputs after the samples, if they can be made in `set_up` and that much time is left. Adds the findings to the
/// measurement and the verdict.
fn check_again(
    mut afterwards: Afterwards<'_>,
    (set_up, left): (Duration, Duration),
    measurement: &mut Measurement,
    verdict: Verdict,
) -> Verdict {
    let samples = &measurement.samples;
    let at = Step::Afterwards(samples.event_times.len());
    let (relaunch, unchecked) = match no_time_for_fresh_inputs(set_up, samples, left) {
        Some(reason) => (None, Some(reason)),
        None => afterwards.on_fresh_inputs(at, None, None),
    };
    let reasons = relaunch.as_ref().map(launched::relaunched).unwrap_or_default();
    measurement.relaunch = relaunch;
    reasons.into_iter().chain(unchecked).fold(verdict, Verdict::and)
}

/// Draws the seed of a comparison, which readers of JSON can hold: 53 bits.
fn drawn_seed() -> u64 {
    RandomState::new().hash_one(()) >> 11
}

/// Marks a failure as the partner's.
fn of_partner(failure: Failure, with: &BenchmarkId) -> Failure {
    let message = format!("`{with}`, which it is compared with: {}", failure.message);
    failure.with_message(message)
}

/// The progress of a comparison, to which its rounds and its inputs report.
struct SharedProgress<'a, 'r>(&'a RefCell<StepReporter<'r>>);

impl StepObserver for SharedProgress<'_, '_> {
    fn step_reached(&mut self, step: Step) {
        self.0.borrow_mut().step_reached(step);
    }

    fn interval_narrowed(&mut self, samples: usize, half_width: f64) {
        self.0.borrow_mut().interval_narrowed(samples, half_width);
    }
}

/// Two launches whose inputs exist at the same time.
struct Beside<'a> {
    works: [Launches<'a>; 2],
    options: [&'a BenchmarkOptions; 2],
    with: &'a BenchmarkId,
    device: &'a mut dyn Device,
    wanted: SampleOptions,
    unchecked: bool,
    report_step: &'a dyn Fn(Step),
    /// The first launches of both; present from the first round on.
    prepared: Option<[PreparedCase; 2]>,
}

impl Rounds for Beside<'_> {
    fn begin(&mut self, placement: Placement) -> Result<Box<dyn PairSampler + '_>, Failure> {
        // What is made first gets the addresses that the other one had in the round before.
        let order = if placement.swapped { [1, 0] } else { [0, 1] };
        for whose in order {
            self.works[whose].0.clear();
        }
        self.device.set_allocation_seed(placement.place);
        for whose in order {
            self.of(whose, set_up)?;
        }
        if self.prepared.is_some() {
            for whose in order {
                self.of(whose, launch)?;
            }
        } else {
            let (report_step, options, unchecked) = (self.report_step, self.options, self.unchecked);
            let mut launched = |whose| {
                self.of(whose, |case, device| match unchecked {
                    true => PreparedCase::unchecked(case, device, &mut |step| report_step(step)),
                    false => {
                        PreparedCase::launched(case, options[whose], device, &mut |step| report_step(step))
                    }
                })
            };
            self.prepared = Some([launched(0)?, launched(1)?]);
        }
        // The first launch of a new graph takes longer than those behind it.
        let [own, other] = &mut self.works;
        if placement.swapped {
            return Ok(Box::new(Mirrored(self.device.pair_sampler([other, own], &self.wanted)?)));
        }
        self.device.pair_sampler([own, other], &self.wanted)
    }
}

impl Beside<'_> {
    /// Does a step with one of the two, and marks a failure as its own.
    fn of<T>(
        &mut self,
        whose: usize,
        step: impl FnOnce(&mut dyn Case, &mut dyn Device) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = step(self.works[whose].0, self.device);
        if whose == 0 { done } else { done.map_err(|failure| of_partner(failure, self.with)) }
    }
}
