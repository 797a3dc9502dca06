//! A history of runs over the commits of a repository, and the report on it: the changes of each case that the user asks for.

pub mod changes;
mod runs;
mod steps;
mod table;

use std::cmp::Reverse;

use gpubench_records::Exit;
use gpubench_stats::Nanoseconds;
use rayon::prelude::*;
use serde::Serialize;

use self::changes::{LevelChange, SHORTEST_SERIES, changes};
pub use self::runs::{
    CaseOfSuite, Circumstances, CommitOrder, History, HistoryCase, HistoryRun, TimePoint, TimeSeries, add,
    is_hash,
};
pub use self::table::render;

/// The name of the format of a [`HistoryReport`].
pub const HISTORY_REPORT_SCHEMA: &str = "gpubench-changes/1";

/// The changes that are reported.
#[derive(Clone, Copy, Debug)]
pub struct HistoryRules {
    /// The least change, as a fraction.
    pub equivalence_margin: f64,
    /// Reports only changes that begin in this number of last runs of their series.
    pub last: Option<usize>,
}

/// A run as a reader finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunLabel {
    /// The commit, if it is known.
    pub commit: Option<String>,
    /// True if tracked files had changed since that commit.
    pub dirty: bool,
    /// The second in which the run began, from 1970 on.
    pub started: u64,
}

/// The changes of all cases of a history.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryReport {
    /// [`HISTORY_REPORT_SCHEMA`].
    pub schema: &'static str,
    /// The number of runs.
    pub runs: usize,
    /// The least change.
    pub equivalence_margin: f64,
    /// The first run and the last.
    pub span: Option<[RunLabel; 2]>,
    /// The cases, those with the newest change first, then by name.
    pub cases: Vec<CaseHistory>,
    /// A sentence for each file that cannot be read.
    pub faults: Vec<String>,
}

/// A case over time.
#[derive(Clone, Debug, Serialize)]
pub struct CaseHistory {
    /// The case.
    #[serde(flatten)]
    pub case: CaseOfSuite,
    /// Its series, the earliest first.
    pub series: Vec<TimeSeries>,
}

/// A change of a case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseChange {
    /// The last run that certainly is before it: the change came after its commit.
    pub after: RunLabel,
    /// The first run that certainly is after it: the change came with its commit or an earlier one.
    pub until: RunLabel,
    /// The run at which the new level most likely begins.
    pub begins: RunLabel,
    /// The number of its time in the series.
    pub at: usize,
    /// The new level over the old.
    pub ratio: f64,
    /// The 95 % interval of the ratio.
    pub interval: [f64; 2],
    /// The level before it and the new one.
    pub times: [Nanoseconds; 2],
    /// The latest level of the series over the one before the change: 1 or less if a slower case is as fast again.
    pub remains: f64,
    /// The UUID of the device, where several devices have measured the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

impl History {
    /// Finds the changes of all cases.
    pub fn report(self, rules: HistoryRules) -> HistoryReport {
        let faults = self.faults.clone();
        let (runs, series) = self.series();
        let mut cases: Vec<CaseHistory> = series
            .into_par_iter()
            .map(|(case, series)| CaseHistory { case, series: judged(series, &runs, rules) })
            .collect();
        let newest = |case: &CaseHistory| case.changes().map(|change| change.begins.started).max();
        cases.sort_by(|a, b| newest(b).cmp(&newest(a)).then_with(|| a.case.cmp(&b.case)));
        HistoryReport {
            schema: HISTORY_REPORT_SCHEMA,
            runs: runs.len(),
            equivalence_margin: rules.equivalence_margin,
            span: runs.first().zip(runs.last()).map(|(first, last)| [first.clone(), last.clone()]),
            cases,
            faults,
        }
    }
}

