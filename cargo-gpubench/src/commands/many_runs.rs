//! The commands on many runs: `history` adds runs to a history and finds the commits that changed each case, and
//! `fleet` finds slow GPUs.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use gpubench_records::{Exit, selection::parse_filters};
use gpubench_report::{
    fleet::{self, FleetReport, FleetRules, FleetRuns},
    history::{self, History, HistoryRules, add_to_history, is_commit_hash},
    loading::find_run_files,
    stored_runs::StoredRuns,
};
use gpubench_runner::__private::whole_number;
use gpubench_stats::format::joined;

use super::load_all;
use super::revision::{commit_order, full_hash};
use super::stored::{SelectionArgs, parse_percentage};
use crate::output::{self, CommandError, PrintOptions, Result, ResultDestinations, bail};

/// The arguments of `cargo gpubench history`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct HistoryArgs {
    #[command(subcommand)]
    command: Option<HistoryCommand>,
    /// The folder of the history [default: `history` next to the stored runs]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Report only results whose names contain one of these texts, or match a /regex/ such as `/sum.*n=1024/`
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Report changes of at least this
    #[arg(long, value_name = "PERCENT", value_parser = parse_percentage, default_value = "0.5%")]
    equivalence_margin: f64,
    /// Report only changes that begin in one of the last RUNS runs of the same benchmark and device
    #[arg(long, value_name = "RUNS", value_parser = whole_number(1..=1_000_000))]
    last: Option<usize>,
    /// Exit with 3 if a reported change is a slowdown and the benchmark is still slower than before it; see --last
    #[arg(long)]
    fail_on_change: bool,
    /// Write the changes as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
}

/// What to do with a history.
#[derive(Subcommand)]
enum HistoryCommand {
    /// Add runs to a history, each as a small file under its commit, without samples
    Add {
        /// The runs: files that --json wrote, names or numbers of stored runs (1 is the newest), or `last`
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        /// The folder of the history [default: `history` next to the stored runs]
        #[arg(long, value_name = "DIR")]
        history: Option<PathBuf>,
        /// The commit that the run measured [default: the commit that the run stored]
        #[arg(long, value_name = "HASH")]
        commit: Option<String>,
    },
}

#[derive(Args)]
pub(super) struct FleetArgs {
    /// Files that --json wrote or gpubench stored, and folders with such files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// How much slower than the other GPUs a slow GPU is, at least
    #[arg(long, value_name = "PERCENT", value_parser = parse_percentage, default_value = "1%")]
    least: f64,
    /// Of the GPUs reported as slow, this part may be wrong on average (the false discovery rate)
    #[arg(long, value_name = "PERCENT", value_parser = parse_percentage, default_value = "1%")]
    fdr: f64,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Write the answer as JSON: each GPU on each peak, with intervals
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    json: Option<PathBuf>,
}

/// Runs the command `history` or `history add`.
pub(super) fn history(stored: &StoredRuns, args: &HistoryArgs, options: PrintOptions) -> Result<Exit> {
    let beside = |folder: &Option<PathBuf>| folder.clone().unwrap_or_else(|| stored.home().join("history"));
    match &args.command {
        Some(HistoryCommand::Add { runs, history, commit }) => {
            add_all(stored, runs, &beside(history), commit.as_deref())
        }
        None => report_changes(&beside(&args.folder), args, options),
    }
}

/// Adds all runs with these names to the history in `folder`, and prints a note on each. `commit` overrides
/// the commit of a single run; with several runs it is an error.
fn add_all(stored: &StoredRuns, names: &[String], folder: &Path, commit: Option<&str>) -> Result<Exit> {
    let mut runs = Vec::new();
    for name in names {
        runs.extend(load_all(stored, name)?);
    }
    if let Some(commit) = commit {
        if !is_commit_hash(commit) {
            bail!(Usage, "--commit {commit}: give the hash of a commit, of 7 digits or more");
        }
        if runs.len() > 1 {
            bail!(Usage, "a commit is named for {} runs: add them one by one", runs.len());
        }
    }
    let commit = commit.map(|digits| full_hash(digits).unwrap_or_else(|| digits.to_owned()));
    for named in runs {
        let (file, was_there) = add_to_history(folder, &named.run, commit.as_deref())
            .map_err(|error| CommandError::failed(error).with_context(&named.name))?;
        let done = if was_there { "is there already" } else { "added" };
        output::note(&format!("{}: {done}: {}", named.name, file.display()));
    }
    Ok(Exit::Done)
}

/// Prints the changes in the history in `folder`, and writes them to the file that the user names.
fn report_changes(folder: &Path, args: &HistoryArgs, options: PrintOptions) -> Result<Exit> {
    let filters = parse_filters(&args.filters, false).map_err(CommandError::usage)?;
    let results = ResultDestinations::for_json(&args.json, &[], options)?;
    let shown = folder.display();
    let make = format!("`cargo gpubench history add RUN --history {shown}` adds a run");
    let history = History::read(folder, &filters).map_err(|error| {
        let exit = if args.folder.is_some() { Exit::Usage } else { Exit::Nothing };
        let message = format!(
            "no history in `{shown}`: {error}. {make}. If `{shown}` is a filter, write `cargo gpubench history FOLDER {shown}`"
        );
        CommandError::new(exit, message)
    })?;
    if history.is_empty() {
        history.faults.iter().for_each(|fault| output::warn(fault));
        bail!(Nothing, "no run is in {shown}: {make}");
    }
    let order = commit_order(&history.commits()).unwrap_or_default();
    let rules = HistoryRules { equivalence_margin: args.equivalence_margin, last: args.last };
    let found = history.ordered_by_commits(&order).report(rules);
    if found.cases.is_empty() && !args.filters.is_empty() {
        let filters = args.filters.join("` or `");
        bail!(Nothing, "no result in {shown} matches `{filters}`: without a filter, all are shown");
    }
    results.print_and_write(&history::render(&found, options.page()), &found)?;
    Ok(found.exit(args.fail_on_change))
}

/// Runs the command `fleet`.
pub(super) fn fleet(args: &FleetArgs, options: PrintOptions) -> Result<Exit> {
    let sources: Vec<PathBuf> = find_run_files(&args.files).0.into_iter().collect();
    let results = ResultDestinations::for_json(&args.json, &sources, options)?;
    let runs = FleetRuns::read(&args.files, &args.selection.selection()?);
    if let Some(first) = runs.unread.first().filter(|_| runs.is_empty()) {
        bail!(Usage, "no run could be read. {first}");
    }
    if sources.is_empty() {
        let folders = joined(args.files.iter().map(|folder| folder.display()), "` or `");
        bail!(
            Nothing,
            "no file in `{folders}` ends in .json or .jsonl: give the files that `cargo bench -- --json FILE` wrote, or a folder of them"
        );
    }
    let answer = FleetReport::new(runs, FleetRules { least: args.least, false_discoveries: args.fdr });
    results.print_and_write(&fleet::render(&answer, options.page()), &answer)?;
    Ok(answer.exit())
}
