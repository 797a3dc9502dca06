//! Runs held against earlier ones. In: a run, and what is stored under a baseline's name; out: a [`Check`](crate::comparison::Check) with
//! a line for each case. Reads records and nothing else, so that a stored run is held against a baseline as a live one is.
//!
//! `folder` keeps baselines, `comparable` says which cases can be compared at all, `check` compares them, and `open` does in
//! order what a command line asks.

mod check;
mod comparable;
mod folder;
mod open;

pub use self::check::check;
pub(crate) use self::comparable::{MeasuredRecord, differences};
pub use self::folder::{Baseline, BaselineError, Place};
pub use self::open::{BaselineOptions, OpenBaselines};
