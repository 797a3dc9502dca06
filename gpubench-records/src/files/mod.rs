//! Runs on disk, so that no measurement is lost. In: a run's beginning, then its records as they are made; out: a file of
//! whole lines for each run, and earlier runs to resume.
//!
//! [`FileFormat`] reads every kind of file and checks its schema first; [`replace`] writes whole files, so that a reader
//! never finds a part of one.

pub mod ceilings;
mod checksum;
mod disk;
mod earlier;
mod file;
mod format;
mod identity;
mod in_progress;
mod lines;
mod load;
mod names;
mod place;
mod replace;
mod stored_runs;
mod validate;

pub(crate) use self::checksum::{Checksum, add as add_checksum, look as look_at_checksum};
pub use self::earlier::{EarlierRun, LAST, NoRun};
pub use self::file::Store;
pub use self::format::{CEILINGS, FileFormat, FormatError, HISTORY, RUN, ReadError, TUNING};
pub use self::identity::is_one_file;
pub use self::lines::{Stored, read};
pub use self::load::{LoadRunError, load, load_all};
pub use self::names::time_of_day;
pub use self::place::{cache, fingerprint, home, kept, program, runs};
pub(crate) use self::replace::create;
pub use self::replace::{Contents, Destination, fill, replace, resolved};
pub use self::stored_runs::{NamedRun, NamedStored, StoredRuns, is_name_of_run};
pub(crate) use self::validate::valid_records;
