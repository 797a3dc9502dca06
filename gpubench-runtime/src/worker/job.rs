//! One job, from inputs to records: set-up, one checked launch, then warm-up, samples, summary and verdict for each
//! cache state. In: a job and its open device; out: a record for each of its cases.

use std::time::{Duration, Instant};

use super::Reply;
use crate::catch::catch;
use crate::device::{Device, DeviceError, Monitor, SampleOptions, Sampler, Work, not_left};
use crate::measure;
use crate::plan::Job;
use crate::registry::{ArgAxis, BenchmarkOptions, Case, Entry, Variant, Visitor};
use gpubench_records::facts::Facts;
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::id::Arg;
use gpubench_records::launch::LaunchFacts;
use gpubench_records::limits::{Claim, begins_cold};
use gpubench_records::method::Cache;
use gpubench_records::metrics::{Metrics, resolved};
use gpubench_records::record::{Measurement, Record};
use gpubench_records::samples::{Energy, Samples};
use gpubench_records::sampling::Sampling;
use gpubench_records::verdict::{State, Verdict, judge};
use gpubench_records::work::Counts;
use gpubench_stats::Summary;
use gpubench_stats::units::Nanoseconds;

/// Measures the cases of `job`, and passes each record to `reply` as soon as it is made. After a failure that lost the
/// device, the remaining cases get no record: another process may still measure them.
pub(super) fn run(
    job: &Job,
    (entry, variant): (&Entry, &Variant),
    device: &mut dyn Device,
    sampling: &Sampling,
    facts: &Facts,
    reply: &mut dyn FnMut(Reply),
) {
    let sampling = own_sampling(&entry.options, sampling);
    let mut visit = Visit { job, options: entry.options, device, sampling, facts, left: &job.caches, reply };
    let visited = catch(Stage::Args, || {
        (variant.visit)(&mut visit);
        Ok(())
    });
    if let Err(failure) = visited {
        visit.fail(&failure);
    }
}

/// Detects writes of `job`, whose first launch changed no memory: launches it again on memory that holds other values.
pub(super) fn writes(job: &Job, variant: &Variant, device: &mut dyn Device, reply: &mut dyn FnMut(Reply)) {
    // A launch that fails on unexpected values gives no answer.
    let to_reply = |writes: Result<_, Failure>| Reply::Writes(writes.unwrap_or_default());
    run_action(job, variant, device, reply, &to_reply, &mut |case, device, reply| {
        reply(Reply::Step(Step::Setup));
        case.open(device)?;
        on(device, Stage::Setup, || case.setup())?;
        settle(device, Stage::Setup)?;
        catch(Stage::Launch, || device.writes(&mut Launches(case)))
    });
}

/// Replies with the same failure for every case of `job`.
pub(super) fn fail(job: &Job, failure: &Failure, reply: &mut dyn FnMut(Reply)) {
    for &cache in &job.caches {
        reply(Reply::Record(Box::new(Record::failed(job.case(cache), failure.clone()))));
    }
}

/// Returns `sampling` with the benchmark's own options applied.
pub(super) fn own_sampling(options: &BenchmarkOptions, sampling: &Sampling) -> Sampling {
    let own = options.max_time.filter(|_| sampling.own_max_time);
    Sampling { max_time: own.map_or(sampling.max_time, Nanoseconds::from_seconds), ..*sampling }
}

/// Runs `job` once without timing: sets up, launches, and checks the outputs. Replies true if the benchmark has a
/// check.
pub(super) fn test(job: &Job, variant: &Variant, device: &mut dyn Device, reply: &mut dyn FnMut(Reply)) {
    run_action(job, variant, device, reply, &Reply::Tested, &mut |case, device, reply| {
        let prepared = catch(Stage::Device, || PreparedCase::of(case, device, reply))?;
        Ok(prepared.checked)
    });
}

/// An action on a case.
type JobAction<'a, T> =
    &'a mut dyn FnMut(&mut dyn Case, &mut dyn Device, &mut dyn FnMut(Reply)) -> Result<T, Failure>;

