//! Two revisions in pairs of processes. In: both as they were built, and the cases; out: the later one's run with the change of each
//! case, from processes that alternate on one device until every row is decided, the time is up, or a signal comes.

mod folder;
mod processes;

use std::time::{Duration, Instant};

use gpubench_records::baseline::{Baseline, check_within};
use gpubench_records::comparison::{Answer, Check, Finding};
use gpubench_records::record::Run;
use gpubench_stats::{DECISION_ERROR, Side, process_looks, process_order};

pub(super) use self::folder::RunFolder;
use self::processes::Ended;
pub(super) use self::processes::Processes;
use super::compare::Limits;
use super::revision::BuiltRevision;
use super::suites::BuiltSuite;
use crate::error::{CommandError, RevisionError};
use crate::output;

/// The pairs of processes of a comparison.
pub(super) struct Pairs<'a> {
    /// The most pairs.
    pub(super) most: u64,
    /// The order of processes is drawn from this number.
    pub(super) seed: u64,
    /// No pair begins after this time.
    pub(super) time: Option<Duration>,
    /// The differences that matter.
    pub(super) limits: Limits,
    /// Filters and flags of each process.
    pub(super) filters: &'a [String],
    pub(super) flags: &'a [String],
}

/// The suites of two revisions.
pub(super) struct Suites<'a> {
    /// Those of both, the earlier revision's first.
    pub(super) both: Vec<[&'a BuiltSuite; 2]>,
    /// A sentence for each that one of them lacks.
    pub(super) others: Vec<String>,
}

/// Returns the suites that both revisions have, and those that one of them lacks.
pub(super) fn in_common<'a>(
    then: &'a BuiltRevision,
    now: &'a BuiltRevision,
) -> Result<Suites<'a>, RevisionError> {
    let (old, new) = (&then.built.suites, &now.built.suites);
    let of = |suites: &'a [BuiltSuite], like: &BuiltSuite| {
        suites.iter().find(|suite| suite.target.is_of_the_name_of(&like.target))
    };
    let both: Vec<_> = new.iter().filter_map(|new| Some([of(old, new)?, new])).collect();
    let is_new = new.iter().filter(|new| of(old, new).is_none());
    let is_new = is_new.map(|suite| format!("{} is new in {}, and not measured", suite.name(), now.name));
    let is_missing = old.iter().filter(|old| of(new, old).is_none());
    let is_missing = is_missing.map(|suite| format!("{} is missing in {}", suite.name(), now.name));
    let others = is_new.chain(is_missing).collect();
    if both.is_empty() {
        let (then, now) = (then.name.clone(), now.name.clone());
        return Err(RevisionError::NoSuiteInCommon { then, now, others });
    }
    Ok(Suites { both, others })
}

/// Measures a suite in pairs of processes until every row is decided. Returns the later revision's run with the comparison; nothing
/// if no case of it was measured.
pub(super) fn compared(
    processes: &mut Processes<'_>,
    pairs: &Pairs<'_>,
) -> Result<Option<Run>, CommandError> {
    let begin = Instant::now();
    let looks = process_looks(pairs.most as usize);
    // By Bonferroni's inequality all looks together err as often as one would.
    let error = DECISION_ERROR / looks.len() as f64;
    let mut undecided: Option<Vec<String>> = None;
    let mut found = None;
    for pair in 0..pairs.most as usize {
        let is_late = pairs.time.is_some_and(|time| begin.elapsed() >= time);
        // A first pair is always measured.
        if pair > 0 && is_late {
            break;
        }
        output::note(&progress(pair, pairs.most, undecided.as_deref()));
        let mut ends = [Ended::Measured; 2];
        for side in process_order(pairs.seed, pair) {
            ends[side as usize] = processes.measure(side, undecided.as_deref())?;
            if ends[side as usize] == Ended::Interrupted {
                return look(processes, &pairs.limits, error);
            }
        }
        if ends.contains(&Ended::NothingMatched) {
            return list(processes, &pairs.limits, error);
        }
        if looks.contains(&(pair + 1)) {
            found = look(processes, &pairs.limits, error)?;
            let check = found.as_ref().and_then(|run| run.check.as_ref());
            let names = check.map(names_undecided).unwrap_or_default();
            if names.is_empty() {
                return Ok(found);
            }
            undecided = Some(names);
        }
    }
    match found {
        Some(found) if processes.count(Side::Now) == pairs.most as usize => Ok(Some(found)),
        _ => look(processes, &pairs.limits, error),
    }
}

fn progress(pair: usize, most: u64, undecided: Option<&[String]>) -> String {
    let rows = match undecided {
        None => String::new(),
        Some([_]) => ": 1 case is undecided".to_owned(),
        Some(names) => format!(": {} cases are undecided", names.len()),
    };
    format!("pair {} of at most {most}{rows}", pair + 1)
}

/// Holds what was measured so far against each other.
fn look(processes: &Processes<'_>, limits: &Limits, error: f64) -> Result<Option<Run>, CommandError> {
    let [Some(then), Some(now)] = [processes.joined(Side::Then)?, processes.joined(Side::Now)?] else {
        return Ok(None);
    };
    Ok(Some(held(now, then, processes.name(Side::Then), limits, error)))
}

/// Lists the cases where nothing matched in one of the revisions: those of the other are new or missing.
fn list(processes: &Processes<'_>, limits: &Limits, error: f64) -> Result<Option<Run>, CommandError> {
    let nothing = |run: &Run| Run { records: Vec::new(), skipped: Vec::new(), planned: 0, ..run.clone() };
    let (then, now) = match [processes.joined(Side::Then)?, processes.joined(Side::Now)?] {
        [None, None] => return Ok(None),
        [Some(then), Some(now)] => (then, now),
        [Some(then), None] => {
            let now = nothing(&then);
            (then, now)
        }
        [None, Some(now)] => (nothing(&now), now),
    };
    Ok(Some(held(now, then, processes.name(Side::Then), limits, error)))
}

/// Holds a run against the one before.
fn held(mut now: Run, then: Run, name: &str, limits: &Limits, error: f64) -> Run {
    now.threshold = limits.threshold();
    now.sampling.band = limits.band(now.sampling.band);
    let baseline = Baseline::of(name.to_owned(), then);
    now.check = Some(check_within(&now, &baseline, &|_| true, error));
    now
}

/// Returns the names of the cases that more processes may decide, each once.
fn names_undecided(check: &Check) -> Vec<String> {
    let undecided = check
        .lines
        .iter()
        .filter(|line| matches!(line.finding, Finding::Compared { answer: Answer::Undecided, .. }));
    let mut names: Vec<String> = undecided.map(|line| line.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}
