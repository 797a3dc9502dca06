//! One job from inputs to records: set up, one checked launch, then each cache state warmed up, sampled, summarised and
//! judged. In: a job and its open device; out: a record for each of its cases.

use crate::device::conditions::Monitor;
use crate::device::seen::Seen;
use crate::device::{Cache, Device, Facts, Sampler, Wanted, Work};
use crate::failure::{Failure, Stage};
use crate::limits::{Claim, begins_cold};
use crate::measure::{self, Energy, Samples};
use crate::metrics::{Metrics, resolved};
use crate::plan::{Arg, Job, Sampling};
use crate::record::{Measurement, Record};
use crate::registry::{Axis, Case, Counts, Entry, Options, Variant, Visitor};
use crate::units::Nanoseconds;
use crate::verdict::{State, Verdict, judge};

/// Measures the cases of `job` and hands each record to `done` as it is made. Cases that are left when a failure has cost
/// the device get none: another process may still measure them.
pub(super) fn run(
    job: &Job,
    (entry, variant): (&Entry, &Variant),
    device: &mut dyn Device,
    sampling: &Sampling,
    facts: &Facts,
    done: &mut dyn FnMut(Record),
) {
    let sampling = own_sampling(&entry.options, sampling);
    let mut visit = Visit { job, options: entry.options, device, sampling, facts, left: &job.caches, done };
    let visited = Failure::catch(Stage::Args, || {
        (variant.visit)(&mut visit);
        Ok(())
    });
    if let Err(failure) = visited {
        visit.fail(&failure);
    }
}

/// Whether launches of `job`, which left all memory as it was, write anything where that holds something else.
pub(super) fn writes(job: &Job, variant: &Variant, device: &mut dyn Device) -> Result<Option<bool>, Failure> {
    once(job, variant, device, &mut |case, device| {
        case.open(device)?;
        case.setup()?;
        settle(device, Stage::Setup)?;
        Failure::catch(Stage::Launch, || device.writes(&mut Launches(case)))
    })
}

/// The same failure for every case of `job`.
pub(super) fn fail(job: &Job, failure: &Failure, done: &mut dyn FnMut(Record)) {
    for &cache in &job.caches {
        done(Record::failed(job, cache, failure.clone()));
    }
}

/// `sampling`, as a benchmark of these options is sampled.
pub(super) fn own_sampling(options: &Options, sampling: &Sampling) -> Sampling {
    let own = options.max_time.filter(|_| sampling.own_max_time);
    Sampling { max_time: own.unwrap_or(sampling.max_time), ..*sampling }
}

/// Goes through `job` once and times nothing: sets up, launches, and looks at the outputs. Returns whether it has a check.
pub(super) fn test(job: &Job, variant: &Variant, device: &mut dyn Device) -> Result<bool, Failure> {
    once(job, variant, device, &mut |case, device| {
        let prepared = Failure::catch(Stage::Device, || Prepared::of(case, device))?;
        Ok(prepared.checked)
    })
}

/// What is done with a case.
type Deed<'a, T> = &'a mut dyn FnMut(&mut dyn Case, &mut dyn Device) -> Result<T, Failure>;

/// Selects the arguments of `job` and does something with the case that they make.
fn once<T>(job: &Job, variant: &Variant, device: &mut dyn Device, deed: Deed<'_, T>) -> Result<T, Failure> {
    let mut once = Once { job, device, deed, outcome: None };
    Failure::catch(Stage::Args, || {
        (variant.visit)(&mut once);
        Ok(())
    })?;
    once.outcome.unwrap_or_else(|| Err(Failure::new(Stage::Args, "the benchmark showed no case")))
}

struct Once<'a, T> {
    job: &'a Job,
    device: &'a mut dyn Device,
    deed: Deed<'a, T>,
    outcome: Option<Result<T, Failure>>,
}

