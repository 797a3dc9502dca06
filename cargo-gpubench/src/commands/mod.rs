//! The commands. In: the command line; out: the exit code, or an error for the edge to print.

mod ab;
mod compare;
mod doctor;
mod fleet;
mod history;
mod init;
mod manual;
mod merge;
mod pairs;
mod report;
mod revision;
mod run;
mod suites;
mod verify;

use std::env;

use gpubench_records::exit::Exit;
use gpubench_records::files::NamedRun;
use gpubench_records::files::{LAST, NamedStored, Stored, StoredRuns};
use gpubench_records::record::Run;
use gpubench_records::selection::CaseSelection;

use crate::args::{Command, Gpubench};
use crate::error::CommandError;
use crate::manifest::Manifest;
use crate::output;
use crate::output::PrintOptions;

/// Does what `args` say.
pub(crate) fn run(args: &Gpubench) -> Result<Exit, CommandError> {
    let print_options = PrintOptions { color: args.color, width: args.width };
    let stored = || stored_runs(args);
    let Some(command) = &args.command else { return manual::print(args, print_options) };
    match command {
        Command::Init(args) => init::init(args, print_options),
        Command::Run(args) => run::run(args, print_options),
        Command::Ab(args) => ab::ab(args, print_options),
        Command::Doctor { reset_clocks: Some(devices), .. } => doctor::reset_clocks(devices, print_options),
        Command::Doctor { json, .. } => doctor::doctor(*json, print_options),
        Command::Report { runs, explain, selection, exports } => {
            let stored = stored()?;
            let runs = if runs.is_empty() { vec![last_run(&stored, args)?] } else { runs.clone() };
            report::report(&stored, &runs, &selection.selection()?, *explain, exports, print_options)
        }
        Command::Compare { earlier, later, band, fail_on_regression, selection, exports } => {
            let limits = compare::Limits::parse(band.as_deref(), fail_on_regression.as_deref())?;
            let stored = stored()?;
            let later = later.clone().map_or_else(|| last_run(&stored, args), Ok)?;
            let comparison = compare::ComparedRuns {
                earlier: earlier.as_deref(),
                later: &later,
                selection: selection.selection()?,
                limits,
            };
            compare::compare(&stored, &comparison, exports, print_options)
        }
        Command::Merge { runs, output } => merge::merge(&stored()?, runs, output),
        Command::Fleet { files, least, fdr, selection, json } => {
            let fleet = fleet::FleetFiles { files, least, fdr, selection: selection.selection()?, json };
            fleet::fleet(&fleet, print_options)
        }
        Command::History(args) => history::history(&stored()?, args, print_options),
        Command::Verify(args) => verify::verify(args, print_options),
    }
}

fn stored_runs(args: &Gpubench) -> Result<StoredRuns, CommandError> {
    if let Some(home) = &args.home {
        return Ok(StoredRuns::within(home.clone()));
    }
    let folder = env::current_dir().map_err(CommandError::NoFolder)?;
    StoredRuns::of_project(&folder).ok_or(CommandError::NoHome)
}

/// Returns the name of the last run of the package that the current folder is in; of the last run of all in a folder without a
/// package, and with `--home`.
fn last_run(stored: &StoredRuns, args: &Gpubench) -> Result<String, CommandError> {
    let here = env::current_dir().ok().filter(|_| args.home.is_none());
    let package = here.and_then(|here| {
        let folder = here.ancestors().find(|folder| folder.join("Cargo.toml").is_file())?;
        Some(Manifest::read(folder).ok()?.package().ok()?.to_owned())
    });
    Ok(package.map_or_else(|| Ok(LAST.to_owned()), |package| stored.last_of_package(&package))?)
}

/// Loads the run that is called `name`, and warns of the faults of its file.
fn load(stored: &StoredRuns, name: &str) -> Result<Run, CommandError> {
    Ok(with_warnings(name, stored.load(name)?))
}

/// Loads all runs that are called `name`: those of a list, or the one that there is.
fn load_all(stored: &StoredRuns, name: &str) -> Result<Vec<NamedRun>, CommandError> {
    let named = |NamedStored { name, stored }| {
        let run = with_warnings(&name, stored);
        NamedRun { name, run }
    };
    Ok(stored.load_all(name)?.into_iter().map(named).collect())
}

fn with_warnings(name: &str, stored: Stored) -> Run {
    for fault in stored.faults() {
        output::warn(&format!("{name}: {fault}"));
    }
    stored.run
}

/// Loads the selected cases of the run that is called `name`.
fn load_selected(stored: &StoredRuns, name: &str, selection: &CaseSelection) -> Result<Run, CommandError> {
    select(NamedRun { name: name.to_owned(), run: load(stored, name)? }, selection)
}

/// Returns the selected cases of a run.
fn select(named: NamedRun, selection: &CaseSelection) -> Result<Run, CommandError> {
    let NamedRun { name, mut run } = named;
    if let Some(arg) = selection.unknown_arg(&run) {
        return Err(CommandError::NoSuchArg { run: name, arg: arg.to_owned() });
    }
    let there = run.records.len() + run.skipped.len();
    selection.narrow(&mut run);
    if there > 0 && run.records.is_empty() && run.skipped.is_empty() {
        let cases = if there == 1 { "1 case".to_owned() } else { format!("{there} cases") };
        return Err(CommandError::NothingSelected { run: name, cases, selection: selection.describe() });
    }
    Ok(run)
}
