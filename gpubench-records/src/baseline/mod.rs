//! Runs compared with earlier ones. In: a run, and what is stored under a baseline's name; out: a [`BaselineComparison`](crate::comparison::BaselineComparison) with
//! a line for each case. Reads records and nothing else, so that a stored run is compared with a baseline as a live one is.
//!
//! `folder` keeps baselines, `assumed` is the difference between processes where none was measured, `newest` chooses their records, `comparable` decides which cases can be compared at all,
//! `check` pairs them, `decisions` decides on all of them together, and `open` follows the flags of a command line.

mod assumed;
mod check;
mod comparable;
mod decisions;
mod folder;
mod newest;
mod open;

pub use self::check::{check, check_within};
pub(crate) use self::comparable::other_work;
pub use self::comparable::{MeasuredRecord, differences};
pub use self::decisions::{MOST_AGAIN, RowDecision, RowMedians, decide};
pub use self::folder::{BaselineError, Place};
pub use self::newest::Baseline;
pub use self::open::{BaselineOptions, OpenBaselines};

#[cfg(test)]
mod fixture {
    use crate::files;
    use crate::record::Run;

    /// A run as it was stored.
    pub(super) fn stored_run() -> Run {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        files::read(&lines[..]).expect("a run").run
    }
}
