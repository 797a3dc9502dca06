//! One job, from inputs to records: set-up, one checked launch, then warm-up, samples, summary and verdict for each cache state.

use std::time::{Duration, Instant};

use super::afterwards::{Afterwards, OnUsedInputs};
use super::measurement::measurement;
use super::prepared::{Launches, PreparedCase, remarked, report_lost_device};
use super::progress::StepReporter;
use super::relocation::{may_move, restore_inputs, trace_options};
use super::{MeasureRequest, Reply};
use crate::catch::catch;
use crate::device::{Device, DeviceError, Monitor, SampleOptions, Sampler, TraceOptions};
use crate::measure;
use crate::registry::{BenchmarkOptions, Case, Entry, Variant, select};
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::method::{Cache, Path};
use gpubench_records::record::{Measurement, Record};
use gpubench_records::samples::{Energy, Samples};
use gpubench_records::sampling::Sampling;
use gpubench_records::verdict::{Reason, State, Verdict, methods_disagree};
use gpubench_records::verification::CuptiPass;
use gpubench_stats::units::Nanoseconds;

/// A job whose cases are measured one after the other.
pub(super) struct JobInProgress<'a> {
    pub(super) task: &'a MeasureRequest,
    pub(super) device: &'a mut dyn Device,
    pub(super) reply: &'a mut dyn FnMut(Reply),
    /// The cases without a record.
    left: &'a [Cache],
    /// The time at which this process is killed, with the samples of the case in progress.
    pub(super) deadline: Instant,
}

impl<'a> JobInProgress<'a> {
    pub(super) fn new(
        task: &'a MeasureRequest,
        device: &'a mut dyn Device,
        reply: &'a mut dyn FnMut(Reply),
    ) -> Self {
        Self { task, device, reply, left: &task.job.caches, deadline: Instant::now() + task.limit }
    }

    /// Does `work`, whose failure is that of every case without a record.
    pub(super) fn attempt(&mut self, work: impl FnOnce(&mut Self) -> Result<(), Failure>) {
        if let Err(failure) = work(self) {
            self.fail(&failure);
            report_lost_device(self.device, self.reply);
        }
    }

    /// Replies with the same failure for every case that has no record yet: they share what failed.
    pub(super) fn fail(&mut self, failure: &Failure) {
        while let Some(&cache) = self.left.first() {
            self.finish(Record::failed(self.task.job.case(cache), failure.clone()));
        }
    }

    fn finish(&mut self, record: Record) {
        self.left = &self.left[1..];
        (self.reply)(Reply::Record(Box::new(record)));
        self.deadline = Instant::now() + self.task.limit;
    }

    /// Makes the record of each case, and passes it on at once. Returns false if that lost the device: then the remaining cases get no
    /// record, since another process may still measure them.
    pub(super) fn each(
        &mut self,
        mut record: impl FnMut(&mut Self, Cache) -> Result<Record, Failure>,
    ) -> bool {
        while let Some(&cache) = self.left.first() {
            let made = record(self, cache)
                .unwrap_or_else(|failure| Record::failed(self.task.job.case(cache), failure));
            let failed = made.measurement.is_none();
            self.finish(made);
            if failed && report_lost_device(self.device, self.reply) {
                return false;
            }
        }
        true
    }
}

/// Measures the cases of a job. CUPTI traces launches after all of them, since tracing changes this process.
pub(super) fn run(
    task: &MeasureRequest,
    (entry, variant): (&Entry, &Variant),
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    let mut job = JobInProgress::new(task, device, reply);
    let options = &entry.options;
    let shown = variant.show(|sweeps, case| {
        job.attempt(|job| {
            select(&task.job.args, sweeps)?;
            let checks = (!task.unchecked).then_some(options);
            let prepared = catch(Stage::Device, || PreparedCase::new(case, checks, job.device, job.reply))?;
            let (mut hot, mut no_inputs, mut sampled) = (None, None, Vec::new());
            let has_device = job.each(|job, cache| {
                if let Some(failure) = &no_inputs {
                    return Err(Failure::clone(failure));
                }
                let record = record(job, case, options, &prepared, (cache, hot))?;
                if record.verdict.state != State::Invalid {
                    sampled
                        .extend(record.measurement.as_ref().map(|measured| trace_options(cache, measured)));
                }
                if cache == Cache::Hot {
                    hot = valid_median(record.measurement.as_ref(), &record.verdict);
                }
                no_inputs = record.verdict.reasons.iter().find_map(|reason| match reason {
                    Reason::SetupNotRepeatable(failure) => Some(failure.clone()),
                    _ => None,
                });
                Ok(record)
            });
            if has_device && task.verify {
                sampled.iter().for_each(|wanted| trace(job, case, options, wanted));
            }
            Ok(())
        });
        Ok(())
    });
    if let Err(failure) = shown {
        job.fail(&failure);
    }
}

