//! The options of races: their time, and the file for their answer.

use std::path::PathBuf;
use std::time::Duration;

/// The options of races.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuneOptions {
    /// The time that all races may take.
    pub(crate) budget: Option<Duration>,
    /// The file for the answer.
    pub(crate) save: Option<PathBuf>,
}
