//! What people and programs read. In: a [`Run`], live or stored; out: text. Nothing here measures,
//! judges or prints.

pub mod drawing;

mod columns;
mod compared;
mod explain;
mod header;
mod launch;
mod remarks;
pub mod style;
mod table;

use gpubench_records::record::Run;

pub use self::explain::explain;

/// A run as it is printed: what it ran on, then its results.
#[must_use]
pub fn render(run: &Run) -> String {
    let header = header::header(run);
    if run.records.is_empty() && run.skipped.is_empty() {
        return header;
    }
    let table = if run.records.is_empty() { String::new() } else { format!("\n{}", table::table(run)) };
    format!("{header}{table}{}{}", compared::compared(run), remarks::remarks(run))
}
