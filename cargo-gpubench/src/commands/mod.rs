//! The commands. Each returns the exit code, or an error for `main` to print.

mod ab;
mod doctor;
mod init;
mod manual;
mod over_time;
mod revision;
mod run;
mod signals;
mod source;
mod stored;
mod suites;
mod verify;

use std::env;

use gpubench_records::exit::Exit;
use gpubench_records::files::{LAST, NamedRun, NamedStored, Stored, StoredRuns};
use gpubench_records::record::Run;
use gpubench_records::selection::CaseSelection;
use gpubench_stats::format::counted;

use crate::args::{Command, Gpubench};
use crate::manifest::Manifest;
use crate::output;
use crate::output::{CommandError, PrintOptions};

/// Runs the command that `args` name.
pub(crate) fn run(args: &Gpubench) -> Result<Exit, CommandError> {
    let options = PrintOptions { color: args.color, width: args.width };
    let stored = || stored_runs(args);
    let Some(command) = &args.command else { return manual::print(args, options) };
    match command {
        Command::Init(args) => init::init(args, options),
        Command::Run(args) => run::run(args, options),
        Command::Ab(args) => ab::ab(args, options),
        Command::Doctor(args) => doctor::doctor(args, options),
        Command::Report(report) => {
            let stored = stored()?;
            let last = if report.runs.is_empty() { vec![last_run(&stored, args)?] } else { Vec::new() };
            stored::report(&stored, &[&report.runs[..], &last].concat(), report, options)
        }
        Command::Compare(compare) => {
            let stored = stored()?;
            let later = compare.later.clone().map_or_else(|| last_run(&stored, args), Ok)?;
            stored::compare(&stored, &later, compare, options)
        }
        Command::Merge(args) => stored::merge(&stored()?, args, options),
        Command::Fleet(args) => over_time::fleet(args, options),
        Command::History(args) => over_time::history(&stored()?, args, options),
        Command::Verify(args) => verify::verify(args, options),
    }
}

fn stored_runs(args: &Gpubench) -> Result<StoredRuns, CommandError> {
    if let Some(home) = &args.home {
        return Ok(StoredRuns::within(home.clone()));
    }
    let folder = env::current_dir();
    folder.ok().and_then(|folder| StoredRuns::of_project(&folder)).ok_or_else(|| {
        CommandError::usage("this folder and those above have no stored runs: give their folder by --home")
    })
}

/// Returns the name of the last run of the package that the current folder is in. Without a package, and with `--home`, that is the last
/// run of all.
fn last_run(stored: &StoredRuns, args: &Gpubench) -> Result<String, CommandError> {
    let here = env::current_dir().ok().filter(|_| args.home.is_none());
    let package = here.and_then(|here| {
        let folder = here.ancestors().find(|folder| folder.join("Cargo.toml").is_file())?;
        Some(Manifest::read(folder).ok()?.package().ok()?.to_owned())
    });
    Ok(package.map_or_else(|| Ok(LAST.to_owned()), |package| stored.last_of_package(&package))?)
}

/// Loads the run that is called `name`, and warns of the faults of its file.
fn load(stored: &StoredRuns, name: &str) -> Result<NamedRun, CommandError> {
    Ok(with_warnings(name.to_owned(), stored.load(name)?))
}

/// Loads all runs that are called `name`: those of a list, or the one that there is.
fn load_all(stored: &StoredRuns, name: &str) -> Result<Vec<NamedRun>, CommandError> {
    let runs = stored.load_all(name)?.into_iter();
    Ok(runs.map(|NamedStored { name, stored }| with_warnings(name, stored)).collect())
}

fn with_warnings(name: String, stored: Stored) -> NamedRun {
    for fault in stored.faults() {
        output::warn(&format!("{name}: {fault}"));
    }
    NamedRun { name, run: stored.run }
}

/// Returns the selected cases of a run.
fn select(NamedRun { name, mut run }: NamedRun, selection: &CaseSelection) -> Result<Run, CommandError> {
    if let Some(arg) = selection.unknown_arg(&run) {
        let message = format!("--arg {arg}=…: no benchmark of {name} has an argument of this name");
        return Err(CommandError::usage(message));
    }
    let results = run.records.len() + run.skipped.len();
    selection.narrow(&mut run);
    if results > 0 && run.records.is_empty() && run.skipped.is_empty() {
        let message = format!(
            "{name}: the selection ({}) matches none of its {}: `cargo gpubench report {name}` shows them all",
            selection.describe(),
            counted(results, "result")
        );
        return Err(CommandError::new(Exit::Nothing, message));
    }
    Ok(run)
}

/// Returns the exit code for several benchmark binaries: the most important one. A filter need not match in each of them.
fn exit_of_all(ends: impl IntoIterator<Item = Exit>) -> Exit {
    ends.into_iter().filter(|exit| *exit != Exit::Nothing).min().unwrap_or(Exit::Nothing)
}
