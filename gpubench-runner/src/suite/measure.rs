//! A measurement, from settings to a run that is compared with baselines and stored. Nothing here prints: observers get
//! [`RunEvent`]s.

use std::fs::File;
use std::time::{Duration, Instant};

use clap::{ArgMatches, Command};

use super::output::{MeasuredRun, Printer};
use super::prepare::{
    BuiltCommit, Planner, Purpose, runs_folder, start_commit_search, start_search, with_commit,
};
use super::{SuiteError, peaks, progress::Progress, share::TaskShare};
use crate::plan::{Plan, Selection};
use crate::runner::single_cases::{CaseResult, SingleCases};
use crate::runner::{
    self, RunConfig, RunEvent, RunEvents, RunFileStatus, RunSetup, clock_lock::ClockLock, lock,
};
use crate::settings::{RunsDir, Settings};
use crate::system;
use gpubench_core::{BenchmarkOptions, Entry};
use gpubench_records::baseline::{Baseline, MAX_REMEASURING_PROCESSES};
use gpubench_records::files::{self as store, RunBaselines};
use gpubench_records::threads::Receiver;
use gpubench_records::{Cache, CaseId, Exit, Program, Record, Run, Sampling, Threshold};
use gpubench_runtime::{Job, JobStatus};
use gpubench_stats::Set;
use gpubench_stats::format::counted;
use gpubench_table::Page;

/// A run that can begin: only the devices themselves may still refuse it.
pub(super) struct PreparedRun<'a> {
    purpose: Purpose,
    options: &'a Settings,
    selection: Selection,
    entries: Vec<&'static Entry>,
    setup: RunSetup,
    /// Receives the commit of the program's package, if it has a package.
    commit: Option<Receiver<BuiltCommit>>,
    config: RunConfig,
    baselines: RunBaselines,
}

impl<'a> PreparedRun<'a> {
    /// Plans the run: searches for devices, lists arguments in a worker, and reads the earlier run and baselines. Locks and measures nothing.
    pub(super) fn new(
        purpose: Purpose,
        program: Program,
        options: &'a Settings,
        events: &mut dyn RunEvents,
    ) -> Result<Self, SuiteError> {
        let entries = purpose.entries();
        // Measured peaks are stored elsewhere, and are no run of the suite.
        let is_run = purpose == Purpose::Measure;
        let share = if is_run { TaskShare::new(options)? } else { TaskShare::default() };
        let mut planner = Planner::new(purpose, &entries, options, share)?;
        let store = if is_run { runs_folder(options, events)? } else { None };
        let is_stored = store.is_some() || purpose == Purpose::Extension;
        let commit = program.package.as_ref().map(start_commit_search);
        let fingerprint = start_search("fingerprint", move || is_stored.then(store::fingerprint).flatten());
        let mut setup = planner.run_setup(program, store, &fingerprint)?;
        let Planner { selection, mut lister, .. } = planner;
        let driver = lister.library.take();
        drop(lister);
        if purpose == Purpose::MeasurePeaks {
            peaks::set_cache_states(&mut setup.plan);
        }
        if options.one_at_a_time || options.in_process {
            setup.plan.one_at_a_time();
        }
        let (peak_sources, remarks) = peaks::sources(purpose, &entries, options);
        setup.notes.extend(remarks.iter().cloned());
        let baselines = match purpose {
            Purpose::Extension => RunBaselines::default(),
            _ => {
                let last = last_baseline(&setup.program.suite, options)?;
                RunBaselines::open(options.baseline.as_deref(), options.save_baseline.as_deref(), last)
                    .map_err(SuiteError::usage)?
            }
        };
        if setup.program.opt_level == "0" {
            let slow =
                "this program is not optimised (opt-level 0): what runs on the CPU is slower than it need be";
            setup.notes.push(slow.to_owned());
        }
        let config = RunConfig { settings: options.clone(), peak_sources, driver, ..RunConfig::default() };
        Ok(Self { purpose, options, selection, entries, setup, commit, config, baselines })
    }

