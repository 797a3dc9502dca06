//! One job, from inputs to records: set-up, one checked launch, warm-up, samples, summary and verdict for each cache state, then the
//! launches after the samples.

use std::thread;
use std::time::{Duration, Instant};

use crate::catch::catch;
use crate::device::{Device, DeviceError, Monitor, SampleOptions, Sampler};
use crate::method;
use crate::registry::{BenchmarkOptions, CaughtCase, Entry, select_args, visit_case};
use crate::worker::between_jobs::{READING_INTERVAL, wait_until_cool};
use crate::worker::follow_up::FollowUpLaunches;
use crate::worker::prepared::{
    PreparedCase, report_lost_device, restore_inputs, time_until, with_driver_message,
};
use crate::worker::{MeasureRequest, Reply};
use gpubench_core::{ArgAxis, Variant};
use gpubench_records::verdict::{judge, launches, methods_disagree, missing_work};
use gpubench_records::{
    Cache, CoolDown, DeviceInfo, Energy, Failure, Measurement, Metrics, Path, Reason, Record, Samples,
    Sampling, Stage, Step, Verdict,
    metrics::{resolved, user_metrics},
};
use gpubench_stats::{Bytes, Nanoseconds};

/// The progress of a job through its cases: sends a record for each, in order.
pub(super) struct JobInProgress<'a> {
    pub request: &'a MeasureRequest,
    pub device: &'a mut dyn Device,
    pub reply: &'a mut dyn FnMut(Reply),
    /// The cache states of the cases that are neither sampled nor have a record.
    remaining: &'a [Cache],
    /// The records of sampled cases, which are sent after further launches.
    sampled: Vec<Record>,
    /// The time at which the supervisor kills this process: the samples of the case in progress are then
    /// lost.
    pub deadline: Instant,
}

impl<'a> JobInProgress<'a> {
    /// Begins a job before its first case, and starts the time limit of that case.
    pub(super) fn new(
        request: &'a MeasureRequest,
        device: &'a mut dyn Device,
        reply: &'a mut dyn FnMut(Reply),
    ) -> Self {
        Self {
            request,
            device,
            reply,
            remaining: &request.job.caches,
            sampled: Vec::new(),
            deadline: Instant::now() + request.limit,
        }
    }

