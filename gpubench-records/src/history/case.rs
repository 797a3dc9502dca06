//! A case of a history. In: its series and their changes, as they were judged; out: the fields that reports have, and the order of the
//! changes.

use serde::Serialize;

use super::circumstances::Circumstances;
use super::confirmation::Confirmation;
use super::gather::{CaseOfSuite, Measured, RunLabel};
use gpubench_stats::units::Nanoseconds;

/// The changes that are told.
#[derive(Clone, Copy, Debug)]
pub struct HistoryRules {
    /// Those by at least this part.
    pub band: f64,
    /// Those that begin in one of the last runs of their series, so many.
    pub last: Option<usize>,
}

/// A case over time.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CaseHistory {
    /// The case.
    #[serde(flatten)]
    pub case: CaseOfSuite,
    /// Its series, the earliest first.
    pub series: Vec<HistorySeries>,
}

/// A series of times that can be compared.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct HistorySeries {
    /// The circumstances, in the order in which they came. Several were joined by commits that were measured under both.
    pub circumstances: Vec<Circumstances>,
    /// The number of times.
    pub count: usize,
    /// True if there are too few to look for a change.
    pub is_short: bool,
    /// True if another series of the case goes on without it: its changes are of the past.
    pub is_over: bool,
    /// The number of changes that are left out, since the error of a join may be all of them.
    pub unclear: usize,
    /// The changes, the newest first.
    pub changes: Vec<CaseChange>,
    /// The times, in the order in which they were measured.
    #[serde(skip)]
    pub times: Vec<Measured>,
    /// The same under the first circumstances, in nanoseconds.
    #[serde(skip)]
    pub evened: Vec<f64>,
}

/// A change of a case.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CaseChange {
    /// The last run that certainly is before it: the change came behind its commit.
    pub after: RunLabel,
    /// The first run that certainly is behind it: the change came with its commit or an earlier one.
    pub until: RunLabel,
    /// The run at which the new level most likely begins.
    pub begins: RunLabel,
    /// The number of its time in the series.
    pub at: usize,
    /// The new level over the old.
    pub ratio: f64,
    /// The interval of the ratio, with a confidence of 95 %.
    pub interval: [f64; 2],
    /// The chance that a series without a change has such a step anywhere; [`LEAST_CHANCE`](gpubench_stats::changes::LEAST_CHANCE) stands for all below.
    pub chance: f64,
    /// The level before it and the new one, under the circumstances of the run at which the new one begins.
    pub times: [Nanoseconds; 2],
    /// The latest level of the series over the one before the change: 1 or less if a slower case is as fast again.
    pub remains: f64,
    /// The device's own name, where devices of several names have measured the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The answer of a comparison of the commits around it, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

impl CaseHistory {
    /// Returns its changes, those of later series first.
    pub fn changes(&self) -> impl Iterator<Item = &CaseChange> {
        self.series.iter().rev().flat_map(|series| &series.changes)
    }

    /// Returns its newest change.
    pub(super) fn newest(&self) -> Option<&CaseChange> {
        self.changes().max_by_key(|change| change.begins.started)
    }
}
