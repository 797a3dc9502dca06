//! The options of races: their time, what they find, and the file for their answer.

use std::path::PathBuf;
use std::time::Duration;

use gpubench_records::tuning::Objective;

/// The options of races.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuneOptions {
    /// The time that all races may take.
    pub(crate) budget: Option<Duration>,
    /// What they find.
    pub(crate) objective: Objective,
    /// The file for the answer.
    pub(crate) save: Option<PathBuf>,
}
