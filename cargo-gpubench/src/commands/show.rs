//! `show`: everything about some cases. In: a run and part of their names; out: their rows, and how each number came about.

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::selection::CaseSelection;
use gpubench_report as report;

use super::load_selected;
use crate::error::Error;
use crate::output::{self, Look};

pub(super) fn show(
    stored: &StoredRuns,
    run: &str,
    case: &str,
    exact: bool,
    look: Look,
) -> Result<Exit, Error> {
    let selection = CaseSelection { filters: vec![case.to_owned()], exact, ..CaseSelection::default() };
    let run = load_selected(stored, run, &selection)?;
    output::print(
        &format!("{}{}", report::render(&run, look.page()), report::explain(&run, look.page())),
        look,
    )?;
    Ok(Exit::Done)
}
