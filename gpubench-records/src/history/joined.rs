//! Series that were both measured on the same commits, made one. In: the series of a case; out: fewer, in which times of later circumstances
//! are as they would have been under the first.

use std::collections::BTreeMap;

use super::circumstances::Circumstances;
use super::gather::{Measured, RunLabel, Series};
use gpubench_stats::changes::spread;

/// The fewest commits that two series need in common. One alone would pass on the noise of one run as a step.
const LEAST_COMMITS: usize = 2;

/// Series that became one.
pub(super) struct Joined {
    /// The circumstances, in the order in which they came.
    pub(super) circumstances: Vec<Circumstances>,
    /// The times as they were measured, in their order.
    pub(super) times: Vec<Measured>,
    /// The same under the first circumstances.
    pub(super) evened: Vec<f64>,
    /// The number of its circumstances, of each time.
    pub(super) kinds: Vec<usize>,
    /// The standard error of each join: of the logarithms under the circumstances of the next number against those before.
    pub(super) errors: Vec<f64>,
}

impl Joined {
    /// Returns the standard error that joins give to the ratio of the levels `begin..at` and `at..end`: that of each, as far as one level has
    /// more times from behind it than the other.
    pub(super) fn error_between(&self, begin: usize, at: usize, end: usize) -> f64 {
        let part_behind = |kinds: &[usize], join: usize| {
            kinds.iter().filter(|kind| **kind > join).count() as f64 / kinds.len().max(1) as f64
        };
        let of_join = |(join, error): (usize, &f64)| {
            error * (part_behind(&self.kinds[at..end], join) - part_behind(&self.kinds[begin..at], join))
        };
        self.errors.iter().enumerate().map(of_join).map(|error| error * error).sum::<f64>().sqrt()
    }
}

/// The difference between the circumstances of two series.
#[derive(Clone, Copy)]
struct Shift {
    /// The mean of the logarithms of earlier times over later ones of the same commits.
    mean: f64,
    /// The number of commits.
    commits: usize,
    /// The standard error of the mean, by how the commits differ.
    error: f64,
}

/// A joined series, with what decides whether a later one belongs to it.
struct Candidate {
    joined: Joined,
    /// The mean logarithm of each commit's times, under the first circumstances.
    by_commit: BTreeMap<String, f64>,
    /// The second in which its last run began.
    ended: u64,
}

/// Joins each of `series`, the earliest first, to one that had ended when it began and has enough commits in common with it: of several
/// to that whose circumstances differ in the fewest ways. Two that were measured side by side, as by two GPUs, stay apart.
pub(super) fn joined(series: Vec<Series>, runs: &[RunLabel]) -> Vec<Joined> {
    let mut all: Vec<Candidate> = Vec::new();
    for Series { circumstances, times } in series {
        let own = by_commit(times.iter().map(|it| (it.run, it.time.as_f64())), runs);
        let started = || times.iter().map(|it| runs[it.run].started);
        let (began, ended) = (started().min().unwrap_or_default(), started().max().unwrap_or_default());
        let differences = |candidate: &Candidate| {
            candidate.joined.circumstances.last().map_or(0, |last| circumstances.differences(last).len())
        };
        let fitting = all
            .iter_mut()
            .filter(|candidate| candidate.ended < began)
            .filter_map(|candidate| shift(&candidate.by_commit, &own).map(|shift| (candidate, shift)));
        match fitting.min_by_key(|(candidate, _)| differences(candidate)) {
            Some((candidate, shift)) => {
                candidate.add(circumstances, &times, (own, shift));
                candidate.ended = ended;
            }
            None => {
                let evened = times.iter().map(|it| it.time.as_f64()).collect();
                let kinds = vec![0; times.len()];
                let circumstances = vec![circumstances];
                let joined = Joined { circumstances, times, evened, kinds, errors: Vec::new() };
                all.push(Candidate { joined, by_commit: own, ended });
            }
        }
    }
    all.into_iter().map(|candidate| candidate.joined).collect()
}

impl Candidate {
    /// Adds `times` of later circumstances, whose logarithms by commit, `own`, are off by `shift`.
    fn add(
        &mut self,
        circumstances: Circumstances,
        times: &[Measured],
        (mut own, shift): (BTreeMap<String, f64>, Shift),
    ) {
        let joined = &mut self.joined;
        let kind = joined.circumstances.len();
        let later = times.iter().map(|it| (*it, it.time.as_f64() * shift.mean.exp(), kind));
        let earlier = joined.times.iter().zip(&joined.evened).zip(&joined.kinds);
        let mut all: Vec<(Measured, f64, usize)> =
            earlier.map(|((time, evened), kind)| (*time, *evened, *kind)).chain(later).collect();
        all.sort_by_key(|(measured, ..)| measured.run);
        joined.times = all.iter().map(|it| it.0).collect();
        joined.evened = all.iter().map(|it| it.1).collect();
        joined.kinds = all.iter().map(|it| it.2).collect();
        // Commits are measured again in one night as a rule: what is of that night all of them share.
        let of_nights = spread(&joined.evened) * (1.0 + 1.0 / shift.commits as f64).sqrt();
        joined.errors.push(of_nights.max(shift.error));
        joined.circumstances.push(circumstances);
        own.values_mut().for_each(|log| *log += shift.mean);
        self.by_commit = own;
    }
}

/// Returns the shift that takes times of `now` to those of `then`; nothing if they have too few commits in common.
fn shift(then: &BTreeMap<String, f64>, now: &BTreeMap<String, f64>) -> Option<Shift> {
    let differences: Vec<f64> =
        now.iter().filter_map(|(commit, log)| Some(then.get(commit)? - log)).collect();
    let commits = differences.len();
    (commits >= LEAST_COMMITS).then(|| {
        let count = commits as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let scatter = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>();
        Shift { mean, commits, error: (scatter / (count - 1.0) / count).sqrt() }
    })
}

/// Returns the mean logarithm of the times of each commit. What had changed since a commit is none.
fn by_commit(times: impl Iterator<Item = (usize, f64)>, runs: &[RunLabel]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (run, time) in times {
        if let RunLabel { commit: Some(commit), dirty: false, .. } = &runs[run] {
            let sum = sums.entry(commit.clone()).or_default();
            *sum = (sum.0 + time.ln(), sum.1 + 1.0);
        }
    }
    sums.into_iter().map(|(commit, (sum, count))| (commit, sum / count)).collect()
}