impl<T> Visitor for Once<'_, T> {
    fn visit(&mut self, sweeps: &[&[&dyn Axis]], case: &mut dyn Case) {
        self.outcome = Some(select(&self.job.args, sweeps).and_then(|()| (self.deed)(case, self.device)));
    }
}

/// Selects `args`.
pub(super) fn select(args: &[Arg], sweeps: &[&[&dyn Axis]]) -> Result<(), Failure> {
    for axis in sweeps.iter().copied().flatten() {
        if let Some(arg) = args.iter().find(|arg| arg.name == axis.name()) {
            axis.select(&arg.value).map_err(|message| Failure::new(Stage::Args, message))?;
        }
    }
    Ok(())
}

/// Selects the job's arguments, then measures the cases that they make.
struct Visit<'a> {
    job: &'a Job,
    options: Options,
    device: &'a mut dyn Device,
    sampling: Sampling,
    facts: &'a Facts,
    /// The cases without a record.
    left: &'a [Cache],
    done: &'a mut dyn FnMut(Record),
}

impl Visitor for Visit<'_> {
    fn visit(&mut self, sweeps: &[&[&dyn Axis]], case: &mut dyn Case) {
        if let Err(failure) = select(&self.job.args, sweeps) {
            return self.fail(&failure);
        }
        let prepared = match Failure::catch(Stage::Device, || Prepared::of(case, self.device)) {
            Ok(prepared) => prepared,
            Err(failure) => return self.fail(&failure),
        };
        let mut hot = None;
        while let Some(&cache) = self.left.first() {
            let record = self.record(case, cache, &prepared, hot);
            let failed = record.measurement.is_none();
            if cache == Cache::Hot {
                let measured = record.measurement.as_ref();
                let holds = record.verdict.state != State::Invalid;
                hot = measured.filter(|_| holds).map(|measured| measured.time.median);
            }
            self.finish(record);
            if failed && self.device.settle().is_err() {
                return;
            }
        }
    }
}

impl Visit<'_> {
    /// The same failure for every case that has no record yet: they share what failed.
    fn fail(&mut self, failure: &Failure) {
        while let Some(&cache) = self.left.first() {
            self.finish(Record::failed(self.job, cache, failure.clone()));
        }
    }

    fn finish(&mut self, record: Record) {
        self.left = &self.left[1..];
        (self.done)(record);
    }

    fn record(
        &mut self,
        case: &mut dyn Case,
        cache: Cache,
        prepared: &Prepared,
        hot: Option<Nanoseconds>,
    ) -> Record {
        // Launches that follow one another are hot.
        let asked = self.sampling.energy.unwrap_or(self.options.energy) && cache == Cache::Hot;
        let sampled = Failure::catch(Stage::Launch, || {
            let mut launches = Launches(case);
            let wanted = Wanted { cache, flush: self.sampling.flush, path: self.sampling.path };
            let (monitor, meter) = (self.device.monitor(), asked.then(|| self.device.monitor()));
            let mut sampler = self.device.sampler(&mut launches, &wanted)?;
            let samples = measure::measure(sampler.as_mut(), &self.sampling, monitor.ok())?;
            let each = samples.in_a_row.unwrap_or(samples.time.median);
            Ok((samples, meter.map(|meter| energy(sampler.as_mut(), each, meter))))
        });
        let (samples, energy) = match sampled {
            Ok(sampled) => sampled,
            // The sampler's own failures have the driver's words in them.
            Err(failure) if failure.stage == Stage::Sampling => {
                return Record::failed(self.job, cache, failure);
            }
            Err(failure) => return Record::failed(self.job, cache, remarked(failure, self.device)),
        };
        let measured = Measured { options: &self.options, sampling: &self.sampling, facts: self.facts };
        let (measurement, verdict) = measured.found((samples, energy), prepared, cache, hot);
        Record::new(self.job, cache, Some(measurement), verdict)
    }
}

/// What turns samples into what is stored of them.
pub(super) struct Measured<'a> {
    pub(super) options: &'a Options,
    pub(super) sampling: &'a Sampling,
    pub(super) facts: &'a Facts,
}

