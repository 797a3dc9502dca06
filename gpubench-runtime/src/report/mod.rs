//! What people and programs read. In: a [`Run`], live or stored; out: text. Nothing here measures,
//! judges or prints.

mod columns;
mod compared;
mod explain;
mod header;
mod launch;
mod list;
mod progress;
mod remarks;
mod style;
mod table;
mod trials;

use crate::record::Run;

pub use self::explain::explain;
pub use self::list::list;
pub use self::progress::Progress;
pub use self::trials::trials;

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
