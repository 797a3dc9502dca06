//! `merge`: one run of several. In: runs; out: a JSON file with a record for each case, which has the samples of all.

use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_report::join::{Joined, is_share, join};
use gpubench_table::export::{Export, ExportTo, Format};

use super::load_all;
use crate::error::CommandError;
use crate::output;

pub(super) fn merge(stored: &StoredRuns, runs: &[String], to: &Path) -> Result<Exit, CommandError> {
    let exports = [Export { format: Format::JSON, to: ExportTo::of(to.to_owned()) }];
    output::check(&exports, runs, stored)?;
    let loaded: Vec<_> = runs.iter().map(|name| load_all(stored, name)).collect();
    let is_split = loaded.iter().flatten().flatten().any(|named| is_share(&named.run));
    let mut exit = Exit::Done;
    let mut runs = Vec::new();
    for loaded in loaded {
        match loaded {
            Ok(mut loaded) => runs.append(&mut loaded),
            // A task that died may have left nothing that can be read: its share is then told to be missing.
            Err(error) if is_split => {
                output::warn(&format!("left out: {error}"));
                exit = Exit::Failed;
            }
            Err(error) => return Err(error),
        }
    }
    let Joined { run, remarks, missing } = join(runs)?;
    remarks.iter().chain(&missing).for_each(|remark| output::warn(remark));
    output::write(&exports, &run)?;
    Ok(if missing.is_empty() { exit } else { Exit::Failed })
}
