//! The text that a benchmark binary prints and writes of a [`Run`]: the terminal table, its explanations, CSV, Markdown and JSON.
//! Nothing here measures, judges or prints.

pub mod comparisons;
pub mod devices;
pub mod export;
pub mod remarks;
pub mod text;

mod columns;
mod explain;
mod launch;
mod rows;
mod table;
#[cfg(feature = "verify")]
mod verification;

use gpubench_records::{Record, Run, unique};

pub use self::columns::check as check_columns;
pub use self::devices::{header, peaks_of};
pub use self::explain::{explain, launch_bound, quantiles, sentences};
pub use self::remarks::no_records;
pub use self::table::TableWriter;
pub use self::text::{Page, columns, paragraph, wrapped};

/// A run as it is printed on `page`: its devices, then its results. The same as [`header()`], the [`TableWriter::rows`] of its
/// cases and [`end`], which print a run while it is measured.
pub fn render(run: &Run, page: Page) -> String {
    let mut table = TableWriter::new(run, run.records.iter().map(Record::planned), page);
    let rows: String = rows::records_by_benchmark(run).iter().map(|records| table.rows(records)).collect();
    header(run, page) + &rows + &end(run, &mut table, page)
}

/// The lines under `table`, whose rows are those of `run`: rows that waited for others, rows that replace others, comparisons, peaks,
/// remarks, and last the totals.
pub fn end(run: &Run, table: &mut TableWriter, page: Page) -> String {
    let [waiting, replaced] = [table.waiting_rows(), table.replaced_rows(run)];
    let [meaning, peaks] = [table.closing_lines(), devices::peaks(run, page)];
    let parts = [replaced, meaning, comparisons::render(run, page), peaks, remarks::remarks(run, page)];
    // The header has a blank line behind it already.
    let blank = if run.records.is_empty() { "" } else { "\n" };
    format!("{waiting}{blank}{}", text::join_sections(parts))
}

/// Returns true if `run` has several devices. The devices that it opened count, and those of its records.
pub fn has_several_devices(run: &Run) -> bool {
    let opened = run.devices.iter().map(|info| &info.device);
    unique(opened.chain(run.records.iter().map(|record| &record.device))).len() > 1
}

/// Returns the name that no other case of a run has, such as `kernels::saxpy[n=65536] cold on cuda:1`. It has the
/// device only if the run has `several_devices`.
pub fn case_name(record: &Record, several_devices: bool) -> String {
    let on = if several_devices { format!(" on {}", record.device) } else { String::new() };
    format!("{}{on}", record.case)
}
