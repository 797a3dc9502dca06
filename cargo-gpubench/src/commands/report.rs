//! `report`: the tables of runs. In: runs; out: their tables, and one of them in other formats.

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::selection::CaseSelection;
use gpubench_report as report;
use gpubench_report::export::{ExportArgs, ExportTo, exports};

use super::{load_all, select};
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

pub(super) fn report(
    stored: &StoredRuns,
    runs: &[String],
    selection: &CaseSelection,
    explain: bool,
    given: &ExportArgs<false>,
    print_options: PrintOptions,
) -> Result<Exit, CommandError> {
    let exports = exports(given.0.clone())?;
    output::check(&exports, runs, stored)?;
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
