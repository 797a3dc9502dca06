//! Plans the cases that a run measures, in order: the selection of the registered entries on the devices. Planning asks benchmarks for
//! their axes, never for their inputs, and through a [`CaseLister`] alone.

use std::time::Duration;

use crate::select::MissingKind;
use gpubench_core::{BenchmarkOptions, Entry, Variant};
use gpubench_records::{
    Arg, BenchmarkId, Cache, CaseSelection, Failure, NameFilter, id::shown_name, selection::is_value,
    text::did_you_mean, unique,
};
use gpubench_runtime::cases::{ComparisonTarget, ListedCases, VariantOnDevice};
use gpubench_runtime::{Job, JobStatus, SharedResource, device::Available, devices::kinds, registry};
use gpubench_stats::{Map, Set, format::joined};

/// The jobs of a run, which `measure` schedules on the threads of their devices. `Plan::new` makes it from
/// the registered benchmarks.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Plan {
    /// Ordered by device, then source, then arguments.
    pub jobs: Vec<(Job, JobStatus)>,
    /// The number of further jobs that are left out because their benchmark has the option `ignore` and the
    /// selection excludes it.
    pub ignored: usize,
    /// The jobs for a kind of device that this machine lacks, each with the reason that the device is
    /// missing.
    pub absent: Vec<(Job, String)>,
    /// The filters that match no benchmark, if others match some.
    pub unmatched: Vec<NameFilter>,
}

impl Plan {
    /// Plans the jobs of `entries` that `selection` selects, on each of `devices`. Jobs for a kind of device
    /// that is `missing` are [`absent`](Self::absent).
    ///
    /// # Errors
    /// Returns a [`PlanError`] if there is nothing to run, if names are ambiguous, if a value that the user
    /// gives is unknown, or if a job cannot be compared as the user wants.
    pub(crate) fn new(
        entries: &[&Entry],
        selection: &Selection,
        devices: &[Available],
        missing: &[MissingKind],
        lister: &mut dyn CaseLister,
    ) -> Result<Self, PlanError> {
        if entries.is_empty() {
            return Err(PlanError::Empty);
        }
        refuse_duplicates(entries)?;
        let there = devices.iter().map(|found| (found.device.as_str(), found.kind, None));
        let absent = missing.iter().map(|MissingKind { kind, why, .. }| (*kind, *kind, Some(why)));
        let (mut instances, mut variants) = (Vec::new(), Vec::new());
        for (device, kind, missing) in there.chain(absent) {
            for entry in entries.iter().filter(|entry| selection.selects_tags(&entry.options)) {
                for (number, variant) in entry.variants.iter().enumerate() {
                    if variant.device == kind {
                        let (benchmark, device) = (entry.path(), device.to_owned());
                        variants.push(VariantOnDevice { benchmark, variant: number, device });
                        instances.push((entry, variant, missing));
                    }
                }
            }
        }
        let (mut plan, mut axes_seen) = (Self::default(), Set::default());
        plan.unmatched.clone_from(&selection.cases.filters);
        let all = lister.list(&variants, &selection.cases);
        for ((VariantOnDevice { device, .. }, (entry, variant, missing)), listed) in
            variants.iter().zip(instances).zip(all)
        {
            let present = plan.jobs.len();
            plan.add_listed((entry, variant, device), missing.is_some(), listed, selection, &mut axes_seen)?;
            if let Some(why) = missing {
                plan.absent.extend(plan.jobs.drain(present..).map(|(job, _)| (job, why.clone())));
            }
        }
        if plan.jobs.is_empty() && plan.absent.is_empty() {
            let paths: Vec<String> = entries.iter().map(|entry| entry.path()).collect();
            let ignored = plan.ignored;
            let hint = match (selection.tags_hint(entries), ignored) {
                (Some(tags), _) => tags,
                (None, 0) => selection.cases.hint(&paths),
                _ => String::new(),
            };
            return Err(PlanError::Nothing { selection: selection.describe(devices), ignored, hint });
        }
        if let Some(name) =
            selection.cases.args.iter().map(|given| &given.name).find(|name| !axes_seen.contains(name))
        {
            let others = match &*joined(&*axes_seen, ", ") {
                "" => String::new(),
                names => format!("; their arguments: {names}"),
            };
            return Err(PlanError::Usage(format!(
                "--arg {name}=…: no selected benchmark has an argument `{name}`{others}"
            )));
        }
        if let Some(name) = &selection.compare_with {
            plan.jobs = add_comparison_targets(plan.jobs, entries, name, lister)?;
        }
        Ok(plan)
    }

