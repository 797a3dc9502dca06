//! One job, from inputs to records: set-up, one checked launch, then warm-up, samples, summary and verdict for each cache state.

use std::time::{Duration, Instant};

use super::afterwards::{Afterwards, OnUsedInputs};
use super::measurement::MeasurementContext;
use super::prepared::{Launches, PreparedCase, remarked, report_lost_device};
use super::progress::StepReporter;
use super::relocation::{may_move, restore_inputs, trace_options};
use super::{MeasureRequest, Reply};
use crate::catch::catch;
use crate::device::{Device, DeviceError, Monitor, SampleOptions, Sampler, TraceOptions};
use crate::measure;
use crate::plan::Job;
use crate::registry::{ArgAxis, BenchmarkOptions, Case, Entry, Variant, select};
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::method::{Cache, Path};
use gpubench_records::record::{Measurement, Record};
use gpubench_records::samples::{Energy, Samples};
use gpubench_records::sampling::Sampling;
use gpubench_records::verdict::{Reason, State, Verdict, methods_disagree};
use gpubench_records::verification::CuptiPass;
use gpubench_stats::units::Nanoseconds;

/// Measures the cases of a job, and passes each record to `reply` as soon as it is made. CUPTI traces launches after all of them, since
/// tracing changes this process. After a failure that lost the device, the remaining cases get no record: another process may still
/// measure them. A case is killed at its limit, with its samples, so that they end well before.
pub(super) fn run(
    task: &MeasureRequest,
    (entry, variant): (&Entry, &Variant),
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    let sampling = own_sampling(&entry.options, &task.sampling);
    let (options, left, case_began) = (entry.options, &task.job.caches[..], Instant::now());
    let mut measuring =
        JobInProgress { task, options, device, sampling, left, case_began, no_inputs: None, reply };
    let shown = variant.show(|sweeps, case| {
        measuring.measure(sweeps, case);
        Ok(())
    });
    if let Err(failure) = shown {
        measuring.fail(&failure);
    }
}

/// Replies with the same failure for every case of `job`.
pub(super) fn fail(job: &Job, failure: &Failure, reply: &mut dyn FnMut(Reply)) {
    for &cache in &job.caches {
        reply(Reply::Record(Box::new(Record::failed(job.case(cache), failure.clone()))));
    }
}

/// Returns the median of a measurement that is not invalid.
pub(super) fn valid_median(measurement: Option<&Measurement>, verdict: &Verdict) -> Option<Nanoseconds> {
    measurement.filter(|_| verdict.state != State::Invalid).map(Measurement::median)
}

/// Returns `sampling` with the benchmark's own options applied.
pub(super) fn own_sampling(options: &BenchmarkOptions, sampling: &Sampling) -> Sampling {
    let own = options.max_time.filter(|_| sampling.benchmark_max_time);
    Sampling { max_time: own.map_or(sampling.max_time, Nanoseconds::from_seconds), ..*sampling }
}

/// A job whose cases are measured one after the other.
struct JobInProgress<'a> {
    task: &'a MeasureRequest,
    options: BenchmarkOptions,
    device: &'a mut dyn Device,
    sampling: Sampling,
    /// The cases without a record.
    left: &'a [Cache],
    /// The beginning of the case in progress.
    case_began: Instant,
    /// The reason that there are no inputs any more.
    no_inputs: Option<Failure>,
    reply: &'a mut dyn FnMut(Reply),
}

