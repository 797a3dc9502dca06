//! Formats the changes of a history for a terminal: the answer, a row for each change, and remarks.

use std::collections::BTreeMap;

use gpubench_records::files::time_of_day;
use gpubench_stats::format::{change, changes, counted, percent};
use gpubench_table::{
    Page,
    text::{NOTE, columns, heading, paragraph, plain, styled, wrapped},
};

use super::{CaseChange, HistoryReport, RunLabel, changes::MIN_SERIES_LENGTH};

/// The number of digits of a commit hash that the table shows.
const HASH_DIGITS: usize = 8;
/// The number of letters of a device's UUID that the table shows, as in `GPU-1a2b3c4d`.
const UUID_LETTERS: usize = 12;

/// Returns the report as lines of `page`.
pub fn render(report: &HistoryReport, page: Page) -> String {
    let mut shown = heading(&count_changes(report), &format!(" ({})", describe_size(report)), page);
    let mut rows = change_rows(report);
    if !rows.is_empty() {
        rows.insert(0, ["case", "change", "95 % interval", "commits", "day"].map(str::to_owned).into());
        shown.extend(columns(&rows, 1..3, page).iter().flatten().map(|line| format!("{line}\n")));
    }
    let mut remarks = remarks(report);
    remarks.extend(report.faults.iter().map(|fault| plain(fault)));
    for remark in remarks {
        shown += &styled(&wrapped(&format!("note: {remark}"), "", page), NOTE);
    }
    let rules = format!(
        "A change is at least {}, and stronger than any in 199 orders of the series' own noise; its commits and its size have a confidence of \
         95 %",
        percent(report.equivalence_margin)
    );
    shown + "\n" + &paragraph(&rules, page)
}

/// Returns the cells of each change, the newest first.
fn change_rows(report: &HistoryReport) -> Vec<Vec<String>> {
    report
        .changes()
        .into_iter()
        .map(|(case, it)| {
            let short =
                it.uuid.as_ref().map(|uuid| plain(uuid).chars().take(UUID_LETTERS).collect::<String>());
            let device = short.map_or_else(String::new, |uuid| format!(" on {uuid}"));
            vec![
                plain(&case.case.case.to_string()) + &device,
                change(it.ratio),
                changes(it.interval[0], it.interval[1]),
                commit_range(it),
                day(&it.begins),
            ]
        })
        .collect()
}

/// Returns the date in UTC on which a run began, such as `2026-08-01`.
fn day(label: &RunLabel) -> String {
    time_of_day(label.started).split('T').next().unwrap_or_default().to_owned()
}

/// Returns the commits of a change as a range of git, `AFTER..UNTIL`. A `+` follows the commit of a run with
/// changed files. A run without a commit is shown by its start time.
fn commit_range(change: &CaseChange) -> String {
    let commit = |label: &RunLabel| match &label.commit {
        None => time_of_day(label.started),
        Some(commit) => {
            let short: String = plain(commit).chars().take(HASH_DIGITS).collect();
            if label.dirty { short + "+" } else { short }
        }
    };
    format!("{}..{}", commit(&change.after), commit(&change.until))
}

/// Returns the number of changes, and how many of them are slower and faster, as text.
fn count_changes(report: &HistoryReport) -> String {
    let changes = report.changes();
    let slower = changes.iter().filter(|(_, change)| change.ratio > 1.0).count();
    match changes.len() {
        0 => "no change".to_owned(),
        all => format!("{}: {slower} slower, {} faster", counted(all, "change"), all - slower),
    }
}

/// Returns the number of cases and runs, and the dates of the first and the last run.
fn describe_size(report: &HistoryReport) -> String {
    let size = format!("{} in {}", counted(report.cases.len(), "case"), counted(report.runs, "run"));
    match &report.span {
        Some([first, last]) => format!("{size}, {} to {}", day(first), day(last)),
        None => size,
    }
}

/// Returns remarks on changes that were undone, on series that are too short, and on changed circumstances.
fn remarks(report: &HistoryReport) -> Vec<String> {
    let changes = report.changes();
    let mut remarks: Vec<String> = Vec::new();
    let series = || report.cases.iter().flat_map(|case| &case.series);
    let short = series().filter(|series| series.is_short()).count();
    if short > 0 {
        remarks
            .push(format!("{short} series of less than {MIN_SERIES_LENGTH} runs: no change is looked for"));
    }
    let undone = changes.iter().filter(|(_, it)| report.is_undone(it)).count();
    if undone > 0 {
        remarks.push(format!("{} undone since: no longer slower than before", counted(undone, "slowdown")));
    }
    let mut steps: BTreeMap<String, usize> = BTreeMap::new();
    for pair in report.cases.iter().flat_map(|case| case.series.windows(2)) {
        *steps.entry(pair[1].circumstances.differences(&pair[0].circumstances).join(", ")).or_default() += 1;
    }
    for (differences, count) in steps {
        remarks.push(format!("{}: {}: apart", plain(&differences), counted(count, "case")));
    }
    remarks
}
