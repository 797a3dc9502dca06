//! `merge`: one run of several. In: runs; out: a JSON file with a record for each case, which has the samples of all.

use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::join::{Joined, NamedRun, join};
use gpubench_report::export::{Export, ExportTo, Format};

use super::load;
use crate::error::CommandError;
use crate::output;

pub(super) fn merge(stored: &StoredRuns, runs: &[String], to: &Path) -> Result<Exit, CommandError> {
    let exports = [Export { format: Format::Json, to: ExportTo::of(to.to_owned()) }];
    output::check(&exports, runs, stored)?;
    let named = |name: &String| Ok(NamedRun { name: name.clone(), run: load(stored, name)? });
    let runs = runs.iter().map(named).collect::<Result<Vec<_>, CommandError>>()?;
    let Joined { run, remarks } = join(runs)?;
    remarks.iter().for_each(|remark| output::warn(remark));
    output::write(&exports, &run)?;
    Ok(Exit::Done)
}
