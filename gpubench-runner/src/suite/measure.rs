//! A measurement, from settings to a run that is compared with baselines and stored. Nothing here prints: observers get
//! [`RunEvent`]s.

use std::fs::File;
use std::time::{Duration, Instant};

use clap::{ArgMatches, Command};

use super::output::{MeasuredRun, Printer};
use super::prepare::{
    BuiltCommit, Planner, Purpose, runs_folder, start_commit_search, start_search, with_commit,
};
use super::{Error, peaks, progress::Progress, share::TaskShare};
use crate::peaks::PeakSources;
use crate::plan::{Plan, Selection};
use crate::runner::single_cases::SingleCases;
use crate::runner::{
    self, RunConfig, RunEvent, RunEvents, RunFileStatus, RunSetup, clock_lock::ClockLock, lock,
};
use crate::settings::{RunsDir, Settings};
use crate::system;
use gpubench_core::{BenchmarkOptions, Entry};
use gpubench_records::baseline::{Baseline, MAX_REMEASURING_PROCESSES, check, seem_regressed};
use gpubench_records::files::{self as store, BaselineLocation};
use gpubench_records::threads::Receiver;
use gpubench_records::{Cache, CaseId, Exit, Program, Record, Run, Sampling, Threshold};
use gpubench_runtime::{Job, JobStatus, SharedResource, devices::kinds::peaks::cache as peak_cache_state};
use gpubench_stats::{DECISION_ERROR, Set, format::counted};

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
    /// The baseline that the run is compared with.
    baseline: Option<Baseline>,
    /// The baseline that the run is saved as.
    save_to: Option<BaselineLocation>,
}

