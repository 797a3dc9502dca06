//! The commands. In: the command line; out: the exit code, or an error for the edge to print.

mod compare;
mod convert;
mod list;
mod merge;
mod report;
mod show;

use std::env;

use gpubench_records::exit::Exit;
use gpubench_records::files::{Stored, StoredRuns};
use gpubench_records::record::Run;
use gpubench_records::selection::CaseSelection;

use crate::args::{Command, Gpubench};
use crate::error::CommandError;
use crate::output;
use crate::output::PrintOptions;

/// Does what `args` say.
pub(crate) fn run(args: &Gpubench) -> Result<Exit, CommandError> {
    let stored = stored_runs(args)?;
    let print_options = PrintOptions { color: args.color, width: args.width };
    match &args.command {
        Command::Report { runs, explain, selection, exports } => {
            report::report(&stored, runs, &selection.selection(), *explain, exports, print_options)
        }
        Command::Show { run, case, exact } => show::show(&stored, run, case, *exact, print_options),
        Command::List => list::list(&stored, print_options),
        Command::Compare { earlier, later, band, fail_on_regression, selection, exports } => {
            let limits = compare::Limits::parse(band.as_deref(), fail_on_regression.as_deref())?;
            let comparison =
                compare::ComparedRuns { earlier, later, selection: selection.selection(), limits };
            compare::compare(&stored, &comparison, exports, print_options)
        }
        Command::Merge { runs, output } => merge::merge(&stored, runs, output),
        Command::Convert { run, to, output, selection } => {
            convert::convert(&stored, run, &selection.selection(), *to, output)
        }
    }
}

fn stored_runs(args: &Gpubench) -> Result<StoredRuns, CommandError> {
    if let Some(home) = &args.home {
        return Ok(StoredRuns::within(home.clone()));
    }
    let folder = env::current_dir().map_err(CommandError::NoFolder)?;
    StoredRuns::of_project(&folder).ok_or(CommandError::NoHome)
}

/// Loads the run that is called `name`, and warns of the faults of its file.
fn load(stored: &StoredRuns, name: &str) -> Result<Run, CommandError> {
    let Stored { run, remarks } = stored.load(name)?;
    for remark in remarks {
        output::warn(&format!("{name}: {remark}"));
    }
    Ok(run)
}

/// Loads the selected cases of the run that is called `name`.
fn load_selected(stored: &StoredRuns, name: &str, selection: &CaseSelection) -> Result<Run, CommandError> {
    let mut run = load(stored, name)?;
    let there = run.records.len() + run.skipped.len();
    selection.narrow(&mut run);
    if there > 0 && run.records.is_empty() && run.skipped.is_empty() {
        let cases = if there == 1 { "1 case".to_owned() } else { format!("{there} cases") };
        return Err(CommandError::NothingSelected {
            run: name.to_owned(),
            cases,
            selection: selection.describe(),
        });
    }
    Ok(run)
}