    /// Passes the axes and the case of `variant` to `work`. If that fails, sends its failure for every case
    /// without a record, and reports a lost device while the case still exists.
    pub(super) fn visit(
        &mut self,
        variant: &Variant,
        work: impl FnOnce(&mut Self, &[&[&dyn ArgAxis]], &mut CaughtCase<'_>) -> Result<(), Failure>,
    ) {
        let visited = visit_case(variant, |sweeps, case| {
            if let Err(failure) = work(self, sweeps, case) {
                self.fail_remaining(&failure);
                report_lost_device(self.device, self.reply);
            }
            Ok(())
        });
        if let Err(failure) = visited {
            self.fail_remaining(&failure);
        }
    }

    /// Sends a record with `failure` for every case that has no record yet.
    pub(super) fn fail_remaining(&mut self, failure: &Failure) {
        while let Some(&cache) = self.remaining.first() {
            self.send_record(self.failed_record(cache, failure.clone()));
        }
    }

    /// Returns the record of a failed case.
    fn failed_record(&self, cache: Cache, mut failure: Failure) -> Record {
        let job = &self.request.job;
        if let Some(message) = illegal_access_message(&failure.message, &job.benchmark) {
            failure.message = message;
        }
        Record::failed(job.case(cache), failure)
    }

    /// Sends the record of the first remaining case, and starts the time limit of the next one.
    pub(super) fn send_record(&mut self, record: Record) {
        self.remaining = &self.remaining[1..];
        (self.reply)(Reply::Record(Box::new(record)));
        self.deadline = Instant::now() + self.request.limit;
    }

    /// Keeps the record of the first remaining case until its launches after the samples, which may lose the worker, and sends it as
    /// [`Reply::Sampled`]. Starts the time limit of the next case; later launches count against the limit of the last case.
    fn send_sampled(&mut self, record: Record) {
        self.remaining = &self.remaining[1..];
        (self.reply)(Reply::Sampled(record.boxed_clone()));
        self.sampled.push(record);
        if !self.remaining.is_empty() {
            self.deadline = Instant::now() + self.request.limit;
        }
    }

    /// Waits until the device is cool, if `--cool-down` is given, then restarts the deadline. Returns `None`
    /// without the flag, and with a remark to the user if the device has no such sensor.
    fn cool_down(&mut self) -> Option<CoolDown> {
        let threshold = self.request.sampling.cool_down?;
        let reply = &mut *self.reply;
        let mut pause = || {
            reply(Reply::Step(Step::CoolDown));
            thread::sleep(READING_INTERVAL);
        };
        let waited = self.device.monitor().map_err(|why| why.to_string()).and_then(|mut monitor| {
            let waited = wait_until_cool(monitor.as_mut(), threshold, &mut pause);
            waited.ok_or_else(|| "its sensors do not read that".to_owned())
        });
        self.deadline = Instant::now() + self.request.limit;
        waited
            .map_err(|why| {
                let device = &self.request.job.device;
                let remark = format!("--cool-down {threshold}: cases on `{device}` begin at once: {why}");
                (self.reply)(Reply::Remark(remark));
            })
            .ok()
    }

    /// Calls `record` for each remaining case, after its cool-down, and passes the record to `send`. Sends a failure at once. Returns
    /// false if a failed case has lost the device: the cases without a record are then measured by another process.
    pub(super) fn for_each_case(
        &mut self,
        mut record: impl FnMut(&mut Self, Cache) -> Result<Record, Failure>,
        send: fn(&mut Self, Record),
    ) -> bool {
        while let Some(&cache) = self.remaining.first() {
            let cool_down = self.cool_down();
            match record(self, cache) {
                Ok(mut record) => {
                    record.measurement.iter_mut().for_each(|measured| measured.cool_down = cool_down);
                    send(self, record);
                }
                Err(failure) => {
                    self.send_record(self.failed_record(cache, failure));
                    if report_lost_device(self.device, self.reply) {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// Measures the cases of a job that has no comparison, and sends their records. With `verify`, CUPTI then
/// traces launches of each valid case: tracing changes this process, so it comes last.
pub(super) fn run(
    request: &MeasureRequest,
    (entry, variant): (&Entry, &Variant),
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    let options = &entry.options;
    JobInProgress::new(request, device, reply).visit(variant, |job, sweeps, case| {
        select_args(&request.job.args, sweeps)?;
        let checks = (!request.unchecked).then_some(options);
        let prepared = catch(Stage::Device, || PreparedCase::new(case, checks, job.device, job.reply))?;
        let mut hot = None;
        let sample = |job: &mut JobInProgress<'_>, cache| {
            let record = sample_case(job, case, options, &prepared, (cache, hot))?;
            if cache == Cache::Hot {
                hot = record.usable_measurement().map(Measurement::median);
            }
            Ok(record)
        };
        let send = if request.unchecked { JobInProgress::send_record } else { JobInProgress::send_sampled };
        if job.for_each_case(sample, send) {
            let records = launch_after_samples(job, case, options, prepared.setup_time);
            #[cfg(feature = "verify")]
            let traced = trace_options(request, &records);
            records.into_iter().for_each(|record| (job.reply)(Reply::Record(Box::new(record))));
            #[cfg(feature = "verify")]
            traced.iter().for_each(|wanted| trace_case(job, case, options, wanted));
        }
        Ok(())
    });
}

/// Launches again after the samples of all cases of a job, to find faults. Returns the records of the cases, to which the findings apply
/// alike.
fn launch_after_samples(
    job: &mut JobInProgress<'_>,
    case: &mut CaughtCase<'_>,
    options: &BenchmarkOptions,
    setup_time: Duration,
) -> Vec<Record> {
    let mut records = std::mem::take(&mut job.sampled);
    let budget = benchmark_sampling(options, &job.request.sampling, job.deadline).max_time;
    let samples = || records.iter().filter_map(|record| Some(&record.measurement.as_ref()?.samples));
    let Some(last) = samples().next_back() else { return records };
    let relocated = samples().any(|samples| samples.relocations > 0);
    let on_used_inputs = samples().any(|samples| has_time_for_used_inputs(budget, samples));
    let launches = FollowUpLaunches::new(case.reborrow(), job.device, options.host_work, last);
    let found = launches.run((on_used_inputs, relocated), (setup_time, job.deadline), &job.request.info);
    for record in &mut records {
        let Some(measurement) = &mut record.measurement else { continue };
        (measurement.relaunch, measurement.call_time) = (found.relaunch.clone(), found.call_time);
        record.verdict.add(found.reasons.iter().cloned());
        // A launch that drifts during sampling would also disagree with a later measurement.
        let is_unsteady = |reason: &Reason| matches!(reason, Reason::Drift(_) | Reason::TwoModes(_));
        if !record.verdict.reasons.iter().any(is_unsteady) {
            record.verdict.add(methods_disagree(&measurement.samples));
        }
    }
    records
}

/// Returns the options with which CUPTI traces launches of the cases in `records`: the cache state and the flush
/// of their samples. If the inputs were relocated between the samples, they are also relocated here, but with
/// newly drawn allocation seeds. On a simulated device, the seeds are the same. Returns none without `verify`,
/// and for cases without inputs.
#[cfg(feature = "verify")]
fn trace_options(request: &MeasureRequest, records: &[Record]) -> Vec<crate::device::TraceOptions> {
    let is_without_inputs = |reason: &Reason| matches!(reason, Reason::SetupNotRepeatable(_));
    let options = |record: &Record| {
        let measured = record.usable_measurement()?;
        let samples = &measured.samples;
        let seed = method::RoundLayout::random_seed(samples.timer.simulated);
        let drawn =
            || std::array::from_fn(|number| method::RoundLayout::derive_allocation_seed(number, seed));
        let allocation_seeds = (samples.relocations > 0).then(drawn);
        let (cache, flush) = (record.case.cache, samples.method.flush);
        Some(crate::device::TraceOptions { cache, flush, time: measured.median(), allocation_seeds })
    };
    let traced = records.iter().filter(|record| !record.verdict.reasons.iter().any(is_without_inputs));
    traced.filter(|_| request.verify).filter_map(options).collect()
}

/// Traces launches of a sampled case with CUPTI, restores the first inputs, and replies with the trace or
/// with the reason why it failed.
#[cfg(feature = "verify")]
fn trace_case(
    job: &mut JobInProgress<'_>,
    case: &mut CaughtCase<'_>,
    options: &BenchmarkOptions,
    wanted: &crate::device::TraceOptions,
) {
    let pass = if options.host_work {
        gpubench_records::CuptiPass::Failed(
            "it does not see the host's part, which belongs to this launch".to_owned(),
        )
    } else {
        case.0.keep_output(false);
        match catch(Stage::Launch, || job.device.traced(case, wanted)) {
            Ok(Some(times)) => gpubench_records::CuptiPass::Traced(Box::new(times)),
            Ok(None) => gpubench_records::CuptiPass::Failed("it traces NVIDIA GPUs alone".to_owned()),
            Err(failure) => gpubench_records::CuptiPass::Failed(failure.message),
        }
    };
    restore_inputs(case, job.device);
    (job.reply)(Reply::Traced { cache: wanted.cache, pass });
}

/// Returns `sampling` with the benchmark's own `max_time`, unless the user overrides it. Limits both times to
/// half of the time left until `deadline`, when the worker is killed.
pub(super) fn benchmark_sampling(
    options: &BenchmarkOptions,
    sampling: &Sampling,
    deadline: Instant,
) -> Sampling {
    let own = options.max_time.filter(|_| sampling.benchmark_max_time);
    let max_time = own.map_or(sampling.max_time, Nanoseconds::from_seconds);
    let most = (time_until(deadline) / 2).into();
    let extended_max_time = sampling.extended_max_time.min(most);
    Sampling { max_time: max_time.min(most), extended_max_time, ..*sampling }
}

/// Samples one case, and returns its record. `hot` is the median time of the job's hot case, if that is
/// known.
fn sample_case(
    job: &mut JobInProgress<'_>,
    case: &mut CaughtCase<'_>,
    options: &BenchmarkOptions,
    prepared: &PreparedCase,
    (cache, hot): (Cache, Option<Nanoseconds>),
) -> Result<Record, Failure> {
    let MeasureRequest { info, unchecked, .. } = job.request;
    let (deadline, host_work) = (job.deadline, options.host_work);
    let sampling = benchmark_sampling(options, &job.request.sampling, deadline);
    // Back-to-back launches are hot, so energy is measured for hot cases only.
    let has_energy = sampling.energy.unwrap_or(options.energy) && cache == Cache::Hot;
    let (flush, path) = (sampling.flush, sampling.path);
    let relocates_inputs = can_relocate(cache, prepared, options.accumulates, info);
    let wanted = SampleOptions { cache, flush, path, host_work, relocates_inputs };
    let mut progress = StepReporter::new(job.reply);
    let sampled = catch(Stage::Launch, || {
        // Otherwise the output of an earlier check would be freed within the first sample.
        case.0.keep_output(false);
        let (monitor, meter) = (job.device.monitor(), has_energy.then(|| job.device.monitor()));
        let mut sampler = job.device.sampler(case, &wanted)?;
        let report_step = &mut |step| progress.report(step);
        let samples = method::measure(sampler.as_mut(), &sampling, deadline, monitor.ok(), report_step)?;
        let energy = meter.map(|meter| measure_energy(sampler.as_mut(), &samples, sampling.max_time, meter));
        Ok((samples, energy))
    });
    let step = progress.step;
    if *unchecked || sampled.is_err() {
        restore_inputs(case, job.device);
    }
    let sampled = sampled.map_err(|failure| with_driver_message(failure.at(step), job.device))?;
    let (measurement, verdict) =
        derive_measurement(options, &sampling, info, sampled, prepared, (cache, hot));
    Ok(Record::new(job.request.job.case(cache), Some(measurement), verdict))
}

/// The number of launches on used inputs, at most: timed launches, and launches that check whether outputs
/// are written again.
const LAUNCHES_ON_USED_INPUTS: f64 = 8.0;
/// The time that launches on used inputs may take even if the time budget of the case is spent.
const MIN_USED_INPUTS_TIME: Nanoseconds = Nanoseconds::from_seconds(0.05);

/// Returns true if [`LAUNCHES_ON_USED_INPUTS`] launches fit into the rest of `budget`, the time budget of a
/// case, in addition to those on fresh inputs. If the rest is less than [`MIN_USED_INPUTS_TIME`], that time
/// counts instead.
fn has_time_for_used_inputs(budget: Nanoseconds, samples: &Samples) -> bool {
    let each = samples.time.median;
    let spent = samples.warm_up.elapsed + samples.device_time + method::VALIDATION_LAUNCHES as f64 * each;
    LAUNCHES_ON_USED_INPUTS * each <= (budget - spent).max(MIN_USED_INPUTS_TIME)
}

/// The time that warm-up and energy measurement of a case may take beyond the time budget of its samples.
const MAX_TIME_BEYOND_BUDGET: Nanoseconds = Nanoseconds::from_seconds(1.0);

/// Measures the energy of a launch by back-to-back launches, in the time that the samples left of `budget`
/// plus [`MAX_TIME_BEYOND_BUDGET`]. Returns [`Energy::Unavailable`] with the reason on any failure, so that
/// the samples are kept.
fn measure_energy(
    sampler: &mut dyn Sampler,
    samples: &Samples,
    budget: Nanoseconds,
    meter: Result<Box<dyn Monitor>, DeviceError>,
) -> Energy {
    let each = samples.back_to_back.unwrap_or(samples.time.median);
    let each = match samples.method.path {
        Path::Graph => each,
        // Launching one may take this machine longer than it takes the device.
        _ => each.max(samples.wall_time / samples.event_times.len().max(1) as f64),
    };
    let left = budget + MAX_TIME_BEYOND_BUDGET - samples.warm_up.elapsed - samples.wall_time;
    let left = Duration::try_from_secs_f64(left.as_seconds()).unwrap_or_default();
    let measured = meter.map_err(|why| format!("there are no sensors: {why}")).and_then(|meter| {
        catch(Stage::Launch, || Ok(method::measure_energy(sampler, each, left, meter)))
            .unwrap_or_else(|failure| Err(failure.to_string()))
    });
    measured.map_or_else(Energy::Unavailable, Energy::Measured)
}

/// Derives the measurement of a case, and the verdict on it, from its samples and its energy. `hot` is the
/// median time of the job's hot case, from which the metrics of a cold case are derived.
pub(super) fn derive_measurement(
    options: &BenchmarkOptions,
    sampling: &Sampling,
    info: &DeviceInfo,
    (samples, energy): (Samples, Option<Energy>),
    prepared: &PreparedCase,
    (cache, hot): (Cache, Option<Nanoseconds>),
) -> (Measurement, Verdict) {
    let BenchmarkOptions { group, data_type, link, item, host_work, .. } = *options;
    let (median, timer) = (samples.time.median, samples.timer);
    let time = resolved(median, timer.resolution).then_some(median);
    let metrics = if let Some(median) = time {
        let hot = hot.filter(|hot| resolved(*hot, timer.resolution));
        Metrics::new(&prepared.counts, median, info, (data_type, link), hot)
    } else {
        Metrics::default()
    };
    let measurement = Measurement {
        group: group.map(str::to_owned),
        counts: prepared.counts,
        data_type: data_type.to_owned(),
        item: item.map(str::to_owned),
        link,
        checked: prepared.checked,
        launch: prepared.launch_info.clone(),
        call_time: None,
        relaunch: None,
        verification: None,
        cool_down: None,
        metrics: metrics.with_energy(&prepared.counts, energy.as_ref().and_then(Energy::per_launch)),
        energy,
        setup_memory: prepared.setup_memory,
        user_metrics: user_metrics(&prepared.metrics, time),
        samples,
    };
    let claim = measurement.declared_work(cache);
    let Measurement { samples, launch, .. } = &measurement;
    let precision = sampling.on(samples.method.path).precision;
    let mut verdict = judge(samples, precision, &claim, info);
    verdict.judge_declared_work(&measurement, cache, info);
    verdict.add(launches::reservations(launch, samples, host_work));
    verdict.add(missing_work(&claim, samples, launch, info));
    let verdict = if host_work { launches::with_host_work(verdict) } else { verdict };
    (measurement, verdict)
}

/// Inputs are relocated only if creating them and the first launch on them took at most this long, including
/// compiling and loading.
const MAX_RELOCATION_TIME: Duration = Duration::from_millis(100);
/// The limit of [`MAX_RELOCATION_TIME`] for a simulated device. Its reported times do not depend on this
/// machine, so a slow machine should not change whether inputs are relocated.
const MAX_SIMULATED_RELOCATION_TIME: Duration = Duration::from_millis(300);
/// Inputs larger than this are not relocated. The driver of an H200 clears freed memory, 0.5 GiB per
/// millisecond: meanwhile, launches on a gigabyte take 12 % longer.
const MAX_RELOCATED_MEMORY: Bytes = Bytes(320 << 20);

/// Returns true if the inputs of a case may be relocated between groups of samples: the case is hot, its
/// inputs are small and quick to create, and no launch builds on the outputs of the previous one. Returns
/// false for a launch that was not observed, as in a race: the size of its memory is unknown.
fn can_relocate(cache: Cache, prepared: &PreparedCase, accumulates: bool, info: &DeviceInfo) -> bool {
    let quick = prepared.first_launch_time + prepared.setup_time
        <= if info.fake { MAX_SIMULATED_RELOCATION_TIME } else { MAX_RELOCATION_TIME };
    let little =
        prepared.launch_info.written.as_ref().is_some_and(|written| written.examined <= MAX_RELOCATED_MEMORY);
    cache == Cache::Hot && quick && little && !accumulates
}

/// Reports the steps of a case to the supervisor. Reports the number of samples only when it has doubled: a
/// message between two groups of samples costs microseconds.
pub(super) struct StepReporter<'a> {
    /// The last step that began. A failure of the case names it.
    pub step: Step,
    /// The number of samples from which on the next report is due.
    next_sample_report: usize,
    reply: &'a mut dyn FnMut(Reply),
}

impl<'a> StepReporter<'a> {
    /// Reports [`Step::Preparation`], the first step.
    pub(super) fn new(reply: &'a mut dyn FnMut(Reply)) -> Self {
        let step = Step::Preparation;
        reply(Reply::Step(step));
        Self { step, next_sample_report: 0, reply }
    }

    /// Stores `step`, and reports it unless it only repeats the warm-up or adds few samples.
    pub(super) fn report(&mut self, step: Step) {
        self.step = step;
        match step {
            Step::WarmUp(launches) if launches > 0 => return,
            Step::Samples(taken) if taken < self.next_sample_report => return,
            Step::Samples(taken) => self.next_sample_report = 2 * taken.max(1),
            _ => {}
        }
        (self.reply)(Reply::Step(step));
    }
}

/// Returns the message for an illegal access in a kernel, with a hint to `compute-sanitizer` in place of the source
/// location of gpubench, which is only where gpubench waited for the kernel. Cargo builds gpubench with relative or
/// absolute paths. Returns `None` for other messages.
fn illegal_access_message(message: &str, benchmark: &str) -> Option<String> {
    let errors = ["CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_MISALIGNED_ADDRESS"];
    let (error, location) = message.split_once(", at ")?;
    if !location.contains("gpubench-") || !errors.iter().any(|name| error.contains(name)) {
        return None;
    }
    // The message of the driver or the device follows the source location.
    let rest = location.split_once("; ").map(|(_, rest)| format!("; {rest}")).unwrap_or_default();
    Some(format!(
        "{error} in a kernel of `{benchmark}`: to find the place, run `compute-sanitizer --target-processes all PROGRAM --test {benchmark}` \
         with the program that `cargo bench --no-run` prints{rest}"
    ))
}

#[cfg(test)]
mod illegal_access_tests {
    use super::*;

    #[test]
    fn the_location_in_gpubench_is_replaced_wherever_it_was_built() {
        const ERROR: &str = "cuCtxSynchronize returned 700 (CUDA_ERROR_ILLEGAL_ADDRESS): an illegal memory access was encountered";
        let hint = "in a kernel of `k::add`: to find the place, run `compute-sanitizer --target-processes all PROGRAM --test k::add` \
                    with the program that `cargo bench --no-run` prints";
        for folder in ["", "/home/me/gpubench/", "/home/me/.cargo/registry/src/index/"] {
            let message = format!(
                "{ERROR}, at {folder}gpubench-runtime/src/devices/cuda/mod.rs:230; the driver says more"
            );
            let told = illegal_access_message(&message, "k::add");
            assert_eq!(told, Some(format!("{ERROR} {hint}; the driver says more")));
        }
        let other =
            "cuInit returned 999 (CUDA_ERROR_UNKNOWN), at gpubench-runtime/src/devices/cuda/mod.rs:230";
        assert_eq!(illegal_access_message(other, "k::add"), None);
    }
}
