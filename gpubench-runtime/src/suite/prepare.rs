//! Plans a run: the selection, or with `--resume` the rest of an earlier run, and its devices.

use std::fs;
use std::path::{Path, PathBuf};

use super::SuiteError;
use super::share::Share;
use crate::device::kind::DeviceKind;
use crate::device::{Available, Missing};
use crate::devices::kinds;
use crate::devices::select::{self, Devices, Selected};
use crate::environment::host;
use crate::plan::{Ignored, Plan, PlanError, Selection};
use crate::registry::{self, Entry};
use crate::runner::lister::WorkerLister;
use crate::runner::resume::ResumedRecords;
use crate::runner::supervisor::Supervisor;
use crate::settings::{RunsDir, Settings};
use gpubench_records::files::{self as store, EarlierRun};
use gpubench_records::record::Program;

/// The purpose of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Measures benchmarks.
    Measure,
    /// Measures the ceilings of the device.
    MeasurePeaks,
    /// Launches each benchmark once.
    Test,
    /// Measures benchmarks as an extension does.
    Extension,
}

impl Task {
    /// Returns the benchmarks for this task.
    pub(super) fn entries(self) -> Vec<&'static Entry> {
        match self {
            Self::MeasurePeaks => (kinds::CEILINGS.entries)(),
            Self::Measure | Self::Test | Self::Extension => registry::entries(),
        }
    }
}

/// The cases to measure, and the devices to measure them on.
#[derive(Default)]
pub(super) struct RunSetup {
    pub(super) plan: Plan,
    pub(super) devices: Vec<Available>,
    pub(super) notes: Vec<String>,
    pub(super) resumed: ResumedRecords,
}

/// Plans cases on devices.
pub(super) struct Planner<'a> {
    task: Task,
    entries: &'a [&'a Entry],
    options: &'a Settings,
    selection: Selection,
    /// The kinds of device that the entries run on.
    kinds: Vec<&'static str>,
    /// Lists arguments and devices.
    pub(super) lister: WorkerLister<'static>,
    /// The share that is this task's.
    pub(super) share: Share,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        task: Task,
        entries: &'a [&'a Entry],
        options: &'a Settings,
        share: Share,
    ) -> Result<Self, SuiteError> {
        let (selection, kinds) = (options.selection().map_err(SuiteError::usage)?, kinds_of(entries));
        // A signal ends this process while it plans, and with it the worker.
        let supervisor = Supervisor::new(options.in_process, None, &|| false, Box::new(drop));
        let lister = WorkerLister::new(supervisor, options.time_limit());
        Ok(Self { task, entries, options, selection, kinds, lister, share })
    }

    /// Sets up a run of the selection, or with `--resume` of the rest of an earlier run; of either, the share that is this task's. The
    /// rest is measured on the devices of that run, unless the user or the scheduler names others.
    pub(super) fn run_setup(
        &mut self,
        program: &Program,
        runs: Option<&Path>,
    ) -> Result<RunSetup, SuiteError> {
        let options = self.options;
        let earlier = match (&options.resume, runs) {
            (Some(name), Some(runs)) => self.earlier_run(runs, name, &program.suite)?,
            _ => None,
        };
        // A task that is started again is given other devices, perhaps on another node.
        let before = earlier.iter().filter(|_| self.share.given().is_none());
        let names: Vec<&str> =
            before.flat_map(|earlier| &earlier.run.devices).map(|info| &*info.device).collect();
        let device = options.device.clone().or_else(|| (!names.is_empty()).then(|| names.join(",")));
        let (planned, Selected { devices, notes, .. }) = self.plan_on_devices(device.as_deref())?;
        let planned = planned.and_then(Plan::on_this_machine)?;
        let mut notes = earlier.as_ref().map_or(notes, |earlier| earlier.run.notes.clone());
        notes.extend(note_unmatched(&planned).filter(|note| !notes.contains(note)));
        let plan = self.share.narrow(planned);
        let resumed = earlier.map(|earlier| {
            let limit = options.time_limit().into();
            ResumedRecords::from_earlier(earlier, &plan, program, &options.sampling(), limit)
        });
        Ok(RunSetup { plan, devices, notes, resumed: resumed.unwrap_or_default() })
    }

    /// Returns the run that the user calls `name`. Of a task, the last one is its own, and it is no error if there is none: a script
    /// that can be started again says `--resume` the first time too.
    fn earlier_run(&self, runs: &Path, name: &str, suite: &str) -> Result<Option<EarlierRun>, SuiteError> {
        let earlier = match &self.share.task {
            Some(task) if name == store::LAST => EarlierRun::of_task(runs, task, suite, host().as_deref()),
            _ => EarlierRun::open(runs, name, suite).map(Some),
        };
        earlier.map_err(|error| SuiteError::usage(format_args!("--resume: {error}")))
    }

    /// Plans the selection on the requested devices, or on those that a task was given. Adds a note if some of it needs a missing
    /// device.
    pub(super) fn plan_on_devices(
        &mut self,
        device: Option<&str>,
    ) -> Result<(Result<Plan, PlanError>, Selected), SuiteError> {
        let no_device = |error| SuiteError::new(error, super::Exit::NoDevice);
        let given = self.share.given().map(|(given, all)| (given.to_owned(), all));
        let selected = match (&given, device) {
            (Some((given, all)), None) => self.found(None).given(given, *all),
            // The error names all that is there.
            (_, Some(_)) => self.found(device).select(device).or_else(|_| self.found(None).select(device)),
            // Nothing is timed, so that the CPU is no stand-in for a GPU.
            (_, None) if self.task == Task::Test => self.found(None).one_of_each_kind(),
            (_, None) => self.found(None).select(None),
        };
        let mut selected = selected.map_err(no_device)?;
        let mut planned = self.plan_all(&selected);
        // A test runner starts a process for each listed name, whatever its device.
        let is_one_name = self.options.exact && device.is_none() && given.is_none();
        if is_one_name && matches!(planned, Err(PlanError::Nothing { .. })) {
            let all = self.found(None).one_of_each_kind().map_err(no_device)?;
            let on_others = self.plan_all(&all);
            if let Ok(plan) = &on_others {
                let is_used = |found: &Available| plan.jobs.iter().any(|(job, _)| job.device == found.device);
                selected = all;
                selected.devices.retain(is_used);
                planned = on_others;
            }
        }
        if let Ok(plan) = &planned {
            note_absent(plan, &mut selected.notes);
        }
        if self.task == Task::MeasurePeaks && selected.devices.is_empty() {
            return Err(SuiteError::NoGpu);
        }
        Ok((planned, selected))
    }

    /// Searches for devices of the entries' kinds, or only for those that `wanted` may name: a driver that nobody needs is not started.
    pub(super) fn found(&mut self, wanted: Option<&str>) -> Devices {
        let searched: Vec<&DeviceKind> = kinds::listed()
            .iter()
            .copied()
            .filter(|kind| wanted.is_none_or(|wanted| select::asks_for(wanted, kind.name)))
            .collect();
        Devices::of(&self.kinds, self.lister.devices(&searched))
    }

    fn plan(&mut self, devices: &[Available], missing: &[Missing]) -> Result<Plan, PlanError> {
        let devices: Vec<_> = devices.iter().map(|found| (found.device.clone(), found.kind)).collect();
        Plan::new(self.entries, &self.selection, &devices, missing, &mut self.lister)
    }

    /// Plans the selection while devices are missing. In test mode, benchmarks that need one are ignored, so `--ignored` selects them
    /// too.
    fn plan_all(&mut self, Selected { devices, missing, .. }: &Selected) -> Result<Plan, PlanError> {
        if self.task != Task::Test || self.selection.ignored != Ignored::Only {
            return self.plan(devices, missing);
        }
        let all = Selection { ignored: Ignored::Included, ..self.selection.clone() };
        let own = self.plan(devices, &[]);
        let absent = Plan::new(self.entries, &all, &[], missing, &mut self.lister);
        match (own, absent) {
            (Ok(plan), Ok(Plan { absent, .. })) => Ok(Plan { absent, ..plan }),
            (Err(PlanError::Nothing { .. }), Ok(absent)) => Ok(absent),
            (plan, _) => plan,
        }
    }
}