    /// Returns the number of cases of all jobs that are not skipped. It includes
    /// [`Broken`](JobStatus::Broken) jobs, whose cases fail without a measurement.
    pub fn cases(&self) -> usize {
        self.planned_cases().count()
    }

    /// Returns the number of benchmarks with [`absent`](Self::absent) jobs.
    pub(crate) fn absent_benchmarks(&self) -> usize {
        self.absent.chunk_by(|(one, _), (next, _)| one.benchmark == next.benchmark).count()
    }

    /// Returns the cases that [`cases`](Self::cases) counts, each as its job and its cache state.
    pub(crate) fn planned_cases(&self) -> impl Iterator<Item = (&Job, Cache)> {
        let planned = self.jobs.iter().filter(|(_, status)| !matches!(status, JobStatus::Skipped(_)));
        planned.flat_map(|(job, _)| job.caches.iter().map(move |cache| (job, *cache)))
    }

    /// Adds a job for each `listed` case of a variant on a device. If the selection excludes the benchmark,
    /// adds none, and counts the cases in `ignored` if the option `ignore` is the reason. Adds the names of
    /// the variant's arguments to `axes_seen`, and removes the filters that match from `unmatched`. Returns
    /// an error if the user gives a value of an argument that the variant lacks.
    fn add_listed(
        &mut self,
        (entry, variant, device): (&Entry, &Variant, &str),
        is_absent: bool,
        listed: Result<ListedCases, Failure>,
        selection: &Selection,
        axes_seen: &mut Set<String>,
    ) -> Result<(), PlanError> {
        let benchmark = entry.path();
        let usual = if entry.options.cold { &[Cache::Hot, Cache::Cold][..] } else { &[Cache::Hot] };
        let caches = selection.cases.caches.clone().unwrap_or_else(|| usual.to_vec());
        let shares = if kinds::kind(variant.device).is_some_and(|kind| kind.runs_concurrently) {
            SharedResource::of_link(entry.options.link)
        } else {
            SharedResource::Machine
        };
        let job = |args: Vec<Arg>| {
            let mut job = Job::new(benchmark.clone(), args, device.to_owned(), caches.clone());
            job.timeout = entry.options.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            job.shares = shares;
            job
        };
        let generics = registry::generic_args(variant);
        let listed = listed.unwrap_or_else(|failure| {
            let wanted = selection.cases.matches(&benchmark);
            let listed = wanted.then_some((generics.clone(), JobStatus::Broken(failure)));
            ListedCases { combinations: listed.into_iter().collect(), ..ListedCases::default() }
        });
        if listed.combinations.is_empty() {
            return Ok(());
        }
        self.unmatched.retain(|filter| {
            let names = listed.combinations.iter().map(|(args, _)| shown_name(&benchmark, args));
            !names.into_iter().any(|name| selection.cases.filter_matches(filter, &name))
        });
        let is_selected_as_absent =
            is_absent && selection.absent_are_ignored && selection.ignored == Ignored::Only;
        if !selection.ignored.selects(entry.options.ignore) && !is_selected_as_absent {
            self.ignored += if entry.options.ignore { listed.combinations.len() } else { 0 };
            return Ok(());
        }
        axes_seen.extend(listed.axes);
        axes_seen.extend(variant.generics.iter().map(|generic| generic.name.to_owned()));
        if let Some((axis, message)) = listed.refused.or_else(|| invalid_generic(entry, selection)) {
            let is_number = message.trim_start_matches('`').starts_with(|first: char| first.is_ascii_digit());
            let units = if is_number { "; numbers may end in k, M, G, T, Ki, Mi, Gi or Ti" } else { "" };
            return Err(PlanError::Usage(format!("--arg {axis}: {message} (benchmark {benchmark}{units})")));
        }
        if !generics.iter().all(|arg| selection.cases.takes_value(arg)) {
            return Ok(());
        }
        self.jobs.extend(listed.combinations.into_iter().map(|(args, status)| (job(args), status)));
        Ok(())
    }
}

