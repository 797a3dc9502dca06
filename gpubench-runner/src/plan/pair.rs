//! The benchmark that each job is compared with.

use super::{CaseLister, PlanError};
use gpubench_core::Entry;
use gpubench_records::BenchmarkId;
use gpubench_runtime::{Job, JobStatus, SharedResource};
use gpubench_stats::format::joined;

/// Sets the benchmark that each measured job is compared with: `named`, with the job's arguments. Removes
/// jobs that would be compared with themselves, unless there are no others. Returns an error if a job cannot
/// be compared.
pub(super) fn add_partners(
    jobs: Vec<(Job, JobStatus)>,
    entries: &[&Entry],
    named: &BenchmarkId,
    lister: &mut dyn CaseLister,
) -> Result<Vec<(Job, JobStatus)>, PlanError> {
    let entry = find_benchmark(&named.benchmark, entries)?;
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
        let mut job = job;
        job.shares = job.shares.max(SharedResource::of_link(entry.options.link));
        job.with = Some(BenchmarkId { benchmark: entry.path(), args });
        paired.push((job, status));
    }
    let is_itself = |job: &Job| {
        job.with.as_ref().is_some_and(|with| with.benchmark == job.benchmark && with.args == job.args)
    };
    if paired.iter().any(|(job, status)| is_measured(status) && !is_itself(job)) {
        paired.retain(|(job, _)| !is_itself(job));
    }
    Ok(paired)
}

/// Returns the benchmark with this path, or else the only one whose path ends with `::` and this path.
fn find_benchmark<'e>(path: &str, entries: &[&'e Entry]) -> Result<&'e Entry, PlanError> {
    let ends_so = |entry: &&&'e Entry| {
        let whole = entry.path();
        whole == path || whole.strip_suffix(path).is_some_and(|module| module.ends_with("::"))
    };
    let found: Vec<&'e Entry> = entries.iter().filter(ends_so).copied().collect();
    match (&found[..], found.iter().find(|entry| entry.path() == path)) {
        (_, Some(entry)) | ([entry], None) => Ok(entry),
        ([], None) => Err(PlanError::Usage(format!(
            "--compare-with {path}: there is no benchmark of this name (--list shows all)"
        ))),
        (several, None) => Err(PlanError::Usage(format!(
            "--compare-with {path}: several benchmarks are called so; give one whole name: {}",
            joined(several.iter().map(|entry| entry.path()), ", ")
        ))),
    }
}
