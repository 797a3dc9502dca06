//! The changes of a history. In: a [`History`]; out: a [`HistoryReport`], the cases with the newest change first.

use std::collections::BTreeSet;
use std::thread;

use serde::Serialize;

use super::circumstances::Circumstances;
use super::gather::{CaseOfSuite, History, Measured, RunLabel, Series};
use super::joined::{Joined, joined};
use crate::comparison::{Answer, Finding};
use crate::exit::Exit;
use gpubench_stats::Ratio;
use gpubench_stats::changes::{Change, SHORTEST_SERIES, changes};
use gpubench_stats::units::Nanoseconds;

/// The name of the format in which the changes are written.
pub const HISTORY_REPORT_SCHEMA: &str = "gpubench-changes/1";

/// The changes that are told.
#[derive(Clone, Copy, Debug)]
pub struct HistoryRules {
    /// Those by at least this part.
    pub band: f64,
    /// Those that begin in one of the last runs, so many.
    pub last: Option<usize>,
}

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

/// A case over time.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CaseHistory {
    /// The case.
    #[serde(flatten)]
    pub case: CaseOfSuite,
    /// Its series, the earliest first.
    pub series: Vec<HistorySeries>,
}

/// A series of times that can be compared.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct HistorySeries {
    /// The circumstances, in the order in which they came. Several were joined by commits that were measured under both.
    pub circumstances: Vec<Circumstances>,
    /// The number of times.
    pub count: usize,
    /// True if there are too few to look for a change.
    pub is_short: bool,
    /// The changes, the newest first.
    pub changes: Vec<CaseChange>,
    /// The times, in the order in which they were measured.
    #[serde(skip)]
    pub times: Vec<Measured>,
    /// The same under the first circumstances, in nanoseconds.
    #[serde(skip)]
    pub evened: Vec<f64>,
}

/// A change of a case.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CaseChange {
    /// The last run that certainly is before it: the change came behind its commit.
    pub after: RunLabel,
    /// The first run that certainly is behind it: the change came with its commit or an earlier one.
    pub until: RunLabel,
    /// The run at which the new level most likely begins.
    pub begins: RunLabel,
    /// The number of its time in the series.
    pub at: usize,
    /// The new level over the old.
    pub ratio: f64,
    /// The interval of the ratio, with a confidence of 95 %.
    pub interval: [f64; 2],
    /// The chance that a series without a change has such a step anywhere; [`LEAST_CHANCE`](gpubench_stats::changes::LEAST_CHANCE) stands for all below.
    pub chance: f64,
    /// The time before, and after.
    pub times: [Nanoseconds; 2],
    /// The device's own name, where devices of several names have measured the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The answer of a comparison of the commits around it, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

/// The answer of a comparison of the two commits around a change: the last that certainly is before it, and the first that certainly is
/// behind it, built and measured in alternation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Confirmation {
    /// They differ as the change says, beyond doubt and by more than the band.
    Confirmed {
        /// The time of the later one over that of the other.
        ratio: Ratio,
        /// The number of processes of each, the later one's first.
        processes: [usize; 2],
    },
    /// They certainly do not.
    NotConfirmed {
        /// As above.
        ratio: Ratio,
        /// As above.
        processes: [usize; 2],
    },
    /// The processes do not decide it.
    Undecided {
        /// As above.
        ratio: Ratio,
        /// As above.
        processes: [usize; 2],
    },
    /// They could not be compared.
    NotMeasured {
        /// The reason.
        reason: String,
    },
}

