//! The texts that people and programs read. In: a [`Run`], live or stored; out: text. Nothing here measures,
//! judges or prints.

pub mod drawing;
pub mod export;

mod cells;
mod columns;
mod compared;
mod explain;
mod header;
mod launch;
mod listing;
mod remarks;
pub mod style;
mod table;

use gpubench_records::record::Run;

pub use self::explain::explain;
pub use self::listing::{ListedRun, listing};

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

/// Returns true where rows of `run` are on several devices, be they open or not.
fn has_several_devices(run: &Run) -> bool {
    let opened = run.devices.iter().map(|facts| &facts.device);
    let mut devices = opened.chain(run.records.iter().map(|record| &record.case.device));
    devices.next().is_some_and(|first| devices.any(|device| device != first))
}
