//! One job compared with another: makes the inputs of both, anew for each round, and interleaves their launches.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use super::afterwards::{Afterwards, OnUsedInputs};
use super::job::{own_sampling, valid_median};
use super::measurement::MeasurementContext;
use super::prepared::{Launches, PreparedCase, launch, remarked, report_lost_device, set_up};
use super::progress::StepReporter;
use super::{MeasureRequest, Reply};
use crate::catch::catch;
use crate::device::{Device, SampleOptions, SampledGroup, Sampler};
use crate::measure::{self, Placement, Rounds, StepObserver};
use crate::registry::{BenchmarkOptions, Case, Entry, Variant, select};
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::id::BenchmarkId;
use gpubench_records::method::{Cache, Method, Timer};
use gpubench_records::record::{Compared, Measurement, Record};
use gpubench_records::verdict::Verdict;
use gpubench_stats::units::Nanoseconds;

/// Compares the cases of a job, and passes each record to `reply` as soon as it is made. After a failure that lost the
/// device, the remaining cases get no record.
pub(super) fn run(
    task: &MeasureRequest,
    with: &BenchmarkId,
    found: [(&Entry, &Variant); 2],
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    let [(_, variant), (_, other)] = found;
    let options = found.map(|(entry, _)| &entry.options);
    let mut compared =
        InProgress { task, with, options, device, reply, left: &task.job.caches, hot: [None; 2] };
    let shown = variant.show(|sweeps, case| {
        select(&task.job.args, sweeps)?;
        other.show(|sweeps, partner| {
            let selected = select(&with.args, sweeps).map_err(|failure| of_partner(failure, with));
            compared.compare(case, partner, selected);
            Ok(())
        })
    });
    if let Err(failure) = shown {
        compared.fail(&failure);
    }
}

/// A job that is compared.
struct InProgress<'a> {
    task: &'a MeasureRequest,
    with: &'a BenchmarkId,
    /// The options of both benchmarks.
    options: [&'a BenchmarkOptions; 2],
    device: &'a mut dyn Device,
    reply: &'a mut dyn FnMut(Reply),
    /// The cases without a record.
    left: &'a [Cache],
    /// The hot times of both.
    hot: [Option<Nanoseconds>; 2],
}

