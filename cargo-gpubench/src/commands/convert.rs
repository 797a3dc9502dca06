//! `convert`: a run in another format. In: a run and the format; out: a file, or standard output.

use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::selection::CaseSelection;
use gpubench_report::export::{Export, ExportTo, Format};

use super::load_selected;
use crate::error::CommandError;
use crate::output;

pub(super) fn convert(
    stored: &StoredRuns,
    run: &str,
    selection: &CaseSelection,
    format: Format,
    to: &Path,
) -> Result<Exit, CommandError> {
    let exports = [Export { format, to: ExportTo::of(to.to_owned()) }];
    output::check(&exports, &[run.to_owned()], stored)?;
    output::write(&exports, &load_selected(stored, run, selection)?)?;
    Ok(Exit::Done)
}
