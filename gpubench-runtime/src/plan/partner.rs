//! The partner that each job is compared with. In: the jobs of a plan, and the name of a benchmark with some
//! of its arguments. Out: each job with its partner, or the reason that they do not pair. The partner has the
//! given arguments; the others are the job's own.

use super::error::Unpaired;
use super::{Arg, BenchmarkId, Fate, Job, PlanError, Shares};
use crate::catch::catch;
use crate::registry::{ArgAxis, Case, Entry, Generic, UnknownValue, Variant, Visitor};
use gpubench_records::failure::Stage;
use gpubench_records::id::DeviceId;

/// Gives each of `jobs` its partner. Jobs that are their own partner are left out, unless there are no
/// others.
pub(super) fn pair(
    jobs: Vec<(Job, Fate)>,
    entries: &[&Entry],
    named: &BenchmarkId,
) -> Result<Vec<(Job, Fate)>, PlanError> {
    let wanted = Wanted::find(named, entries)?;
    let mut paired = Vec::with_capacity(jobs.len());
    for (job, fate) in jobs {
        if fate != Fate::Measured {
            paired.push((job, fate));
            continue;
        }
        let (with, skipped) = wanted.partner(&job, entries).map_err(|why| PlanError::Unpaired {
            case: job.to_string(),
            name: named.to_string(),
            why,
        })?;
        let fate = skipped.map_or(Fate::Measured, Fate::Skipped);
        let shares = job.shares.max(Shares::over(wanted.entry.options.link));
        paired.push((Job { with: Some(with), shares, ..job }, fate));
    }
    let itself = |job: &Job| {
        job.with.as_ref().is_some_and(|with| with.benchmark == job.benchmark && with.args == job.args)
    };
    if paired.iter().any(|(job, fate)| *fate == Fate::Measured && !itself(job)) {
        paired.retain(|(job, _)| !itself(job));
    }
    Ok(paired)
}

/// The requested benchmark, with the arguments that its name gives.
struct Wanted<'a> {
    entry: &'a Entry,
    given: &'a [Arg],
}

impl<'a> Wanted<'a> {
    fn find(named: &'a BenchmarkId, entries: &[&'a Entry]) -> Result<Self, PlanError> {
        let (path, given) = (&*named.benchmark, &named.args[..]);
        let within = |entry: &&&'a Entry| {
            let whole = entry.path();
            whole == path || whole.strip_suffix(path).is_some_and(|module| module.ends_with("::"))
        };
        let found: Vec<&'a Entry> = entries.iter().filter(within).copied().collect();
        let exact = found.iter().find(|entry| entry.path() == path);
        match (&found[..], exact) {
            (_, Some(entry)) | ([entry], None) => Ok(Self { entry, given }),
            ([], None) => Err(PlanError::NoPartner(path.to_owned())),
            (several, None) => Err(PlanError::Ambiguous {
                name: path.to_owned(),
                found: several.iter().map(|entry| entry.path()).collect(),
            }),
        }
    }

    /// Returns the partner of `job`, and the benchmark's reason if that partner is left out.
    fn partner(
        &self,
        job: &Job,
        entries: &[&Entry],
    ) -> Result<(BenchmarkId, Option<&'static str>), Unpaired> {
        let variants = self.variants_on(&job.device)?;
        let names = names(variants[0])?;
        let args = self.args(job, &names)?;
        let only_job = job
            .args
            .iter()
            .find(|arg| !names.contains(&&*arg.name) && !is_generic(&arg.name, &job.benchmark, entries));
        if let Some(arg) = only_job {
            return Err(Unpaired::OnlyJob(arg.name.clone()));
        }
        let variant = choose(&variants, &args)?;
        let mut axes = Axes { names: Vec::new(), selected: &args, outcome: Ok(None) };
        axes.see(variant)?;
        let skipped = axes.outcome.map_err(|error| Unpaired::Refused(error.to_string()))?;
        Ok((BenchmarkId { benchmark: self.entry.path(), args }, skipped))
    }

    /// Returns the instances for the kind of this device; at least one.
    fn variants_on(&self, device: &str) -> Result<Vec<&'a Variant>, Unpaired> {
        let kind = DeviceId::parse(device).kind;
        let all = self.entry.variants.iter();
        let here: Vec<&Variant> = all.clone().filter(|variant| variant.device == kind).collect();
        if here.is_empty() {
            let mut runs_on: Vec<_> = all.map(|variant| variant.device).collect();
            runs_on.dedup();
            return Err(Unpaired::Device { device: device.to_owned(), runs_on });
        }
        Ok(here)
    }

    /// Returns a value for each of `names`: the given one, else the job's.
    fn args(&self, job: &Job, names: &[&str]) -> Result<Vec<Arg>, Unpaired> {
        if let Some(arg) = self.given.iter().find(|arg| !names.contains(&&*arg.name)) {
            return Err(Unpaired::NoSuchAxis(arg.name.clone()));
        }
        let args = names.iter().map(|name| {
            let mut values = self.given.iter().chain(&job.args);
            let arg = values.find(|arg| arg.name == *name).cloned();
            arg.ok_or_else(|| Unpaired::OnlyPartner((*name).to_owned()))
        });
        args.collect()
    }
}

