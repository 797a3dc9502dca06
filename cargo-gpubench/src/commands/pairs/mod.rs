//! Two revisions in pairs of processes. In: both as they were built, and the cases; out: the later one's run with the change of each
//! case, from processes that alternate on one device until every row is decided, the time is up, or a signal comes.

mod processes;

use std::time::{Duration, Instant};

use gpubench_records::baseline::{Baseline, check_within};
use gpubench_records::comparison::{Answer, Check, Finding};
use gpubench_records::record::Run;
use gpubench_stats::{Side, process_looks, process_order};

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
    /// The part of comparisons in which some row may be decided wrongly.
    pub(super) error: f64,
    /// The differences that matter.
    pub(super) limits: Limits,
    /// Filters and flags of each process.
    pub(super) filters: &'a [String],
    pub(super) flags: &'a [String],
}

/// Returns the suites that both revisions have, and warns of the others.
pub(super) fn in_common<'a>(
    then: &'a BuiltRevision,
    now: &'a BuiltRevision,
) -> Result<Vec<[&'a BuiltSuite; 2]>, RevisionError> {
    let is_same = |one: &BuiltSuite, other: &BuiltSuite| {
        (&one.target.package, &one.target.name) == (&other.target.package, &other.target.name)
    };
    let pair = |new: &'a BuiltSuite| {
        let old = then.built.suites.iter().find(|old| is_same(old, new));
        if old.is_none() {
            output::warn(&format!("{} is new in {}, and not measured", new.name(), now.name));
        }
        Some([old?, new])
    };
    let pairs: Vec<_> = now.built.suites.iter().filter_map(pair).collect();
    for old in &then.built.suites {
        if !now.built.suites.iter().any(|new| is_same(old, new)) {
            output::warn(&format!("{} is missing in {}", old.name(), now.name));
        }
    }
    if pairs.is_empty() {
        return Err(RevisionError::NoSuiteInCommon { then: then.name.clone(), now: now.name.clone() });
    }
    Ok(pairs)
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
    let error = pairs.error / looks.len() as f64;
    let mut undecided: Option<Vec<String>> = None;
    let mut found = None;
    for pair in 0..pairs.most as usize {
        let is_late = pairs.time.is_some_and(|time| begin.elapsed() >= time);
        // A first pair is always measured.
        if pair > 0 && is_late {
            break;
        }
        output::note(&progress(pair, pairs.most, undecided.as_deref()));
        for side in process_order(pairs.seed, pair) {
            match processes.measure(side, undecided.as_deref())? {
                Ended::Measured => {}
                Ended::NothingMatched => return Ok(None),
                Ended::Interrupted => return look(processes, &pairs.limits, error),
            }
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
    let [Some(then), Some(mut run)] = [processes.joined(Side::Then)?, processes.joined(Side::Now)?] else {
        return Ok(None);
    };
    run.threshold = limits.threshold();
    run.sampling.band = limits.band(run.sampling.band);
    let baseline = Baseline::of(processes.name(Side::Then).to_owned(), then);
    run.check = Some(check_within(&run, &baseline, &|_| true, error));
    Ok(Some(run))
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
