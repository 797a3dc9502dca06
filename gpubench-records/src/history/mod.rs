//! The runs of a history, as files without samples: a benchmark binary and `cargo gpubench history add` write them, and `gpubench-report`
//! finds changes in them.

mod circumstances;
mod entry;
mod folder;

pub use self::circumstances::Circumstances;
pub use self::entry::{HistoryCase, HistoryRun};
pub use self::folder::{AddError, Added, add, prepare};
