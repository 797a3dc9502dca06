//! `merge`: makes one run of several. Its record of a case has the samples of all.

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_report::export::ExportArgs;
use gpubench_report::join::{Joined, is_share, join};
use gpubench_table::export::Format;

use super::load_all;
use crate::args::MergeArgs;
use crate::error::CommandError;
use crate::output::{self, PrintOptions, Results};

pub(super) fn merge(
    stored: &StoredRuns,
    args: &MergeArgs,
    options: PrintOptions,
) -> Result<Exit, CommandError> {
    let file = ExportArgs(vec![(Format::JSON, args.output.clone())]);
    let results = Results::new(&file, &output::sources(&args.runs, stored), options)?;
    let loaded: Vec<_> = args.runs.iter().map(|name| load_all(stored, name)).collect();
    let is_split = loaded.iter().flatten().flatten().any(|named| is_share(&named.run));
    let mut exit = Exit::Done;
    let mut runs = Vec::new();
    for loaded in loaded {
        match loaded {
            Ok(mut loaded) => runs.append(&mut loaded),
            // A task that died may have left an unreadable file: its share is reported as missing.
            Err(error) if is_split => {
                output::warn(&format!("left out: {error}"));
                exit = Exit::Failed;
            }
            Err(error) => return Err(error),
        }
    }
    let Joined { run, remarks, missing } =
        join(runs).map_err(|error| CommandError::usage(error).within("these runs cannot be merged"))?;
    remarks.iter().chain(&missing).for_each(|remark| output::warn(remark));
    results.write(&run)?;
    Ok(if missing.is_none() { exit } else { Exit::Failed })
}
