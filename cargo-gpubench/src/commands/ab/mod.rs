//! `ab`: two revisions compared. In: their names; out: the table of the later one with the change of each case, and exit code 3 for a
//! regression. Both are built first; then processes of both alternate on one device, until every row is decided or the time is
//! up. What was measured before a signal came is compared all the same.

mod processes;

use std::time::Instant;

use gpubench_records::baseline::{Baseline, check_within};
use gpubench_records::comparison::{Answer, Check, Finding};
use gpubench_records::exit::Exit;
use gpubench_records::record::Run;
use gpubench_report as report;
use gpubench_report::export::{Export, ExportTo, exports};
use gpubench_stats::{DECISION_ERROR, Side, process_looks, process_order};

use self::processes::{Ended, Processes};
use super::compare::Limits;
use super::revision::{BuiltRevision, Revisions};
use super::suites::{BuiltSuite, Interruption};
use crate::args::AbArgs;
use crate::error::{CommandError, RevisionError, RunError};
use crate::output::{self, PrintOptions};

pub(super) fn ab(args: &AbArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let limits = Limits::parse(args.band.as_deref(), args.fail_on_regression.as_deref())?;
    let exports = exports(args.exports.0.clone())?;
    exports.iter().try_for_each(|export| output::check_destination(&export.to, &[]))?;
    let revisions = Revisions::here(&args.build)?;
    let [then, now] = [revisions.named(&args.then)?, revisions.named(&args.now)?];
    if then == now {
        return Err(RevisionError::Same(then.to_string()).into());
    }
    let then = revisions.build(&then, &args.build)?;
    let now = revisions.build(&now, &args.build)?;
    let suites = in_common(&then, &now)?;
    if suites.len() > 1 && !exports.is_empty() {
        return Err(RevisionError::SeveralSuites(suites.len()).into());
    }
    let interruption = Interruption::listen().map_err(RunError::NoSignals)?;
    let folder = revisions.home().join("ab");
    let mut ends = Vec::new();
    for suite in suites {
        let mut processes =
            Processes::new([&then, &now], suite, &folder, revisions.target(), &interruption, args);
        match compared(&mut processes, args, &limits)? {
            Some(run) => {
                show(&run, &exports, print_options)?;
                ends.push(Exit::of(&run));
            }
            None => ends.push(Exit::Nothing),
        }
        if let Some(interrupted) = processes.interrupted() {
            ends.push(interrupted);
            break;
        }
    }
    // A filter need not match in every suite.
    Ok(ends.into_iter().filter(|exit| *exit != Exit::Nothing).min().unwrap_or(Exit::Nothing))
}

/// Returns the suites that both revisions have, and warns of the others.
fn in_common<'a>(
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
fn compared(
    processes: &mut Processes<'_>,
    args: &AbArgs,
    limits: &Limits,
) -> Result<Option<Run>, CommandError> {
    let begin = Instant::now();
    let looks = process_looks(args.pairs as usize);
    // By Bonferroni's inequality all looks together err as often as one would.
    let error = DECISION_ERROR / looks.len() as f64;
    let mut undecided: Option<Vec<String>> = None;
    let mut found = None;
    for pair in 0..args.pairs as usize {
        let is_late = args.time.is_some_and(|time| begin.elapsed() >= time);
        // A first pair is always measured.
        if pair > 0 && is_late {
            break;
        }
        output::note(&progress(pair, args.pairs, undecided.as_deref()));
        for side in process_order(args.seed, pair) {
            match processes.measure(side, undecided.as_deref())? {
                Ended::Measured => {}
                Ended::NothingMatched => return Ok(None),
                Ended::Interrupted => return look(processes, limits, error),
            }
        }
        if looks.contains(&(pair + 1)) {
            found = look(processes, limits, error)?;
            let check = found.as_ref().and_then(|run| run.check.as_ref());
            let names = check.map(names_undecided).unwrap_or_default();
            if names.is_empty() {
                return Ok(found);
            }
            undecided = Some(names);
        }
    }
    match found {
        Some(found) if processes.count(Side::Now) == args.pairs as usize => Ok(Some(found)),
        _ => look(processes, limits, error),
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

fn show(run: &Run, exports: &[Export], print_options: PrintOptions) -> Result<(), CommandError> {
    if !exports.iter().any(|export| export.to == ExportTo::StandardOutput) {
        output::print(&report::render(run, print_options.page()), print_options)?;
    }
    output::write(exports, run)
}