/// Returns the median of a measurement that is not invalid.
pub(super) fn valid_median(measurement: Option<&Measurement>, verdict: &Verdict) -> Option<Nanoseconds> {
    measurement.filter(|_| verdict.state != State::Invalid).map(Measurement::median)
}

/// Returns `sampling` with the benchmark's own options applied, and no more time than half of what is left until the worker is killed.
pub(super) fn own_sampling(options: &BenchmarkOptions, sampling: &Sampling, deadline: Instant) -> Sampling {
    let own = options.max_time.filter(|_| sampling.benchmark_max_time);
    let max_time = own.map_or(sampling.max_time, Nanoseconds::from_seconds);
    Sampling { max_time: max_time.min((time_until(deadline) / 2).into()), ..*sampling }
}

pub(super) fn time_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Traces launches of a case whose samples are taken.
fn trace(
    job: &mut JobInProgress<'_>,
    case: &mut dyn Case,
    options: &BenchmarkOptions,
    wanted: &TraceOptions,
) {
    let pass = if options.host_work {
        CuptiPass::Failed("it does not see the host's part, which belongs to this launch".to_owned())
    } else {
        match catch(Stage::Launch, || job.device.traced(&mut Launches(case), wanted)) {
            Ok(Some(times)) => CuptiPass::Traced(Box::new(times)),
            Ok(None) => CuptiPass::Failed("it traces NVIDIA GPUs alone".to_owned()),
            Err(failure) => CuptiPass::Failed(failure.message),
        }
    };
    restore_inputs(&mut Launches(case), job.device);
    (job.reply)(Reply::Traced { cache: wanted.cache, pass });
}