/// Returns the name of a type or constant of `entry` for which the user selects an unknown value, and a
/// phrase with the known values. `None` if all selected values are known.
fn invalid_generic(entry: &Entry, selection: &Selection) -> Option<(String, String)> {
    entry.variants.first()?.generics.iter().find_map(|generic| {
        let name = generic.name;
        let wanted = &selection.cases.args.iter().find(|given| given.name == name)?.values;
        let generics = entry.variants.iter().flat_map(|variant| variant.generics);
        let values = unique(generics.filter(|other| other.name == name).map(|other| (other.value)()));
        let unknown = wanted.iter().find(|wanted| !values.iter().any(|value| is_value(wanted, value)))?;
        Some((name.to_owned(), format!("`{unknown}` is none of `{name}` (it has {})", values.join(", "))))
    })
}

/// Returns an error if two benchmarks have the same name, or two variants of one benchmark on the same kind
/// of device: a case is identified by its name.
fn refuse_duplicates(entries: &[&Entry]) -> Result<(), PlanError> {
    let place = |entry: &Entry| format!("{}:{}:{}", entry.file, entry.line, entry.column);
    let mut seen: Map<String, &Entry> = Map::default();
    for entry in entries {
        if let Some(first) = seen.insert(entry.path(), entry) {
            return Err(PlanError::Usage(format!(
                "two benchmarks are called `{}`: {} and {}. Rename one of them, or write `name = \"…\"` in its \
                 `#[gpu_bench(…)]`. A name is the path of the module and the function; an enclosing function is not part of it",
                entry.path(),
                place(first),
                place(entry)
            )));
        }
        let mut instances = Set::default();
        for variant in entry.variants.iter().filter(|variant| !variant.generics.is_empty()) {
            let generics = registry::generic_args(variant);
            let name = shown_name(&entry.path(), &generics);
            if !instances.insert((variant.device, name.clone())) {
                return Err(PlanError::Usage(format!(
                    "`{name}` is there twice ({}): two of its `types` or `consts` are the same",
                    place(entry)
                )));
            }
        }
    }
    Ok(())
}

/// The reason that a selection cannot be planned.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// No annotated function is linked.
    #[error(
        "this program has no benchmarks: annotate a function with `#[gpu_bench]`, or name the crate that has benchmarks: \
         `gpubench::main!(my_kernels)`"
    )]
    Empty,
    /// Filters, skips or devices leave nothing.
    #[error("no benchmark {selection}{}{}", ignored_phrase(*ignored), if hint.is_empty() { LIST_HINT } else { hint })]
    Nothing {
        /// A phrase that completes "no benchmark …", such as ``matches `sum` ``.
        selection: String,
        /// The number of cases that match, but are left out because of the option `ignore`.
        ignored: usize,
        /// How to mend the filters; empty if that is not known.
        hint: String,
    },
    /// A name or an argument that cannot be used. The message names the flag or the place in the source.
    #[error("{0}")]
    Usage(String),
}

/// The hint if nothing matches for an unknown reason.
const LIST_HINT: &str = "; --list without a filter shows all";

/// Returns a phrase such as ``, except 1 with `ignore`, …``; empty if `ignored` is 0.
fn ignored_phrase(ignored: usize) -> String {
    match ignored {
        0 => String::new(),
        number => format!(", except {number} with `ignore`, which --include-ignored measures too"),
    }
}

