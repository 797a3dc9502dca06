//! The processes of two revisions of one suite. In: whose turn it is; out: the run that the process stored, and all runs of a
//! revision as one.

use std::path::PathBuf;
use std::process::Stdio;

use gpubench_records::exit::Exit;
use gpubench_records::files::NamedRun;
use gpubench_records::files::{StoredRuns, load};
use gpubench_records::record::{Record, Run};
use gpubench_report::join::join;
use gpubench_stats::Side;

use super::Pairs;
use super::folder::RunFolder;
use crate::commands::revision::{BuiltRevision, Revisions};
use crate::commands::suites::{self, BuiltSuite};
use crate::error::{CommandError, RevisionError, RunError};

/// A suite of two revisions, with the runs so far.
pub(in crate::commands) struct Processes<'a> {
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

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Measured,
    NothingMatched,
    /// By a signal. What it has measured before is there.
    Interrupted,
}

impl<'a> Processes<'a> {
    /// The suite before and now. Its runs are stored in `folder`.
    pub(in crate::commands) fn new(
        built: [&'a BuiltRevision; 2],
        suite: [&'a BuiltSuite; 2],
        folder: &RunFolder,
        revisions: &'a Revisions,
        pairs: &'a Pairs<'a>,
    ) -> Self {
        let side = |number: usize, name: &str| OneSide {
            revision: built[number],
            suite: suite[number],
            folder: folder.path().join(name).join("runs"),
            runs: Vec::new(),
        };
        Self { sides: [side(0, "then"), side(1, "now")], revisions, pairs, interrupted: None }
    }

    /// Runs a process of a side: of all cases that the user wants, or of those of these names.
    pub(super) fn measure(&mut self, side: Side, names: Option<&[String]>) -> Result<Ended, CommandError> {
        // One that came between two processes reached none of them.
        self.interrupted = self.revisions.interruption().exit();
        if self.interrupted.is_some() {
            return Ok(Ended::Interrupted);
        }
        let flags = self.flags(names);
        let (target, interruption) = (self.revisions.target(), self.revisions.interruption());
        let side = &mut self.sides[side as usize];
        let not_started =
            |error| RunError::NotStarted { program: side.suite.program.display().to_string(), error };
        let stored = StoredRuns::within(side.folder.parent().unwrap_or(&side.folder).to_owned());
        let before = stored.runs();
        let mut command = suites::command(side.suite, &flags, &side.revision.built.loader_path());
        command.env("GPUBENCH_RUNS_DIR", &side.folder).env("CARGO_TARGET_DIR", target);
        // A process of a comparison is no night's run, whatever the user's settings say.
        command.env("GPUBENCH_HISTORY", "none");
        // Its table is one of many.
        let child = command.stdout(Stdio::null()).spawn().map_err(not_started)?;
        let status = interruption.wait(child).map_err(not_started)?;
        let ended = interruption.exit().unwrap_or_else(|| suites::exit(status));
        let run = stored.runs().into_iter().find(|run| !before.contains(run));
        let name = || side.revision.name.clone();
        if let Some((run, path)) = &run {
            let not_read = |error| RevisionError::NotRead { name: name(), error: Box::new(error) };
            side.runs.push(NamedRun { name: run.clone(), run: load(path).map_err(not_read)?.run });
        }
        match ended {
            Exit::Interrupted(_) => {
                self.interrupted = Some(ended);
                Ok(Ended::Interrupted)
            }
            Exit::Nothing => Ok(Ended::NothingMatched),
            Exit::Usage | Exit::NoDevice => Err(RevisionError::Ended { name: name(), exit: ended }.into()),
            _ if run.is_none() => {
                Err(RevisionError::NoRun { name: name(), folder: side.folder.clone() }.into())
            }
            // A case that failed has no number, which the comparison says.
            Exit::Failed | Exit::Regression | Exit::Done => Ok(Ended::Measured),
        }
    }

    /// Returns the flags of a process.
    fn flags(&self, names: Option<&[String]>) -> Vec<String> {
        let Pairs { filters, flags, .. } = *self.pairs;
        match names {
            None => flags.iter().chain(filters).cloned().collect(),
            // Whole names beside the user's own filters, which are no whole names.
            Some(names) => {
                let exact = (!flags.iter().any(|flag| flag == "--exact")).then(|| "--exact".to_owned());
                flags.iter().cloned().chain(exact).chain(names.iter().cloned()).collect()
            }
        }
    }

    /// Returns the end by a signal, of this program or of a process alone.
    pub(in crate::commands) fn interrupted(&self) -> Option<Exit> {
        self.interrupted
    }

    /// Returns the name of a side's revision.
    pub(super) fn name(&self, side: Side) -> &str {
        &self.sides[side as usize].revision.name
    }

    /// Returns the number of a side's processes so far.
    pub(super) fn count(&self, side: Side) -> usize {
        self.sides[side as usize].runs.len()
    }

    /// Returns all runs of a side as one; nothing if it has none.
    pub(super) fn joined(&self, side: Side) -> Result<Option<Run>, CommandError> {
        let side = &self.sides[side as usize];
        let mut run = match &side.runs[..] {
            [] => return Ok(None),
            [one] => one.run.clone(),
            several => {
                let not_joined = |error| RevisionError::NotJoined {
                    name: side.revision.name.clone(),
                    error: Box::new(error),
                };
                join(several.to_vec()).map_err(not_joined)?.run
            }
        };
        tell_repeated(&mut run.records);
        Ok(Some(run))
    }
}

/// Notes of each record the number of processes that measured it beyond those that measured all.
fn tell_repeated(records: &mut [Record]) {
    let processes =
        |record: &Record| usize::from(record.measurement.is_some()) + record.other_processes.len();
    let least = records.iter().map(processes).filter(|count| *count > 0).min().unwrap_or(0);
    for record in records {
        record.again = processes(record).saturating_sub(least);
    }
}