impl InProgress<'_> {
    /// Replies with the same failure for every case that has no record yet.
    fn fail(&mut self, failure: &Failure) {
        while let Some(&cache) = self.left.first() {
            self.finish(Record::failed(self.task.job.case(cache), failure.clone()));
        }
    }

    fn finish(&mut self, record: Record) {
        self.left = &self.left[1..];
        (self.reply)(Reply::Record(Box::new(record)));
    }

    /// Opens both cases on one stream, and compares them.
    fn compare(&mut self, case: &mut dyn Case, partner: &mut dyn Case, selected: Result<(), Failure>) {
        let opened = selected.and_then(|()| {
            case.open(self.device)?;
            let stream = case.stream().ok_or_else(|| Failure::new(Stage::Device, "there is no stream"))?;
            partner.open_on(stream)
        });
        if let Err(failure) = opened {
            self.fail(&failure);
            report_lost_device(self.device, self.reply);
            return;
        }
        while let Some(&cache) = self.left.first() {
            let record = self
                .record(case, partner, cache)
                .unwrap_or_else(|failure| Record::failed(self.task.job.case(cache), failure));
            let failed = record.measurement.is_none();
            if let (Cache::Hot, Some(compared)) = (cache, &record.compared) {
                self.hot = [
                    valid_median(record.measurement.as_ref(), &record.verdict),
                    valid_median(Some(&compared.measurement), &compared.verdict),
                ];
            }
            self.finish(record);
            if failed && report_lost_device(self.device, self.reply) {
                return;
            }
        }
    }

    fn record(
        &mut self,
        case: &mut dyn Case,
        partner: &mut dyn Case,
        cache: Cache,
    ) -> Result<Record, Failure> {
        let MeasureRequest { job, sampling, info, limit, unchecked, .. } = self.task;
        let options @ [own, other] = self.options;
        let sampling = own_sampling(own, sampling);
        let begin = Instant::now();
        let device = &mut *self.device;
        let monitor = device.monitor().ok();
        let wanted = SampleOptions::new(cache).with_flush(sampling.flush).with_path(sampling.path);
        let progress = RefCell::new(StepReporter::new(self.reply));
        let mut beside = Beside {
            works: [Launches(case), Launches(partner)],
            options,
            with: self.with,
            device: &mut *device,
            wanted: wanted.with_host_work(own.host_work || other.host_work),
            unchecked: *unchecked,
            report_step: &|step| progress.borrow_mut().step_reached(step),
            prepared: None,
        };
        let compared = catch(Stage::Launch, || {
            // Draws a seed of 53 bits, which readers of JSON can hold. The worker is killed at `limit`, and its samples are lost
            // with it: half of that ends earlier.
            let seed = RandomState::new().hash_one(()) >> 11;
            measure::compare(&mut beside, seed, &sampling, *limit / 2, monitor, &mut &progress)
        });
        let prepared = beside.prepared;
        let step = progress.borrow().step;
        let compared = compared.map_err(|failure| {
            let failure = match step {
                // The stage already says so.
                Step::Setup | Step::Reset | Step::Counts | Step::Check => failure,
                step => failure.at(step),
            };
            remarked(failure, device)
        })?;
        let prepared = prepared.ok_or_else(|| Failure::new(Stage::Sampling, "took no samples"))?;
        let found = |whose: usize, samples| {
            MeasurementContext { options: options[whose], sampling: &sampling, info }.build(
                (samples, None),
                &prepared[whose],
                cache,
                self.hot[whose],
            )
        };
        let [samples, others] = compared.samples;
        let (mut measurement, mut verdict) = found(0, samples);
        let (mut other_measurement, mut other_verdict) = found(1, others);
        if !unchecked {
            // A round makes the inputs of both, and samples them.
            let round = begin.elapsed() / other_measurement.samples.groups.max(1) as u32;
            let mut check = |case: &mut dyn Case, host_work, measurement: &mut Measurement, verdict| {
                let time = (round, limit.saturating_sub(begin.elapsed()));
                let reasons = Afterwards { case, device, host_work }.on_fresh_inputs(
                    time,
                    None,
                    OnUsedInputs::default(),
                    measurement,
                );
                reasons.into_iter().fold(verdict, Verdict::and)
            };
            verdict = check(case, own.host_work, &mut measurement, verdict);
            other_verdict = check(partner, other.host_work, &mut other_measurement, other_verdict);
        }
        let mut record = Record::new(job.case(cache), Some(measurement), verdict);
        record.compared = Some(Box::new(Compared {
            with: self.with.clone(),
            comparison: compared.comparison,
            measurement: other_measurement,
            verdict: other_verdict,
        }));
        Ok(record)
    }
}

/// Marks a failure as the partner's.
fn of_partner(failure: Failure, with: &BenchmarkId) -> Failure {
    let message = format!("`{with}`, which it is compared with: {}", failure.message);
    failure.with_message(message)
}

/// The rounds of a comparison and its inputs report to the same progress.
impl StepObserver for &RefCell<StepReporter<'_>> {
    fn step_reached(&mut self, step: Step) {
        self.borrow_mut().step_reached(step);
    }

    fn interval_narrowed(&mut self, samples: usize, half_width: f64) {
        self.borrow_mut().interval_narrowed(samples, half_width);
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
    fn begin(&mut self, placement: Placement) -> Result<Box<dyn Sampler + '_>, Failure> {
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
                let options = (!unchecked).then_some(options[whose]);
                self.of(whose, |case, device| {
                    PreparedCase::launched(case, options, device, &mut |step| report_step(step))
                })
            };
            self.prepared = Some([launched(0)?, launched(1)?]);
        }
        // The first launch of a new graph takes longer than later ones.
        let [own, other] = &mut self.works;
        if placement.swapped {
            return Ok(Box::new(Swapped(self.device.pair_sampler([other, own], &self.wanted)?)));
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

/// A sampler of a swapped pair, whose times are put back in order.
struct Swapped<'a>(Box<dyn Sampler + 'a>);

impl Sampler for Swapped<'_> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let mut group = self.0.group(samples)?;
        group.events.chunks_mut(2).for_each(<[_]>::reverse);
        Ok(group)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        self.0.timer()
    }

    fn method(&self) -> Method {
        self.0.partner_method().unwrap_or_else(|| self.0.method())
    }

    fn partner_method(&self) -> Option<Method> {
        Some(self.0.method())
    }
}
