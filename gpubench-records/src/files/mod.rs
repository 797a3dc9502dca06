//! Runs on disk, so that what was measured is there whatever comes after. In: a run's beginning, then its records as they are
//! made; out: a file of whole lines for each run, and what of an earlier one still holds.

pub mod ceilings;
mod earlier;
mod file;
mod lines;
mod place;

pub use self::earlier::{EarlierRun, NoRun};
pub use self::file::Store;
pub use self::lines::{NotARun, Stored, read};
pub use self::place::{fingerprint, home, runs};
