//! Lines of aligned columns. In: cells, row by row; out: a line for each row.

use std::ops::Range;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

/// The rows as lines, indented by two, with the columns `right` aligned to the right.
pub(super) fn columns(rows: impl Iterator<Item = Vec<String>>, right: Range<usize>) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(NOTHING).add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!("  {}", line.trim_end())).collect()
}