/// Returns the series of a case with their changes.
fn judged(mut all: Vec<TimeSeries>, runs: &[RunLabel], rules: HistoryRules) -> Vec<TimeSeries> {
    let several_devices = all.windows(2).any(|pair| pair[0].uuid() != pair[1].uuid());
    // A series is over if another has enough runs after its last one to look for changes in them.
    let is_over = |one: &TimeSeries| {
        let last = one.points.last().map_or(0, |last| last.run);
        let runs_after = |other: &TimeSeries| other.points.iter().filter(|point| point.run > last).count();
        all.iter().any(|other| runs_after(other) >= SHORTEST_SERIES)
    };
    let over: Vec<bool> = all.iter().map(is_over).collect();
    for (series, is_over) in all.iter_mut().zip(over) {
        series.is_over = is_over;
        series.find_changes(runs, rules, several_devices);
    }
    all
}

impl TimeSeries {
    /// Returns true if there are too few times to look for a change.
    pub fn is_short(&self) -> bool {
        self.points.len() < SHORTEST_SERIES
    }

    /// Returns the UUID of its device.
    pub fn uuid(&self) -> Option<&str> {
        self.circumstances.gpu()
    }

    /// Returns the times, in nanoseconds.
    pub fn times(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.time.as_f64()).collect()
    }

    /// Finds the changes that `rules` ask for.
    fn find_changes(&mut self, runs: &[RunLabel], rules: HistoryRules, names_device: bool) {
        let times = self.times();
        // The last runs of a series that is over are none of the last ones.
        let last = rules.last.map(|last| if self.is_over { 0 } else { last });
        let first = last.map_or(0, |last| times.len().saturating_sub(last));
        let is_asked = |change: &LevelChange| {
            (change.ratio - 1.0).abs() >= rules.equivalence_margin && change.at >= first
        };
        // The mean on the scale of logarithms.
        let level = |times: &[f64]| {
            (times.iter().map(|time| time.ln()).sum::<f64>() / times.len().max(1) as f64).exp()
        };
        let found = changes(&times);
        let latest = level(&times[found.last().map_or(0, |last| last.at)..]);
        let label = |at: usize| runs[self.points[at].run].clone();
        let shown = |change: LevelChange| {
            let (begin, end) = change.levels;
            let before = level(&times[begin..change.at]);
            CaseChange {
                after: label(change.between.0 - 1),
                until: label(change.between.1),
                begins: label(change.at),
                at: change.at,
                ratio: change.ratio,
                interval: change.interval,
                times: [before, level(&times[change.at..end])].map(Nanoseconds),
                remains: latest / before,
                uuid: self.uuid().filter(|_| names_device).map(str::to_owned),
            }
        };
        self.changes = found.into_iter().rev().filter(is_asked).map(shown).collect();
    }
}

impl CaseHistory {
    /// Returns its changes, those of later series first.
    pub fn changes(&self) -> impl Iterator<Item = &CaseChange> {
        self.series.iter().rev().flat_map(|series| &series.changes)
    }
}

impl HistoryReport {
    /// Returns all changes with their cases, the newest first.
    pub fn changes(&self) -> Vec<(&CaseHistory, &CaseChange)> {
        let mut all: Vec<_> = self
            .cases
            .iter()
            .flat_map(|case| CaseHistory::changes(case).map(move |change| (case, change)))
            .collect();
        all.sort_by_key(|(_, change)| Reverse(change.begins.started));
        all
    }

    /// Returns the exit code: 3 if `fails` and a case became slower and still is. Series that are over do not count.
    pub fn exit(&self, fails: bool) -> Exit {
        let series = self.cases.iter().flat_map(|case| &case.series).filter(|series| !series.is_over);
        let mut changes = series.flat_map(|series| &series.changes);
        match changes.any(|change| change.ratio > 1.0 && !self.is_undone(change)) {
            _ if self.cases.is_empty() => Exit::Nothing,
            true if fails => Exit::Regression,
            _ => Exit::Done,
        }
    }

    /// Returns true for a slowdown after which the case is as fast again, within the equivalence margin.
    pub fn is_undone(&self, change: &CaseChange) -> bool {
        change.ratio > 1.0 && change.remains < 1.0 + self.equivalence_margin
    }
}