/// Selects the arguments of `job`, does the action on the resulting case, and replies with its result, which
/// `to_reply` turns into a reply.
fn run_action<T>(
    job: &Job,
    variant: &Variant,
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
    to_reply: &dyn Fn(Result<T, Failure>) -> Reply,
    action: JobAction<'_, T>,
) {
    let mut visitor = ActionVisitor { job, device, reply, to_reply, action, replied: false };
    let visited = catch(Stage::Args, || {
        (variant.visit)(&mut visitor);
        Ok(())
    });
    let nothing = || Failure::new(Stage::Args, "the benchmark showed no case");
    if let Some(failure) = visited.err().or_else(|| (!visitor.replied).then(nothing)) {
        reply(to_reply(Err(failure)));
    }
}

struct ActionVisitor<'a, T> {
    job: &'a Job,
    device: &'a mut dyn Device,
    reply: &'a mut dyn FnMut(Reply),
    to_reply: &'a dyn Fn(Result<T, Failure>) -> Reply,
    action: JobAction<'a, T>,
    /// True once a case was visited and its result sent.
    replied: bool,
}

impl<T> Visitor for ActionVisitor<'_, T> {
    fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case) {
        let done = select(&self.job.args, sweeps).and_then(|()| (self.action)(case, self.device, self.reply));
        let failed = done.is_err();
        (self.reply)((self.to_reply)(done));
        self.replied = true;
        if failed {
            report_lost_device(self.device, self.reply);
        }
    }
}

/// Returns true, and replies [`Reply::DeviceLost`], if `device` is lost after a failure. A worker process ends within
/// that reply, since what belongs to a lost device must not be dropped; only a worker inside the supervisor's own
/// process returns.
pub(super) fn report_lost_device(device: &mut dyn Device, reply: &mut dyn FnMut(Reply)) -> bool {
    let lost = device.settle().is_err();
    if lost {
        reply(Reply::DeviceLost);
    }
    lost
}

/// Selects the values of `args` on the axes.
pub(super) fn select(args: &[Arg], sweeps: &[&[&dyn ArgAxis]]) -> Result<(), Failure> {
    for axis in sweeps.iter().copied().flatten() {
        if let Some(arg) = args.iter().find(|arg| arg.name == axis.name()) {
            axis.select(&arg.value).map_err(|error| Failure::new(Stage::Args, error))?;
        }
    }
    Ok(())
}

/// Selects the job's arguments, then measures the resulting cases.
struct Visit<'a> {
    job: &'a Job,
    options: BenchmarkOptions,
    device: &'a mut dyn Device,
    sampling: Sampling,
    facts: &'a Facts,
    /// The cases without a record.
    left: &'a [Cache],
    reply: &'a mut dyn FnMut(Reply),
}

impl Visitor for Visit<'_> {
    fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case) {
        let prepared = select(&self.job.args, sweeps)
            .and_then(|()| catch(Stage::Device, || PreparedCase::of(case, self.device, self.reply)));
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => {
                self.fail(&failure);
                report_lost_device(self.device, self.reply);
                return;
            }
        };
        let mut hot = None;
        while let Some(&cache) = self.left.first() {
            let record = self.record(case, cache, &prepared, hot);
            let failed = record.measurement.is_none();
            if cache == Cache::Hot {
                let measured = record.measurement.as_ref();
                let holds = record.verdict.state != State::Invalid;
                hot = measured.filter(|_| holds).map(Measurement::median);
            }
            self.finish(record);
            if failed && report_lost_device(self.device, self.reply) {
                return;
            }
        }
    }
}

impl Visit<'_> {
    /// Replies with the same failure for every case that has no record yet: they share what failed.
    fn fail(&mut self, failure: &Failure) {
        while let Some(&cache) = self.left.first() {
            self.finish(Record::failed(self.job.case(cache), failure.clone()));
        }
    }

    fn finish(&mut self, record: Record) {
        self.left = &self.left[1..];
        (self.reply)(Reply::Record(Box::new(record)));
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
        let mut progress = StepReporter::new(self.reply);
        let sampled = catch(Stage::Launch, || {
            let mut launches = Launches(case);
            let wanted = SampleOptions { cache, flush: self.sampling.flush, path: self.sampling.path };
            let (monitor, meter) = (self.device.monitor(), asked.then(|| self.device.monitor()));
            let mut sampler = self.device.sampler(&mut launches, &wanted)?;
            let samples = measure::measure(sampler.as_mut(), &self.sampling, monitor.ok(), &mut progress)?;
            let each = samples.back_to_back.unwrap_or(samples.time.median);
            Ok((samples, meter.map(|meter| energy(sampler.as_mut(), each, meter))))
        });
        let (samples, energy) = match sampled.map_err(|failure| failure.at(progress.step)) {
            Ok(sampled) => sampled,
            // The sampler's own failures already contain the driver's words.
            Err(failure) if failure.stage == Stage::Sampling => {
                return Record::failed(self.job.case(cache), failure);
            }
            Err(failure) => return Record::failed(self.job.case(cache), remarked(failure, self.device)),
        };
        let context =
            MeasurementContext { options: &self.options, sampling: &self.sampling, facts: self.facts };
        let (measurement, verdict) = context.build((samples, energy), prepared, cache, hot);
        Record::new(self.job.case(cache), Some(measurement), verdict)
    }
}

