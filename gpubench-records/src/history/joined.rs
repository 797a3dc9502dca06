//! Series that were both measured on the same commits, made one. In: the series of a case; out: fewer, in which times of later circumstances
//! are as they would have been under the first.

use std::collections::BTreeMap;

use super::circumstances::Circumstances;
use super::gather::{Measured, RunLabel, Series};

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
    /// The first and the last of the times by which circumstances were joined. A step there may be the error of the join.
    pub(super) joints: Vec<(usize, usize)>,
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
                candidate.add(circumstances, &times, (own, shift), runs);
                candidate.ended = ended;
            }
            None => {
                let evened = times.iter().map(|it| it.time.as_f64()).collect();
                let joined = Joined { circumstances: vec![circumstances], times, evened, joints: Vec::new() };
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
        (mut own, shift): (BTreeMap<String, f64>, f64),
        runs: &[RunLabel],
    ) {
        let joined = &mut self.joined;
        let evened = times.iter().map(|it| it.time.as_f64() * shift.exp());
        let earlier = joined.times.iter().copied().zip(joined.evened.iter().copied());
        let mut both: Vec<(Measured, f64)> = earlier.chain(times.iter().copied().zip(evened)).collect();
        both.sort_by_key(|(measured, _)| measured.run);
        let is_common = |(measured, _): &(Measured, f64)| {
            let commit = runs[measured.run].commit.as_ref();
            commit.is_some_and(|commit| self.by_commit.contains_key(commit) && own.contains_key(commit))
        };
        let first = both.iter().position(is_common).unwrap_or(0);
        let last = both.iter().rposition(is_common).unwrap_or(first);
        joined.joints.push((first, last + 1));
        (joined.times, joined.evened) = both.into_iter().unzip();
        joined.circumstances.push(circumstances);
        own.values_mut().for_each(|log| *log += shift);
        self.by_commit = own;
    }
}

/// Returns the difference of the logarithms that takes times of `now` to those of `then`; nothing if they have too few commits in
/// common.
fn shift(then: &BTreeMap<String, f64>, now: &BTreeMap<String, f64>) -> Option<f64> {
    let differences: Vec<f64> =
        now.iter().filter_map(|(commit, log)| Some(then.get(commit)? - log)).collect();
    let enough = differences.len() >= LEAST_COMMITS;
    enough.then(|| differences.iter().sum::<f64>() / differences.len() as f64)
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
