//! Two revisions in A/B pairs of processes, which are interleaved on one device until every result is decided, the time is up, or a
//! signal comes. What was measured before the signal is compared.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gpubench_records::baseline::{Baseline, check_within};
use gpubench_records::comparison::{Answer, BaselineComparison, Finding};
use gpubench_records::exit::Exit;
use gpubench_records::files::NamedRun;
use gpubench_records::files::{StoredRuns, load, time_of_day};
use gpubench_records::record::{Record, Run};
use gpubench_report::join::join;
use gpubench_stats::format::counted;
use gpubench_stats::{DECISION_ERROR, Side, process_looks, process_order};

use super::compare::Limits;
use super::git::lock_file;
use super::revision::{BuiltRevision, Revisions};
use super::signals;
use super::suites::{self, BuiltSuite};
use crate::error::{CommandError, RevisionError};
use crate::output;

/// The number of earlier comparisons whose runs are kept.
const KEPT: usize = 10;

/// The pairs of processes of a comparison.
pub(super) struct Pairs<'a> {
    /// The most pairs.
    pub(super) most: u64,
    /// The seed of the order of processes.
    pub(super) seed: u64,
    /// No pair begins after this time.
    pub(super) time: Option<Duration>,
    /// The differences that matter.
    pub(super) limits: Limits,
    /// Filters and flags of each process.
    pub(super) filters: &'a [String],
    pub(super) flags: &'a [String],
}

/// The benchmark binaries of two revisions.
pub(super) struct Suites<'a> {
    /// Those of both, the earlier revision's first.
    pub(super) both: Vec<[&'a BuiltSuite; 2]>,
    /// A sentence for each that one of them lacks.
    pub(super) others: Vec<String>,
}

/// Returns the benchmark binaries that both revisions have, and those that one of them lacks.
pub(super) fn in_common<'a>(
    then: &'a BuiltRevision,
    now: &'a BuiltRevision,
) -> Result<Suites<'a>, RevisionError> {
    let (old, new) = (&then.built.suites, &now.built.suites);
    let find = |suites: &'a [BuiltSuite], like: &BuiltSuite| {
        suites.iter().find(|suite| suite.target.has_names_of(&like.target))
    };
    let both: Vec<_> = new.iter().filter_map(|new| Some([find(old, new)?, new])).collect();
    let lacking = |suites: &'a [BuiltSuite], others: &'a [BuiltSuite], what: &str| {
        let alone = suites.iter().filter(|suite| find(others, suite).is_none());
        alone.map(|suite| format!("{} is {what}", suite.name())).collect::<Vec<_>>()
    };
    let mut others = lacking(new, old, &format!("new in {}, and not measured", now.name));
    others.extend(lacking(old, new, &format!("missing in {}", now.name)));
    if both.is_empty() {
        let lines: String = others.iter().map(|other| format!("\n  {other}")).collect();
        let message = format!("{} and {} have no benchmark binary in common{lines}", then.name, now.name);
        return Err(RevisionError::new(Exit::Nothing, message));
    }
    Ok(Suites { both, others })
}

/// The folder of one comparison's runs. No other comparison uses or removes it until this is dropped.
pub(super) struct RunFolder {
    path: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// Makes a folder below `above` with the time in its name, and removes the oldest folders that are not in use.
    pub(super) fn below(above: &Path) -> Result<Self, RevisionError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = time_of_day(now.as_secs()).replace(':', "-");
        let path = above.join(format!("{time}-{}", process::id()));
        let lock = lock_file(&path).map_err(RevisionError::no_place(&path))?;
        // On a file system without locks, no folder is removed either.
        _ = lock.try_lock();
        remove_oldest(above);
        Ok(Self { path, _lock: lock })
    }
}

fn remove_oldest(above: &Path) {
    let folders = fs::read_dir(above).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut ours: Vec<PathBuf> = folders.filter(|folder| folder.join("lock").is_file()).collect();
    ours.sort();
    for folder in ours.iter().rev().skip(KEPT + 1) {
        // The next comparison tries again to remove the folder.
        if lock_file(folder).is_ok_and(|lock| lock.try_lock().is_ok()) {
            _ = fs::remove_dir_all(folder);
        }
    }
}