    /// Returns a sentence if this run is one of several tasks and no case is left for it.
    pub(super) fn empty_share_message(&self) -> Option<String> {
        let task = self.setup.task.as_ref().filter(|_| self.setup.plan.jobs.is_empty())?;
        let cases = counted(task.cases.unwrap_or_default(), "result");
        Some(format!("share {}/{}: no result is left for this task ({cases} in all)", task.number, task.of))
    }

    /// Measures the plan until it is done or a signal comes. Samples are dropped once they are in a file, if
    /// `drops_samples` and nothing later reads them.
    ///
    /// # Errors
    /// Returns an error if the devices or their clocks cannot be locked. Later problems, such as a device
    /// that cannot be opened, are part of the result.
    pub(super) fn measure(
        self,
        events: &mut dyn RunEvents,
        drops_samples: bool,
    ) -> Result<MeasuredRun, SuiteError> {
        let Self { purpose, options, selection, entries, mut setup, commit, mut config, baselines } = self;
        system::watch_signals();
        let is_measured = setup.resumed.for_plan(&setup.plan).len() < setup.plan.planned_cases().count();
        events.event(&RunEvent::Planned(&setup.plan, options.repeats()));
        let (_locks, clock_lock) = lock_devices_and_clocks(&setup, &mut config, events)?;
        events.event(&RunEvent::DevicesOpening);
        setup.program.package = setup.program.package.zip(commit).map(with_commit);
        let is_compared = options.baseline.is_some() || options.save_baseline.is_some();
        config.drops_samples = drops_samples && !is_compared && options.repeats() == 1;
        // Without worker processes there are no new ones.
        let threshold = options.fail_on_regression.filter(|_| !options.in_process && is_measured);
        let began = Instant::now();
        let mut again = RetryPlanner { baselines: &baselines, threshold, began, measured: None, passes: 0 };
        let mut next = |plan: &Plan, run: &Run| again.next_plan(plan, run);
        let supervisor = |warn| config.supervisor(&system::has_stop_signal, warn);
        let conclude = |run: &mut Run| compare_with_baseline(run, &baselines, &entries, options, &selection);
        let stop = &system::has_stop_signal;
        let (mut run, file, ended) =
            runner::measure(&supervisor, setup, &config, &mut next, &conclude, events, stop);
        events.event(&RunEvent::RunEnded(&run));

        // A repeated run cannot be resumed.
        let is_resumable = file == RunFileStatus::Stored && options.repeats() == 1;
        let hint = if is_resumable { " (--resume goes on with what is left)" } else { "" };
        let mut problems: Vec<SuiteError> = Vec::new();
        problems.extend(ended.err().map(|cause| SuiteError::ended(&cause, hint)));
        problems.extend(unlock_clocks(clock_lock).err());
        if purpose == Purpose::MeasurePeaks {
            problems.extend(peaks::store(&mut run, options, events));
        }
        // An earlier baseline is worth more than part of a run.
        if problems.is_empty() {
            problems.extend(baselines.save(&run).err().map(SuiteError::failed));
            if let Some(name) = options.save_baseline.as_ref().filter(|_| problems.is_empty()) {
                let results = counted(run.records.len(), "result");
                let suspect = match run.counts().suspect {
                    0 => String::new(),
                    number => format!(" ({number} suspect)"),
                };
                let kind = if name.contains('/') { "in the folder or file" } else { "as baseline" };
                events.event(&RunEvent::Remark(&format!("saved {results}{suspect} {kind} `{name}`")));
            }
        }
        Ok(MeasuredRun { run, problems, file })
    }

