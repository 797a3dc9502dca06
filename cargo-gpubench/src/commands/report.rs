//! `report`: prints the tables of runs and tunings, and writes a run in other formats.

use std::fs;
use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_records::files::{StoredRuns, TUNING};
use gpubench_records::selection::CaseSelection;
use gpubench_tune::Tuning;

use super::{load_all, select};
use crate::args::ReportArgs;
use crate::error::CommandError;
use crate::output::{self, PrintOptions, Results};

/// Reports `runs`, which are those of `args` or the last run.
pub(super) fn report(
    stored: &StoredRuns,
    runs: &[String],
    args: &ReportArgs,
    options: PrintOptions,
) -> Result<Exit, CommandError> {
    let selection = args.selection.selection()?;
    let results = Results::new(&args.exports, &output::sources(runs, stored), options)?;
    if let [file] = runs
        && let Some(json) = read_tuning(file)
    {
        if args.explain || !results.exports.is_empty() || selection != CaseSelection::default() {
            let message =
                "is a tuning: --explain, files of results and flags that select results are for runs";
            return Err(CommandError::usage(format!("{file} {message}")));
        }
        let tuning = Tuning::parse(&json).map_err(|error| CommandError::usage(format!("{file}: {error}")))?;
        results.print(&gpubench_tune::table(&tuning, options.page()))?;
        return Ok(tuning.exit());
    }
    let runs: Vec<_> = runs.iter().map(|name| load_all(stored, name)).collect::<Result<_, _>>()?;
    let runs = runs.concat();
    let count = runs.len();
    if !results.exports.is_empty() && count > 1 {
        return Err(CommandError::usage(format!(
            "a file of results holds one run: name one of the {count}, or merge them by `cargo gpubench merge`"
        )));
    }
    let mut exit = Exit::Done;
    for (number, named) in runs.into_iter().enumerate() {
        let title = match (count, number) {
            (1, _) => String::new(),
            (_, 0) => format!("{}:\n", named.name),
            _ => format!("\n{}:\n", named.name),
        };
        let run = select(named, &selection)?;
        results.print_run(&title, &run, args.explain)?;
        results.write(&run)?;
        exit = exit.min(Exit::of(&run));
    }
    Ok(exit)
}

/// Returns the contents of a file whose format is that of tunings.
fn read_tuning(file: &str) -> Option<Vec<u8>> {
    // A pipe can be read only once, when it is loaded as a run.
    let json = Path::new(file).is_file().then(|| fs::read(file).ok())??;
    TUNING.is_format_of(&json).then_some(json)
}
