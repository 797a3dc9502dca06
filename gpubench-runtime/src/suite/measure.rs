//! A measurement, from options to a run. In: the task, the program and its [`Settings`]. Out: a [`MeasuredRun`],
//! compared with baselines and stored as requested. Nothing here prints: observers get [`RunEvents`].

use std::path::{Path, PathBuf};

use clap::ArgMatches;

use super::again::MeasureAgain;
use super::checkout::Lookup;
use super::cli::Exit;
use super::extension::{Extension, Session};
use super::prepare::{RunSetup, Task, lister, run_setup, runs_folder};
use super::progress::Progress;
use super::recorder::{Recorder, RunFile};
use super::sharing::Sharing;
use super::show::Printer;
use super::signals::Stop;
use super::{SuiteError, ceilings};
use crate::device::Available;
use crate::peaks::PeakSources;
use crate::plan::{Job, Plan, Selection};
use crate::registry::Entry;
use crate::runner::clock_lock::ClockLock;
use crate::runner::lock::Lock;
use crate::runner::resume::ResumedRecords;
use crate::runner::single_cases::SingleCases;
use crate::runner::supervisor::Supervisor;
use crate::runner::{self, Beginning, Plans, RunConfig, RunError, RunEvents, lock};
use crate::settings::{RunsDir, Settings};
use crate::worker::Libraries;
use gpubench_records::baseline::{Baseline, BaselineOptions, OpenBaselines};
use gpubench_records::files::{self as store, StoredRuns};
use gpubench_records::history::{self, AddError};
use gpubench_records::id::CaseId;
use gpubench_records::method::Cache;
use gpubench_records::record::{Program, Record, Run};
use gpubench_stats::format::counted;

/// A run that can begin: everything that could refuse it has been asked, except for the devices themselves.
pub(super) struct Prepared<'a> {
    task: Task,
    options: &'a Settings,
    selection: Selection,
    entries: Vec<&'static Entry>,
    program: Program,
    checkout: Lookup,
    runs_folder: Option<PathBuf>,
    plan: Plan,
    devices: Vec<Available>,
    notes: Vec<String>,
    resumed: ResumedRecords,
    peak_sources: PeakSources,
    baselines: OpenBaselines,
    sharing: Sharing,
    /// The path of the driver's library, if it was found.
    library: Option<PathBuf>,
}

/// A run that has ended.
#[derive(Debug)]
pub(super) struct MeasuredRun {
    /// Everything that was measured.
    pub(super) run: Run,
    /// The problems, in the order in which they happened.
    pub(super) problems: Vec<SuiteError>,
    /// False if its file could not be written. A warning has said so.
    pub(super) is_stored: bool,
}

impl MeasuredRun {
    /// Returns the run, or an error that holds it if there was a problem.
    pub(super) fn into_result(self) -> Result<Run, SuiteError> {
        match self.problems.is_empty() {
            true => Ok(self.run),
            false => Err(SuiteError::Incomplete { run: Box::new(self.run), problems: self.problems }),
        }
    }
}

impl<'a> Prepared<'a> {
    /// Plans the run, and opens everything that it reads from.
    pub(super) fn of(
        task: Task,
        mut program: Program,
        options: &'a Settings,
        events: &mut dyn RunEvents,
    ) -> Result<Self, SuiteError> {
        let (entries, selection) = (task.entries(), options.selection()?);
        // Ceilings are stored elsewhere, and are no run of the suite.
        let runs_folder = match task {
            Task::MeasurePeaks | Task::Extension => None,
            Task::Measure | Task::Test => runs_folder(options, events)?,
        };
        let checkout = Lookup::begin(program.package.take());
        let is_stored = runs_folder.is_some() || task == Task::Extension;
        program.fingerprint = is_stored.then(store::fingerprint).flatten();
        let mut sharing = match task {
            Task::Measure => Sharing::of(options)?,
            Task::MeasurePeaks | Task::Test | Task::Extension => Sharing::default(),
        };
        let mut lister = lister(options);
        let RunSetup { mut plan, devices, mut notes, resumed } =
            run_setup(task, &entries, options, &program, runs_folder.as_deref(), &mut sharing, &mut lister)?;
        let library = lister.library.take();
        if task == Task::MeasurePeaks {
            ceilings::settle(&mut plan);
        }
        if options.one_at_a_time || options.in_process {
            plan.one_at_a_time();
        }
        let (peak_sources, remarks) = ceilings::peak_sources(task, &entries, options);
        notes.extend(remarks);
        let (wanted, last) = match task {
            Task::Extension => (BaselineOptions::default(), None),
            _ => (options.baselines(), last_baseline(&program.suite, options)?),
        };
        let baselines = wanted.open(last).map_err(SuiteError::Baseline)?;
        if let Some(folder) = history_of(task, options) {
            history::prepare(folder).map_err(SuiteError::History)?;
        }
        if program.opt_level == "0" {
            let slow =
                "this program is not optimised (opt-level 0): what runs on the CPU is slower than it need be";
            notes.push(slow.to_owned());
        }
        Ok(Self {
            task,
            options,
            selection,
            entries,
            program,
            checkout,
            runs_folder,
            plan,
            devices,
            notes,
            resumed,
            peak_sources,
            baselines,
            sharing,
            library,
        })
    }

