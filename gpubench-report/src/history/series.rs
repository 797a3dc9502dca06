//! The series of a history: the times of each case in the order of their runs, apart where the circumstances differ and no commits were
//! measured under both.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::{fs, io};

use gpubench_records::history::{Circumstances, HistoryRun};
use gpubench_records::id::CaseId;
use gpubench_records::selection::NameFilter;
use gpubench_stats::units::Nanoseconds;
use serde::Serialize;

use super::changes::spread;
use super::{CaseChange, RunLabel};

/// The fewest commits that two series need in common. One alone would pass on the noise of one run as a step.
const LEAST_COMMITS: usize = 2;

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
    /// The same under the first circumstances of the series, in nanoseconds.
    pub adjusted: f64,
    /// The number of its circumstances.
    circumstances: usize,
}

/// A series of times that can be compared.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// The circumstances, in the order in which they came. Several were joined by commits that were measured under both.
    pub circumstances: Vec<Circumstances>,
    /// True if another series of the case goes on without it: its changes are of the past.
    pub is_over: bool,
    /// The number of changes that are left out, since the error of a join may be all of them.
    pub unclear: usize,
    /// The changes, the newest first.
    pub changes: Vec<CaseChange>,
    /// The times, in the order of their runs.
    #[serde(skip)]
    pub points: Vec<Point>,
    /// The standard error of each join: of the logarithms under the next circumstances against those before.
    #[serde(skip)]
    join_errors: Vec<f64>,
}

/// The cases to take, and the devices that count as one.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// Takes cases whose names contain one of these; all if there is none.
    pub names: Vec<NameFilter>,
    /// True if all devices of a model count as one. Else each is a series of its own.
    pub by_model: bool,
}

/// The runs of a history, and the series of their cases.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The runs.
    pub(super) runs: Vec<RunLabel>,
    pub(super) series: HashMap<CaseOfSuite, Vec<Series>>,
    /// A sentence for each file that is no run of a history.
    pub faults: Vec<String>,
}

impl History {
    /// Makes a history of these runs, in the order of their times.
    #[must_use]
    pub fn new(runs: impl IntoIterator<Item = HistoryRun>) -> Self {
        let mut history = Self::default();
        runs.into_iter().for_each(|run| history.add(run, &HistoryFilter::default()));
        history.sort_by(|_| None);
        history
    }

    /// Reads the history in `folder`, in the order of the runs' times.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn read(folder: &Path, filter: &HistoryFilter) -> io::Result<Self> {
        let mut history = Self::default();
        for commit in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
            let files = entries(&commit).unwrap_or_else(|error| {
                history.faults.push(format!("{}: {error}", commit.display()));
                Vec::new()
            });
            for file in
                files.into_iter().filter(|file| file.extension().is_some_and(|ending| ending == "json"))
            {
                let contents = fs::read(&file).map_err(|error| error.to_string());
                match contents.and_then(|contents| HistoryRun::parse(&contents)) {
                    Ok(run) => history.add(run, filter),
                    Err(why) => history.faults.push(format!("{}: {why}", file.display())),
                }
            }
        }
        history.sort_by(|_| None);
        Ok(history)
    }

    /// Returns the commits of its runs.
    #[must_use]
    pub fn commits(&self) -> BTreeSet<&str> {
        self.runs.iter().filter_map(|run| run.commit.as_deref()).collect()
    }

    /// Returns true if it has no run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Sorts runs by their commits, and those of a commit by their times. A run of a commit that has no place stays after the runs that
    /// were measured before it.
    #[must_use]
    pub fn in_order(mut self, commits: &CommitOrder) -> Self {
        let mut latest = None;
        let place = |run: &RunLabel| {
            let own = run.commit.as_ref().and_then(|commit| commits.get(commit)).copied();
            latest = latest.max(own);
            own.or(latest)
        };
        let places: Vec<Option<usize>> = self.runs.iter().map(place).collect();
        self.sort_by(|number| places[number]);
        self
    }

    fn add(&mut self, run: HistoryRun, filter: &HistoryFilter) {
        let number = self.runs.len();
        self.runs.push(RunLabel { commit: run.commit, dirty: run.dirty, started: run.started });
        // The devices of a model that have measured a case in this run.
        let mut devices: BTreeMap<(CaseOfSuite, usize), f64> = BTreeMap::new();
        for it in run.cases {
            let name = it.case.to_string();
            if !filter.names.is_empty() && !filter.names.iter().any(|filter| filter.takes(&name, false)) {
                continue;
            }
            let case = CaseOfSuite { suite: run.suite.clone(), case: it.case, fake: it.fake };
            let mut circumstances = run.circumstances[it.circumstances].clone();
            circumstances.uuid = circumstances.uuid.filter(|_| !filter.by_model);
            let all = self.series.entry(case.clone()).or_default();
            let place =
                all.iter().position(|series| series.circumstances[0] == circumstances).unwrap_or_else(|| {
                    all.push(Series::new(circumstances));
                    all.len() - 1
                });
            let count = devices.entry((case, place)).or_default();
            *count += 1.0;
            let points = &mut all[place].points;
            match points.last_mut().filter(|last| last.run == number) {
                // Of several devices of a model, the mean on the scale of logarithms.
                Some(last) => last.time = last.time * (it.time / last.time).powf(1.0 / *count),
                None => points.push(Point { run: number, time: it.time, adjusted: 0.0, circumstances: 0 }),
            }
        }
    }

    /// Sorts runs by the place of each number, then by time, and points as their runs.
    fn sort_by(&mut self, place: impl Fn(usize) -> Option<usize>) {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|number| {
            (place(*number), self.runs[*number].started, self.runs[*number].commit.clone())
        });
        self.runs = order.iter().map(|number| self.runs[*number].clone()).collect();
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, number)| places[*number] = place);
        for all in self.series.values_mut() {
            for series in all.iter_mut() {
                series.points.iter_mut().for_each(|point| point.run = places[point.run]);
                series.points.sort_by_key(|point| point.run);
            }
            all.sort_by_key(|series| series.points.first().map(|first| first.run));
        }
    }
}

