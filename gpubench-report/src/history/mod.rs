//! The changes of a history as people and programs read them. In: a [`HistoryReport`]; out: text for a terminal, JSON, or a page.

mod html;
mod sparkline;
mod table;
mod words;

use std::io::{self, Write};

use gpubench_records::history::HistoryReport;

pub use self::html::page;
pub use self::table::render;

/// Writes the changes as JSON.
///
/// # Errors
/// If `out` takes no more.
pub fn write_json(report: &HistoryReport, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, report)?;
    out.write_all(b"\n")
}

/// Writes the changes as a page of one file.
///
/// # Errors
/// If `out` takes no more.
pub fn write_html(report: &HistoryReport, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(report).as_bytes())
}