impl Measured<'_> {
    /// What samples say of launches that do what was `prepared`, and what their energy does; `hot` is their time with the data
    /// cached.
    pub(super) fn found(
        &self,
        (samples, energy): (Samples, Option<Energy>),
        prepared: &Prepared,
        cache: Cache,
        hot: Option<Nanoseconds>,
    ) -> (Measurement, Verdict) {
        let Options { precision, link, item, .. } = *self.options;
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
            method: samples.method,
            timer,
            warm_up: samples.warm_up,
            conditions: samples.conditions,
            device_clock: samples.device_clock,
            groups: samples.groups,
            elapsed: samples.elapsed,
            wall: samples.wall,
            converged: samples.converged,
            time: samples.time,
            in_a_row: samples.in_a_row,
            on_stream: samples.on_stream,
            energy,
            metrics,
            samples: samples.events,
        };
        (measurement, verdict)
    }
}

/// What all cases of a job share.
pub(super) struct Prepared {
    counts: Counts,
    checked: bool,
    seen: Seen,
}

impl Prepared {
    /// Makes the inputs, launches once on them and looks at what came out, all of it untimed.
    fn of(case: &mut dyn Case, device: &mut dyn Device) -> Result<Self, Failure> {
        case.open(device)?;
        set_up(case, device)?;
        Self::launched(case, device)
    }

    /// Launches once on the inputs that are there, and looks at what came out.
    pub(super) fn launched(case: &mut dyn Case, device: &mut dyn Device) -> Result<Self, Failure> {
        let counts = case.counts()?;
        let seen = Failure::catch(Stage::Launch, || device.observe(&mut Launches(case)))
            .map_err(|failure| remarked(failure, device))?;
        let checked = case.check().map_err(|failure| remarked(failure, device))?;
        settle(device, Stage::Check)?;
        Ok(Self { counts, checked, seen })
    }
}

/// Makes the inputs.
pub(super) fn set_up(case: &mut dyn Case, device: &mut dyn Device) -> Result<(), Failure> {
    case.setup().map_err(|failure| remarked(failure, device))?;
    settle(device, Stage::Setup)
}

/// Launches once, and waits for it.
pub(super) fn launch(case: &mut dyn Case, device: &mut dyn Device) -> Result<(), Failure> {
    Failure::catch(Stage::Launch, || case.launch()).map_err(|failure| remarked(failure, device))?;
    settle(device, Stage::Launch)
}

/// Has errors of `stage` that come late told as its own.
fn settle(device: &mut dyn Device, stage: Stage) -> Result<(), Failure> {
    device.settle().map_err(|error| Failure::new(stage, error))
}

/// What the user's code said of its failure, with what the device knows of it.
pub(super) fn remarked(failure: Failure, device: &mut dyn Device) -> Failure {
    match device.remark() {
        Some(remark) => {
            Failure::new(failure.stage, format_args!("{}; the driver says: {remark}", failure.message))
        }
        None => failure,
    }
}

/// What a launch takes from the supply. What goes wrong meanwhile costs that and not the samples.
fn energy(sampler: &mut dyn Sampler, each: Nanoseconds, meter: Result<Box<dyn Monitor>, String>) -> Energy {
    let meter = match meter {
        Ok(meter) => meter,
        Err(why) => return Energy::Refused(format!("there are no sensors: {why}")),
    };
    let measured = Failure::catch(Stage::Launch, || Ok(measure::energy(sampler, each, meter)));
    measured.unwrap_or_else(|failure| Energy::Refused(failure.to_string()))
}

/// The launches of a case, to be sampled.
pub(super) struct Launches<'a>(pub(super) &'a mut dyn Case);

impl Work for Launches<'_> {
    fn resets(&self) -> bool {
        self.0.resets()
    }

    fn reset(&mut self) -> Result<(), Failure> {
        self.0.reset()
    }

    fn launch(&mut self) -> Result<(), Failure> {
        self.0.launch()
    }
}
