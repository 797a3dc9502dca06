//! The answer about a fleet as people and programs read it. In: a [`FleetReport`]; out: text for a terminal, or JSON.

mod table;
mod words;

use std::io::{self, Write};

use gpubench_records::fleet::FleetReport;

pub use self::table::render;

/// Writes the answer as JSON.
///
/// # Errors
/// If `out` takes no more.
pub fn write_json(report: &FleetReport, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, report)?;
    out.write_all(b"\n")
}