    /// Returns a sentence if no case is this task's.
    pub(super) fn empty_share(&self) -> Option<String> {
        let task = self.sharing.task().filter(|_| self.plan.jobs.is_empty())?;
        let cases = counted(task.cases.unwrap_or_default(), "case");
        Some(format!("share {}/{}: no case is left for this task ({cases} in all)", task.number, task.of))
    }

    /// Measures the plan until it is done or a signal comes.
    ///
    /// # Errors
    /// Returns an error if nothing could be measured. Later problems are part of the result.
    pub(super) fn measure(mut self, events: &mut dyn RunEvents) -> Result<MeasuredRun, SuiteError> {
        let options = self.options;
        let stop = Stop::on_signals();
        let stops = || stop.signal().is_some();
        events.planned(&self.plan, options.repeats());
        // If nothing is left to measure, the devices are not touched.
        let is_measured = !self.resumed.is_all_of(&self.plan);
        let (mut locks, clock_lock) = match is_measured {
            true => self.lock(&stop, events)?,
            false => (Vec::new(), None),
        };
        events.devices_opening();
        self.program.package = self.checkout.end();
        let task = self.sharing.task().cloned();
        let (program, notes, resumed) = (self.program, self.notes, self.resumed);
        let beginning = Beginning { program, notes, resumed, task, locks: &mut locks };
        let config = run_config(options, self.peak_sources, clock_lock.as_ref(), self.library);
        let mut recorder = Recorder::new(events, self.runs_folder.as_deref(), options);
        // Without worker processes there are no new ones.
        let threshold = options.fail_on_regression.filter(|_| !options.in_process);
        let mut again = MeasureAgain::of(&self.plan, &self.baselines, threshold.filter(|_| is_measured));
        let plans = Plans { plan: &self.plan, again: &mut |run| again.next(run) };
        let (mut run, ended) =
            runner::measure(plans, &self.devices, beginning, &config, &mut recorder, &stops);
        let file = recorder.end(&run);
        events.run_ended(&run);

        // A repeated run cannot be resumed.
        let resumable = file == RunFile::Stored && options.repeats() == 1;
        let mut problems: Vec<SuiteError> = Vec::new();
        problems.extend(ended.err().map(|cause| ended_early(cause, &stop, resumable)));
        problems.extend(release(clock_lock).err());
        if self.task == Task::MeasurePeaks {
            problems.extend(ceilings::store(&mut run, options, events));
        }
        compare(&mut run, &self.baselines, &self.entries, options, &self.selection);
        // An earlier baseline is worth more than part of a run.
        if problems.is_empty() {
            problems.extend(save(&mut run, &self.baselines).err());
            problems.extend(add_to_history(&run, self.task, options).err());
        }
        Ok(MeasuredRun { run, problems, is_stored: file != RunFile::Failed })
    }

    /// Lets an extension measure the cases of its benchmarks one at a time.
    pub(super) fn extend(
        mut self,
        extension: &Extension,
        flags: &ArgMatches,
        printer: &Printer<'_>,
        progress: &mut Progress,
    ) -> Result<Exit, SuiteError> {
        let mut jobs = Vec::new();
        for (job, fate) in self.plan.jobs.drain(..) {
            let entry = self.entries.iter().find(|entry| entry.path() == job.benchmark);
            if let Some(entry) = entry.filter(|entry| (extension.is_for)(&entry.options)) {
                let one = |cache: &Cache| (*entry, Job { caches: vec![*cache], ..job.clone() }, fate.clone());
                jobs.extend(job.caches.iter().map(one));
            }
        }
        self.devices.retain(|found| jobs.iter().any(|(_, job, _)| job.device == found.device));
        let stop = Stop::on_signals();
        let stops = || stop.signal().is_some();
        let (_locks, clock_lock) = self.lock(&stop, progress)?;
        self.program.package = self.checkout.end();
        let config = run_config(self.options, self.peak_sources, clock_lock.as_ref(), self.library);
        let supervisor = Supervisor::new(config.in_process, config.libraries.clone(), &stops);
        progress.begin_uncounted();
        let cases = SingleCases::new(supervisor, &config);
        let (program, notes, sampling) = (self.program, self.notes, config.sampling);
        let mut session = Session { jobs, sampling, program, notes, cases, progress, printer };
        let ended = (extension.run)(flags, &mut session);
        session.cases.dismiss();
        let released = release(clock_lock);
        match ended {
            Err(SuiteError::Ended { cause, .. }) => Err(ended_early(cause, &stop, false)),
            ended => released.and(ended),
        }
    }

