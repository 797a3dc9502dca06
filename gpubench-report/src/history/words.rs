//! Parts of a history in words. In: changes and series; out: text for a terminal and for the page.

use gpubench_records::files::time_of_day;
use gpubench_records::history::{
    CaseChange, CaseHistory, Confirmation, HistoryReport, HistorySeries, RunLabel,
};
use gpubench_stats::Ratio;
use gpubench_stats::changes::LEAST_CHANCE;
use gpubench_stats::format::{self, counted, percent};

use gpubench_table::text::plain;

/// The digits of a hash that a reader sees.
const DIGITS: usize = 8;
/// The letters of a device's own name, as in `GPU-1a2b3c4d`.
const DEVICE_LETTERS: usize = 12;

/// The day of a run.
pub(super) fn day(label: &RunLabel) -> String {
    let time = time_of_day(label.started);
    time.split_once('T').map_or(time.clone(), |(day, _)| day.to_owned())
}

/// The commit of a run, with a mark if files had changed since; its time if no commit is known.
pub(super) fn commit(label: &RunLabel) -> String {
    match &label.commit {
        None => time_of_day(label.started),
        Some(commit) => {
            let short: String = plain(commit).chars().take(DIGITS).collect();
            if label.dirty { short + "+" } else { short }
        }
    }
}

/// The commits that a change came with, as git names a range: behind the first, up to the second.
pub(super) fn commits(change: &CaseChange) -> String {
    format!("{}..{}", commit(&change.after), commit(&change.until))
}

/// The chance that noise alone has such a change, to two digits: one in so many series.
pub(super) fn chance(change: &CaseChange) -> String {
    if change.chance <= LEAST_CHANCE {
        return "< 1 in a million".to_owned();
    }
    let series = 1.0 / change.chance;
    let unit = 10_f64.powi((series.log10().floor() as i32 - 1).max(0));
    format!("1 in {:.0}", (series / unit).round() * unit)
}

/// The case.
pub(super) fn case(case: &CaseHistory) -> String {
    plain(&case.case.case.to_string())
}

/// The case of a change, with the device where several have measured it.
pub(super) fn case_of(change: &CaseChange, case_of: &CaseHistory) -> String {
    case(case_of) + &on(change.uuid.as_deref())
}

/// The device of a series, if it is known: the last of several.
pub(super) fn on_device(series: &HistorySeries) -> String {
    on(series.circumstances.last().and_then(|last| last.uuid.as_deref()))
}

fn on(uuid: Option<&str>) -> String {
    let short = |uuid| plain(uuid).chars().take(DEVICE_LETTERS).collect::<String>();
    uuid.map_or_else(String::new, |uuid| format!(" on {}", short(uuid)))
}

/// The answer of a comparison of the commits around a change; empty where there was none.
pub(super) fn confirmation(change: &CaseChange) -> String {
    let told = |what: &str, ratio: &Ratio| {
        format!("{what}, {} {}", format::change(ratio.value), format::changes(ratio.low, ratio.high))
    };
    match &change.confirmation {
        None => String::new(),
        Some(Confirmation::Confirmed { ratio, .. }) => told("confirmed", ratio),
        Some(Confirmation::NotConfirmed { ratio, .. }) => told("not confirmed", ratio),
        Some(Confirmation::Undecided { ratio, .. }) => told("undecided", ratio),
        Some(Confirmation::NotMeasured { .. }) => "not measured".to_owned(),
    }
}

/// Returns true if commits around a change were to be compared.
pub(super) fn has_confirmations(report: &HistoryReport) -> bool {
    report.changes().iter().any(|(_, change)| change.confirmation.is_some())
}

/// The answer in a sentence.
pub(super) fn answer(report: &HistoryReport) -> String {
    let changes = report.changes();
    let slower = changes.iter().filter(|(_, change)| change.ratio > 1.0).count();
    match changes.len() {
        0 => "no change".to_owned(),
        all => format!("{}: {slower} slower, {} faster", counted(all, "change"), all - slower),
    }
}

/// The size of the history.
pub(super) fn size(report: &HistoryReport) -> String {
    let size = format!("{} in {}", counted(report.cases.len(), "case"), counted(report.runs, "run"));
    match &report.span {
        Some([first, last]) => format!("{size}, {} to {}", day(first), day(last)),
        None => size,
    }
}

/// The remarks about changes that were not measured again, undone or left out, and about series that are too short, apart or joined.
pub(super) fn remarks(report: &HistoryReport) -> Vec<String> {
    let all = || report.cases.iter().flat_map(|case| &case.series);
    let mut remarks: Vec<String> = Vec::new();
    for (_, change) in report.changes() {
        if let Some(Confirmation::NotMeasured { reason }) = &change.confirmation {
            let told = format!("{}: not measured: {}", commits(change), plain(reason));
            if !remarks.contains(&told) {
                remarks.push(told);
            }
        }
    }
    let short = all().filter(|series| series.is_short).count();
    if short > 0 {
        let least = gpubench_stats::changes::SHORTEST_SERIES;
        remarks.push(format!("{short} series of less than {least} runs: no change is looked for"));
    }
    let undone = report.changes().iter().filter(|(_, it)| it.ratio > 1.0 && report.is_undone(it)).count();
    if undone > 0 {
        let its = if undone == 1 { "its case is" } else { "their cases are" };
        remarks.push(format!(
            "{} undone since: {its} no longer slower than before",
            counted(undone, "slowdown")
        ));
    }
    let unclear: usize = all().map(|series| series.unclear).sum();
    if unclear > 0 {
        let change = counted(unclear, "change");
        remarks
            .push(format!("{change} left out where two series are joined: the join may be off by as much"));
    }
    let mut steps: Vec<(String, bool, usize)> = Vec::new();
    let mut add =
        |text: String, is_joined: bool| match steps.iter_mut().find(|it| it.0 == text && it.1 == is_joined) {
            Some((_, _, count)) => *count += 1,
            None => steps.push((text, is_joined, 1)),
        };
    for case in &report.cases {
        let mut last = None;
        for series in &case.series {
            for (number, circumstances) in series.circumstances.iter().enumerate() {
                if let Some(last) = last {
                    add(circumstances.differences(last).join(", "), number > 0);
                }
                last = Some(circumstances);
            }
        }
    }
    for (text, is_joined, count) in steps {
        let how = if is_joined { "joined by commits that were measured under both" } else { "apart" };
        remarks.push(format!("{}: {}: {how}", plain(&text), counted(count, "case")));
    }
    remarks
}

/// The rules in a sentence.
pub(super) fn rules(report: &HistoryReport) -> String {
    format!(
        "A change is at least {}, and stronger than any in 199 orders of the series' own noise; its commits and its size have a confidence of \
         95 %",
        percent(report.band)
    )
}

/// The last time of a series.
pub(super) fn last_time(series: &HistorySeries) -> String {
    series.times.last().map_or_else(String::new, |last| format::time(last.time))
}
