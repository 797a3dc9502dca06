//! `history`: the changes of each case over commits. In: a folder of runs, or runs to add to it; out: the changes, the newest first, as a
//! table, JSON or a page, and exit code 3 for a slower case if that is asked for.

mod confirm;

use std::path::PathBuf;

use gpubench_records::comparison::Threshold;
use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::history::{Added, add};
use gpubench_records::selection::parse_filters;
use gpubench_report::history::{History, HistoryFilter, HistoryRules, render, write_html};
use gpubench_table::export::ExportTo;

use super::load_all;
use super::revision::{commit_order, whole_hash};
use crate::args::{HistoryArgs, HistoryCommand};
use crate::error::{CommandError, HistoryError};
use crate::output::{self, PrintOptions};

pub(super) fn history(
    stored: &StoredRuns,
    args: &HistoryArgs,
    print_options: PrintOptions,
) -> Result<Exit, CommandError> {
    let beside = |folder: &Option<PathBuf>| folder.clone().unwrap_or_else(|| stored.home().join("history"));
    match &args.command {
        Some(HistoryCommand::Add { runs, history, commit }) => {
            add_all(stored, runs, beside(history), commit.as_deref())
        }
        None => changes(beside(&args.folder), args, print_options),
    }
}

fn add_all(
    stored: &StoredRuns,
    names: &[String],
    folder: PathBuf,
    commit: Option<&str>,
) -> Result<Exit, CommandError> {
    let is_hash = |commit: &str| commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(commit) = commit.filter(|commit| !is_hash(commit)) {
        return Err(HistoryError::NoHash(commit.to_owned()).into());
    }
    let mut runs = Vec::new();
    for name in names {
        runs.extend(load_all(stored, name)?);
    }
    if commit.is_some() && runs.len() > 1 {
        return Err(HistoryError::OneCommit(runs.len()).into());
    }
    let commit = commit.map(|digits| whole_hash(digits).unwrap_or_else(|| digits.to_owned()));
    for named in runs {
        let Added { file, was_there, .. } = add(&folder, &named.run, commit.as_deref())
            .map_err(|error| HistoryError::NotAdded { run: named.name.clone(), error })?;
        let done = if was_there { "is there already" } else { "added" };
        output::note(&format!("{}: {done}: {}", named.name, file.display()));
    }
    Ok(Exit::Done)
}

fn changes(folder: PathBuf, args: &HistoryArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let refused = || CommandError::Percentage {
        flag: "--equivalence-margin",
        text: args.equivalence_margin.clone(),
        also: "",
    };
    let margin = Threshold::part(&args.equivalence_margin).ok_or_else(refused)?;
    let rules = HistoryRules { equivalence_margin: margin, last: args.last.map(|last| last as usize) };
    let filter = HistoryFilter { names: parse_filters(&args.filters, false)?, by_model: args.by_model };
    let [json, html] = [&args.json, &args.html].map(|path| path.clone().map(ExportTo::of));
    for to in [&json, &html].into_iter().flatten() {
        output::check_destination(to, &[])?;
    }
    if json.as_ref().zip(html.as_ref()).is_some_and(|(json, html)| json.is(html)) {
        return Err(CommandError::SameFile);
    }
    let history = History::read(&folder, &filter)
        .map_err(|error| HistoryError::Unreadable { folder: folder.clone(), error })?;
    if history.is_empty() {
        history.faults.iter().for_each(|fault| output::warn(fault));
        return Err(HistoryError::Empty(folder).into());
    }
    let order = commit_order(&history.commits()).unwrap_or_default();
    let mut found = history.in_order(&order).report(rules);
    let interrupted = if args.confirm { confirm::confirm(&mut found, args)? } else { None };
    if ![&json, &html].into_iter().flatten().any(|to| *to == ExportTo::StandardOutput) {
        output::print(&render(&found, print_options.page()), print_options)?;
    }
    if let Some(to) = &json {
        output::write_to(to, &|out| found.write_json(out))?;
    }
    if let Some(to) = &html {
        output::write_to(to, &|out| write_html(&found, out))?;
    }
    Ok(interrupted.unwrap_or_else(|| found.exit(args.fail_on_change)))
}