/// Adds the number of benchmarks of `plan` that are left out for lack of a device to the note about that device.
fn note_absent(plan: &Plan, notes: &mut Vec<String>) {
    let Some((_, why)) = plan.absent.first() else { return };
    let left_out = match plan.absent.len() {
        1 => "1 benchmark needs one and is left out".to_owned(),
        number => format!("{number} benchmarks need one and are left out"),
    };
    match notes.iter_mut().find(|note| note.starts_with(why)) {
        Some(note) => *note += &format!("; {left_out}"),
        None => notes.push(format!("{why}: {left_out}")),
    }
}

/// Returns a note about filters that match nothing, with others that do.
fn note_unmatched(plan: &Plan) -> Option<String> {
    let filters: Vec<String> = plan.unmatched.iter().map(|filter| format!("`{filter}`")).collect();
    (!filters.is_empty()).then(|| format!("no benchmark matches {}", filters.join(" or ")))
}

/// Returns the folder for this run and earlier ones, or a warning. Without the folder the run is not stored, which is an error if the
/// user needs it.
pub(super) fn runs_folder(options: &Settings) -> Result<Result<Option<PathBuf>, String>, SuiteError> {
    let (folder, required) = match &options.runs_dir {
        Some(RunsDir::Nowhere) => return Ok(Ok(None)),
        Some(RunsDir::In(folder)) => (Some(folder.clone()), true),
        None => (store::runs(), options.resume.is_some()),
    };
    let made = match &folder {
        None => Err("this program has no folder for its runs: --runs-dir names one".to_owned()),
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| format!("--runs-dir {}: {error}", folder.display()))
        }
    };
    match made {
        Ok(()) => Ok(Ok(folder)),
        Err(error) if required => Err(SuiteError::usage(error)),
        Err(error) => Ok(Err(format!("this run is not kept: {error}"))),
    }
}

/// Returns the kinds of device that the entries run on, in order of first appearance.
pub(super) fn kinds_of(entries: &[&Entry]) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for variant in entries.iter().flat_map(|entry| entry.variants) {
        if !kinds.contains(&variant.device) {
            kinds.push(variant.device);
        }
    }
    kinds
}
