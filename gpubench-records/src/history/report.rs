//! The changes of a history. In: a [`History`]; out: a [`HistoryReport`], the cases with the newest change first.

use std::thread;

use serde::Serialize;

use super::case::{CaseChange, CaseHistory, HistoryRules};
use super::confirmation::Confirmation;
use super::gather::{CaseOfSuite, History, RunLabel, Series};
use super::judge::judge;
use crate::exit::Exit;

/// The name of the format in which the changes are written.
pub const HISTORY_REPORT_SCHEMA: &str = "gpubench-changes/1";

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
