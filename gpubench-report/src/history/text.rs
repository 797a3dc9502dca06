//! Parts of a history as text, which the table and the page share.

use gpubench_records::files::time_of_day;
use gpubench_stats::format::{change, changes, counted, percent};
use gpubench_table::text::plain;

use super::changes::{LEAST_CHANCE, SHORTEST_SERIES};
use super::{CaseChange, CaseHistory, Confirmation, HistoryReport, MeasuredAgain, RunLabel};

/// The digits of a hash that a reader sees.
const DIGITS: usize = 8;
/// The letters of a device's UUID, as in `GPU-1a2b3c4d`.
const DEVICE_LETTERS: usize = 12;

/// The heads of a table of changes; the last if changes were measured again.
const HEADS: [&str; 7] = ["case", "change", "95 % interval", "by chance", "commits", "day", "measured again"];

/// Returns the heads of a table of changes, and the cells of each change, the newest first.
pub(super) fn rows(report: &HistoryReport) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let found = report.changes();
    let is_again = found.iter().any(|(_, it)| it.confirmation.is_some());
    let row = |(case, it): &(&CaseHistory, &CaseChange)| {
        let mut cells = vec![
            name(case) + &on(it.uuid.as_deref()),
            change(it.ratio),
            changes(it.interval[0], it.interval[1]),
            chance(it),
            commits(it),
            day(&it.begins),
        ];
        cells.extend(is_again.then(|| confirmation(it)));
        cells
    };
    (HEADS[..if is_again { 7 } else { 6 }].to_vec(), found.iter().map(row).collect())
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

/// Returns the chance that noise alone has such a change, to two digits: one in this many series.
fn chance(change: &CaseChange) -> String {
    if change.chance <= LEAST_CHANCE {
        return "< 1 in a million".to_owned();
    }
    let series = 1.0 / change.chance;
    let unit = 10_f64.powi((series.log10().floor() as i32 - 1).max(0));
    format!("1 in {:.0}", (series / unit).round() * unit)
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

fn confirmation(it: &CaseChange) -> String {
    let told = |what: &str, MeasuredAgain { ratio, .. }: &MeasuredAgain| {
        format!("{what}, {} {}", change(ratio.value), changes(ratio.low, ratio.high))
    };
    match &it.confirmation {
        None => String::new(),
        Some(Confirmation::Confirmed(again)) => told("confirmed", again),
        Some(Confirmation::NotConfirmed(again)) => told("not confirmed", again),
        Some(Confirmation::Undecided(again)) => told("undecided", again),
        Some(Confirmation::NotMeasured { .. }) => "not measured".to_owned(),
    }
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

/// Returns the remarks about changes that were not measured again, undone or left out, and about series that are too short, apart or
/// joined.
pub(super) fn remarks(report: &HistoryReport) -> Vec<String> {
    let changes = report.changes();
    let mut remarks: Vec<String> = Vec::new();
    for (_, change) in &changes {
        if let Some(Confirmation::NotMeasured { reason }) = &change.confirmation {
            let remark = format!("{}: not measured: {}", commits(change), plain(reason));
            remarks.extend((!remarks.contains(&remark)).then_some(remark));
        }
    }
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
    let unclear: usize = series().map(|series| series.unclear).sum();
    if unclear > 0 {
        let change = counted(unclear, "change");
        remarks
            .push(format!("{change} left out where two series are joined: the join may be off by as much"));
    }
    let mut steps: Vec<(String, &str, usize)> = Vec::new();
    for case in &report.cases {
        let all = case.series.iter().flat_map(|series| series.circumstances.iter().enumerate());
        let all: Vec<_> = all.collect();
        for pair in all.windows(2) {
            let [(_, before), (number, after)] = pair else { continue };
            let how = if *number > 0 { "joined by commits that were measured under both" } else { "apart" };
            let differences = after.differences(before).join(", ");
            match steps.iter_mut().find(|it| it.0 == differences && it.1 == how) {
                Some((_, _, count)) => *count += 1,
                None => steps.push((differences, how, 1)),
            }
        }
    }
    let sentence = |(differences, how, count): (String, &str, usize)| {
        format!("{}: {}: {how}", plain(&differences), counted(count, "case"))
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
