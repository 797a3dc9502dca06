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

use self::changes::{LevelChange, MIN_SERIES_LENGTH, changes};
pub use self::runs::{
    CaseOfBinary, Circumstances, CommitOrder, History, HistoryCase, HistoryRun, TimePoint, TimeSeries,
    add_to_history, is_commit_hash,
};
pub use self::table::render;

/// The name and version of the JSON format of a [`HistoryReport`].
pub const HISTORY_REPORT_SCHEMA: &str = "gpubench-changes/1";

/// The rules that select the changes of a report, given by the user.
#[derive(Clone, Copy, Debug)]
pub struct HistoryRules {
    /// The least change, as a fraction of the time.
    pub equivalence_margin: f64,
    /// Reports only changes that begin in this number of last runs of their series, and none of series that
    /// are over. Reports all changes if `None`.
    pub last: Option<usize>,
}

/// A run, as the report names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunLabel {
    /// The commit, if it is known.
    pub commit: Option<String>,
    /// True if tracked files differed from that commit.
    pub dirty: bool,
    /// The beginning of the run, in seconds since 1970-01-01 UTC.
    pub started: u64,
}

/// The report on a history: the changes of all cases.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryReport {
    /// [`HISTORY_REPORT_SCHEMA`].
    pub schema: &'static str,
    /// The number of runs.
    pub runs: usize,
    /// The least change, as a fraction of the time.
    pub equivalence_margin: f64,
    /// The first run and the last.
    pub span: Option<[RunLabel; 2]>,
    /// The cases: those with the newest changes first, then by name.
    pub cases: Vec<CaseHistory>,
    /// An error message for each file that cannot be read.
    pub faults: Vec<String>,
}

/// A case with its times over the runs.
#[derive(Clone, Debug, Serialize)]
pub struct CaseHistory {
    /// The case.
    #[serde(flatten)]
    pub case: CaseOfBinary,
    /// Its series of comparable times, the earliest first.
    pub series: Vec<TimeSeries>,
}

/// A change of a case's time.
#[derive(Clone, Debug, Serialize)]
pub struct CaseChange {
    /// The last run that is certainly before the change. The change came after its commit.
    pub after: RunLabel,
    /// The first run that is certainly after the change. The change came with its commit or an earlier one.
    pub until: RunLabel,
    /// The run with which the new level most likely begins.
    pub begins: RunLabel,
    /// The index in the series of the new level's first time.
    pub at: usize,
    /// The ratio of the new level to the level before it.
    pub ratio: f64,
    /// The 95 % interval of the ratio.
    pub interval: [f64; 2],
    /// The level before the change, and the new level.
    pub times: [Nanoseconds; 2],
    /// The ratio of the latest level of the series to the level before the change: at most 1 if a slower case
    /// is as fast again.
    pub remains: f64,
    /// The UUID of the device, where several devices have measured the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

impl History {
    /// Finds the changes that `rules` select, of all cases.
    pub fn report(self, rules: HistoryRules) -> HistoryReport {
        let faults = self.faults.clone();
        let (runs, series) = self.into_series();
        let mut cases: Vec<CaseHistory> = series
            .into_par_iter()
            .map(|(case, series)| CaseHistory { case, series: with_changes(series, &runs, rules) })
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

/// Finds the changes in all series of a case, and marks the series that are over. `runs` has the label of
/// each run of the history.
fn with_changes(mut all: Vec<TimeSeries>, runs: &[RunLabel], rules: HistoryRules) -> Vec<TimeSeries> {
    let several_devices = all.windows(2).any(|pair| pair[0].uuid() != pair[1].uuid());
    // A series is over if another has enough runs after its last one to look for changes in them.
    let is_over = |one: &TimeSeries| {
        let last = one.points.last().map_or(0, |last| last.run);
        let runs_after = |other: &TimeSeries| other.points.iter().filter(|point| point.run > last).count();
        all.iter().any(|other| runs_after(other) >= MIN_SERIES_LENGTH)
    };
    let ended: Vec<bool> = all.iter().map(is_over).collect();
    for (series, is_over) in all.iter_mut().zip(ended) {
        series.is_over = is_over;
        series.find_changes(runs, rules, several_devices);
    }
    all
}

impl TimeSeries {
    /// Returns true if the series has too few times to search for changes.
    pub fn is_short(&self) -> bool {
        self.points.len() < MIN_SERIES_LENGTH
    }

    /// Returns the UUID of its device; `None` if the device has none.
    pub fn uuid(&self) -> Option<&str> {
        self.circumstances.gpu()
    }

    /// Returns the times, in nanoseconds.
    pub fn times(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.time.as_f64()).collect()
    }

    /// Stores in the series those of its changes that `rules` select. If `names_device` is true, each change
    /// has the UUID of the device.
    fn find_changes(&mut self, runs: &[RunLabel], rules: HistoryRules, names_device: bool) {
        let times = self.times();
        // With `rules.last`, a series that is over has no change to report.
        let last = rules.last.map(|last| if self.is_over { 0 } else { last });
        let first = last.map_or(0, |last| times.len().saturating_sub(last));
        let is_selected = |change: &LevelChange| {
            (change.ratio - 1.0).abs() >= rules.equivalence_margin && change.at >= first
        };
        // The mean on the scale of logarithms.
        let level = |times: &[f64]| {
            (times.iter().map(|time| time.ln()).sum::<f64>() / times.len().max(1) as f64).exp()
        };
        let found = changes(&times);
        let latest = level(&times[found.last().map_or(0, |last| last.at)..]);
        let label = |at: usize| runs[self.points[at].run].clone();
        let case_change = |change: LevelChange| {
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
        self.changes = found.into_iter().rev().filter(is_selected).map(case_change).collect();
    }
}

impl CaseHistory {
    /// Returns the changes of all series, those of later series first.
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

    /// Returns the exit code: [`Exit::Nothing`] if there is no case, [`Exit::Regression`] if `fails` is true
    /// and a case became slower and still is, else [`Exit::Done`]. Series that are over do not count.
    pub fn exit(&self, fails: bool) -> Exit {
        let series = self.cases.iter().flat_map(|case| &case.series).filter(|series| !series.is_over);
        let mut changes = series.flat_map(|series| &series.changes);
        match changes.any(|change| change.ratio > 1.0 && !self.is_undone(change)) {
            _ if self.cases.is_empty() => Exit::Nothing,
            true if fails => Exit::Regression,
            _ => Exit::Done,
        }
    }

    /// Returns true if `change` is a slowdown after which the case became as fast as before, within the
    /// equivalence margin. Returns false for every speedup.
    pub fn is_undone(&self, change: &CaseChange) -> bool {
        change.ratio > 1.0 && change.remains < 1.0 + self.equivalence_margin
    }
}
