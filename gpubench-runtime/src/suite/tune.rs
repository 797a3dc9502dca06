//! Races of the variants of benchmarks. In: the options; out: a [`Tuning`], and the reason that it is not whole if it is not. Jobs of a
//! benchmark that differ in its tuned axes alone are the variants of one problem.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::checkout::Lookup;
use super::cli::{Exit, TuneOptions};
use super::measure::{ended_early, lock_clocks, run_config};
use super::prepare::{Task, lister, plan_on_devices};
use super::progress::Progress;
use super::sharing::Sharing;
use super::signals::Stop;
use super::{SuiteError, ceilings};
use crate::environment::environment;
use crate::plan::{Fate, Job, Plan};
use crate::registry::Entry;
use crate::runner::clock_lock::ClockLock;
use crate::runner::race::{RaceResult, race};
use crate::runner::supervisor::Supervisor;
use crate::runner::variants::{self, Variants};
use crate::runner::{RunConfig, RunError, RunEvents, lock};
use crate::settings::Settings;
use gpubench_records::facts::Facts;
use gpubench_records::failure::Failure;
use gpubench_records::files as store;
use gpubench_records::id::Arg;
use gpubench_records::method::Cache;
use gpubench_records::record::Program;
use gpubench_records::tuning::{
    Shipped, TunedBenchmark, TunedLook, TunedProblem, TunedVariant, Tuning, TuningMethod, hash_of_axes,
};
use gpubench_stats::race::{LookTaken, RaceRules, Standing};
use gpubench_stats::units::Nanoseconds;

/// The answer of races, and the problems that ended them early.
pub(super) struct Tuned {
    pub(super) tuning: Tuning,
    pub(super) problems: Vec<SuiteError>,
}

impl Tuned {
    /// Returns the end of the program.
    pub(super) fn exit(&self) -> Exit {
        self.tuning.exit()
    }
}

/// A problem, with the jobs of its variants.
struct Problem<'a> {
    entry: &'a Entry,
    device: String,
    cache: Cache,
    args: Vec<Arg>,
    jobs: Vec<Job>,
    /// The variants whose arguments cannot be listed.
    broken: Vec<(Job, Failure)>,
    skipped: usize,
}

/// Races the variants of all selected benchmarks that have some.
///
/// # Errors
/// Returns an error if nothing could be raced. Later problems are part of the answer.
pub(super) fn tune(
    mut program: Program,
    options: &Settings,
    wanted: &TuneOptions,
    progress: &mut Progress,
) -> Result<Tuned, SuiteError> {
    let (began, stop) = (Instant::now(), Stop::on_signals());
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let entries = Task::Measure.entries();
    let checkout = Lookup::begin(program.package.take());
    program.fingerprint = store::fingerprint();
    let mut lister = lister(options);
    let (planned, selected) = plan_on_devices(
        Task::Measure,
        &entries,
        options,
        options.device.as_deref(),
        &Sharing::default(),
        &mut lister,
    )?;
    let plan = planned.and_then(Plan::on_this_machine)?;
    let problems = problems(&plan, &entries);
    if problems.is_empty() {
        return Err(SuiteError::NothingToTune);
    }
    let devices: Vec<_> = selected
        .devices
        .into_iter()
        .filter(|found| problems.iter().any(|problem| problem.device == found.device))
        .collect();
    let (peak_sources, remarks) = ceilings::peak_sources(Task::Measure, &entries, options);
    let stops = || stop.signal().is_some();
    let mut warn = |warning: &str| progress.warning(warning);
    let _locks = lock::lock(&devices, &program.suite, !options.no_wait, &mut warn, &stops)
        .map_err(|error| SuiteError::of_lock(error, stop.signal()))?;
    let clock_lock = lock_clocks(options, &devices)?;
    let locked = clock_lock.iter().flat_map(|lock: &ClockLock| lock.locked.clone()).collect();
    let config = run_config(options, peak_sources, locked, lister.library.take());
    drop(lister);
    program.package = checkout.end();
    let mut notes = selected.notes;
    notes.extend(remarks);
    let budget = wanted.budget.map(Nanoseconds::from);
    let method = TuningMethod::of(options.sampling(), budget);
    let mut tuning = Tuning::new(program, environment(None), method);
    (tuning.started, tuning.notes) = (started, notes);
    let mut supervisor = Supervisor::new(config.in_process, config.libraries.clone(), &stops);
    progress.begin_races();
    let ended = Races { config: &config, deadline: wanted.budget.map(|budget| began + budget) }.run(
        problems,
        &mut supervisor,
        &mut tuning,
        progress,
    );
    supervisor.dismiss();
    let mut problems: Vec<SuiteError> = Vec::new();
    problems.extend(ended.err().map(|cause| ended_early(cause, &stop, false)));
    let released = clock_lock.map_or(Ok(()), ClockLock::release);
    problems.extend(released.err().map(|why| SuiteError::ClocksNotReset(why.into())));
    tuning.wall = began.elapsed().into();
    Ok(Tuned { tuning, problems })
}

