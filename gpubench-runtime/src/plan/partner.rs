//! The benchmark that each job is compared with. It has the arguments that `--compare-with` gives; the others are the job's own.

use super::lister::Lister;
use super::{Arg, BenchmarkId, Job, JobStatus, PlanError, SharedResource};
use crate::device::while_listed;
use crate::registry::{Entry, Generic, Variant, select};
use gpubench_records::failure::Failure;
use gpubench_records::id::DeviceId;

/// The arguments of a partner, and the benchmark's reason if it leaves them out.
pub(crate) type Partner = (Vec<Arg>, Option<String>);

/// Gives each of `jobs` its partner. Jobs that are their own partner are left out, unless there are no others.
pub(super) fn pair(
    jobs: Vec<(Job, JobStatus)>,
    entries: &[&Entry],
    named: &BenchmarkId,
    lister: &mut dyn Lister,
) -> Result<Vec<(Job, JobStatus)>, PlanError> {
    let entry = find(&named.benchmark, entries)?;
    let with = BenchmarkId { benchmark: entry.path(), args: named.args.clone() };
    let is_measured = |status: &JobStatus| *status == JobStatus::Measured;
    let measured =
        jobs.iter().filter(|(_, status)| is_measured(status)).map(|(job, _)| job.clone()).collect();
    let mut partners = lister.pair(&with, measured).into_iter();
    let mut paired = Vec::with_capacity(jobs.len());
    for (job, status) in jobs {
        let Some(partner) = is_measured(&status).then(|| partners.next()).flatten() else {
            paired.push((job, status));
            continue;
        };
        let (args, skipped) = partner
            .map_err(|why| PlanError::Usage(format!("`{job}` cannot be compared with `{named}`: {why}")))?;
        let status = skipped.map_or(JobStatus::Measured, JobStatus::Skipped);
        let shares = job.shares.max(SharedResource::over(entry.options.link));
        let with = Some(BenchmarkId { benchmark: entry.path(), args });
        paired.push((Job { with, shares, ..job }, status));
    }
    let is_itself = |job: &Job| {
        job.with.as_ref().is_some_and(|with| with.benchmark == job.benchmark && with.args == job.args)
    };
    if paired.iter().any(|(job, status)| is_measured(status) && !is_itself(job)) {
        paired.retain(|(job, _)| !is_itself(job));
    }
    Ok(paired)
}

/// Finds the benchmark of this path, or of a path that ends so.
fn find<'e>(path: &str, entries: &[&'e Entry]) -> Result<&'e Entry, PlanError> {
    let ends_so = |entry: &&&'e Entry| {
        let whole = entry.path();
        whole == path || whole.strip_suffix(path).is_some_and(|module| module.ends_with("::"))
    };
    let found: Vec<&'e Entry> = entries.iter().filter(ends_so).copied().collect();
    match (&found[..], found.iter().find(|entry| entry.path() == path)) {
        (_, Some(entry)) | ([entry], None) => Ok(entry),
        ([], None) => Err(PlanError::Usage(format!(
            "--compare-with {path}: there is no benchmark of this name. --list shows those that are there"
        ))),
        (several, None) => Err(PlanError::Usage(format!(
            "--compare-with {path}: several benchmarks are called so; give one whole name: {}",
            several.iter().map(|entry| entry.path()).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Returns the partner of `job`: an instance of the benchmark `with`, which has the given arguments.
///
/// # Errors
/// Returns the reason that the two do not pair.
pub(crate) fn partner_of(job: &Job, with: &BenchmarkId, entries: &[&Entry]) -> Result<Partner, String> {
    let entry = |path: &str| entries.iter().find(|entry| entry.path() == path);
    let all = entry(&with.benchmark).ok_or_else(|| format!("`{with}` is not in this program"))?.variants;
    let (device, kind) = (&job.device, DeviceId::parse(&job.device).kind);
    let variants: Vec<&Variant> = all.iter().filter(|variant| variant.device == kind).collect();
    let Some(first) = variants.first() else {
        let mut runs_on: Vec<_> = all.iter().map(|variant| variant.device).collect();
        runs_on.dedup();
        return Err(format!(
            "that runs on {}, and this on {device}; only what runs on one device is compared",
            runs_on.join(", ")
        ));
    };
    let refused = |failure: Failure| format!("that does not take these arguments: {}", failure.message);
    let axes = while_listed(device, || {
        first.show(|sweeps, _| {
            Ok(sweeps.iter().copied().flatten().map(|axis| axis.name().to_owned()).collect::<Vec<_>>())
        })
    });
    let generics = first.generics.iter().map(|generic| generic.name.to_owned());
    let names: Vec<String> = generics.chain(axes.map_err(refused)?).collect();
    if let Some(arg) = with.args.iter().find(|arg| !names.contains(&arg.name)) {
        return Err(format!("that has no argument `{}`", arg.name));
    }
    let value = |name: &String| {
        let arg = with.args.iter().chain(&job.args).find(|arg| arg.name == *name).cloned();
        arg.ok_or_else(|| {
            format!("only that has the argument `{name}`; say which by --compare-with 'NAME[{name}=…]'")
        })
    };
    let args = names.iter().map(value).collect::<Result<Vec<Arg>, String>>()?;
    // Types and constants choose the code to measure, so only one side may have them. Any other argument that only one side has
    // may change the work.
    let own = entry(&job.benchmark).map_or(&[][..], |entry| entry.variants);
    let is_generic = |name: &str| own.iter().flat_map(|variant| variant.generics).any(|one| one.name == name);
    if let Some(arg) = job.args.iter().find(|arg| !names.contains(&arg.name) && !is_generic(&arg.name)) {
        return Err(format!("only this has the argument `{}`", arg.name));
    }
    let Some(variant) = variants.iter().find(|variant| variant.has(&args)) else {
        let choices: Vec<Arg> =
            variants.iter().flat_map(|variant| variant.generics).map(Generic::arg).collect();
        let is_missing =
            |arg: &&Arg| choices.iter().any(|choice| choice.name == arg.name) && !choices.contains(arg);
        let missing = args.iter().find(is_missing).map_or_else(String::new, Arg::to_string);
        return Err(format!(
            "there is no `{missing}` of that; another is chosen by --compare-with 'NAME[…]'"
        ));
    };
    let skipped = while_listed(device, || {
        variant.show(|sweeps, case| {
            select(&args, sweeps)?;
            Ok(if case.skips() { case.skipped().map(str::to_owned) } else { None })
        })
    });
    Ok((args, skipped.map_err(refused)?))
}