/// The context that turns samples into a stored measurement.
pub(super) struct MeasurementContext<'a> {
    pub(super) options: &'a BenchmarkOptions,
    pub(super) sampling: &'a Sampling,
    pub(super) facts: &'a Facts,
}

impl MeasurementContext<'_> {
    /// Builds the measurement from the samples, the facts in `prepared` and the energy; `hot` is the time with the data
    /// cached.
    pub(super) fn build(
        &self,
        (samples, energy): (Samples, Option<Energy>),
        prepared: &PreparedCase,
        cache: Cache,
        hot: Option<Nanoseconds>,
    ) -> (Measurement, Verdict) {
        let BenchmarkOptions { precision, link, item, .. } = *self.options;
        let (median, timer) = (samples.time.median, samples.timer);
        let cold = begins_cold(cache, &samples.method);
        let claim = Claim { counts: prepared.counts, precision, link, cold };
        let verdict = judge(&samples, self.sampling.precision, &claim, self.facts);
        let metrics = if resolved(median, timer.step) {
            let hot = hot.filter(|hot| resolved(*hot, timer.step));
            Metrics::of(&prepared.counts, median, self.facts, (precision, link), hot)
        } else {
            Metrics::default()
        };
        let metrics = metrics.with_energy(&prepared.counts, energy.as_ref().and_then(Energy::per_launch));
        let measurement = Measurement {
            counts: prepared.counts,
            precision: precision.to_owned(),
            item: item.map(str::to_owned),
            link,
            checked: prepared.checked,
            seen: prepared.seen.clone(),
            energy,
            metrics,
            samples,
        };
        (measurement, verdict)
    }
}

/// Reports the progress of a case. The supervisor hears of each step, and of samples each time their number has
/// doubled: a message between groups costs microseconds, and one for each group would be too many.
pub(super) struct StepReporter<'a> {
    pub(super) step: Step,
    /// The number of samples to report next.
    next: usize,
    /// The time of the last report of an interval.
    interval_reported: Option<Instant>,
    reply: &'a mut dyn FnMut(Reply),
}

impl<'a> StepReporter<'a> {
    pub(super) fn new(reply: &'a mut dyn FnMut(Reply)) -> Self {
        let step = Step::Preparation;
        reply(Reply::Step(step));
        Self { step, next: 0, interval_reported: None, reply }
    }
}

impl measure::StepObserver for StepReporter<'_> {
    fn step_reached(&mut self, step: Step) {
        self.step = step;
        let is_due = match step {
            Step::WarmUp(launches) => launches == 0,
            Step::Samples(taken) => taken >= self.next,
            _ => true,
        };
        if is_due {
            (self.reply)(Reply::Step(step));
        }
        if let (true, Step::Samples(taken)) = (is_due, step) {
            self.next = 2 * taken.max(1);
        }
    }

    /// Reports the interval a few times a second.
    fn summary_updated(&mut self, time: &Summary) {
        let half_width = time.relative_half_width();
        let is_due = self.interval_reported.is_none_or(|reported| reported.elapsed() >= BETWEEN_INTERVALS);
        if is_due && half_width.is_finite() {
            self.interval_reported = Some(Instant::now());
            (self.reply)(Reply::Interval { samples: time.samples, half_width });
        }
    }
}

/// The time between two reports of the interval of a case.
const BETWEEN_INTERVALS: Duration = Duration::from_millis(200);

/// The facts that all cases of a job share.
pub(super) struct PreparedCase {
    counts: Counts,
    checked: bool,
    seen: LaunchFacts,
}

