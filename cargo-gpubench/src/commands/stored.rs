//! The commands on stored runs: `report` prints runs and tunings and exports runs, `compare` compares a run with
//! an earlier one, and `merge` joins several runs.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use gpubench_records::baseline::{Baseline, check};
use gpubench_records::{
    ArgValues, BaselineFinding, CaseSelection, Exit, Run, Threshold, comparison::equivalence_margin,
    files::Header, selection::parse_filters,
};
use gpubench_report::{
    join::{JoinedRun, is_split_share, join},
    loading::retain_selected,
    stored_runs::{NamedRun, StoredRuns},
};
use gpubench_runner::CacheStates;
use gpubench_stats::DECISION_ERROR;
use gpubench_table::check_columns;
use gpubench_tune::{TUNING, Tuning};

use super::{load, load_all, select_cases};
use crate::output::{self, CommandError, ExportArgs, PrintOptions, Result, ResultDestinations, bail};

#[derive(Args)]
pub(super) struct ReportArgs {
    /// The runs: files that --json or --save-tuning wrote, names or numbers of stored runs (1 is the newest), baselines, or `last`
    /// [default: the last run of this package]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Add how each number came about
    #[arg(long)]
    explain: bool,
    /// Show these columns, in this order, such as time,±,p50,p99 [default: the columns that the benchmark binary printed]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    columns: Vec<String>,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    exports: ExportArgs,
}

#[derive(Args)]
pub(super) struct CompareArgs {
    /// The earlier run: a file that --json wrote, the name or number of a stored run (1 is the newest), a baseline, or `last`
    /// [default: the last complete run of the same benchmark binary before LATER]
    #[arg(value_name = "EARLIER")]
    pub earlier: Option<String>,
    /// The later run, in the same form [default: the last run of this package]
    #[arg(value_name = "LATER")]
    pub later: Option<String>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    exports: ExportArgs,
}

#[derive(Args)]
pub(super) struct MergeArgs {
    /// The runs to merge: files that --json wrote, or names or numbers of stored runs (1 is the newest)
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// The file to write, as JSON
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

/// The flags that set the limits of a comparison.
#[derive(Args)]
pub(super) struct LimitArgs {
    /// Times that differ by less than this count as equal [default: the later run's `equivalence-margin`, usually 0.5, or
    /// --fail-on-regression if smaller]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percentage, help_heading = "Comparison")]
    equivalence_margin: Option<f64>,
    /// Exit with 3 if a result is slower by PERCENT or more, and with 1 if such a difference is undecided
    ///
    /// `noise` instead of PERCENT: each slower result is a regression. Then both runs together need three processes or more on
    /// the same GPU: `ab` usually starts more; for `compare`, measure with `cargo bench -- --runs 5`.
    #[arg(long, value_name = "PERCENT", help_heading = "Comparison")]
    fail_on_regression: Option<Threshold>,
}

/// The flags that select results, as those of a benchmark binary do.
#[derive(Args)]
pub(super) struct SelectionArgs {
    /// Take only results whose names contain one of these texts, or match a /regex/ such as `/sum.*n=1024/`
    #[arg(value_name = "FILTER", last = true)]
    names: Vec<String>,

    /// Match whole names, in filters and in --skip
    #[arg(long, help_heading = "Selection")]
    exact: bool,

    /// Leave out results whose names contain this
    #[arg(long, value_name = "FILTER", help_heading = "Selection")]
    skip: Vec<String>,

    /// Take only results with these values of an argument, as in n=1024,4096; results without this argument stay
    #[arg(long = "arg", value_name = "NAME=VALUE,…", help_heading = "Selection")]
    args: Vec<ArgValues>,

    /// Take only hot or only cold results
    #[arg(long, help_heading = "Selection")]
    cache: Option<CacheStates>,

    /// Take only results of these devices: `0`, `cuda:0`, a kind such as `cuda`, or a UUID, separated by commas
    #[arg(long, help_heading = "Selection")]
    device: Option<String>,
}

impl SelectionArgs {
    /// Returns the selection that the flags make, as a benchmark binary does. A wrong pattern is an error.
    pub(super) fn selection(&self) -> Result<CaseSelection> {
        Ok(CaseSelection {
            filters: parse_filters(&self.names, self.exact).map_err(CommandError::usage)?,
            exact: self.exact,
            skip: parse_filters(&self.skip, self.exact).map_err(CommandError::usage)?,
            args: ArgValues::by_name(&self.args),
            caches: self.cache.filter(|it| *it != CacheStates::Both).map(CacheStates::list),
            device: self.device.clone(),
        })
    }
}

/// Parses a percentage above 0 and below 100. Returns it as a fraction.
pub(super) fn parse_percentage(text: &str) -> Result<f64, &'static str> {
    let part = Threshold::part(text).filter(|part| *part < 1.0);
    part.ok_or("give a percentage above 0 and below 100, such as 5%")
}