/// Samples a case, and launches again afterwards: on used inputs and on fresh ones. `hot` is the time with the data cached.
fn record(
    job: &mut JobInProgress<'_>,
    case: &mut dyn Case,
    options: &BenchmarkOptions,
    prepared: &PreparedCase,
    (cache, hot): (Cache, Option<Nanoseconds>),
) -> Result<Record, Failure> {
    let MeasureRequest { info, unchecked, .. } = job.task;
    let (deadline, host_work) = (job.deadline, options.host_work);
    let sampling = own_sampling(options, &job.task.sampling, deadline);
    // Back-to-back launches are hot, so energy is measured for hot cases only.
    let has_energy = sampling.energy.unwrap_or(options.energy) && cache == Cache::Hot;
    let wanted = SampleOptions::new(cache).with_flush(sampling.flush).with_path(sampling.path);
    let may_move = may_move(cache, prepared, options.accumulates, info);
    let wanted = wanted.with_host_work(host_work).with_moves(may_move);
    let mut progress = StepReporter::new(job.reply);
    let sampled = catch(Stage::Launch, || {
        let mut launches = Launches(case);
        let (monitor, meter) = (job.device.monitor(), has_energy.then(|| job.device.monitor()));
        let mut sampler = job.device.sampler(&mut launches, &wanted)?;
        let samples = measure::measure(sampler.as_mut(), &sampling, deadline, monitor.ok(), &mut progress)?;
        let energy = meter.map(|meter| energy(sampler.as_mut(), &samples, sampling.max_time, meter));
        Ok((samples, energy))
    });
    let step = progress.step;
    let has_time = sampled
        .as_ref()
        .is_ok_and(|(samples, _)| !unchecked && has_time_for_used_inputs(sampling.max_time, samples));
    let left = match &sampled {
        Ok((samples, _)) if has_time => {
            Afterwards { case, device: job.device, host_work }.on_left_inputs(samples.time.median)
        }
        _ => Ok(None),
    };
    restore_inputs(&mut Launches(case), job.device);
    let sampled = sampled.map_err(|failure| remarked(failure.at(step), job.device))?;
    let (mut measurement, verdict) =
        measurement(options, sampling.precision, info, sampled, prepared, (cache, hot));
    let record = Record::new(job.task.job.case(cache), Some(measurement.clone()), verdict.clone());
    if *unchecked {
        return Ok(record);
    }
    (job.reply)(Reply::Sampled(Box::new(record.clone())));
    let mut afterwards = Afterwards { case, device: job.device, host_work };
    let used = left.and_then(|left| {
        let used = if has_time { afterwards.on_used_inputs()? } else { OnUsedInputs::default() };
        Ok((left, used))
    });
    let reasons = match used {
        Ok((left, used)) => {
            let time = (prepared.set_up, time_until(deadline));
            afterwards.on_fresh_inputs(time, left, used, &mut measurement)
        }
        Err(failure) => {
            let failure = failure.at(Step::Afterwards(measurement.samples.event_times.len()));
            let mut failure = remarked(failure, afterwards.device);
            if measurement.samples.relocations > 0 {
                failure.message.push_str(KEPT_OUTSIDE);
            }
            vec![Reason::FailedAfterwards(failure)]
        }
    };
    let mut verdict = reasons.into_iter().fold(verdict, Verdict::and);
    // A launch that drifts while it is sampled drifts on.
    let is_unsteady = |reason: &Reason| matches!(reason, Reason::Drift(_) | Reason::TwoModes(_));
    if !verdict.reasons.iter().any(is_unsteady) {
        verdict = methods_disagree(&measurement.samples).into_iter().fold(verdict, Verdict::and);
    }
    Ok(Record::new(job.task.job.case(cache), Some(measurement), verdict))
}

/// The launches on used inputs: a timed one, and those that show whether an output is written again.
const USED_LAUNCHES: f64 = 8.0;
/// They may take this long whatever is left of the budget.
const ALWAYS: Nanoseconds = Nanoseconds::from_seconds(0.05);

/// Returns true if the budget of a case has room for the launches on used inputs, besides those on fresh ones.
fn has_time_for_used_inputs(budget: Nanoseconds, samples: &Samples) -> bool {
    let each = samples.time.median;
    let spent = samples.warm_up.elapsed + samples.device_time + measure::LAUNCHES_BESIDE as f64 * each;
    USED_LAUNCHES * each <= (budget - spent).max(ALWAYS)
}

/// The likely reason that a launch on the first inputs fails after launches on relocated ones.
const KEPT_OUTSIDE: &str = "; inputs were made anew between samples, and these are the first: does `setup` keep anything outside of them?";

/// The time beyond the budget of the samples that a case may take for its warm-up and its energy.
const BEYOND: Nanoseconds = Nanoseconds::from_seconds(1.0);

/// Measures the energy of a launch, of which these samples were taken with this budget. A failure here costs the energy
/// only, and not the samples.
fn energy(
    sampler: &mut dyn Sampler,
    samples: &Samples,
    budget: Nanoseconds,
    meter: Result<Box<dyn Monitor>, DeviceError>,
) -> Energy {
    let meter = match meter {
        Ok(meter) => meter,
        Err(why) => return Energy::Unavailable(format!("there are no sensors: {why}")),
    };
    let each = samples.back_to_back.unwrap_or(samples.time.median);
    let each = match samples.method.path {
        Path::Graph => each,
        // Launching one may take this machine longer than it takes the device.
        _ => each.max(samples.wall_time / samples.event_times.len().max(1) as f64),
    };
    let left = budget + BEYOND - samples.warm_up.elapsed - samples.wall_time;
    let left = Duration::try_from_secs_f64(left.as_seconds()).unwrap_or_default();
    let measured = catch(Stage::Launch, || Ok(measure::energy(sampler, each, left, meter)));
    measured.unwrap_or_else(|failure| Energy::Unavailable(failure.to_string()))
}