impl PreparedCase {
    /// Makes the inputs, launches once on them and checks the outputs, all of it untimed.
    fn of(
        case: &mut dyn Case,
        device: &mut dyn Device,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<Self, Failure> {
        let mut report_step = |step| reply(Reply::Step(step));
        report_step(Step::Setup);
        case.open(device)?;
        set_up(case, device)?;
        Self::launched(case, device, &mut report_step)
    }

    /// Resets the inputs, launches once on them, and checks the outputs.
    pub(super) fn launched(
        case: &mut dyn Case,
        device: &mut dyn Device,
        report_step: &mut dyn FnMut(Step),
    ) -> Result<Self, Failure> {
        // Counts describe the inputs before the launch.
        report_step(Step::Reset);
        reset(case, device)?;
        report_step(Step::Counts);
        let counts = on(device, Stage::Counts, || case.counts())?;
        report_step(Step::CheckedLaunch);
        let seen = catch(Stage::Launch, || device.observe(&mut Launches(case)))
            .map_err(|failure| remarked(failure, device).at(Step::CheckedLaunch))?;
        report_step(Step::Check);
        let checked =
            on(device, Stage::Check, || case.check()).map_err(|failure| remarked(failure, device))?;
        settle(device, Stage::Check)?;
        Ok(Self { counts, checked, seen })
    }
}

/// Does a step of the user's code, then makes `device` current again. The step fails if it left another device current.
fn on<T>(
    device: &mut dyn Device,
    stage: Stage,
    step: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let done = step();
    not_left(stage, done, device.make_current())
}

/// Makes the inputs.
pub(super) fn set_up(case: &mut dyn Case, device: &mut dyn Device) -> Result<(), Failure> {
    on(device, Stage::Setup, || case.setup()).map_err(|failure| remarked(failure, device))?;
    settle(device, Stage::Setup)
}

/// Resets the inputs if the benchmark has a `reset`, and waits, so that no part of the reset falls into the launch that
/// follows.
fn reset(case: &mut dyn Case, device: &mut dyn Device) -> Result<(), Failure> {
    if !case.resets() {
        return Ok(());
    }
    let done = on(device, Stage::Reset, || catch(Stage::Reset, || case.reset()));
    done.map_err(|failure| remarked(failure, device))?;
    settle(device, Stage::Reset)
}

/// Launches once on fresh inputs, and waits for it.
pub(super) fn launch(case: &mut dyn Case, device: &mut dyn Device) -> Result<(), Failure> {
    reset(case, device)?;
    let launched = on(device, Stage::Launch, || catch(Stage::Launch, || case.launch()));
    launched.map_err(|failure| remarked(failure, device))?;
    settle(device, Stage::Launch)
}

/// Waits for the device, and reports late errors as failures of `stage`.
fn settle(device: &mut dyn Device, stage: Stage) -> Result<(), Failure> {
    device.settle().map_err(|error| Failure::new(stage, error))
}

/// Adds the device's knowledge of the error to a failure that the user's code returned.
pub(super) fn remarked(failure: Failure, device: &mut dyn Device) -> Failure {
    match device.remark() {
        Some(remark) => {
            let message = format!("{}; the driver says: {remark}", failure.message);
            Failure { message, ..failure }
        }
        None => failure,
    }
}

/// Measures the energy of a launch. A failure here costs the energy only, and not the samples.
fn energy(
    sampler: &mut dyn Sampler,
    each: Nanoseconds,
    meter: Result<Box<dyn Monitor>, DeviceError>,
) -> Energy {
    let meter = match meter {
        Ok(meter) => meter,
        Err(why) => return Energy::Refused(format!("there are no sensors: {why}")),
    };
    let measured = catch(Stage::Launch, || Ok(measure::energy(sampler, each, meter)));
    measured.unwrap_or_else(|failure| Energy::Refused(failure.to_string()))
}

/// The launches of a case, as work to be sampled.
pub(super) struct Launches<'a>(pub(super) &'a mut dyn Case);

impl Work for Launches<'_> {
    fn resets(&self) -> bool {
        self.0.resets()
    }

    fn reset(&mut self) -> Result<(), Failure> {
        catch(Stage::Reset, || self.0.reset())
    }

    fn launch(&mut self) -> Result<(), Failure> {
        self.0.launch()
    }
}
