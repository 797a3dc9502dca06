//! Runs on disk, so that no measurement is lost: a file of whole lines for each run, and earlier runs to resume.
//!
//! [`FileFormat`] reads every kind of file and checks its schema first; [`replace`] writes whole files, so that a reader
//! never finds a part of one.

mod baselines;
mod disk;
mod earlier_run;
mod folders;
mod format;
mod lines;
pub mod peaks;
mod replace;
mod store;

pub use self::baselines::BaselineLocation;
pub use self::earlier_run::{EarlierRun, LAST, LoadRunError, file_of, is_name_of_run, run_before, runs_in};
pub use self::folders::{
    RECORDS, cache_folder, cargo_target_folder, default_runs_folder, fingerprint, name_candidates,
    open_program, persistent_folder, program_folder, state_folder, time_of_day,
};
pub(crate) use self::folders::{parse_run_name, time_of_name};
pub use self::format::{FileFormat, Header, MEASURED_PEAKS, RUN, ReadError};
pub use self::lines::{Checksum, StoredRun, add_checksum, check_line, head_of, read, validated};
pub use self::replace::{Destination, WriteContents, create, fill, is_one_file, replace, resolved};
pub use self::store::Store;
