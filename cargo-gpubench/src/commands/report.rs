//! `report`: the tables of runs, and the answers of tunings. In: runs, or files of tunings; out: their tables, and one of them in other
//! formats.

use std::fs;
use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_records::files::{StoredRuns, TUNING};
use gpubench_records::selection::CaseSelection;
use gpubench_records::tuning::Tuning;
use gpubench_report::export::ExportArgs;
use gpubench_table as report;
use gpubench_table::export::{ExportTo, exports};

use super::{load_all, select};
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

pub(super) fn report(
    stored: &StoredRuns,
    runs: &[String],
    selection: &CaseSelection,
    explain: bool,
    given: &ExportArgs,
    print_options: PrintOptions,
) -> Result<Exit, CommandError> {
    let exports = exports(given.0.clone())?;
    output::check(&exports, runs, stored)?;
    if let [file] = runs
        && let Some(json) = tuning_in(file)
    {
        if explain || !exports.is_empty() || *selection != CaseSelection::default() {
            return Err(CommandError::NotOfTunings(file.clone()));
        }
        return tuning(file, &json, print_options);
    }
    // A file may have several.
    let runs = runs.iter().map(|name| load_all(stored, name)).collect::<Result<Vec<_>, _>>()?;
    let runs = runs.concat();
    let count = runs.len();
    if !exports.is_empty() && count > 1 {
        return Err(CommandError::SeveralRuns(count));
    }
    let mut exit = Exit::Done;
    for (number, named) in runs.into_iter().enumerate() {
        let name = named.name.clone();
        let run = select(named, selection)?;
        if !exports.iter().any(|export| export.to == ExportTo::StandardOutput) {
            let mut text = report::render(&run, print_options.page());
            if explain {
                text += &report::explain(&run, print_options.page());
            }
            let title = match (count, number) {
                (1, _) => String::new(),
                (_, 0) => format!("{name}:\n"),
                _ => format!("\n{name}:\n"),
            };
            output::print(&format!("{title}{text}"), print_options)?;
        }
        output::write(&exports, &run)?;
        exit = exit.min(Exit::of(&run));
    }
    Ok(exit)
}

/// Returns the contents of a file that says it is a tuning.
fn tuning_in(file: &str) -> Option<Vec<u8>> {
    // A pipe is read once, and by whoever reads runs.
    let json = Path::new(file).is_file().then(|| fs::read(file).ok())??;
    TUNING.is_format_of(&json).then_some(json)
}

fn tuning(file: &str, json: &[u8], print_options: PrintOptions) -> Result<Exit, CommandError> {
    let tuning = Tuning::parse(json)
        .map_err(|error| CommandError::NoTuning { file: file.to_owned(), error: Box::new(error) })?;
    output::print(&report::tuning(&tuning, print_options.page()), print_options)?;
    Ok(tuning.exit())
}