impl JobInProgress<'_> {
    /// Selects the job's arguments, then measures the resulting cases.
    fn measure(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case) {
        let options = (!self.task.unchecked).then_some(&self.options);
        let prepared = select(&self.task.job.args, sweeps).and_then(|()| {
            catch(Stage::Device, || PreparedCase::new(case, options, self.device, self.reply))
        });
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => {
                self.fail(&failure);
                report_lost_device(self.device, self.reply);
                return;
            }
        };
        let mut hot = None;
        let mut sampled = Vec::new();
        while let Some(&cache) = self.left.first() {
            if let Some(failure) = self.no_inputs.clone() {
                return self.fail(&failure);
            }
            let record = self.record(case, cache, &prepared, hot);
            let failed = record.measurement.is_none();
            if record.verdict.state != State::Invalid {
                sampled.extend(record.measurement.as_ref().map(|measured| trace_options(cache, measured)));
            }
            if cache == Cache::Hot {
                hot = valid_median(record.measurement.as_ref(), &record.verdict);
            }
            self.finish(record);
            if failed && report_lost_device(self.device, self.reply) {
                return;
            }
        }
        if self.task.verify {
            sampled.iter().for_each(|wanted| self.trace(case, wanted));
        }
    }

    /// Traces launches of a case whose samples are taken.
    fn trace(&mut self, case: &mut dyn Case, wanted: &TraceOptions) {
        let pass = if self.options.host_work {
            CuptiPass::Failed("it does not see the host's part, which belongs to this launch".to_owned())
        } else {
            match catch(Stage::Launch, || self.device.traced(&mut Launches(case), wanted)) {
                Ok(Some(times)) => CuptiPass::Traced(Box::new(times)),
                Ok(None) => CuptiPass::Failed("it traces NVIDIA GPUs alone".to_owned()),
                Err(failure) => CuptiPass::Failed(failure.message),
            }
        };
        restore_inputs(&mut Launches(case), self.device);
        (self.reply)(Reply::Traced { cache: wanted.cache, pass });
    }

    /// Replies with the same failure for every case that has no record yet: they share what failed.
    fn fail(&mut self, failure: &Failure) {
        while let Some(&cache) = self.left.first() {
            self.finish(Record::failed(self.task.job.case(cache), failure.clone()));
        }
    }

    fn finish(&mut self, record: Record) {
        self.left = &self.left[1..];
        (self.reply)(Reply::Record(Box::new(record)));
        self.case_began = Instant::now();
    }

    /// Returns the budget of the samples of the next case: what the user gives, and no more than half of what is left until
    /// its worker is killed.
    fn budget(&self) -> Nanoseconds {
        let left = self.task.limit.saturating_sub(self.case_began.elapsed());
        self.sampling.max_time.min((left / 2).into())
    }

    /// Launches again after the samples: on used inputs and on fresh inputs. `left` is the time of a launch on the
    /// inputs that the samples left. Returns what speaks against the case.
    fn launched_afterwards(
        &mut self,
        case: &mut dyn Case,
        left: Result<Option<Nanoseconds>, Failure>,
        prepared: &PreparedCase,
        measurement: &mut Measurement,
    ) -> Vec<Reason> {
        let at = Step::Afterwards(measurement.samples.event_times.len());
        let used = match has_time_for_used_inputs(self.sampling.max_time, &measurement.samples) {
            true => self.afterwards(case).on_used_inputs(),
            false => Ok(OnUsedInputs::default()),
        };
        let (left, used) = match left.and_then(|left| Ok((left, used?))) {
            Ok(launched) => launched,
            Err(failure) => {
                let mut failure = remarked(failure.at(at), self.device);
                if measurement.samples.relocations > 0 {
                    failure.message.push_str(KEPT_OUTSIDE);
                }
                return vec![Reason::FailedAfterwards(failure)];
            }
        };
        let time = (prepared.set_up, self.task.limit.saturating_sub(self.case_began.elapsed()));
        let reasons = self.afterwards(case).on_fresh_inputs(time, left, used, measurement);
        if let Some(Reason::SetupNotRepeatable(failure)) = reasons.last() {
            self.no_inputs = Some(failure.clone());
        }
        reasons
    }

    fn afterwards<'b>(&'b mut self, case: &'b mut dyn Case) -> Afterwards<'b> {
        Afterwards { case, device: self.device, host_work: self.options.host_work }
    }

    fn record(
        &mut self,
        case: &mut dyn Case,
        cache: Cache,
        prepared: &PreparedCase,
        hot: Option<Nanoseconds>,
    ) -> Record {
        // Back-to-back launches are hot, so energy is measured for hot cases only.
        let asked = self.sampling.energy.unwrap_or(self.options.energy) && cache == Cache::Hot;
        let sampling = Sampling { max_time: self.budget(), ..self.sampling };
        let may_move = may_move(cache, prepared, self.options.accumulates, &self.task.info);
        let deadline = self.case_began + self.task.limit;
        let mut progress = StepReporter::new(self.reply);
        let sampled = catch(Stage::Launch, || {
            let mut launches = Launches(case);
            let Sampling { flush, path, .. } = self.sampling;
            let wanted = SampleOptions::new(cache).with_flush(flush).with_path(path);
            let wanted = wanted.with_host_work(self.options.host_work).with_moves(may_move);
            let (monitor, meter) = (self.device.monitor(), asked.then(|| self.device.monitor()));
            let mut sampler = self.device.sampler(&mut launches, &wanted)?;
            let samples =
                measure::measure(sampler.as_mut(), &sampling, deadline, monitor.ok(), &mut progress)?;
            let energy = meter.map(|meter| energy(sampler.as_mut(), &samples, sampling.max_time, meter));
            Ok((samples, energy))
        });
        let step = progress.step;
        let has_time = |(samples, _): &(Samples, _)| has_time_for_used_inputs(sampling.max_time, samples);
        let left = match &sampled {
            Ok(found) if has_time(found) && !self.task.unchecked => {
                self.afterwards(case).on_left_inputs(found.0.time.median)
            }
            _ => Ok(None),
        };
        restore_inputs(&mut Launches(case), self.device);
        let planned = self.task.job.case(cache);
        let (samples, energy) = match sampled {
            Ok(sampled) => sampled,
            Err(failure) => return Record::failed(planned, remarked(failure.at(step), self.device)),
        };
        let context =
            MeasurementContext { options: &self.options, sampling: &self.sampling, info: &self.task.info };
        let (mut measurement, verdict) = context.build((samples, energy), prepared, cache, hot);
        if self.task.unchecked {
            return Record::new(planned, Some(measurement), verdict);
        }
        let sampled = Record::new(planned.clone(), Some(measurement.clone()), verdict.clone());
        (self.reply)(Reply::Sampled(Box::new(sampled)));
        let reasons = self.launched_afterwards(case, left, prepared, &mut measurement);
        let mut verdict = reasons.into_iter().fold(verdict, Verdict::and);
        // A launch that drifts while it is sampled drifts on.
        let is_unsteady = |reason: &Reason| matches!(reason, Reason::Drift(_) | Reason::TwoModes(_));
        if !verdict.reasons.iter().any(is_unsteady) {
            verdict = methods_disagree(&measurement.samples).into_iter().fold(verdict, Verdict::and);
        }
        Record::new(planned, Some(measurement), verdict)
    }
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
