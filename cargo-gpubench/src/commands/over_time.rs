//! The commands on many runs: `history` adds runs to a history and finds the changes of each case over its commits, and `fleet` finds
//! the slow GPUs among the runs of many.

use std::path::{Path, PathBuf};

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::history::{Added, add};
use gpubench_records::selection::parse_filters;
use gpubench_report::fleet::{FleetReport, FleetRules, FleetRuns, fleet_files};
use gpubench_report::history::{History, HistoryFilter, HistoryRules};
use gpubench_report::{fleet, history};
use gpubench_table::export::ExportTo;

use crate::args::{FleetArgs, HistoryArgs, HistoryCommand};
use crate::commands::load_all;
use crate::commands::revision::{commit_order, whole_hash};
use crate::output;
use crate::output::{CommandError, PrintOptions};

pub(super) fn history(
    stored: &StoredRuns,
    args: &HistoryArgs,
    options: PrintOptions,
) -> Result<Exit, CommandError> {
    let beside = |folder: &Option<PathBuf>| folder.clone().unwrap_or_else(|| stored.home().join("history"));
    match &args.command {
        Some(HistoryCommand::Add { runs, history, commit }) => {
            add_all(stored, runs, &beside(history), commit.as_deref())
        }
        None => changes(&beside(&args.folder), args, options),
    }
}

fn add_all(
    stored: &StoredRuns,
    names: &[String],
    folder: &Path,
    commit: Option<&str>,
) -> Result<Exit, CommandError> {
    let mut runs = Vec::new();
    for name in names {
        runs.extend(load_all(stored, name)?);
    }
    let is_hash = |commit: &str| commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let refused = match commit {
        Some(commit) if !is_hash(commit) => {
            format!("--commit {commit}: give the hash of a commit, of 7 digits or more")
        }
        Some(_) if runs.len() > 1 => {
            format!("a commit is named for {} runs: add them one by one", runs.len())
        }
        _ => String::new(),
    };
    if !refused.is_empty() {
        return Err(CommandError::usage(refused));
    }
    let commit = commit.map(|digits| whole_hash(digits).unwrap_or_else(|| digits.to_owned()));
    for named in runs {
        let Added { file, was_there, .. } = add(folder, &named.run, commit.as_deref())
            .map_err(|error| CommandError::failed(error).within(&named.name))?;
        let done = if was_there { "is there already" } else { "added" };
        output::note(&format!("{}: {done}: {}", named.name, file.display()));
    }
    Ok(Exit::Done)
}

fn changes(folder: &Path, args: &HistoryArgs, options: PrintOptions) -> Result<Exit, CommandError> {
    let filter = HistoryFilter { names: parse_filters(&args.filters, false)?, by_model: args.by_model };
    let json = args.json.clone().map(ExportTo::of);
    if let Some(to) = &json {
        output::check_destination(to, &[])?;
    }
    const MAKE: &str = "`cargo gpubench history add RUN` adds runs";
    let shown = folder.display();
    let history = History::read(folder, &filter).map_err(|error| {
        let hint = "The first argument is the folder, and filters follow it";
        CommandError::usage(format!("{shown} is no history: {error}. {hint}; {MAKE}"))
    })?;
    if history.is_empty() {
        history.faults.iter().for_each(|fault| output::warn(fault));
        return Err(CommandError::new(Exit::Nothing, format!("no run is in {shown}: {MAKE}")));
    }
    let order = commit_order(&history.commits()).unwrap_or_default();
    let rules = HistoryRules {
        equivalence_margin: args.equivalence_margin,
        last: args.last.map(|last| last as usize),
    };
    let found = history.in_order(&order).report(rules);
    output::answer(&history::render(&found, options.page()), &found, json.as_ref(), options)?;
    Ok(found.exit(args.fail_on_change))
}

pub(super) fn fleet(args: &FleetArgs, options: PrintOptions) -> Result<Exit, CommandError> {
    let json = args.json.clone().map(ExportTo::of);
    if let Some(to) = &json {
        let sources: Vec<ExportTo> = fleet_files(&args.files).0.into_iter().map(ExportTo::File).collect();
        output::check_destination(to, &sources)?;
    }
    let runs = FleetRuns::read(&args.files, &args.selection.selection()?);
    if let Some(first) = runs.unread.first().filter(|_| runs.is_empty()) {
        return Err(CommandError::usage(format!("no run could be read. {first}")));
    }
    let answer = FleetReport::new(runs, FleetRules { least: args.least, false_discoveries: args.fdr });
    output::answer(&fleet::render(&answer, options.page()), &answer, json.as_ref(), options)?;
    Ok(answer.exit())
}
