//! The results as one aligned table, a row for each case. In: records; out: text.

use std::fmt::Write;

use anstyle::Style;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::cells::{Column, columns_of};
use super::has_several_devices;
use super::style::{BOLD, of_state};
use gpubench_records::id::{Arg, shown_name};
use gpubench_records::record::{Record, Run};

/// The table of all records.
#[must_use]
pub(super) fn table(run: &Run) -> String {
    let columns = columns_of(run);
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(std::iter::once("").chain(columns.iter().map(|column| column.head)));
    let styles = add_rows(&mut table, &columns, run);
    let is_number = std::iter::once(false).chain(columns.iter().map(|column| column.number));
    for (column, number) in table.column_iter_mut().zip(is_number) {
        column.set_padding((0, 2));
        if number {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    for (number, line) in table.lines().enumerate() {
        let style = number.checked_sub(1).and_then(|row| styles.get(row)).copied().unwrap_or_default();
        // Writing to a string cannot fail.
        _ = writeln!(text, "{style}{}{style:#}", line.trim_end());
    }
    text
}

/// Adds a line for each module and each record. Returns the style of each line.
fn add_rows(table: &mut Table, columns: &[&Column], run: &Run) -> Vec<Style> {
    let mut styles = Vec::new();
    let (mut module, mut name) = (None, None);
    for record in &run.records {
        let (path, short) = split(&record.case.benchmark, &record.case.args);
        if module != Some((path, &record.case.device)) {
            // With one device, the line above the table has said which.
            let on = if has_several_devices(run) {
                format!("{path} on {}", record.case.device)
            } else {
                path.to_owned()
            };
            table.add_row([on]);
            styles.push(BOLD);
            (module, name) = (Some((path, &record.case.device)), None);
        }
        let repeated = name.as_ref() == Some(&short);
        let shown = if repeated { String::new() } else { format!("  {short}") };
        name = Some(short);
        table.add_row(row(shown, columns, record));
        styles.push(of_state(record.verdict.state));
    }
    styles
}

fn row(name: String, columns: &[&Column], record: &Record) -> impl Iterator<Item = String> {
    std::iter::once(name).chain(columns.iter().map(|column| (column.cell)(record)))
}

/// A case's module, and its name within it.
pub(super) fn split<'a>(benchmark: &'a str, args: &[Arg]) -> (&'a str, String) {
    let (module, _) = benchmark.rsplit_once("::").unwrap_or(("", benchmark));
    let name = shown_name(benchmark, args);
    (module, name.strip_prefix(module).unwrap_or(&name).trim_start_matches(':').to_owned())
}