    /// Locks the devices, and runs an extension with one job for each case of the benchmarks that it is for.
    /// Returns the exit code of the extension.
    pub(super) fn extend(
        self,
        extension: &Extension,
        flags: &ArgMatches,
        printer: &Printer<'_>,
        progress: &mut Progress<'static>,
    ) -> Result<Exit, SuiteError> {
        let Self { options, entries, mut setup, commit, mut config, .. } = self;
        let mut jobs = Vec::new();
        for (job, status) in std::mem::take(&mut setup.plan.jobs) {
            let entry = entries.iter().find(|entry| entry.path() == job.benchmark);
            if let Some(entry) = entry.filter(|entry| (extension.is_for)(&entry.options)) {
                let one = |cache: &Cache| (*entry, job.clone().with_caches(vec![*cache]), status.clone());
                jobs.extend(job.caches.iter().map(one));
            }
        }
        setup.devices.retain(|found| jobs.iter().any(|(_, job, _)| job.device == found.device));
        system::watch_signals();
        let (_locks, clock_lock) = lock_devices_and_clocks(&setup, &mut config, progress)?;
        setup.program.package = setup.program.package.zip(commit).map(with_commit);
        progress.begin(None, "measurements");
        let cases = SingleCases::new(config.supervisor(&system::has_stop_signal, Box::new(drop)), &config);
        let (sampling, RunSetup { program, notes, .. }) = (options.sampling(), setup);
        let mut session = Session { jobs, sampling, program, notes, cases, progress, printer };
        let ended = (extension.run)(flags, &mut session);
        session.cases.supervisor.dismiss();
        let released = unlock_clocks(clock_lock);
        ended.and_then(|exit| released.map(|()| exit))
    }
}

/// Locks the devices of a run, and their clocks if the user wants that, which it adds to `config`. Returns the locks, which end when they are
/// dropped.
fn lock_devices_and_clocks(
    RunSetup { devices, program, .. }: &RunSetup,
    config: &mut RunConfig,
    events: &mut dyn RunEvents,
) -> Result<(Vec<File>, Option<ClockLock>), SuiteError> {
    let mut warn = |warning: &str| events.event(&RunEvent::Warning(warning));
    let wait = !config.settings.no_wait;
    let locks = lock::lock_devices(devices, &program.suite, wait, &mut warn, &system::has_stop_signal)?;
    // If clocks cannot be locked, nothing is measured with other clocks instead.
    let Some(target) = config.settings.lock_clocks else { return Ok((locks, None)) };
    let clocks = ClockLock::lock(devices, target)
        .map_err(|why| SuiteError::usage(format_args!("--lock-clocks {target}: {why}")))?;
    config.locked.extend(clocks.locked.clone());
    Ok((locks, Some(clocks)))
}

/// Resets locked clocks, if there are any. Returns an error if they may still be locked.
fn unlock_clocks(clock_lock: Option<ClockLock>) -> Result<(), SuiteError> {
    clock_lock.map_or(Ok(()), ClockLock::release).map_err(SuiteError::failed)
}

/// Returns the baseline that `--baseline last` means: the newest complete run of `suite`. Returns an error if
/// there is no such run, and `None` without `--baseline last`.
fn last_baseline(suite: &str, options: &Settings) -> Result<Option<Baseline>, SuiteError> {
    if options.baseline.as_deref() != Some(store::LAST) {
        return Ok(None);
    }
    let folder = match &options.runs_dir {
        Some(RunsDir::In(folder)) => folder.clone(),
        _ => store::default_runs_folder().unwrap_or_else(|| store::persistent_folder().join("runs")),
    };
    let (name, run) = store::run_before(&folder, suite, None)
        .map_err(|error| SuiteError::usage(format_args!("--baseline last: {error}")))?;
    Ok(Some(Baseline::new(name, run)))
}

/// Sets the regression threshold of `run`, and compares it with the baseline, if there is one. A case of the
/// baseline counts as missing only if the user now selects the case and its device.
fn compare_with_baseline(
    run: &mut Run,
    baselines: &RunBaselines,
    entries: &[&Entry],
    options: &Settings,
    selection: &Selection,
) {
    // A device that is left out has no missing cases, unless another of its model is there.
    let devices: Vec<String> = run.devices.iter().map(|info| info.device.clone()).collect();
    let models: Vec<String> = run.devices.iter().map(|info| info.name.clone()).collect();
    let is_selected = |record: &Record| {
        let CaseId { benchmark, args, model, cache } = &record.case;
        (options.device.is_none() || devices.contains(&record.device) || models.contains(model))
            && selection.selects(entries, benchmark, args, *cache)
    };
    run.regression_threshold = options.fail_on_regression;
    baselines.check(run, &is_selected);
}

