//! The series of a history: the times of each case in the order of their runs, apart where the circumstances differ.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::{fs, io};

use super::run::{Circumstances, HistoryCase, HistoryRun};
use gpubench_records::{CaseId, NameFilter};
use gpubench_stats::Nanoseconds;
use serde::Serialize;

use super::{CaseChange, RunLabel};
use crate::run_files;

/// The place of each commit in their order, by its hash as runs have it.
pub type CommitOrder = HashMap<String, usize>;

/// A case of a suite.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CaseOfSuite {
    /// The suite: the package, and its target.
    pub suite: String,
    /// The case.
    #[serde(flatten)]
    pub case: CaseId,
    /// True for the fake driver.
    pub fake: bool,
}

/// A time in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The number of its run.
    pub run: usize,
    /// The time of a launch.
    pub time: Nanoseconds,
}

/// A series of times that can be compared.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Series {
    /// The circumstances.
    pub circumstances: Circumstances,
    /// True if another series of the case goes on without it: its changes are of the past.
    pub is_over: bool,
    /// The changes, the newest first.
    pub changes: Vec<CaseChange>,
    /// The times, in the order of their runs.
    #[serde(skip)]
    pub points: Vec<Point>,
}

/// The runs of a history.
#[derive(Clone, Debug, Default)]
pub struct History {
    runs: Vec<HistoryRun>,
    /// A sentence for each file that is no run of a history.
    pub faults: Vec<String>,
}

impl History {
    /// Makes a history of these runs, in the order of their times.
    pub fn new(runs: impl IntoIterator<Item = HistoryRun>) -> Self {
        Self { runs: runs.into_iter().collect(), ..Self::default() }.in_order(&CommitOrder::new())
    }

    /// Reads the history in `folder`, in the order of the runs' times: the cases that one of `filters` takes, or all if there is none.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn read(folder: &Path, filters: &[NameFilter]) -> io::Result<Self> {
        fs::read_dir(folder)?;
        let (files, mut faults) = run_files(&[folder.to_owned()]);
        let mut runs = Vec::new();
        let takes = |case: &HistoryCase| {
            let name = case.case.to_string();
            filters.is_empty() || filters.iter().any(|filter| filter.takes(&name, false))
        };
        for file in files {
            let contents = fs::read(&file).map_err(|error| error.to_string());
            match contents.and_then(|contents| HistoryRun::parse(&contents)) {
                Ok(mut run) => {
                    run.cases.retain(takes);
                    runs.push(run);
                }
                Err(why) => faults.push(format!("{}: {why}", file.display())),
            }
        }
        Ok(Self { faults, ..Self::new(runs) })
    }

    /// Returns the commits of its runs.
    pub fn commits(&self) -> BTreeSet<&str> {
        self.runs.iter().filter_map(|run| run.commit.as_deref()).collect()
    }

    /// Returns true if it has no run.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Sorts runs by their commits, and those of a commit by their times. A run of a commit that has no place stays after the runs that
    /// were measured before it.
    #[must_use]
    pub fn in_order(mut self, commits: &CommitOrder) -> Self {
        self.runs.sort_by(|a, b| (a.started, &a.commit).cmp(&(b.started, &b.commit)));
        let mut latest = None;
        let with_place = |run: HistoryRun| {
            let own = run.commit.as_ref().and_then(|commit| commits.get(commit)).copied();
            latest = latest.max(own);
            (own.or(latest), run)
        };
        let mut runs: Vec<_> = self.runs.into_iter().map(with_place).collect();
        runs.sort_by_key(|(place, _)| *place);
        Self { runs: runs.into_iter().map(|(_, run)| run).collect(), ..self }
    }

    /// Returns the runs, and the series of each case, the earliest first.
    pub(super) fn series(self) -> (Vec<RunLabel>, HashMap<CaseOfSuite, Vec<Series>>) {
        let (mut labels, mut cases) = (Vec::new(), HashMap::new());
        for (number, run) in self.runs.into_iter().enumerate() {
            labels.push(RunLabel { commit: run.commit, dirty: run.dirty, started: run.started });
            // The devices without a UUID that have measured a case in this run.
            let mut devices: HashMap<(CaseOfSuite, usize), f64> = HashMap::new();
            for it in run.cases {
                let case = CaseOfSuite { suite: run.suite.clone(), case: it.case, fake: it.fake };
                let circumstances = &run.circumstances[it.circumstances];
                let all: &mut Vec<Series> = cases.entry(case.clone()).or_default();
                let known = all.iter().position(|series| series.circumstances == *circumstances);
                let place = known.unwrap_or_else(|| {
                    all.push(Series { circumstances: circumstances.clone(), ..Series::default() });
                    all.len() - 1
                });
                let count = devices.entry((case, place)).or_default();
                *count += 1.0;
                let points = &mut all[place].points;
                match points.last_mut().filter(|last| last.run == number) {
                    // Of several devices of a model, the mean on the scale of logarithms.
                    Some(last) => last.time = last.time * (it.time / last.time).powf(1.0 / *count),
                    None => points.push(Point { run: number, time: it.time }),
                }
            }
        }
        (labels, cases)
    }
}
