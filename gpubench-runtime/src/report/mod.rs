//! What people and programs read. In: a [`Run`], live or stored; out: text. Nothing here measures,
//! judges or prints.

mod explain;
mod header;
mod list;
mod progress;
mod remarks;
mod style;
mod table;

use crate::record::Run;

pub use self::explain::explain;
pub use self::list::list;
pub use self::progress::Progress;

/// A run as it is printed: what it ran on, then its results.
#[must_use]
pub fn render(run: &Run) -> String {
    let header = header::header(&run.notes, &run.devices);
    if run.records.is_empty() {
        return header;
    }
    format!("{header}\n{}{}", table::table(run), remarks::remarks(run))
}