/// The minimum time limit for retries of apparent regressions, which begins when the run's own plan is done.
/// If the plan took longer, the limit is the time that it took. The last pass may exceed the limit.
const MIN_RETRY_TIME: Duration = Duration::from_secs(60);

/// Plans which apparent regressions are measured again.
struct RetryPlanner<'a> {
    baselines: &'a RunBaselines,
    /// The regression threshold; without one nothing is measured again.
    threshold: Option<Threshold>,
    /// The time at which the run began.
    began: Instant,
    /// The time at which the run's own plan was done; `None` until then.
    measured: Option<Instant>,
    /// The number of passes so far.
    passes: usize,
}

impl RetryPlanner<'_> {
    /// Returns the jobs of `plan` that the next pass measures again: those with a case that seems to be a
    /// regression against the baseline. Both cases of a job, hot and cold, are measured together. Leaves out
    /// jobs that are interleaved with a comparison target. `None` if there is no threshold, no such job, no
    /// time or no pass left.
    fn next_plan(&mut self, plan: &Plan, run: &Run) -> Option<Plan> {
        let threshold = self.threshold?;
        let now = Instant::now();
        let measured = *self.measured.get_or_insert(now);
        let budget = (measured - self.began).max(MIN_RETRY_TIME);
        if self.passes == MAX_REMEASURING_PROCESSES || now - measured >= budget {
            return None;
        }
        self.passes += 1;
        let slower = self.baselines.seem_regressed(run, threshold);
        let slower: Set<_> = slower.into_iter().map(Record::planned).collect();
        let jobs = plan.jobs.iter().filter(|(job, _)| {
            job.with.is_none() && job.caches.iter().any(|cache| slower.contains(&job.case(*cache)))
        });
        let plan = Plan { jobs: jobs.cloned().collect(), ..Plan::default() };
        (!plan.jobs.is_empty()).then_some(plan)
    }
}

/// An action in place of measuring, with its flags.
#[derive(Clone, Copy, Debug)]
pub struct Extension {
    /// The id of the flag that requests the action.
    pub flag: &'static str,
    /// Adds its flags to the command line.
    pub add_flags: fn(Command) -> Command,
    /// Returns true for the benchmarks that the action is about.
    pub is_for: fn(&BenchmarkOptions) -> bool,
    /// Performs the action.
    pub run: fn(&ArgMatches, &mut Session<'_>) -> Result<Exit, SuiteError>,
}

/// The selected cases, on locked devices, and the ways to measure and to print.
pub struct Session<'a> {
    /// The jobs, each of one case, with their benchmarks.
    pub jobs: Vec<(&'static Entry, Job, JobStatus)>,
    /// The sampling options of the user.
    pub sampling: Sampling,
    /// This program.
    pub program: Program,
    /// Notes on the selection.
    pub notes: Vec<String>,
    /// Measures and tests single cases, and has the properties of the devices that were used so far.
    pub cases: SingleCases<'a>,
    progress: &'a mut Progress<'static>,
    printer: &'a Printer<'a>,
}

impl Session<'_> {
    /// Measures a job of one case, interleaved with its comparison target if it has one. Checks neither
    /// outputs nor writes.
    ///
    /// # Errors
    /// Returns an error if nothing more can be measured. The inner error is the job's own failure, after a
    /// retry in a new worker if that can help.
    pub fn measure(&mut self, job: &Job, sampling: Sampling) -> CaseResult<Record> {
        self.progress.try_job(job);
        self.cases.measure(job, sampling)
    }

    /// Returns the page that text is printed on.
    pub fn page(&self) -> Page {
        self.printer.page()
    }

    /// Prints text on standard output, while the line of progress is hidden.
    ///
    /// # Errors
    /// Returns an error if standard output refuses it.
    pub fn print(&self, text: &str) -> Result<(), SuiteError> {
        self.progress.aside(|| self.printer.print(text))
    }
}
