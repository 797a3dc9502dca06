//! The answer about a fleet as people and programs read it. In: a [`FleetReport`]; out: text for a terminal, JSON, or a page.

mod html;
mod map;
mod table;
mod words;

use std::io::{self, Write};

use gpubench_records::fleet::FleetReport;

pub use self::html::page;
pub use self::table::render;

/// Writes the answer as JSON.
///
/// # Errors
/// If `out` takes no more.
pub fn write_json(report: &FleetReport, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, report)?;
    out.write_all(b"\n")
}

/// Writes the answer as a page of one file.
///
/// # Errors
/// If `out` takes no more.
pub fn write_html(report: &FleetReport, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(report).as_bytes())
}