    /// Locks the devices, and their clocks if the user wants that.
    fn lock(
        &self,
        stop: &Stop,
        events: &mut dyn RunEvents,
    ) -> Result<(Vec<Lock>, Option<ClockLock>), SuiteError> {
        let (suite, wait) = (&self.program.suite, !self.options.no_wait);
        let (mut warn, stops) = (|warning: &str| events.warning(warning), || stop.signal().is_some());
        let locks = lock::lock(&self.devices, suite, wait, &mut warn, &stops)
            .map_err(|error| SuiteError::of_lock(error, stop.signal()))?;
        Ok((locks, lock_clocks(self.options, &self.devices)?))
    }
}

/// Unlocks clocks.
fn release(clock_lock: Option<ClockLock>) -> Result<(), SuiteError> {
    let released = clock_lock.map_or(Ok(()), ClockLock::release);
    released.map_err(|why| SuiteError::ClocksNotReset(why.into()))
}

/// Returns the baseline that `--baseline last` means: the newest complete run of `suite`.
fn last_baseline(suite: &str, options: &Settings) -> Result<Option<Baseline>, SuiteError> {
    if options.baseline.as_deref() != Some(store::LAST) {
        return Ok(None);
    }
    let folder = match &options.runs_dir {
        Some(RunsDir::In(folder)) => Some(&**folder),
        _ => None,
    };
    let found = StoredRuns::of_program(folder).before(suite, u64::MAX).map_err(SuiteError::NoLastRun)?;
    Ok(Some(Baseline::of(found.name, found.run)))
}

/// Compares a run with the baseline.
pub(super) fn compare(
    run: &mut Run,
    baselines: &OpenBaselines,
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
            && selection.takes(entries, benchmark, args, *cache)
    };
    run.regression_threshold = options.fail_on_regression;
    baselines.check(run, &is_selected);
}

/// Stores a run as a baseline, without its own comparison.
pub(super) fn save(run: &mut Run, baselines: &OpenBaselines) -> Result<(), SuiteError> {
    let check = run.baseline_comparison.take();
    let saved = baselines.save(run).map_err(SuiteError::BaselineNotSaved);
    run.baseline_comparison = check;
    saved
}

/// Returns the history that a run is added to, if there is one. Ceilings are no run of the suite.
fn history_of(task: Task, options: &Settings) -> Option<&Path> {
    options.history.as_deref().filter(|_| task == Task::Measure)
}

/// Adds a run to the history, if there is one. A run without a number is told elsewhere.
fn add_to_history(run: &Run, task: Task, options: &Settings) -> Result<(), SuiteError> {
    let Some(folder) = history_of(task, options) else { return Ok(()) };
    match history::add(folder, run, None) {
        Ok(_) | Err(AddError::NoCases) => Ok(()),
        Err(error) => Err(SuiteError::HistoryNotAdded(error)),
    }
}

/// Returns the settings of the runner.
pub(super) fn run_config(
    options: &Settings,
    peak_sources: PeakSources,
    clock_lock: Option<&ClockLock>,
    driver: Option<PathBuf>,
) -> RunConfig {
    RunConfig {
        sampling: options.sampling(),
        peak_sources,
        timeout: options.time_limit(),
        own_timeout: options.timeout.is_none(),
        in_process: options.in_process,
        locked: clock_lock.map(|lock| lock.locked.clone()).unwrap_or_default(),
        runs: options.repeats(),
        libraries: Libraries { driver },
        verify: options.verify.is_some(),
    }
}

/// Returns the error of a run that ended before its plan did.
pub(super) fn ended_early(cause: RunError, stop: &Stop, resumable: bool) -> SuiteError {
    SuiteError::Ended { cause, signal: stop.signal(), resumable }
}

/// Locks clocks, if requested. If that fails, nothing is measured with other clocks instead.
fn lock_clocks(options: &Settings, devices: &[Available]) -> Result<Option<ClockLock>, SuiteError> {
    let Some(target) = options.lock_clocks else { return Ok(None) };
    let locked = ClockLock::lock(devices, target);
    locked.map(Some).map_err(|why| SuiteError::ClocksNotLocked { target, why: why.into() })
}
