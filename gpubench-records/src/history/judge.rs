//! The changes of one case. In: its series; out: a [`CaseHistory`], with the changes that the rules ask for.

use std::collections::BTreeSet;

use super::case::{CaseChange, CaseHistory, HistoryRules, HistorySeries};
use super::gather::{CaseOfSuite, RunLabel, Series};
use super::joined::{Joined, joined};
use gpubench_stats::changes::{Change, SHORTEST_SERIES, changes};
use gpubench_stats::units::Nanoseconds;

/// Judges a case by `rules`. The runs of its times have these labels.
pub(super) fn judge(
    case: CaseOfSuite,
    series: Vec<Series>,
    runs: &[RunLabel],
    rules: HistoryRules,
) -> CaseHistory {
    let uuids: BTreeSet<_> = series.iter().filter_map(|one| one.circumstances.uuid.clone()).collect();
    let several = uuids.len() > 1;
    let all = joined(series, runs);
    let over: Vec<bool> = all.iter().map(|one| is_over(one, &all)).collect();
    let judged = all.into_iter().zip(over).map(|(series, is_over)| {
        let uuid = series.circumstances.last().and_then(|last| last.uuid.clone()).filter(|_| several);
        let (changes, unclear) = told(&series, uuid.as_deref(), (runs, rules, is_over));
        let Joined { circumstances, times, evened, .. } = series;
        let is_short = times.len() < SHORTEST_SERIES;
        HistorySeries {
            circumstances,
            count: times.len(),
            is_short,
            is_over,
            unclear,
            changes,
            times,
            evened,
        }
    });
    CaseHistory { case, series: judged.collect() }
}

/// Returns true if another series has so many runs behind the last of this one that changes are looked for in them.
fn is_over(series: &Joined, all: &[Joined]) -> bool {
    let last = series.times.last().map(|last| last.run);
    let behind = |other: &Joined| other.times.iter().filter(|time| Some(time.run) > last).count();
    all.iter().any(|other| behind(other) >= SHORTEST_SERIES)
}

/// Returns the changes of a series that `rules` ask for, the newest first, and the number of those that may be the error of a join.
fn told(
    series: &Joined,
    uuid: Option<&str>,
    (runs, rules, is_over): (&[RunLabel], HistoryRules, bool),
) -> (Vec<CaseChange>, usize) {
    let Joined { times, evened, .. } = series;
    // The last runs of what is over are none of the last ones.
    let first = rules.last.map_or(0, |last| times.len().saturating_sub(if is_over { 0 } else { last }));
    let asked = |change: &Change| (change.ratio - 1.0).abs() >= rules.band && change.at >= first;
    let found = changes(evened);
    let latest = level(&evened[found.last().map_or(0, |last| last.at)..]);
    let label = |at: usize| runs[times[at].run].clone();
    let (mut told, mut unclear) = (Vec::new(), 0);
    for change in found.into_iter().rev().filter(asked) {
        let (begin, end) = change.levels;
        let error = series.error_between(begin, change.at, end);
        // Of differences of neighbours, half are independent.
        let Some(change) = change.with_error(error, times.len() / 2) else {
            unclear += 1;
            continue;
        };
        // The scale of the run that begins the new level, which may be another than that of the first runs.
        let scale = times[change.at].time.as_f64() / evened[change.at];
        let before = level(&evened[begin..change.at]);
        told.push(CaseChange {
            after: label(change.between.0 - 1),
            until: label(change.between.1),
            begins: label(change.at),
            at: change.at,
            ratio: change.ratio,
            interval: [change.interval.0, change.interval.1],
            chance: change.chance,
            times: [before, level(&evened[change.at..end])].map(|level| Nanoseconds(level * scale)),
            remains: latest / before,
            uuid: uuid.map(str::to_owned),
            confirmation: None,
        });
    }
    (told, unclear)
}

/// Returns the mean of these times on the scale of logarithms.
fn level(times: &[f64]) -> f64 {
    let sum: f64 = times.iter().map(|time| time.ln()).sum();
    (sum / times.len().max(1) as f64).exp()
}