/// A benchmark binary of two revisions, with the runs so far.
pub(super) struct Processes<'a> {
    sides: [OneSide<'a>; 2],
    revisions: &'a Revisions,
    pairs: &'a Pairs<'a>,
    interrupted: Option<Exit>,
}

struct OneSide<'a> {
    revision: &'a BuiltRevision,
    suite: &'a BuiltSuite,
    /// The folder in which its processes store their runs.
    folder: PathBuf,
    runs: Vec<NamedRun>,
}

/// Measures a benchmark binary in pairs of processes until every result is decided. Returns the later revision's run with the comparison;
/// nothing if it has no result.
pub(super) fn compared(
    processes: &mut Processes<'_>,
    pairs: &Pairs<'_>,
) -> Result<Option<Run>, CommandError> {
    let begin = Instant::now();
    let checks = process_looks(pairs.most as usize);
    // By Bonferroni's inequality all stopping checks together err as often as one would.
    let error = DECISION_ERROR / checks.len() as f64;
    let mut undecided: Option<Vec<String>> = None;
    for pair in 0..pairs.most as usize {
        // A first pair is always measured.
        if pair > 0 && pairs.time.is_some_and(|time| begin.elapsed() >= time) {
            break;
        }
        let left = undecided
            .as_ref()
            .map_or_else(String::new, |names| format!(": {} undecided", counted(names.len(), "result")));
        output::note(&format!("pair {} of at most {}{left}", pair + 1, pairs.most));
        let mut nothing_matched = false;
        for side in process_order(pairs.seed, pair) {
            match processes.measure(side, undecided.as_deref())? {
                Exit::Interrupted(_) => return processes.compare(false, error),
                exit => nothing_matched |= exit == Exit::Nothing,
            }
        }
        if nothing_matched {
            return processes.compare(true, error);
        }
        if checks.contains(&(pair + 1)) {
            let found = processes.compare(false, error)?;
            let check = found.as_ref().and_then(|run| run.baseline_comparison.as_ref());
            let names = check.map(names_undecided).unwrap_or_default();
            if names.is_empty() || pair + 1 == pairs.most as usize {
                return Ok(found);
            }
            undecided = Some(names);
        }
    }
    processes.compare(false, error)
}