/// The user's selection of benchmarks and cases.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The names, arguments and cache states to select. Given values of an argument replace the benchmark's
    /// own; given types and constants choose among the benchmark's own. Given cache states replace those of
    /// the benchmarks. Devices are not selected here.
    pub cases: CaseSelection,
    /// Tags, one of which a benchmark must have.
    pub tags: Vec<String>,
    /// The treatment of ignored benchmarks.
    pub ignored: Ignored,
    /// True if benchmarks whose device is missing count as ignored ones, as in test mode.
    pub absent_are_ignored: bool,
    /// The benchmark to compare all others with: its path or the end of it, and its arguments where they are
    /// to differ from those of the other benchmark.
    pub compare_with: Option<BenchmarkId>,
}

/// The selection of benchmarks by the `ignore` option of their attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignored {
    /// Only benchmarks without the option.
    #[default]
    Excluded,
    /// Benchmarks with and without the option.
    Included,
    /// Only benchmarks with the option.
    Only,
}

impl Ignored {
    /// Returns true if the selection includes a benchmark whose attribute has the option (`ignore` is true)
    /// or lacks it.
    fn selects(self, ignore: bool) -> bool {
        match self {
            Self::Excluded => !ignore,
            Self::Included => true,
            Self::Only => ignore,
        }
    }
}

impl Selection {
    /// Returns true if the selection includes this case. A benchmark that is not among `entries` has the
    /// default options.
    pub fn selects(&self, entries: &[&Entry], benchmark: &str, args: &[Arg], cache: Cache) -> bool {
        let entry = entries.iter().find(|entry| entry.path() == benchmark);
        let options = entry.map_or(BenchmarkOptions::DEFAULT, |entry| entry.options);
        self.cases.takes_cache(cache)
            && self.selects_tags(&options)
            && self.ignored.selects(options.ignore)
            && self.cases.takes_benchmark(benchmark, args)
    }

    /// Returns true if no tag is selected, or if a benchmark with these options has a selected tag.
    fn selects_tags(&self, options: &BenchmarkOptions) -> bool {
        self.tags.is_empty() || self.tags.iter().any(|tag| options.has_tag(tag))
    }

    /// Returns a hint, such as a similar tag or `: the tags of this program: memory, io`, if no benchmark has a selected tag.
    /// `None` if a benchmark has one, or if no tag is selected.
    fn tags_hint(&self, entries: &[&Entry]) -> Option<String> {
        if self.tags.is_empty() || entries.iter().any(|entry| self.selects_tags(&entry.options)) {
            return None;
        }
        let tags: Set<&str> = entries.iter().flat_map(|entry| entry.options.tags()).collect();
        let near = did_you_mean(&joined(&self.tags, ","), &*tags);
        Some(match &*joined(&*tags, ", ") {
            "" => ": no benchmark of this program has a tag".to_owned(),
            _ if !near.is_empty() => near,
            tags => format!(": the tags of this program: {tags}"),
        })
    }

    /// Returns a phrase such as `matches `sum` on cuda:0`, which completes "no benchmark …".
    fn describe(&self, devices: &[Available]) -> String {
        let mut words = self.cases.describe_names();
        if !self.tags.is_empty() {
            let with = if words.is_empty() { "" } else { "with " };
            words.push(format!("{with}the tag `{}`", self.tags.join("` or `")));
        }
        if self.ignored == Ignored::Only {
            words.push("that is ignored".to_owned());
        }
        words.insert(0, if words.is_empty() { "runs" } else { "matches" }.to_owned());
        let devices: Vec<&str> = devices.iter().map(|found| found.device.as_str()).collect();
        if !devices.is_empty() {
            words.push(format!("on {}", devices.join(", ")));
        }
        words.join(" ")
    }
}

/// Lists cases by running the user's code for their arguments.
/// [`WorkerLister`](crate::runner::lister::WorkerLister) does this in a worker, and tests list fixed cases.
pub(crate) trait CaseLister {
    /// Returns, for each of `variants`, those of its cases that `cases` selects by name and arguments, or the
    /// failure of the code that lists them.
    fn list(
        &mut self,
        variants: &[VariantOnDevice],
        cases: &CaseSelection,
    ) -> Vec<Result<ListedCases, Failure>>;