/// Returns the problems of a plan, in its order, with the jobs of each.
fn problems<'a>(plan: &Plan, entries: &[&'a Entry]) -> Vec<Problem<'a>> {
    let mut problems: Vec<Problem<'a>> = Vec::new();
    for (job, fate) in &plan.jobs {
        let entry = entries.iter().find(|entry| entry.path() == job.benchmark);
        let Some(entry) = entry.filter(|entry| !entry.options.tune.is_empty()) else { continue };
        let (_, args) = split(&job.args, entry.options.tune);
        for &cache in &job.caches {
            let is_same = |problem: &Problem<'_>| {
                std::ptr::eq(problem.entry, *entry)
                    && (&problem.device, problem.cache, &problem.args) == (&job.device, cache, &args)
            };
            let place = problems.iter().rposition(is_same).unwrap_or_else(|| {
                let (device, args) = (job.device.clone(), args.clone());
                let (jobs, broken) = (Vec::new(), Vec::new());
                problems.push(Problem { entry, device, cache, args, jobs, broken, skipped: 0 });
                problems.len() - 1
            });
            let problem = &mut problems[place];
            let job = Job { caches: vec![cache], ..job.clone() };
            match fate {
                Fate::Measured => problem.jobs.push(job),
                Fate::Skipped(_) => problem.skipped += 1,
                Fate::Broken(failure) => problem.broken.push((job, failure.clone())),
            }
        }
    }
    problems
}

/// Returns the arguments that are the variant, and those that are the problem.
fn split(args: &[Arg], tune: &[&str]) -> (Vec<Arg>, Vec<Arg>) {
    args.iter().cloned().partition(|arg| tune.contains(&arg.name.as_str()))
}

/// The races of a tuning.
struct Races<'a> {
    config: &'a RunConfig,
    deadline: Option<Instant>,
}

