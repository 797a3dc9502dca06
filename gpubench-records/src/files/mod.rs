//! Runs on disk, so that no measurement is lost: a file of whole lines for each run, and earlier runs to resume.
//!
//! [`FileFormat`] reads every kind of file and checks its schema first; [`replace`] writes whole files, so that a reader
//! never finds a part of one.

mod baselines;
pub mod ceilings;
mod disk;
mod folders;
mod format;
mod lines;
mod replace;
mod store;
mod stored_runs;

pub use self::baselines::{BaselineError, BaselineOptions, OpenBaselines, Place};
pub use self::folders::{cache, fingerprint, home, kept, program, runs, time_of_day};
pub(crate) use self::folders::{candidates, order, time_of_name};
pub use self::format::{CEILINGS, FileFormat, FormatError, HISTORY, RUN, ReadError, TUNING};
pub(crate) use self::lines::{Checksum, add_checksum, check_line};
pub use self::lines::{Stored, read};
pub(crate) use self::replace::create;
pub use self::replace::{Contents, Destination, fill, is_one_file, replace, resolved};
pub use self::store::Store;
pub use self::stored_runs::{
    EarlierRun, LAST, LoadRunError, NamedRun, NamedStored, StoredRuns, is_name_of_run, load, load_all,
};