/// Runs the command `report` with these `runs`.
pub(super) fn report(
    stored: &StoredRuns,
    runs: &[String],
    args: &ReportArgs,
    options: PrintOptions,
) -> Result<Exit> {
    let selection = args.selection.selection()?;
    check_columns(&args.columns).map_err(CommandError::usage)?;
    let results = ResultDestinations::new(&args.exports, &output::run_files(runs, stored), options)?;
    if let [file] = runs
        && let Some(json) = read_tuning(file)
    {
        let is_changed = args.explain || !args.columns.is_empty() || !results.exports.is_empty();
        if is_changed || selection != CaseSelection::default() {
            bail!(
                Usage,
                "{file} is a tuning: --explain, --columns, files of results and flags that select results are for runs"
            );
        }
        let tuning = Tuning::parse(&json).map_err(|error| CommandError::usage(format!("{file}: {error}")))?;
        results.print_unless_exported(&gpubench_tune::table(&tuning, options.page()))?;
        return Ok(tuning.exit());
    }
    let runs: Vec<_> = runs.iter().map(|name| load_all(stored, name)).collect::<Result<_, _>>()?;
    let runs = runs.concat();
    let count = runs.len();
    if !results.exports.is_empty() && count > 1 {
        bail!(
            Usage,
            "a file of results holds one run: name one of the {count}, or merge them by `cargo gpubench merge`"
        );
    }
    let mut exit = Exit::Done;
    for (number, named) in runs.into_iter().enumerate() {
        let title = match (count, number) {
            (1, _) => String::new(),
            (_, 0) => format!("{}:\n", named.name),
            _ => format!("\n{}:\n", named.name),
        };
        let mut run = select_cases(named, &selection)?;
        if !args.columns.is_empty() {
            run.columns.clone_from(&args.columns);
        }
        results.print_run(&title, &run, args.explain)?;
        results.write_run(&run)?;
        exit = exit.min(Exit::of(&run));
    }
    results.print_file_names();
    Ok(exit)
}

/// Returns the contents of `file` if it is a tuning; `None` for any other file, and for a name that is no
/// regular file.
fn read_tuning(file: &str) -> Option<Vec<u8>> {
    // A pipe can be read only once, when it is loaded as a run.
    let json = Path::new(file).is_file().then(|| fs::read(file).ok())??;
    is_tuning(&json).then_some(json)
}

/// Returns true if the document states the format of a tuning in its `schema`, in any version.
fn is_tuning(json: &[u8]) -> bool {
    let name = |schema: &str| Some(schema.split_once('/')?.0.to_owned());
    let schema = TUNING.parse(json).ok().and_then(Header::schema);
    schema.is_some_and(|schema| name(&schema) == name(TUNING.schema))
}

impl LimitArgs {
    /// Sets the limits of a comparison in `run`: the user's regression threshold, and the equivalence margin.
    /// The margin is the user's, or else that of the run, reduced to the threshold if that is a smaller
    /// percentage.
    pub(super) fn apply_to(&self, run: &mut Run) {
        let (margin, threshold) = (&mut run.sampling.equivalence_margin, self.fail_on_regression);
        *margin = equivalence_margin(self.equivalence_margin, threshold, *margin);
        run.regression_threshold = threshold;
    }
}

/// Runs the command `compare`. Without an `earlier` run, compares with the last complete run of the same
/// benchmark binary before `later`.
pub(super) fn compare(
    stored: &StoredRuns,
    earlier: Option<NamedRun>,
    later: &String,
    args: &CompareArgs,
    options: PrintOptions,
) -> Result<Exit> {
    let selection = args.selection.selection()?;
    let read: Vec<String> = args.earlier.iter().chain([later]).cloned().collect();
    let results = ResultDestinations::new(&args.exports, &output::run_files(&read, stored), options)?;
    let mut run = select_cases(load(stored, later)?, &selection)?;
    let mut before = match earlier {
        Some(earlier) => earlier,
        None => stored.previous_run(later, &run)?,
    };
    retain_selected(&selection, &mut before.run);
    args.limits.apply_to(&mut run);
    let message = format!("{} and {later} have no result in common", before.name);
    let baseline = Baseline::new(before.name, before.run);
    let comparison = check(&run, &baseline, &|_| true, DECISION_ERROR);
    // The table says so of a run without results.
    let is_disjoint = !run.records.is_empty()
        && comparison.findings.iter().all(|line| line.finding == BaselineFinding::New);
    run.baseline_comparison = Some(comparison);
    results.print_run("", &run, false)?;
    results.write_run(&run)?;
    results.print_file_names();
    if is_disjoint {
        bail!(Nothing, "{message}");
    }
    Ok(Exit::of(&run))
}

/// Runs the command `merge`. If any of the runs is a share of a split run, a file that cannot be read is only
/// a warning, since a task may have died while it wrote the file. The exit code is then [`Exit::Failed`], as
/// for missing cases of a split run.
pub(super) fn merge(stored: &StoredRuns, args: &MergeArgs, options: PrintOptions) -> Result<Exit> {
    let results = ResultDestinations::for_json(
        &Some(args.output.clone()),
        &output::run_files(&args.runs, stored),
        options,
    )?;
    let loaded: Vec<_> = args.runs.iter().map(|name| load_all(stored, name)).collect();
    let is_split = loaded.iter().flatten().flatten().any(|named| is_split_share(&named.run));
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
    let JoinedRun { run, remarks, missing } =
        join(runs).map_err(|error| CommandError::usage(error).with_context("these runs cannot be merged"))?;
    remarks.iter().chain(&missing).for_each(|remark| output::warn(remark));
    results.write_run(&run)?;
    results.print_file_names();
    Ok(if missing.is_none() { exit } else { Exit::Failed })
}

#[cfg(test)]
mod tests {
    use super::is_tuning;

    #[test]
    fn the_format_of_a_document_is_told_by_its_schema_alone() {
        let is_tuning = |json: &str| is_tuning(json.as_bytes());
        assert!(is_tuning(r#"{"schema": "gpubench-tuning/2", "wanted": 3}"#));
        assert!(is_tuning(r#"{"schema": "gpubench-tuning/9", "wanted": []}"#));
        assert!(!is_tuning(r#"{"schema": "gpubench/3"}"#) && !is_tuning(r#"{"schema": "gpubench-tuning"}"#));
        assert!(!is_tuning("") && !is_tuning("[]") && !is_tuning(r#"{"schema": 1}"#));
    }
}