/// Returns the names of a variant's types, constants and axes.
fn names(variant: &Variant) -> Result<Vec<&'static str>, Unpaired> {
    let mut axes = Axes { names: Vec::new(), selected: &[], outcome: Ok(None) };
    axes.see(variant)?;
    Ok(variant.generics.iter().map(|generic| generic.name).chain(axes.names).collect())
}

/// Returns true if `name` is a type or a constant of `benchmark`. These choose the code to measure, so only
/// one side may have them. Any other argument that only one side has may change the work.
fn is_generic(name: &str, benchmark: &str, entries: &[&Entry]) -> bool {
    let mut entry = entries.iter().filter(|entry| entry.path() == benchmark);
    entry.any(|entry| generics(entry.variants.iter()).any(|generic| generic.name == name))
}

fn generics<'v>(variants: impl Iterator<Item = &'v Variant>) -> impl Iterator<Item = &'v Generic> {
    variants.flat_map(|variant| variant.generics)
}

/// Returns the instance with these types and constants.
fn choose<'v>(variants: &[&'v Variant], args: &[Arg]) -> Result<&'v Variant, Unpaired> {
    let chosen = |variant: &&&Variant| variant.generics.iter().all(|generic| args.contains(&generic.arg()));
    variants.iter().find(chosen).copied().ok_or_else(|| {
        let all = || generics(variants.iter().copied());
        let missing = args.iter().find(|arg| {
            all().any(|generic| generic.name == arg.name) && !all().any(|generic| generic.arg() == **arg)
        });
        Unpaired::Value(missing.map_or_else(String::new, Arg::to_string))
    })
}

/// Reads the axes of a variant. For selected arguments, finds out if the variant takes them, and its reason
/// if it leaves them out.
struct Axes<'a> {
    names: Vec<&'static str>,
    selected: &'a [Arg],
    outcome: Result<Option<&'static str>, UnknownValue>,
}

impl Axes<'_> {
    fn see(&mut self, variant: &Variant) -> Result<(), Unpaired> {
        let seen = catch(Stage::Args, || {
            (variant.visit)(self);
            Ok(())
        });
        seen.map_err(|failure| Unpaired::Refused(failure.message))
    }
}

impl Visitor for Axes<'_> {
    fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case) {
        let axes = || sweeps.iter().copied().flatten();
        self.names = axes().map(|axis| axis.name()).collect();
        if self.selected.is_empty() {
            return;
        }
        let selected = axes().try_for_each(|axis| {
            let arg = self.selected.iter().find(|arg| arg.name == axis.name());
            arg.map_or(Ok(()), |arg| axis.select(&arg.value))
        });
        self.outcome = selected.map(|()| if case.skips() { case.skipped() } else { None });
    }
}