impl Confirmation {
    /// The answer to a change by the factor `change`, of what was found about its case.
    #[must_use]
    pub fn of(change: f64, finding: &Finding) -> Self {
        let not_measured = |reason| Self::NotMeasured { reason };
        match finding {
            Finding::Compared { ratio, answer, processes, .. } => {
                let (ratio, processes) = (*ratio, *processes);
                match answer {
                    Answer::Undecided => Self::Undecided { ratio, processes },
                    Answer::Slower if change > 1.0 => Self::Confirmed { ratio, processes },
                    Answer::Faster if change < 1.0 => Self::Confirmed { ratio, processes },
                    Answer::Slower | Answer::Faster | Answer::Same => Self::NotConfirmed { ratio, processes },
                }
            }
            Finding::NotComparable(reasons) => {
                not_measured(format!("not comparable: {}", reasons.join(", ")))
            }
            Finding::New => not_measured("the earlier commit has no such case".to_owned()),
            Finding::NoNumber(reason) => not_measured(format!("no number: {reason}")),
        }
    }
}

impl History {
    /// Finds the changes of all cases.
    #[must_use]
    pub fn report(self, rules: HistoryRules) -> HistoryReport {
        let Self { runs, series, faults } = self;
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

    /// Returns the exit code: that of a regression if a case became slower and `fails`. A change that a comparison refuted is none.
    #[must_use]
    pub fn exit(&self, fails: bool) -> Exit {
        let is_slower = |change: &CaseChange| {
            change.ratio > 1.0 && !matches!(change.confirmation, Some(Confirmation::NotConfirmed { .. }))
        };
        let slower = || self.changes().iter().any(|(_, change)| is_slower(change));
        if self.cases.is_empty() {
            Exit::Nothing
        } else if fails && slower() {
            Exit::Regression
        } else {
            Exit::Done
        }
    }
}

impl CaseHistory {
    /// Returns its changes, those of later series first.
    pub fn changes(&self) -> impl Iterator<Item = &CaseChange> {
        self.series.iter().rev().flat_map(|series| &series.changes)
    }

    fn newest(&self) -> Option<&CaseChange> {
        self.changes().max_by_key(|change| change.begins.started)
    }
}

fn judge(case: CaseOfSuite, series: Vec<Series>, runs: &[RunLabel], rules: HistoryRules) -> CaseHistory {
    let uuids: BTreeSet<_> = series.iter().filter_map(|one| one.circumstances.uuid.clone()).collect();
    let several = uuids.len() > 1;
    let first = rules.last.map_or(0, |last| runs.len().saturating_sub(last));
    let judged = |it: Joined| {
        let Joined { circumstances, times, evened, joints } = it;
        let is_joint = |change: &Change| {
            joints.iter().any(|(first, last)| change.between.0 <= *last && *first <= change.between.1)
        };
        let matters = |change: &Change| {
            (change.ratio - 1.0).abs() >= rules.band && times[change.at].run >= first && !is_joint(change)
        };
        let found = changes(&evened);
        let label = |at: usize| runs[times[at].run].clone();
        let uuid = circumstances.last().and_then(|last| last.uuid.clone()).filter(|_| several);
        // The level of a series reaches to the next change.
        let told = found.iter().enumerate().filter(|(_, change)| matters(change)).map(|(number, change)| {
            let begin = if number == 0 { 0 } else { found[number - 1].at };
            let end = found.get(number + 1).map_or(times.len(), |next| next.at);
            CaseChange {
                after: label(change.between.0 - 1),
                until: label(change.between.1),
                begins: label(change.at),
                at: change.at,
                ratio: change.ratio,
                interval: [change.interval.0, change.interval.1],
                chance: change.chance,
                times: [level(&times[begin..change.at]), level(&times[change.at..end])],
                uuid: uuid.clone(),
                confirmation: None,
            }
        });
        let mut told: Vec<CaseChange> = told.collect();
        told.reverse();
        let is_short = times.len() < SHORTEST_SERIES;
        HistorySeries { circumstances, count: times.len(), is_short, changes: told, times, evened }
    };
    CaseHistory { case, series: joined(series, runs).into_iter().map(judged).collect() }
}

/// Returns the mean of these times on the scale of logarithms.
fn level(times: &[Measured]) -> Nanoseconds {
    let sum: f64 = times.iter().map(|measured| measured.time.as_f64().ln()).sum();
    Nanoseconds((sum / times.len().max(1) as f64).exp())
}
