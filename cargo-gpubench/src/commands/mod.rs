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
use crate::error::Error;
use crate::output;
use crate::output::Look;

/// Does what `args` say.
pub(crate) fn run(args: &Gpubench) -> Result<Exit, Error> {
    let stored = stored_runs(args)?;
    let look = Look { color: args.color, width: args.width };
    match &args.command {
        Command::Report { runs, explain, selection, exports } => {
            report::report(&stored, runs, &selection.selection(), *explain, exports, look)
        }
        Command::Show { run, case, exact } => show::show(&stored, run, case, *exact, look),
        Command::List => list::list(&stored, look),
        Command::Compare { earlier, later, band, fail_on_regression, selection, exports } => {
            let limits = compare::Limits::parse(band.as_deref(), fail_on_regression.as_deref())?;
            let comparison = compare::Comparison { earlier, later, selection: selection.selection(), limits };
            compare::compare(&stored, &comparison, exports, look)
        }
        Command::Merge { runs, output } => merge::merge(&stored, runs, output),
        Command::Convert { run, to, output, selection } => {
            convert::convert(&stored, run, &selection.selection(), *to, output)
        }
    }
}

fn stored_runs(args: &Gpubench) -> Result<StoredRuns, Error> {
    if let Some(home) = &args.home {
        return Ok(StoredRuns::within(home.clone()));
    }
    let folder = env::current_dir().map_err(Error::NoFolder)?;
    StoredRuns::of_project(&folder).ok_or(Error::NoHome)
}

/// Loads the run that is called `name`, and warns of the faults of its file.
fn load(stored: &StoredRuns, name: &str) -> Result<Run, Error> {
    let Stored { run, remarks } = stored.load(name)?;
    for remark in remarks {
        output::warn(&format!("{name}: {remark}"));
    }
    Ok(run)
}

/// Loads the selected cases of the run that is called `name`.
fn load_selected(stored: &StoredRuns, name: &str, selection: &CaseSelection) -> Result<Run, Error> {
    let mut run = load(stored, name)?;
    let there = run.records.len() + run.skipped.len();
    selection.narrow(&mut run);
    if there > 0 && run.records.is_empty() && run.skipped.is_empty() {
        let cases = if there == 1 { "1 case".to_owned() } else { format!("{there} cases") };
        return Err(Error::NothingSelected { run: name.to_owned(), cases, selection: selection.describe() });
    }
    Ok(run)
}
