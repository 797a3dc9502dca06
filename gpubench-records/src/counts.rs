//! The number of results of a run. Every summary, in whatever format, takes its numbers from here, so that they are those of the
//! results that the run shows.

use std::collections::HashSet;

use crate::{Run, State};

/// The number of results by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultCounts {
    /// All results.
    pub results: usize,
    /// The valid ones.
    pub valid: usize,
    /// The suspect ones.
    pub suspect: usize,
    /// The invalid ones, failed ones included.
    pub invalid: usize,
    /// Those without a measurement.
    pub failed: usize,
    /// The planned ones that the run lacks.
    pub missing: usize,
    /// The cases that benchmarks leave out, each once for all devices.
    pub skipped: usize,
}

impl Run {
    /// Counts the results.
    pub fn counts(&self) -> ResultCounts {
        let count = |state| self.records.iter().filter(|record| record.verdict.state == state).count();
        let skipped: HashSet<_> =
            self.skipped.iter().map(|it| (&it.benchmark, it.name(), &it.reason)).collect();
        ResultCounts {
            results: self.records.len(),
            valid: count(State::Valid),
            suspect: count(State::Suspect),
            invalid: count(State::Invalid),
            failed: self.records.iter().filter(|record| record.measurement.is_none()).count(),
            missing: self.planned_cases.saturating_sub(self.records.len()),
            skipped: skipped.len(),
        }
    }
}
