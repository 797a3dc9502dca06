//! `merge`: one run of several. In: runs; out: a JSON file with a record for each case, which has the samples of all.

use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::join::{Joined, join};
use gpubench_report::export::{Export, ExportTo, Format};

use super::load_all;
use crate::error::CommandError;
use crate::output;

pub(super) fn merge(stored: &StoredRuns, runs: &[String], to: &Path) -> Result<Exit, CommandError> {
    let exports = [Export { format: Format::Json, to: ExportTo::of(to.to_owned()) }];
    output::check(&exports, runs, stored)?;
    let runs = runs.iter().map(|name| load_all(stored, name)).collect::<Result<Vec<_>, _>>()?;
    let Joined { run, remarks } = join(runs.concat())?;
    remarks.iter().for_each(|remark| output::warn(remark));
    output::write(&exports, &run)?;
    Ok(Exit::Done)
}