    /// Returns, for each of `jobs`, the case of the benchmark `with` that it is compared with, or a phrase
    /// with the reason that the two cannot be compared.
    fn pair(&mut self, with: &BenchmarkId, jobs: Vec<Job>) -> Vec<Result<ComparisonTarget, String>>;
}

/// Sets the benchmark that each measured job is compared with: `named`, with the job's arguments where
/// `named` has no others. Marks a job as skipped if that benchmark skips these arguments. Removes jobs that
/// would be compared with themselves, unless no other job is measured. Returns an error if a job cannot be
/// compared.
fn add_comparison_targets(
    mut jobs: Vec<(Job, JobStatus)>,
    entries: &[&Entry],
    named: &BenchmarkId,
    lister: &mut dyn CaseLister,
) -> Result<Vec<(Job, JobStatus)>, PlanError> {
    let entry = find_benchmark(&named.benchmark, entries)?;
    let with = BenchmarkId { benchmark: entry.path(), args: named.args.clone() };
    let is_measured = |status: &JobStatus| *status == JobStatus::Measured;
    let measured =
        jobs.iter().filter(|(_, status)| is_measured(status)).map(|(job, _)| job.clone()).collect();
    let partners = lister.pair(&with, measured);
    let measured = jobs.iter_mut().filter(|(_, status)| is_measured(status));
    for ((job, status), partner) in measured.zip(partners) {
        let (args, skipped) = partner
            .map_err(|why| PlanError::Usage(format!("`{job}` cannot be compared with `{named}`: {why}")))?;
        *status = skipped.map_or(JobStatus::Measured, JobStatus::Skipped);
        job.shares = job.shares.max(SharedResource::of_link(entry.options.link));
        job.with = Some(BenchmarkId { benchmark: entry.path(), args });
    }
    let is_itself = |job: &Job| {
        job.with.as_ref().is_some_and(|with| with.benchmark == job.benchmark && with.args == job.args)
    };
    if jobs.iter().any(|(job, status)| is_measured(status) && !is_itself(job)) {
        jobs.retain(|(job, _)| !is_itself(job));
    }
    Ok(jobs)
}

/// Returns the benchmark with this path, or else the only one whose path ends with `::` and this path.
/// Returns an error if there is none, or if several end so.
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
            "--compare-with {path}: several benchmarks have this name: give the whole name of one: {}",
            joined(several.iter().map(|entry| entry.path()), ", ")
        ))),
    }
}

#[cfg(test)]
mod plan_tests {
    use super::*;

    use gpubench_core::{Generic, Visitor};
    use gpubench_records::selection::CaseSelection;

    fn visit(_: &mut Visitor<'_>) {}

    fn two() -> String {
        (1 + 1).to_string()
    }

    struct NoLister;

    impl CaseLister for NoLister {
        fn list(&mut self, _: &[VariantOnDevice], _: &CaseSelection) -> Vec<Result<ListedCases, Failure>> {
            unreachable!("nothing is listed")
        }

        fn pair(&mut self, _: &BenchmarkId, _: Vec<Job>) -> Vec<Result<ComparisonTarget, String>> {
            unreachable!("nothing is paired")
        }
    }

    const N: [Generic; 1] = [Generic { name: "N", value: two }];

    #[test]
    fn constants_of_one_value_are_refused() {
        let variants: &[Variant] =
            Box::leak(Box::new([(); 2].map(|()| Variant { device: "host", generics: &N, visit })));
        let (name, module, file, options) = ("sum", "kernels", "src/lib.rs", BenchmarkOptions::DEFAULT);
        let entry = Entry { name, module, file, line: 3, column: 1, options, variants };
        let devices = [Available::new("host", "host")];
        let refused = Plan::new(&[&entry], &Selection::default(), &devices, &[], &mut NoLister);
        let refused = refused.expect_err("they are the same");
        assert_eq!(
            refused.to_string(),
            "`kernels::sum[N=2]` is there twice (src/lib.rs:3:1): two of its `types` or `consts` are the same"
        );
    }
}
