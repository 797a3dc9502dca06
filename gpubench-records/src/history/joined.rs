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

/// Joins those of `series`, the earliest first, that have enough commits in common with the one before.
pub(super) fn joined(series: Vec<Series>, runs: &[RunLabel]) -> Vec<Joined> {
    let mut all: Vec<(Joined, BTreeMap<String, f64>)> = Vec::new();
    for Series { circumstances, times } in series {
        let mut own = by_commit(times.iter().map(|it| (it.run, it.time.as_f64())), runs);
        let shift = all.last().and_then(|(_, before)| shift(before, &own));
        match (all.last_mut(), shift) {
            (Some((joined, before)), Some(shift)) => {
                let evened = times.iter().map(|it| it.time.as_f64() * shift.exp());
                let mut both: Vec<(Measured, f64)> = joined
                    .times
                    .iter()
                    .copied()
                    .zip(joined.evened.iter().copied())
                    .chain(times.iter().copied().zip(evened))
                    .collect();
                both.sort_by_key(|(measured, _)| measured.run);
                let is_common = |(measured, _): &(Measured, f64)| {
                    let commit = runs[measured.run].commit.as_ref();
                    commit.is_some_and(|commit| before.contains_key(commit) && own.contains_key(commit))
                };
                let first = both.iter().position(is_common).unwrap_or(0);
                let last = both.iter().rposition(is_common).unwrap_or(first);
                joined.joints.push((first, last + 1));
                (joined.times, joined.evened) = both.into_iter().unzip();
                joined.circumstances.push(circumstances);
                own.values_mut().for_each(|log| *log += shift);
                *before = own;
            }
            _ => {
                let evened = times.iter().map(|it| it.time.as_f64()).collect();
                let joined = Joined { circumstances: vec![circumstances], times, evened, joints: Vec::new() };
                all.push((joined, own));
            }
        }
    }
    all.into_iter().map(|(joined, _)| joined).collect()
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
