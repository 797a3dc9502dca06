//! Runs on disk, so that no measurement is lost: a file of whole lines for each run, and earlier runs to resume.
//!
//! [`FileFormat`] reads every kind of file and checks its schema first; [`replace`] writes whole files, so that a reader
//! never finds a part of one.

mod baselines;
pub mod ceilings;
mod disk;
mod earlier_run;
mod folders;
mod format;
mod lines;
mod replace;
mod store;

pub use self::baselines::{OpenBaselines, Place};
pub use self::earlier_run::{EarlierRun, LAST, LoadRunError, file_of, is_name_of_run, run_before, runs_in};
pub use self::folders::{
    RECORDS, cache, candidates, cargo_target, fingerprint, home, kept, program, runs, state, time_of_day,
};
pub(crate) use self::folders::{order, time_of_name};
pub use self::format::{CEILINGS, FileFormat, FormatError, HISTORY, RUN, ReadError, TUNING};
pub use self::lines::{Checksum, Stored, add_checksum, check_line, head_of, read, validated};
pub use self::replace::{Contents, Destination, create, fill, is_one_file, replace, resolved};
pub use self::store::Store;
