//! Rows of aligned columns whose cells are all known before the first is printed.

use std::ops::Range;

use gpubench_stats::format::joined;

use super::page::Page;
use super::text::{left, right, spaces, width, wrapped};

/// The indent of the rows.
const INDENT: usize = 2;
/// The space between columns.
const GAP: usize = 2;

/// The lines of each row, indented, with the columns `numbers` aligned to the right. If `page` has no room for the longest
/// row, each has its first cell on a line of its own, and the others under it.
pub fn columns(rows: &[Vec<String>], numbers: Range<usize>, page: Page) -> Vec<Vec<String>> {
    let number = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..number).map(|column| widest(column).unwrap_or_default()).collect();
    let lines: Vec<String> = rows.iter().map(|row| line(row, &widths, &numbers)).collect();
    if lines.iter().all(|line| width(line) <= page.width()) {
        return lines.into_iter().map(|line| vec![line]).collect();
    }
    rows.iter().map(|row| stacked(row, page)).collect()
}

/// Returns a row as one line, its cells padded to `widths`.
fn line(row: &[String], widths: &[usize], numbers: &Range<usize>) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
        if numbers.contains(&column) { right(cell, *width) } else { left(cell, *width) }
    });
    let line = spaces(INDENT) + &joined(cells, &spaces(GAP));
    line.trim_end().to_owned()
}

/// Returns a row as several lines: the first cell, and the others indented under it.
fn stacked(row: &[String], page: Page) -> Vec<String> {
    let Some((name, cells)) = row.split_first() else { return Vec::new() };
    let mut lines = wrapped(name, &spaces(INDENT), page);
    let cells: Vec<&str> = cells.iter().map(|cell| &**cell).filter(|cell| !cell.is_empty()).collect();
    lines.extend(wrapped(&cells.join(&spaces(GAP)), &spaces(2 * INDENT), page));
    lines
}
