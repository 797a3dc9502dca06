//! The setup of a run: the selection, or the rest of an earlier run, with its devices. In: the task, the registered
//! entries and the options. Out: a [`RunSetup`], or the reason that there is none.

use std::fs;
use std::path::{Path, PathBuf};

use super::sharing::Sharing;
use super::{RunsFolderError, SuiteError};
use crate::device::Available;
use crate::device::Missing;
use crate::device::kind::DeviceKind;
use crate::devices::kinds;
use crate::devices::select::{self, Devices, Selected};
use crate::environment::host;
use crate::plan::{Ignored, Plan, PlanError, Selection};
use crate::registry::{self, Entry};
use crate::runner::RunEvents;
use crate::runner::lister::WorkerLister;
use crate::runner::resume::ResumedRecords;
use crate::runner::supervisor::Supervisor;
use crate::settings::{RunsDir, Settings};
use crate::worker::Libraries;
use gpubench_records::files::{self as store, EarlierRun};
use gpubench_records::id::DeviceId;
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
            Self::MeasurePeaks => kinds::ceilings(),
            Self::Measure | Self::Test | Self::Extension => registry::entries(),
        }
    }
}

/// Returns what lists arguments and devices: a worker, or this process with `--in-process`.
pub(super) fn lister(options: &Settings) -> WorkerLister<'static> {
    // A signal ends this process while it plans, and with it the worker.
    WorkerLister::new(
        Supervisor::new(options.in_process, Libraries::default(), &|| false),
        options.time_limit(),
    )
}

/// The cases to measure, and the devices to measure them on.
pub(super) struct RunSetup {
    pub(super) plan: Plan,
    pub(super) devices: Vec<Available>,
    pub(super) notes: Vec<String>,
    pub(super) resumed: ResumedRecords,
}

/// Sets up a run of the selection, or with `--resume` of the rest of an earlier run; of either, the share that is this task's.
pub(super) fn run_setup(
    task: Task,
    entries: &[&Entry],
    options: &Settings,
    program: &Program,
    runs: Option<&Path>,
    sharing: &mut Sharing,
    lister: &mut WorkerLister<'_>,
) -> Result<RunSetup, SuiteError> {
    if let (Some(name), Some(runs)) = (&options.resume, runs)
        && let Some(earlier) = earlier_run(runs, name, &program.suite, sharing)?
    {
        return resumed(task, entries, options, program, earlier, sharing, lister);
    }
    let (planned, Selected { devices, mut notes, .. }) =
        plan_on_devices(task, entries, options, options.device.as_deref(), sharing, lister)?;
    let planned = planned.and_then(Plan::on_this_machine)?;
    notes.extend(note_unmatched(&planned));
    let plan = sharing.narrow(planned);
    notes.extend(runs.filter(|_| options.resume.is_some()).and_then(|runs| lost_run(runs, sharing)));
    Ok(RunSetup { plan, devices, notes, resumed: ResumedRecords::default() })
}

/// Returns the run that the user calls `name`. Of a task, the last one is its own, and it is no error if there is none: a script
/// that can be started again says `--resume` the first time too.
fn earlier_run(
    runs: &Path,
    name: &str,
    suite: &str,
    sharing: &Sharing,
) -> Result<Option<EarlierRun>, SuiteError> {
    match sharing.task() {
        Some(task) if name == store::LAST => Ok(EarlierRun::of_task(runs, task, suite, host().as_deref())?),
        _ => Ok(Some(EarlierRun::open(runs, name, suite)?)),
    }
}

/// Returns a note about a task that was started again and has no run, as if its node saw another folder than the one before.
fn lost_run(runs: &Path, sharing: &Sharing) -> Option<String> {
    let task = sharing.task().filter(|task| task.restarts.is_some_and(|restarts| restarts > 0))?;
    Some(format!("{task} was started again and has no earlier run in {}: all is measured", runs.display()))
}

/// Plans the selection on the requested devices, or on those that a task was given. Adds a note if some of it needs a missing
/// device.
pub(super) fn plan_on_devices(
    task: Task,
    entries: &[&Entry],
    options: &Settings,
    device: Option<&str>,
    sharing: &Sharing,
    lister: &mut WorkerLister<'_>,
) -> Result<(Result<Plan, PlanError>, Selected), SuiteError> {
    let (kinds, selection) = (kinds_of(entries), options.selection()?);
    let mut selected = match (sharing.given(), device) {
        (Some((given, all)), None) => found(&kinds, None, lister).given(given, all)?,
        (_, Some(device)) => match found(&kinds, Some(device), lister).select(Some(device)) {
            Ok(selected) => selected,
            // The error names all that is there.
            Err(_) => found(&kinds, None, lister).select(Some(device))?,
        },
        // Nothing is timed, so that the CPU is no stand-in for a GPU.
        (_, None) if task == Task::Test => found(&kinds, None, lister).one_of_each_kind()?,
        (_, None) => found(&kinds, None, lister).select(None)?,
    };
    let plan_on = |selected: &Selected, lister: &mut WorkerLister<'_>| {
        let devices = names(&selected.devices);
        planned(task, entries, &selection, &devices, &selected.missing, lister)
    };
    let mut planned = plan_on(&selected, lister);
    // A test runner starts a process for each listed name, whatever its device.
    let is_one_name = options.exact && device.is_none() && sharing.given().is_none();
    if is_one_name && matches!(planned, Err(PlanError::Nothing { .. })) {
        let all = found(&kinds, None, lister).one_of_each_kind()?;
        let on_others = plan_on(&all, lister);
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
    if task == Task::MeasurePeaks && selected.devices.is_empty() {
        return Err(SuiteError::NoGpu);
    }
    Ok((planned, selected))
}