/// Returns the paths in `folder` whose names do not begin with a dot, shorter names first: of runs of one second, the later ones have
/// longer names.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        paths.extend((!entry.file_name().to_string_lossy().starts_with('.')).then(|| entry.path()));
    }
    paths.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(paths)
}

impl Series {
    fn new(circumstances: Circumstances) -> Self {
        Self {
            circumstances: vec![circumstances],
            is_over: false,
            unclear: 0,
            changes: Vec::new(),
            points: Vec::new(),
            join_errors: Vec::new(),
        }
    }

    /// Returns the UUID of its device, the last of several.
    #[must_use]
    pub fn uuid(&self) -> Option<&str> {
        self.circumstances.last()?.uuid.as_deref()
    }

    /// Returns the times under the first circumstances.
    #[must_use]
    pub fn adjusted(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.adjusted).collect()
    }

    /// Returns the standard error that joins give to the ratio of the levels `begin..at` and `at..end`: that of each, as far as one
    /// level has more times from after it than the other.
    pub(super) fn error_between(&self, begin: usize, at: usize, end: usize) -> f64 {
        let part_after = |points: &[Point], join: usize| {
            points.iter().filter(|point| point.circumstances > join).count() as f64
                / points.len().max(1) as f64
        };
        let of_join = |(join, error): (usize, &f64)| {
            error * (part_after(&self.points[at..end], join) - part_after(&self.points[begin..at], join))
        };
        self.join_errors.iter().enumerate().map(of_join).map(|error| error * error).sum::<f64>().sqrt()
    }

    /// Returns the mean logarithm of the adjusted times of each commit under the last circumstances. Files that had changed since a
    /// commit make it none.
    fn by_commit<'a>(&self, runs: &'a [RunLabel]) -> BTreeMap<&'a str, f64> {
        let mut logs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for point in self.points.iter().filter(|point| point.circumstances + 1 == self.circumstances.len()) {
            if let RunLabel { commit: Some(commit), dirty: false, .. } = &runs[point.run] {
                logs.entry(commit).or_default().push(point.adjusted.ln());
            }
        }
        logs.into_iter().map(|(commit, logs)| (commit, mean(&logs))).collect()
    }

    /// Returns the logarithms of earlier times over those of `later`, of the commits that both have measured.
    fn shifts(&self, later: &Self, runs: &[RunLabel]) -> Vec<f64> {
        let earlier = self.by_commit(runs);
        let later = later.by_commit(runs);
        later.iter().filter_map(|(commit, log)| Some(earlier.get(commit)? - log)).collect()
    }

    /// Returns true if its last run under the last circumstances began before all of `later`.
    fn ended_before(&self, later: &Self, runs: &[RunLabel]) -> bool {
        let last = self.points.iter().filter(|point| point.circumstances + 1 == self.circumstances.len());
        let ended = last.map(|point| runs[point.run].started).max();
        ended < later.points.iter().map(|point| runs[point.run].started).min()
    }

    /// Adds the times of `later`, whose logarithms are off by the mean of `shifts`.
    fn join(&mut self, later: Self, shifts: &[f64]) {
        let (mean, commits) = (mean(shifts), shifts.len() as f64);
        let scatter = shifts.iter().map(|shift| (shift - mean).powi(2)).sum::<f64>();
        let kind = self.circumstances.len();
        self.points.extend(later.points.into_iter().map(|point| Point {
            adjusted: point.adjusted * mean.exp(),
            circumstances: kind,
            ..point
        }));
        self.points.sort_by_key(|point| point.run);
        // Commits are measured again in one night as a rule: all of them share the error of that night.
        let of_night = spread(&self.adjusted()) * (1.0 + 1.0 / commits).sqrt();
        self.join_errors.push(of_night.max((scatter / (commits - 1.0) / commits).sqrt()));
        self.circumstances.extend(later.circumstances);
    }
}

/// Joins each of `series`, the earliest first, to one that had ended when it began and has enough commits in common with it: of
/// several to the one whose circumstances differ in the fewest ways. Two that were measured side by side, as by two GPUs, stay apart.
pub(super) fn joined(series: Vec<Series>, runs: &[RunLabel]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for mut later in series {
        later.points.iter_mut().for_each(|point| point.adjusted = point.time.as_f64());
        let differences = |earlier: &Series| {
            earlier.circumstances.last().map_or(0, |last| later.circumstances[0].differences(last).len())
        };
        let fitting =
            all.iter_mut().filter(|earlier| earlier.ended_before(&later, runs)).filter_map(|earlier| {
                let shifts = earlier.shifts(&later, runs);
                (shifts.len() >= LEAST_COMMITS).then_some((earlier, shifts))
            });
        match fitting.min_by_key(|(earlier, _)| differences(earlier)) {
            Some((earlier, shifts)) => earlier.join(later, &shifts),
            None => all.push(later),
        }
    }
    all
}

/// Returns the mean of `values`; 0 if there are none.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
