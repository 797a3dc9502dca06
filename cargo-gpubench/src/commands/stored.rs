//! The commands on stored runs: `report` prints the tables of runs and tunings and writes a run in other formats, `compare` compares
//! a run with an earlier one, and `merge` makes one run of several.

use std::fs;
use std::path::Path;

use gpubench_records::baseline::{Baseline, check};
use gpubench_records::comparison::Threshold;
use gpubench_records::exit::Exit;
use gpubench_records::files::{StoredRuns, TUNING};
use gpubench_records::record::Run;
use gpubench_records::selection::CaseSelection;
use gpubench_report::export::ExportArgs;
use gpubench_report::join::{Joined, is_share, join};
use gpubench_stats::DECISION_ERROR;
use gpubench_table::export::Format;
use gpubench_tune::Tuning;

use crate::args::{CompareArgs, LimitArgs, MergeArgs, ReportArgs};
use crate::commands::{load, load_all, select};
use crate::output;
use crate::output::{CommandError, PrintOptions, Results};

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

impl LimitArgs {
    /// Sets the limits of a comparison. The equivalence margin is the user's, else that of the run, and at most a regression.
    pub(super) fn set(&self, run: &mut Run) {
        let margin = &mut run.sampling.equivalence_margin;
        *margin = match (self.equivalence_margin, self.fail_on_regression) {
            (Some(given), _) => given,
            (None, Some(Threshold::Fraction(fraction))) => fraction.min(*margin),
            (None, _) => *margin,
        };
        run.regression_threshold = self.fail_on_regression;
    }
}

/// Compares the run `later` with the earlier run of `args`, or with the complete run of the same benchmark binary before it.
pub(super) fn compare(
    stored: &StoredRuns,
    later: &String,
    args: &CompareArgs,
    options: PrintOptions,
) -> Result<Exit, CommandError> {
    let selection = args.selection.selection()?;
    let read: Vec<String> = args.earlier.iter().chain([later]).cloned().collect();
    let results = Results::new(&args.exports, &output::sources(&read, stored), options)?;
    let mut run = select(load(stored, later)?, &selection)?;
    let mut before = match &args.earlier {
        Some(earlier) => load(stored, earlier)?,
        None => stored.before(&run.program.suite, run.started)?,
    };
    selection.narrow(&mut before.run);
    args.limits.set(&mut run);
    let baseline = Baseline::of(before.name, before.run);
    run.baseline_comparison = Some(check(&run, &baseline, &|_| true, DECISION_ERROR));
    results.print_run("", &run, false)?;
    results.write(&run)?;
    Ok(Exit::of(&run))
}

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
