//! The series of a history. In: runs; out: the times of each case in the order of their commits, apart where the circumstances differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;

use serde::Serialize;

use super::circumstances::Circumstances;
use super::entry::{HistoryCase, HistoryRun};
use super::folder;
use crate::id::CaseId;
use crate::selection::NameFilter;
use gpubench_stats::units::Nanoseconds;

/// A case of a suite.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CaseOfSuite {
    /// The suite: the package, and its target.
    pub suite: String,
    /// The case.
    #[serde(flatten)]
    pub case: CaseId,
    /// True if the device is a stand-in for tests.
    pub fake: bool,
}

/// A run by which a reader finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunLabel {
    /// The commit, if it is known.
    pub commit: Option<String>,
    /// True if tracked files had changed since that commit.
    pub dirty: bool,
    /// The second in which the run began, from 1970 on.
    pub started: u64,
}

/// A time in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number of its run.
    pub run: usize,
    /// The time of a launch.
    pub time: Nanoseconds,
}

/// The times of one case under one kind of circumstances, in the order in which they were measured.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) circumstances: Circumstances,
    pub(super) times: Vec<Measured>,
}

/// The cases to take, and the devices that count as one.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// Those that contain one of these; all if there is none.
    pub names: Vec<NameFilter>,
    /// True if all devices of a model count as one. Else each is a series of its own.
    pub by_model: bool,
}

/// The order of commits: the place of each, by its hash as runs have it.
pub type CommitOrder = HashMap<String, usize>;

impl HistoryFilter {
    fn takes(&self, case: &CaseId) -> bool {
        self.names.is_empty() || {
            let name = case.to_string();
            self.names.iter().any(|filter| filter.takes(&name, false))
        }
    }
}

/// All runs of a history, and the series of their cases.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(super) runs: Vec<RunLabel>,
    pub(super) series: HashMap<CaseOfSuite, Vec<Series>>,
    pub(super) faults: Vec<String>,
}

impl History {
    /// Makes a history of these runs.
    #[must_use]
    pub fn of(runs: impl IntoIterator<Item = HistoryRun>) -> Self {
        let mut history = Self::default();
        runs.into_iter().for_each(|run| history.add(run, &HistoryFilter::default()));
        history.complete_commits();
        history.sort();
        history
    }

    /// Reads the history in `folder`, as [`add`](super::add) has it. Its runs are in the order of their times.
    ///
    /// # Errors
    /// If the folder cannot be read. A file that is no run of a history is told in the report.
    pub fn read(folder: &Path, filter: &HistoryFilter) -> io::Result<Self> {
        let mut history = Self::default();
        let faults = folder::read(folder, |run| history.add(run, filter))?;
        history.faults = faults;
        history.complete_commits();
        history.sort();
        Ok(history)
    }

    /// Returns the commits of its runs, each once.
    #[must_use]
    pub fn commits(&self) -> BTreeSet<&str> {
        self.runs.iter().filter_map(|run| run.commit.as_deref()).collect()
    }

    /// Puts runs in the order of their commits, and those of a commit in that of their times. A run of a commit that has no place stays
    /// behind what was measured before it.
    #[must_use]
    pub fn in_order(mut self, commits: &CommitOrder) -> Self {
        let mut latest = None;
        let places: Vec<Option<usize>> = self
            .runs
            .iter()
            .map(|run| {
                let own = run.commit.as_ref().and_then(|commit| commits.get(commit)).copied();
                latest = latest.max(own);
                own.or(latest)
            })
            .collect();
        self.sort_by(|number| places[number]);
        self
    }

    /// Returns true if it has no run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns a sentence for each file that is no run of a history.
    #[must_use]
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    fn add(&mut self, run: HistoryRun, filter: &HistoryFilter) {
        let HistoryRun { commit, dirty, started, suite, circumstances, cases, .. } = run;
        let number = self.runs.len();
        self.runs.push(RunLabel { commit, dirty, started });
        // The devices of a model that have measured a case in this run.
        let mut devices: BTreeMap<(CaseOfSuite, usize), f64> = BTreeMap::new();
        for HistoryCase { case, fake, circumstances: at, time, .. } in cases {
            if !filter.takes(&case) {
                continue;
            }
            let case = CaseOfSuite { suite: suite.clone(), case, fake };
            let all = self.series.entry(case.clone()).or_default();
            let mut own = circumstances[at].clone();
            if filter.by_model {
                own.uuid = None;
            }
            let place = all.iter().position(|series| series.circumstances == own).unwrap_or_else(|| {
                all.push(Series { circumstances: own, times: Vec::new() });
                all.len() - 1
            });
            let times = &mut all[place].times;
            let count = devices.entry((case, place)).or_default();
            *count += 1.0;
            match times.last_mut() {
                // Of several devices of a model, the mean on the scale of logarithms.
                Some(last) if last.run == number => {
                    last.time = last.time * (time / last.time).powf(1.0 / *count);
                }
                _ => times.push(Measured { run: number, time }),
            }
        }
    }

    /// Puts the whole hash in place of its first digits, if one commit of the history alone begins with them.
    fn complete_commits(&mut self) {
        let all: BTreeSet<String> = self.runs.iter().filter_map(|run| run.commit.clone()).collect();
        for commit in self.runs.iter_mut().filter_map(|run| run.commit.as_mut()) {
            let longer = all.range::<String, _>(&*commit..).take_while(|other| other.starts_with(&**commit));
            let longest = longer.clone().last().cloned().unwrap_or_default();
            if longer.clone().all(|other| longest.starts_with(other)) {
                *commit = longest;
            }
        }
    }

    /// Puts runs in the order of their times, and times in that of their runs.
    fn sort(&mut self) {
        self.sort_by(|_| ());
    }

    /// The same by the place of a run's number first.
    fn sort_by<P: Ord>(&mut self, place: impl Fn(usize) -> P) {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by(|one, other| {
            let key = |number: &usize| {
                let run = &self.runs[*number];
                (place(*number), run.started, &run.commit)
            };
            key(one).cmp(&key(other))
        });
        let mut places = vec![0; order.len()];
        for (place, number) in order.iter().enumerate() {
            places[*number] = place;
        }
        self.runs = order.iter().map(|number| self.runs[*number].clone()).collect();
        for series in self.series.values_mut().flatten() {
            for measured in &mut series.times {
                measured.run = places[measured.run];
            }
            series.times.sort_by_key(|measured| measured.run);
        }
        for all in self.series.values_mut() {
            all.sort_by_key(|series| series.times.first().map(|first| first.run));
        }
    }
}