/// Searches for devices of these `kinds`, or only for those that `wanted` may name: a driver that nobody needs is not started.
pub(super) fn found(kinds: &[&'static str], wanted: Option<&str>, lister: &mut WorkerLister<'_>) -> Devices {
    let searched: Vec<&DeviceKind> = kinds::listed()
        .iter()
        .copied()
        .filter(|kind| wanted.is_none_or(|wanted| select::asks_for(wanted, kind.name)))
        .collect();
    Devices::of(kinds, lister.devices(&searched))
}

/// Plans the selection while devices are `missing`. In test mode, benchmarks that need one are ignored, so
/// `--ignored` selects them too.
fn planned(
    task: Task,
    entries: &[&Entry],
    selection: &Selection,
    devices: &[(String, &str)],
    missing: &[Missing],
    lister: &mut WorkerLister<'_>,
) -> Result<Plan, PlanError> {
    if !(task == Task::Test && selection.ignored == Ignored::Only) {
        return Plan::with_missing(entries, selection, devices, missing, lister);
    }
    let all = Selection { ignored: Ignored::Included, ..selection.clone() };
    let own = Plan::with_missing(entries, selection, devices, &[], lister);
    match (own, Plan::with_missing(entries, &all, &[], missing, lister)) {
        (Ok(plan), Ok(Plan { absent, .. })) => Ok(Plan { absent, ..plan }),
        (Err(PlanError::Nothing { .. }), Ok(absent)) => Ok(absent),
        (plan, _) => plan,
    }
}

/// Adds the number of benchmarks of `plan` that are left out for lack of a device to the note about that
/// device.
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

/// Returns a note about filters that match nothing, beside others that do.
fn note_unmatched(plan: &Plan) -> Option<String> {
    let filters: Vec<String> = plan.unmatched.iter().map(|filter| format!("`{filter}`")).collect();
    (!filters.is_empty()).then(|| format!("no benchmark matches {}", filters.join(" or ")))
}

/// Sets up the rest of an earlier run, on its devices unless the user names others. If nothing is left, they
/// may be missing.
fn resumed(
    task: Task,
    entries: &[&Entry],
    options: &Settings,
    program: &Program,
    earlier: EarlierRun,
    sharing: &mut Sharing,
    lister: &mut WorkerLister<'_>,
) -> Result<RunSetup, SuiteError> {
    let earlier_devices: Vec<String> = earlier.run.devices.iter().map(|info| info.device.clone()).collect();
    let mut notes = earlier.run.notes.clone();
    let still_valid = |earlier, plan: &Plan| {
        let limit = options.time_limit().into();
        ResumedRecords::of_earlier(earlier, plan, program, &options.sampling(), limit)
    };
    // A task that is started again is given others, perhaps on another node.
    let is_free = options.device.is_none() && sharing.given().is_none();
    let earlier_devices = Some(earlier_devices).filter(|devices| is_free && !devices.is_empty());
    if let Some(devices) = &earlier_devices {
        let devices = as_named(devices, &kinds_of(entries));
        let planned = Plan::with_missing(entries, &options.selection()?, &names(&devices), &[], lister)?;
        notes.extend(note_unmatched(&planned).filter(|note| !notes.contains(note)));
        let plan = sharing.narrow(planned);
        let resumed = still_valid(earlier.clone(), &plan);
        if resumed.is_all_of(&plan) {
            return Ok(RunSetup { plan, devices, notes, resumed });
        }
    }
    let device = options.device.clone().or_else(|| Some(earlier_devices?.join(",")));
    let (planned, Selected { devices, .. }) =
        plan_on_devices(task, entries, options, device.as_deref(), sharing, lister)?;
    let planned = planned.and_then(Plan::on_this_machine)?;
    notes.extend(note_unmatched(&planned).filter(|note| !notes.contains(note)));
    let plan = sharing.narrow(planned);
    let resumed = still_valid(earlier, &plan);
    Ok(RunSetup { plan, devices, notes, resumed })
}

/// Returns devices by their names in a run, present or not.
fn as_named(devices: &[String], kinds: &[&'static str]) -> Vec<Available> {
    let found = devices.iter().filter_map(|device| {
        let kind = *kinds.iter().find(|kind| **kind == DeviceId::parse(device).kind)?;
        Some(Available::new(device, kind))
    });
    found.collect()
}

/// Returns the folder for this run and earlier ones. Without one the run is not stored, which is a warning unless the
/// user needs the folder.
pub(super) fn runs_folder(
    options: &Settings,
    events: &mut dyn RunEvents,
) -> Result<Option<PathBuf>, SuiteError> {
    let (folder, required) = match &options.runs_dir {
        Some(RunsDir::Nowhere) => return Ok(None),
        Some(RunsDir::In(folder)) => (Some(folder.clone()), true),
        None => (store::runs(), options.resume.is_some()),
    };
    match made(folder) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if required => Err(error.into()),
        Err(error) => {
            events.warning(&format!("this run is not kept: {error}"));
            Ok(None)
        }
    }
}

fn made(folder: Option<PathBuf>) -> Result<PathBuf, RunsFolderError> {
    let folder = folder.ok_or(RunsFolderError::Unknown)?;
    match fs::create_dir_all(&folder) {
        Ok(()) => Ok(folder),
        Err(error) => Err(RunsFolderError::Unusable { folder, error }),
    }
}

fn names(devices: &[Available]) -> Vec<(String, &'static str)> {
    devices.iter().map(|found| (found.device.clone(), found.kind)).collect()
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
