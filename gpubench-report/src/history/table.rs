//! The changes on a terminal: the answer, a row for each change, the newest first, and remarks.

use gpubench_table::Page;
use gpubench_table::aligned::columns;
use gpubench_table::style::{NOTE, heading, styled};
use gpubench_table::text::{paragraph, plain, wrapped};

use super::{HistoryReport, text};

/// The number of changes, and of remarks, that a terminal shows.
const MOST: usize = 50;

/// Returns the changes as lines of `page`.
#[must_use]
pub fn render(report: &HistoryReport, page: Page) -> String {
    let mut shown = heading(&text::answer(report), &format!(" ({})", text::size(report)), page);
    let mut rows = text::rows(report);
    if !rows.is_empty() {
        let left = rows.len().saturating_sub(MOST);
        rows.truncate(MOST);
        rows.insert(0, text::HEADS.map(str::to_owned).into());
        shown.extend(columns(&rows, 1..3, page).iter().flatten().map(|line| format!("{line}\n")));
        if left > 0 {
            shown += &format!("  and {left} more: --json has them all\n");
        }
    }
    let mut remarks = text::remarks(report);
    remarks.extend(report.faults.iter().map(|fault| plain(fault)));
    for remark in remarks.iter().take(MOST) {
        shown += &styled(&wrapped(&format!("note: {remark}"), "", page), NOTE);
    }
    if remarks.len() > MOST {
        shown += &format!("and {} notes more\n", remarks.len() - MOST);
    }
    shown + "\n" + &paragraph(&text::rules(report), page)
}