impl Races<'_> {
    /// Races each problem, and adds the answers to `tuning`. What is left of the budget is shared by the problems that are left.
    fn run(
        &self,
        problems: Vec<Problem<'_>>,
        supervisor: &mut Supervisor<'_>,
        tuning: &mut Tuning,
        progress: &mut Progress,
    ) -> Result<(), RunError> {
        let mut left = problems.len();
        let mut ended = Ok(());
        for problem in problems {
            let facts = match tuning.devices.iter().find(|facts| facts.device == problem.device) {
                Some(facts) => facts.clone(),
                None => {
                    let (facts, notes) = variants::facts(supervisor, self.config, &problem.device)?;
                    tuning.notes.extend(notes);
                    tuning.devices.push(facts.clone());
                    facts
                }
            };
            let now = Instant::now();
            let share = |deadline: Instant| now + deadline.saturating_duration_since(now) / left as u32;
            let deadline = self.deadline.map(share);
            left -= 1;
            ended = self.problem(problem, &facts, deadline, supervisor, tuning, progress);
            if ended.is_err() {
                break;
            }
        }
        for benchmark in &mut tuning.benchmarks {
            benchmark.shipped = Shipped::of(&benchmark.problems);
        }
        ended
    }

    fn problem(
        &self,
        problem: Problem<'_>,
        facts: &Facts,
        deadline: Option<Instant>,
        supervisor: &mut Supervisor<'_>,
        tuning: &mut Tuning,
        progress: &mut Progress,
    ) -> Result<(), RunError> {
        let Problem { entry, device, cache, args, jobs, broken, skipped } = problem;
        let began = Instant::now();
        let tune = entry.options.tune;
        let first = jobs.first().or(broken.first().map(|(job, _)| job));
        let axes = first.map(|job| axes_of(entry, &job.args)).unwrap_or_default();
        let mut started = |job: &Job| progress.try_job(job);
        let rules = RaceRules { band: tuning.method.band, error: tuning.method.error };
        let count = jobs.len();
        let mut variants =
            Variants::new(supervisor, self.config, facts, jobs.clone(), deadline, &mut started);
        let RaceResult { coarse, placings, looks, failures, end, stopped } =
            race(&mut variants, count, rules);
        let mut answers: Vec<TunedVariant> = Vec::with_capacity(count + broken.len());
        for (number, (job, placing)) in jobs.iter().zip(&placings).enumerate() {
            let mut answer = TunedVariant::failed_or(split(&job.args, tune).0, placing.standing);
            answer.place(placing);
            answer.coarse = coarse[number];
            (answer.counts, answer.checked) = (variants.seen[number].counts, variants.seen[number].checked);
            answer.failure =
                failures.iter().find(|(failed, _)| *failed == number).map(|(_, why)| why.clone());
            answers.push(answer);
        }
        answers.extend(broken.into_iter().map(|(job, failure)| {
            let answer = TunedVariant::failed_or(split(&job.args, tune).0, Standing::Failed);
            TunedVariant { failure: Some(failure), ..answer }
        }));
        let looks = looks
            .into_iter()
            .map(|(LookTaken { steps, left, undecided, leader }, at)| TunedLook {
                steps,
                at,
                left,
                undecided,
                leader: jobs.get(leader).map(|job| split(&job.args, tune).0).unwrap_or_default(),
            })
            .collect();
        let wall = began.elapsed().into();
        let mut problem = TunedProblem { args, ended: end, variants: answers, looks, skipped, wall };
        problem.sort();
        let path = entry.path();
        let is_same =
            |one: &TunedBenchmark| (&one.benchmark, &one.device, one.cache) == (&path, &device, cache);
        match tuning.benchmarks.iter_mut().find(|one| is_same(one)) {
            Some(benchmark) => benchmark.problems.push(problem),
            None => tuning.benchmarks.push(TunedBenchmark {
                benchmark: path,
                device,
                model: facts.name.clone(),
                cache,
                tune: tune.iter().map(|name| (*name).to_owned()).collect(),
                axes,
                problems: vec![problem],
                shipped: None,
            }),
        }
        stopped.map_or(Ok(()), |why| Err(why.into()))
    }
}

/// Returns the hash of a benchmark's axes; `args` are those of any of its jobs.
fn axes_of(entry: &Entry, args: &[Arg]) -> String {
    let mut generics: Vec<(&str, Vec<String>)> = Vec::new();
    for generic in entry.variants.iter().flat_map(|variant| variant.generics) {
        let value = (generic.value)();
        match generics.iter_mut().find(|(name, _)| *name == generic.name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => generics.push((generic.name, vec![value])),
        }
    }
    let is_arg = |name: &&str| !generics.iter().any(|(generic, _)| generic == name);
    let names: Vec<&str> = args.iter().map(|arg| arg.name.as_str()).filter(is_arg).collect();
    hash_of_axes(&entry.path(), entry.options.tune, &names, &generics)
}