/// Returns the names of the cases that more processes may decide, each once.
fn names_undecided(check: &BaselineComparison) -> Vec<String> {
    let is_undecided =
        |finding: &Finding| matches!(finding, Finding::Compared { answer: Answer::Undecided, .. });
    let undecided = check.findings.iter().filter(|line| is_undecided(&line.finding));
    let mut names: Vec<String> = undecided.map(|line| line.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl<'a> Processes<'a> {
    /// The benchmark binary before and now. Its runs are stored in `folder`.
    pub(super) fn new(
        built: [&'a BuiltRevision; 2],
        suite: [&'a BuiltSuite; 2],
        folder: &RunFolder,
        revisions: &'a Revisions,
        pairs: &'a Pairs<'a>,
    ) -> Self {
        let side = |number: usize, name: &str| OneSide {
            revision: built[number],
            suite: suite[number],
            folder: folder.path.join(name).join("runs"),
            runs: Vec::new(),
        };
        Self { sides: [side(0, "then"), side(1, "now")], revisions, pairs, interrupted: None }
    }

    /// Runs a process of a side: of all cases that the user wants, or of those of these names. Returns how it ended.
    fn measure(&mut self, side: Side, names: Option<&[String]>) -> Result<Exit, CommandError> {
        // A signal between two processes reached none of them.
        self.interrupted = signals::received();
        if let Some(exit) = self.interrupted {
            return Ok(exit);
        }
        let flags = self.flags(names);
        let OneSide { revision, suite, folder, runs } = &mut self.sides[side as usize];
        let stored = StoredRuns::within(folder.parent().unwrap_or(folder).to_owned());
        let mut command = revision.built.command(suite, &flags);
        command.env("GPUBENCH_RUNS_DIR", &*folder).env("CARGO_TARGET_DIR", &self.revisions.target);
        // A process of a comparison does not belong into a history. Its table is one of many.
        command.env("GPUBENCH_HISTORY", "none").stdout(Stdio::null());
        let (exit, run) = suites::measure(&mut command, &stored)?;
        let is_missing = run.is_none();
        let refused = |exit, what: &str| RevisionError::new(exit, format!("{}: {what}", revision.name));
        if let Some((name, path)) = run {
            let not_read = |error| format!("the benchmark binary stored a run that cannot be read: {error}");
            let stored = load(&path).map_err(|error| refused(Exit::Failed, &not_read(error)))?;
            runs.push(NamedRun { name, run: stored.run });
        }
        match exit {
            Exit::Interrupted(_) => self.interrupted = Some(exit),
            Exit::Usage | Exit::NoDevice => {
                let what = format!("the benchmark binary ended with {exit}: its message is above");
                return Err(refused(exit, &what).into());
            }
            // A case that failed has no number, which the comparison reports.
            Exit::Failed | Exit::Regression | Exit::Done if is_missing => {
                let what = format!(
                    "the benchmark binary stored no run in {}: do not give it --runs-dir or --resume",
                    folder.display()
                );
                return Err(refused(Exit::Failed, &what).into());
            }
            _ => {}
        }
        Ok(exit)
    }

    /// Returns the flags of a process.
    fn flags(&self, names: Option<&[String]>) -> Vec<String> {
        let Pairs { filters, flags, .. } = *self.pairs;
        let Some(names) = names else { return [flags, filters].concat() };
        // Whole names replace the user's own filters, which are none.
        let exact =
            if flags.iter().any(|flag| flag == "--exact") { vec![] } else { vec!["--exact".to_owned()] };
        [flags, &exact, names].concat()
    }

    /// Returns the signal that ended this program, or a process alone.
    pub(super) fn interrupted(&self) -> Option<Exit> {
        self.interrupted
    }

    /// Compares what was measured so far; nothing if a side has no run. With `or_nothing`, a side without a run is one without results:
    /// the results of the other side are new or missing.
    fn compare(&self, or_nothing: bool, error: f64) -> Result<Option<Run>, CommandError> {
        let nothing =
            |run: &Run| Run { records: Vec::new(), skipped: Vec::new(), planned_cases: 0, ..run.clone() };
        let [then, now] = [self.joined(Side::Then)?, self.joined(Side::Now)?];
        let (then, mut now) = match (then, now) {
            (Some(then), Some(now)) => (then, now),
            (Some(then), None) if or_nothing => (then.clone(), nothing(&then)),
            (None, Some(now)) if or_nothing => (nothing(&now), now),
            _ => return Ok(None),
        };
        self.pairs.limits.set(&mut now);
        let baseline = Baseline::of(self.sides[0].revision.name.clone(), then);
        now.baseline_comparison = Some(check_within(&now, &baseline, &|_| true, error));
        Ok(Some(now))
    }

    /// Returns all runs of a side as one; nothing if it has none.
    fn joined(&self, side: Side) -> Result<Option<Run>, CommandError> {
        let OneSide { revision, runs, .. } = &self.sides[side as usize];
        let mut run = match &runs[..] {
            [] => return Ok(None),
            [one] => one.run.clone(),
            several => {
                let message = |error| format!("the processes of {} cannot be merged: {error}", revision.name);
                join(several.to_vec()).map_err(|error| RevisionError::new(Exit::Failed, message(error)))?.run
            }
        };
        note_repetitions(&mut run.records);
        Ok(Some(run))
    }
}

/// Notes in each record the number of processes that measured it beyond those that measured all.
fn note_repetitions(records: &mut [Record]) {
    let processes =
        |record: &Record| usize::from(record.measurement.is_some()) + record.other_processes.len();
    let least = records.iter().map(processes).filter(|count| *count > 0).min().unwrap_or(0);
    for record in records {
        record.remeasured = processes(record).saturating_sub(least);
    }
}
