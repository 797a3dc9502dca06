//! The partner that each job is compared with. In: the jobs of a plan, and the name of a benchmark with some
//! of its arguments. Out: each job with its partner, or the reason that they do not pair. The partner has the
//! given arguments; the others are the job's own.

use std::collections::BTreeMap;

use super::error::Unpaired;
use super::lister::{ListedVariant, Lister};
use super::{Arg, BenchmarkId, Job, JobStatus, PlanError, SharedResource};
use crate::registry::{Entry, Generic, Variant};
use gpubench_records::failure::Failure;
use gpubench_records::id::DeviceId;

/// Gives each of `jobs` its partner. Jobs that are their own partner are left out, unless there are no
/// others.
pub(super) fn pair(
    jobs: Vec<(Job, JobStatus)>,
    entries: &[&Entry],
    named: &BenchmarkId,
    lister: &mut dyn Lister,
) -> Result<Vec<(Job, JobStatus)>, PlanError> {
    let wanted = Wanted::find(named, entries)?;
    let measured = jobs.iter().filter(|(_, fate)| *fate == JobStatus::Measured).map(|(job, _)| job);
    let mut partners = wanted.partners(&measured.collect::<Vec<_>>(), entries, lister).into_iter();
    let mut paired = Vec::with_capacity(jobs.len());
    for (job, fate) in jobs {
        let Some(partner) = (fate == JobStatus::Measured).then(|| partners.next()).flatten() else {
            paired.push((job, fate));
            continue;
        };
        let (with, skipped) = partner.map_err(|why| PlanError::Unpaired {
            case: job.to_string(),
            name: named.to_string(),
            why,
        })?;
        let fate = skipped.map_or(JobStatus::Measured, JobStatus::Skipped);
        let shares = job.shares.max(SharedResource::over(wanted.entry.options.link));
        paired.push((Job { with: Some(with), shares, ..job }, fate));
    }
    let itself = |job: &Job| {
        job.with.as_ref().is_some_and(|with| with.benchmark == job.benchmark && with.args == job.args)
    };
    if paired.iter().any(|(job, fate)| *fate == JobStatus::Measured && !itself(job)) {
        paired.retain(|(job, _)| !itself(job));
    }
    Ok(paired)
}

/// The partner of a job, and the benchmark's reason if that partner is left out.
type Partner = (BenchmarkId, Option<String>);

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

    /// Returns the partner of each of `jobs`.
    fn partners(
        &self,
        jobs: &[&Job],
        entries: &[&Entry],
        lister: &mut dyn Lister,
    ) -> Vec<Result<Partner, Unpaired>> {
        let mut names = BTreeMap::new();
        let chosen = jobs.iter().map(|job| {
            let names =
                names.entry(&job.device).or_insert_with(|| self.names(&job.device, lister)).clone()?;
            self.chosen(job, &names, entries)
        });
        let chosen: Vec<Result<(ListedVariant, Vec<Arg>), Unpaired>> = chosen.collect();
        let mut of_variant: BTreeMap<&ListedVariant, Vec<Vec<Arg>>> = BTreeMap::new();
        for (variant, args) in chosen.iter().flatten() {
            of_variant.entry(variant).or_default().push(args.clone());
        }
        let ask = |(variant, args): (&ListedVariant, Vec<Vec<Arg>>)| {
            let failed = |failure: Failure| vec![Err(failure.message); args.len()];
            let outcomes = lister.axes(variant, &args).map_or_else(failed, |axes| axes.outcomes);
            (variant.clone(), outcomes.into_iter())
        };
        let mut outcomes: BTreeMap<ListedVariant, _> = of_variant.into_iter().map(ask).collect();
        let partner = |chosen: Result<(ListedVariant, Vec<Arg>), Unpaired>| {
            let (variant, args) = chosen?;
            let outcome = outcomes.get_mut(&variant).and_then(Iterator::next);
            let outcome = outcome.unwrap_or_else(|| Err("there is no answer".to_owned()));
            let skipped = outcome.map_err(Unpaired::Refused)?;
            Ok((BenchmarkId { benchmark: self.entry.path(), args }, skipped))
        };
        chosen.into_iter().map(partner).collect()
    }

    /// Returns the names of its types, constants and axes on a device.
    fn names(&self, device: &str, lister: &mut dyn Lister) -> Result<Vec<String>, Unpaired> {
        let (number, variant) = self.variants_on(device)?[0];
        let axes = lister.axes(&self.listed(number, device), &[]);
        let axes = axes.map_err(|failure| Unpaired::Refused(failure.message))?;
        let generics = variant.generics.iter().map(|generic| generic.name.to_owned());
        Ok(generics.chain(axes.names).collect())
    }

    /// Returns the instance and the arguments of the partner of `job`.
    fn chosen(
        &self,
        job: &Job,
        names: &[String],
        entries: &[&Entry],
    ) -> Result<(ListedVariant, Vec<Arg>), Unpaired> {
        let args = self.args(job, names)?;
        let only_job = job
            .args
            .iter()
            .find(|arg| !names.contains(&arg.name) && !is_generic(&arg.name, &job.benchmark, entries));
        if let Some(arg) = only_job {
            return Err(Unpaired::OnlyJob(arg.name.clone()));
        }
        let number = choose(&self.variants_on(&job.device)?, &args)?;
        Ok((self.listed(number, &job.device), args))
    }

    fn listed(&self, variant: usize, device: &str) -> ListedVariant {
        ListedVariant { benchmark: self.entry.path(), variant, device: device.to_owned() }
    }

    /// Returns the instances for the kind of this device with their numbers; at least one.
    fn variants_on(&self, device: &str) -> Result<Vec<(usize, &'a Variant)>, Unpaired> {
        let kind = DeviceId::parse(device).kind;
        let all = self.entry.variants;
        let here: Vec<(usize, &Variant)> =
            all.iter().enumerate().filter(|(_, variant)| variant.device == kind).collect();
        if here.is_empty() {
            let mut runs_on: Vec<_> = all.iter().map(|variant| variant.device).collect();
            runs_on.dedup();
            return Err(Unpaired::Device { device: device.to_owned(), runs_on });
        }
        Ok(here)
    }

    /// Returns a value for each of `names`: the given one, else the job's.
    fn args(&self, job: &Job, names: &[String]) -> Result<Vec<Arg>, Unpaired> {
        if let Some(arg) = self.given.iter().find(|arg| !names.contains(&arg.name)) {
            return Err(Unpaired::NoSuchAxis(arg.name.clone()));
        }
        let args = names.iter().map(|name| {
            let mut values = self.given.iter().chain(&job.args);
            let arg = values.find(|arg| arg.name == *name).cloned();
            arg.ok_or_else(|| Unpaired::OnlyPartner(name.clone()))
        });
        args.collect()
    }
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

/// Returns the number of the instance with these types and constants.
fn choose(variants: &[(usize, &Variant)], args: &[Arg]) -> Result<usize, Unpaired> {
    let chosen = |(_, variant): &&(usize, &Variant)| {
        variant.generics.iter().all(|generic| args.contains(&generic.arg()))
    };
    variants.iter().find(chosen).map(|(number, _)| *number).ok_or_else(|| {
        let all = || generics(variants.iter().map(|(_, variant)| *variant));
        let missing = args.iter().find(|arg| {
            all().any(|generic| generic.name == arg.name) && !all().any(|generic| generic.arg() == **arg)
        });
        Unpaired::Value(missing.map_or_else(String::new, Arg::to_string))
    })
}
