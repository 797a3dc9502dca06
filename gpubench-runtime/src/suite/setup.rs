//! The setup of a run: the selection, or the rest of an earlier run, with its devices. In: the registered
//! entries and the command line. Out: a [`RunSetup`], or the exit code if there is none.

use std::fs;
use std::path::{Path, PathBuf};

use super::messages::{complain, warn};
use crate::device::Available;
use crate::device::Missing;
use crate::device::select::{Devices, Selected};
use crate::plan::{Ignored, Plan, PlanError, Selection};
use crate::registry::Entry;
use crate::runner::resume::ResumedRecords;
use crate::suite::cli::{Exit, Options, RunsDir};
use gpubench_records::files::{self as store, EarlierRun};
use gpubench_records::id::DeviceId;
use gpubench_records::record::Program;

/// The message for a user who asks for a CPU's ceilings.
const NO_GPU: &str = "--measure-peaks is for GPUs, and there is none: what this machine's CPU reaches is measured in every run";

/// The cases to measure, and the devices to measure them on.
pub(super) struct RunSetup {
    pub(super) plan: Plan,
    pub(super) devices: Vec<Available>,
    pub(super) notes: Vec<String>,
    pub(super) kept: ResumedRecords,
}

/// Sets up a run of the selection, or with `--resume` of the rest of an earlier run.
pub(super) fn run_setup(
    entries: &[&Entry],
    options: &Options,
    program: &Program,
    runs: Option<&Path>,
) -> Result<RunSetup, Exit> {
    if let (Some(wanted), Some(runs)) = (&options.resume, runs) {
        let earlier = EarlierRun::open(runs, wanted, &program.suite);
        let earlier = earlier.map_err(|error| complain(&format!("--resume: {error}"), Exit::Usage))?;
        return resumed(entries, options, program, earlier);
    }
    let (planned, Selected { devices, notes, .. }) = fresh(entries, options, options.device.as_deref())?;
    let plan = planned.and_then(Plan::on_this_machine).map_err(|error| refuse(&error))?;
    Ok(RunSetup { plan, devices, notes, kept: ResumedRecords::default() })
}

/// Plans the selection on the `wanted` devices. Adds a note if some of it needs a missing device.
pub(super) fn fresh(
    entries: &[&Entry],
    options: &Options,
    wanted: Option<&str>,
) -> Result<(Result<Plan, PlanError>, Selected), Exit> {
    let mut selected =
        Devices::find(&kinds(entries)).select(wanted).map_err(|error| complain(&error, Exit::NoDevice))?;
    let devices = names(&selected.devices);
    let planned = planned(entries, options, &devices, &selected.missing);
    if let Ok(plan) = &planned {
        note_absent(plan, &mut selected.notes);
    }

    if options.measure_peaks && selected.devices.is_empty() {
        return Err(complain(&NO_GPU, Exit::NoDevice));
    }
    Ok((planned, selected))
}

/// Plans the selection while devices are `missing`. In test mode, benchmarks that need one are ignored, so
/// `--ignored` selects them too.
fn planned(
    entries: &[&Entry],
    options: &Options,
    devices: &[(String, &str)],
    missing: &[Missing],
) -> Result<Plan, PlanError> {
    let selection = &options.selection;
    if !(options.test && selection.ignored == Ignored::Only) {
        return Plan::with_missing(entries, selection, devices, missing);
    }
    let all = Selection { ignored: Ignored::Included, ..selection.clone() };
    match (Plan::of(entries, selection, devices), Plan::with_missing(entries, &all, &[], missing)) {
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

/// Sets up the rest of an earlier run, on its devices unless the user names others. If nothing is left, they
/// may be missing.
fn resumed(
    entries: &[&Entry],
    options: &Options,
    program: &Program,
    earlier: EarlierRun,
) -> Result<RunSetup, Exit> {
    let theirs: Vec<String> = earlier.run.devices.iter().map(|facts| facts.device.clone()).collect();
    let notes = earlier.run.notes.clone();
    let kept = |earlier, plan: &Plan| {
        ResumedRecords::of_earlier(earlier, plan, program, &options.sampling, options.timeout.into())
    };
    let theirs = options.device.is_none().then_some(theirs).filter(|theirs| !theirs.is_empty());
    if let Some(theirs) = &theirs {
        let devices = as_named(theirs, &kinds(entries));
        let plan = Plan::of(entries, &options.selection, &names(&devices)).map_err(|error| refuse(&error))?;
        let kept = kept(earlier.clone(), &plan);
        if kept.is_all_of(&plan) {
            return Ok(RunSetup { plan, devices, notes, kept });
        }
    }
    let wanted = options.device.clone().or_else(|| Some(theirs?.join(",")));
    let (planned, Selected { devices, .. }) = fresh(entries, options, wanted.as_deref())?;
    let plan = planned.and_then(Plan::on_this_machine).map_err(|error| refuse(&error))?;
    let kept = kept(earlier, &plan);
    Ok(RunSetup { plan, devices, notes, kept })
}

/// Returns devices by their names in a run, present or not.
fn as_named(devices: &[String], kinds: &[&'static str]) -> Vec<Available> {
    let found = devices.iter().filter_map(|device| {
        let kind = *kinds.iter().find(|kind| **kind == DeviceId::parse(device).kind)?;
        Some(Available { device: device.clone(), kind, name: String::new(), uuid: None })
    });
    found.collect()
}

/// Returns the folder for this run and earlier ones.
pub(super) fn runs(options: &Options) -> Result<Option<PathBuf>, Exit> {
    let (folder, asked) = match &options.runs_dir {
        RunsDir::Nowhere => return Ok(None),
        RunsDir::In(folder) => (Some(folder.clone()), true),
        RunsDir::Usual => (store::runs(), options.resume.is_some()),
    };
    let made = folder.clone().map(|folder| fs::create_dir_all(&folder).map(|()| folder));
    let why = match made {
        Some(Ok(folder)) => return Ok(Some(folder)),
        Some(Err(error)) => format!("--runs-dir {}: {error}", folder.unwrap_or_default().display()),
        None => "this program has no folder for its runs: --runs-dir names one".to_owned(),
    };
    if asked {
        return Err(complain(&why, Exit::Usage));
    }
    warn(&format!("this run is not kept: {why}"));
    Ok(None)
}

pub(super) fn refuse(error: &PlanError) -> Exit {
    let exit = match error {
        PlanError::Empty | PlanError::Nothing { .. } => Exit::Nothing,
        PlanError::NoDevice { .. } => Exit::NoDevice,
        PlanError::Duplicate { .. }
        | PlanError::NoPartner(_)
        | PlanError::Ambiguous { .. }
        | PlanError::Unpaired { .. }
        | PlanError::Twice { .. }
        | PlanError::NoSuchAxis(_)
        | PlanError::BadArg { .. } => Exit::Usage,
    };
    complain(error, exit)
}

fn names(devices: &[Available]) -> Vec<(String, &'static str)> {
    devices.iter().map(|found| (found.device.clone(), found.kind)).collect()
}

/// Returns the kinds of device that the entries run on, in order of first appearance.
pub(super) fn kinds(entries: &[&Entry]) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for variant in entries.iter().flat_map(|entry| entry.variants) {
        if !kinds.contains(&variant.device) {
            kinds.push(variant.device);
        }
    }
    kinds
}
