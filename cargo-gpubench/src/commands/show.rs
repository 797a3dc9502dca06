//! `show`: everything about some cases. In: a run and part of their names; out: their rows, and how each number came about.

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::selection::CaseSelection;
use gpubench_report as report;

use super::load_selected;
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

pub(super) fn show(
    stored: &StoredRuns,
    run: &str,
    case: &str,
    exact: bool,
    print_options: PrintOptions,
) -> Result<Exit, CommandError> {
    let selection = CaseSelection { filters: vec![case.into()], exact, ..CaseSelection::default() };
    let run = load_selected(stored, run, &selection)?;
    output::print(
        &format!(
            "{}{}",
            report::render(&run, print_options.page()),
            report::explain(&run, print_options.page())
        ),
        print_options,
    )?;
    Ok(Exit::of(&run))
}
