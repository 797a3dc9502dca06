//! Parts of a history as text.

use gpubench_records::files::time_of_day;
use gpubench_stats::format::{change, changes, counted, percent};
use gpubench_table::text::plain;

use super::changes::SHORTEST_SERIES;
use super::{CaseChange, CaseHistory, HistoryReport, RunLabel};

/// The digits of a hash that a reader sees.
const DIGITS: usize = 8;
/// The letters of a device's UUID, as in `GPU-1a2b3c4d`.
const DEVICE_LETTERS: usize = 12;

/// The heads of a table of changes.
pub(super) const HEADS: [&str; 5] = ["case", "change", "95 % interval", "commits", "day"];

/// Returns the cells of each change, the newest first.
pub(super) fn rows(report: &HistoryReport) -> Vec<Vec<String>> {
    let row = |(case, it): (&CaseHistory, &CaseChange)| {
        vec![
            name(case) + &on(it.uuid.as_deref()),
            change(it.ratio),
            changes(it.interval[0], it.interval[1]),
            commits(it),
            day(&it.begins),
        ]
    };
    report.changes().into_iter().map(row).collect()
}

/// Returns the day of a run.
pub(super) fn day(label: &RunLabel) -> String {
    time_of_day(label.started).split('T').next().unwrap_or_default().to_owned()
}

/// Returns the commits that a change came with, as git names a range: after the first, up to the second.
pub(super) fn commits(change: &CaseChange) -> String {
    let commit = |label: &RunLabel| match &label.commit {
        None => time_of_day(label.started),
        Some(commit) => {
            let short: String = plain(commit).chars().take(DIGITS).collect();
            if label.dirty { short + "+" } else { short }
        }
    };
    format!("{}..{}", commit(&change.after), commit(&change.until))
}

/// Returns the name of a case.
pub(super) fn name(case: &CaseHistory) -> String {
    plain(&case.case.case.to_string())
}

/// Returns words for a device.
pub(super) fn on(uuid: Option<&str>) -> String {
    let short = |uuid| plain(uuid).chars().take(DEVICE_LETTERS).collect::<String>();
    uuid.map_or_else(String::new, |uuid| format!(" on {}", short(uuid)))
}

/// Returns the answer: the number of changes.
pub(super) fn answer(report: &HistoryReport) -> String {
    let changes = report.changes();
    let slower = changes.iter().filter(|(_, change)| change.ratio > 1.0).count();
    match changes.len() {
        0 => "no change".to_owned(),
        all => format!("{}: {slower} slower, {} faster", counted(all, "change"), all - slower),
    }
}

/// Returns the size of the history.
pub(super) fn size(report: &HistoryReport) -> String {
    let size = format!("{} in {}", counted(report.cases.len(), "case"), counted(report.runs, "run"));
    match &report.span {
        Some([first, last]) => format!("{size}, {} to {}", day(first), day(last)),
        None => size,
    }
}

/// Returns the remarks about changes that were undone, and about series that are too short or apart.
pub(super) fn remarks(report: &HistoryReport) -> Vec<String> {
    let changes = report.changes();
    let mut remarks: Vec<String> = Vec::new();
    let series = || report.cases.iter().flat_map(|case| &case.series);
    let short = series().filter(|series| series.is_short()).count();
    if short > 0 {
        remarks.push(format!("{short} series of less than {SHORTEST_SERIES} runs: no change is looked for"));
    }
    let undone = changes.iter().filter(|(_, it)| it.ratio > 1.0 && report.is_undone(it)).count();
    if undone > 0 {
        let its = if undone == 1 { "its case is" } else { "their cases are" };
        remarks.push(format!(
            "{} undone since: {its} no longer slower than before",
            counted(undone, "slowdown")
        ));
    }
    let mut steps: Vec<(String, usize)> = Vec::new();
    for pair in report.cases.iter().flat_map(|case| case.series.windows(2)) {
        let differences = pair[1].circumstances.differences(&pair[0].circumstances).join(", ");
        match steps.iter_mut().find(|it| it.0 == differences) {
            Some((_, count)) => *count += 1,
            None => steps.push((differences, 1)),
        }
    }
    let sentence = |(differences, count): (String, usize)| {
        format!("{}: {}: apart", plain(&differences), counted(count, "case"))
    };
    remarks.extend(steps.into_iter().map(sentence));
    remarks
}

/// Returns the rules in a sentence.
pub(super) fn rules(report: &HistoryReport) -> String {
    format!(
        "A change is at least {}, and stronger than any in 199 orders of the series' own noise; its commits and its size have a confidence of \
         95 %",
        percent(report.equivalence_margin)
    )
}