impl<'a> PreparedRun<'a> {
    /// Plans the run: searches for devices, lists arguments in a worker, and reads the earlier run and baselines. Locks and measures nothing.
    pub(super) fn new(
        purpose: Purpose,
        program: Program,
        options: &'a Settings,
        events: &mut dyn RunEvents,
    ) -> Result<Self, Error> {
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
        let Planner { selection, lister, .. } = planner;
        let starter = lister.starter.clone();
        drop(lister);
        for (job, _) in &mut setup.plan.jobs {
            // Each peak is measured in one cache state.
            if let Some(cache) = peak_cache_state(&job.benchmark).filter(|_| purpose == Purpose::MeasurePeaks)
            {
                job.caches = vec![cache];
            }
            if options.one_at_a_time || options.in_process {
                job.shares = SharedResource::Machine;
            }
        }
        // Stored peaks are left out if peaks are to be measured.
        let stored = peaks::peak_cache(options).ok().filter(|_| purpose != Purpose::MeasurePeaks);
        let peak_sources = PeakSources { stated: options.peaks.clone(), stored };
        let used = entries.iter().map(|entry| entry.options.data_type);
        setup.notes.extend(peak_sources.unknown_data_type_remarks(used).iter().cloned());
        let (mut baseline, mut save_to) = (None, None);
        if purpose != Purpose::Extension {
            baseline = load_baseline(&setup.program.suite, options)?;
            save_to = options.save_baseline.as_deref().map(BaselineLocation::from_name);
            // A fault shows before the measurement.
            save_to.as_ref().map_or(Ok(()), BaselineLocation::prepare).map_err(Error::usage)?;
        }
        if setup.program.opt_level == "0" {
            let slow =
                "this program is not optimised (opt-level 0): what runs on the CPU is slower than it need be";
            setup.notes.push(slow.to_owned());
        }
        let config = RunConfig { settings: options.clone(), peak_sources, starter, ..RunConfig::default() };
        Ok(Self { purpose, options, selection, entries, setup, commit, config, baseline, save_to })
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
    ) -> Result<MeasuredRun, Error> {
        let Self { purpose, options, selection, entries, mut setup, commit, mut config, baseline, save_to } =
            self;
        let baseline = baseline.as_ref();
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
        let mut again = RetryPlanner { baseline, threshold, began, measured: None, passes: 0 };
        let mut next = |plan: &Plan, run: &Run| again.next_plan(plan, run);
        let supervisor = |warn| config.supervisor(&system::has_stop_signal, warn);
        let conclude = |run: &mut Run| compare_with_baseline(run, baseline, &entries, options, &selection);
        let stop = &system::has_stop_signal;
        let (mut run, file, ended) =
            runner::measure(&supervisor, setup, &config, &mut next, &conclude, events, stop);
        events.event(&RunEvent::RunEnded(&run));

        // A repeated run cannot be resumed.
        let is_resumable = file == RunFileStatus::Stored && options.repeats() == 1;
        let hint = if is_resumable { " (--resume goes on with what is left)" } else { "" };
        let mut problems: Vec<Error> = Vec::new();
        problems.extend(ended.err().map(|cause| Error::ended(&cause, hint)));
        problems.extend(unlock_clocks(clock_lock).err());
        if purpose == Purpose::MeasurePeaks {
            problems.extend(peaks::store(&mut run, options, events));
        }
        // An earlier baseline is worth more than part of a run.
        if problems.is_empty() {
            let saved = save_to.map_or(Ok(()), |place| place.save(&run));
            problems.extend(saved.err().map(Error::failed));
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
    ) -> Result<Exit, Error> {
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

/// The longest time in which devices are locked without a wait for another run.
const MAX_LOCK_TIME: Duration = Duration::from_millis(100);

/// Locks the devices of a run, and their clocks if the user wants that, which it adds to `config`. Returns the locks, which end when they are
/// dropped.
fn lock_devices_and_clocks(
    RunSetup { devices, program, .. }: &RunSetup,
    config: &mut RunConfig,
    events: &mut dyn RunEvents,
) -> Result<(Vec<File>, Option<ClockLock>), Error> {
    let mut warn = |warning: &str| events.event(&RunEvent::Warning(warning));
    let wait = !config.settings.no_wait;
    let began = Instant::now();
    let locks = lock::lock_devices(devices, &program.suite, wait, &mut warn, &system::has_stop_signal)?;
    // After a wait, the driver's state of before may be outdated.
    config.starter.retain(|_| began.elapsed() < MAX_LOCK_TIME);
    // If clocks cannot be locked, nothing is measured with other clocks instead.
    let Some(target) = config.settings.lock_clocks else { return Ok((locks, None)) };
    let clocks = ClockLock::lock(devices, target)
        .map_err(|why| Error::usage(format_args!("--lock-clocks {target}: {why}")))?;
    config.locked.extend(clocks.locked.clone());
    Ok((locks, Some(clocks)))
}

/// Resets locked clocks, if there are any. Returns an error if they may still be locked.
fn unlock_clocks(clock_lock: Option<ClockLock>) -> Result<(), Error> {
    clock_lock.map_or(Ok(()), ClockLock::release).map_err(Error::failed)
}

/// Returns the baseline that `--baseline` names, if it is given. `last` is the newest complete run of `suite`. Returns an
/// error if there is no such baseline or run.
fn load_baseline(suite: &str, options: &Settings) -> Result<Option<Baseline>, Error> {
    let Some(name) = &options.baseline else { return Ok(None) };
    if name != store::LAST {
        return BaselineLocation::from_name(name).load().map(Some).map_err(Error::usage);
    }
    let folder = match &options.runs_dir {
        Some(RunsDir::In(folder)) => folder.clone(),
        _ => store::default_runs_folder().unwrap_or_else(|| store::persistent_folder().join("runs")),
    };
    let (name, run) = store::run_before(&folder, suite, None)
        .map_err(|error| Error::usage(format_args!("--baseline last: {error}")))?;
    Ok(Some(Baseline::new(name, run)))
}

/// Sets the regression threshold of `run`, and compares it with the baseline, if there is one. A case of the
/// baseline counts as missing only if the user now selects the case and its device.
fn compare_with_baseline(
    run: &mut Run,
    baseline: Option<&Baseline>,
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
    run.baseline_comparison = baseline.map(|baseline| check(run, baseline, &is_selected, DECISION_ERROR));
}

/// The minimum time limit for retries of apparent regressions, which begins when the run's own plan is done.
/// If the plan took longer, the limit is the time that it took. The last pass may exceed the limit.
const MIN_RETRY_TIME: Duration = Duration::from_secs(60);

/// Plans which apparent regressions are measured again.
struct RetryPlanner<'a> {
    baseline: Option<&'a Baseline>,
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
        let slower = seem_regressed(run, self.baseline?, threshold);
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
    pub run: fn(&ArgMatches, &mut Session<'_>) -> Result<Exit, Error>,
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
    /// The line of progress.
    pub progress: &'a mut Progress<'static>,
    /// Prints on standard output.
    pub printer: &'a Printer<'a>,
}
