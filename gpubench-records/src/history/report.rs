//! The changes of a history. In: a [`History`]; out: a [`HistoryReport`], the cases with the newest change first.

use std::thread;

use serde::Serialize;

use super::circumstances::Circumstances;
use super::confirmation::Confirmation;
use super::gather::{CaseOfSuite, History, Measured, RunLabel, Series};
use super::judge::judge;
use crate::exit::Exit;
use gpubench_stats::units::Nanoseconds;

/// The name of the format in which the changes are written.
pub const HISTORY_REPORT_SCHEMA: &str = "gpubench-changes/1";

/// The changes that are told.
#[derive(Clone, Copy, Debug)]
pub struct HistoryRules {
    /// Those by at least this part.
    pub band: f64,
    /// Those that begin in one of the last runs of their series, so many.
    pub last: Option<usize>,
}

/// The changes of all cases of a history.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct HistoryReport {
    /// [`HISTORY_REPORT_SCHEMA`].
    pub schema: &'static str,
    /// The number of runs.
    pub runs: usize,
    /// The change that does not matter.
    pub band: f64,
    /// The first run and the last.
    pub span: Option<[RunLabel; 2]>,
    /// The cases, those with the newest change first, then by name.
    pub cases: Vec<CaseHistory>,
    /// The files that could not be read, a sentence each.
    pub faults: Vec<String>,
    /// The labels of all runs.
    #[serde(skip)]
    pub labels: Vec<RunLabel>,
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

impl History {
    /// Finds the changes of all cases.
    #[must_use]
    pub fn report(self, rules: HistoryRules) -> HistoryReport {
        let Self { runs, series, faults, .. } = self;
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let mut all: Vec<(CaseOfSuite, Vec<Series>)> = series.into_iter().collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        let part = all.len().div_ceil(workers).max(1);
        let mut parts = Vec::new();
        while !all.is_empty() {
            parts.push(all.drain(..part.min(all.len())).collect::<Vec<_>>());
        }
        let runs = &runs;
        let judged = |part: Vec<(CaseOfSuite, Vec<Series>)>| {
            part.into_iter().map(|(case, series)| judge(case, series, runs, rules)).collect::<Vec<_>>()
        };
        let mut cases: Vec<CaseHistory> = thread::scope(|scope| {
            let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(|| judged(part))).collect();
            let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
            ended.flat_map(|cases| cases.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        cases.sort_by_key(|case| std::cmp::Reverse(case.newest().map(|change| change.begins.started)));
        let span = runs.first().zip(runs.last()).map(|(first, last)| [first.clone(), last.clone()]);
        HistoryReport {
            schema: HISTORY_REPORT_SCHEMA,
            runs: runs.len(),
            band: rules.band,
            span,
            cases,
            faults,
            labels: runs.clone(),
        }
    }
}

impl HistoryReport {
    /// Returns all changes with their cases, the newest first.
    #[must_use]
    pub fn changes(&self) -> Vec<(&CaseHistory, &CaseChange)> {
        let of = |case| CaseHistory::changes(case).map(move |change| (case, change));
        let mut all: Vec<_> = self.cases.iter().flat_map(of).collect();
        all.sort_by_key(|(_, change)| std::cmp::Reverse(change.begins.started));
        all
    }

    /// Returns the exit code: that of a regression if a case became slower, and still is, and `fails`. A change that a comparison refuted is none,
    /// nor is one of a series that is over.
    #[must_use]
    pub fn exit(&self, fails: bool) -> Exit {
        let series = || self.cases.iter().flat_map(|case| &case.series).filter(|series| !series.is_over);
        let is_refuted =
            |change: &CaseChange| matches!(change.confirmation, Some(Confirmation::NotConfirmed { .. }));
        let is_slower =
            |change: &CaseChange| change.ratio > 1.0 && !self.is_undone(change) && !is_refuted(change);
        if self.cases.is_empty() {
            Exit::Nothing
        } else if fails && series().flat_map(|series| &series.changes).any(is_slower) {
            Exit::Regression
        } else {
            Exit::Done
        }
    }

    /// Returns true if the case is no longer slower, or faster, than before the change by more than the band.
    #[must_use]
    pub fn is_undone(&self, change: &CaseChange) -> bool {
        if change.ratio > 1.0 { change.remains < 1.0 + self.band } else { change.remains > 1.0 - self.band }
    }
}

impl CaseHistory {
    /// Returns its changes, those of later series first.
    pub fn changes(&self) -> impl Iterator<Item = &CaseChange> {
        self.series.iter().rev().flat_map(|series| &series.changes)
    }

    fn newest(&self) -> Option<&CaseChange> {
        self.changes().max_by_key(|change| change.begins.started)
    }
}
