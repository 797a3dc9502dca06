//! The changes on a terminal. In: a [`HistoryReport`]; out: lines: the answer, a row for each change, the newest first, and remarks.

use gpubench_records::history::HistoryReport;
use gpubench_stats::format::{change, changes};

use super::words;
use gpubench_table::Page;
use gpubench_table::aligned::columns;
use gpubench_table::style::{NOTE, heading, styled};
use gpubench_table::text::{paragraph, plain, wrapped};

/// The number of changes, and of remarks, that a terminal shows.
const MOST: usize = 50;

/// The changes as they are printed on `page`.
#[must_use]
pub fn render(report: &HistoryReport, page: Page) -> String {
    let mut text = heading(&words::answer(report), &format!(" ({})", words::size(report)), page);
    let found = report.changes();
    if !found.is_empty() {
        let mut heads = vec!["case", "change", "95 % interval", "by chance", "commits", "day"];
        let has_confirmations = words::has_confirmations(report);
        if has_confirmations {
            heads.push("measured again");
        }
        let mut rows: Vec<Vec<String>> = vec![heads.into_iter().map(str::to_owned).collect()];
        for (case, it) in found.iter().take(MOST) {
            let again = has_confirmations.then(|| words::confirmation(it));
            let row = vec![
                words::case_of(it, case),
                change(it.ratio),
                changes(it.interval[0], it.interval[1]),
                words::chance(it),
                words::commits(it),
                words::day(&it.begins),
            ];
            rows.push(row.into_iter().chain(again).collect());
        }
        text.extend(columns(&rows, 1..4, page).iter().flatten().map(|line| format!("{line}\n")));
        let left = found.len().saturating_sub(MOST);
        if left > 0 {
            text += &format!("  and {left} more: --html and --json have them all\n");
        }
    }
    let mut remarks = words::remarks(report);
    remarks.extend(report.faults.iter().map(|fault| plain(fault)));
    let left = remarks.len().saturating_sub(MOST);
    remarks.truncate(MOST);
    for remark in remarks {
        text += &styled(&wrapped(&format!("note: {remark}"), "", page), NOTE);
    }
    if left > 0 {
        text += &format!("and {left} notes more\n");
    }
    text + "\n" + &paragraph(&words::rules(report), page)
}
