//! Changes of a history, measured again. In: the changes that are told; out: for each the answer of a comparison of the commit before it
//! with the one behind it, in pairs of processes. Cases of one suite that changed between the same commits are measured together.

mod row;

use std::cmp::Reverse;
use std::time::Instant;

use gpubench_records::exit::Exit;
use gpubench_records::record::Run;
use gpubench_report::history::{CaseChange, CaseOfSuite, Confirmation, HistoryReport, RunLabel, Series};

use self::row::answer;
use super::super::compare::Limits;
use super::super::pairs::{Pairs, Processes, RunFolder, compared, in_common};
use super::super::revision::{BuiltRevision, Revisions};
use crate::args::HistoryArgs;
use crate::error::{CommandError, RevisionError};
use crate::output;

/// The two commits around changes, and the suite whose cases changed.
#[derive(Clone, PartialEq, Eq)]
struct Around {
    then: String,
    now: String,
    suite: String,
}

/// A change with what it is of.
struct Told<'a> {
    case: &'a CaseOfSuite,
    /// The device's own name, if it has one.
    uuid: Option<&'a str>,
    change: &'a mut CaseChange,
}

/// Measures the commits around each change of `report`, the newest first, and notes the answers there. Returns the end by a signal, if
/// one came.
pub(super) fn confirm(report: &mut HistoryReport, args: &HistoryArgs) -> Result<Option<Exit>, CommandError> {
    let all = all_around(report);
    if all.is_empty() {
        return Ok(None);
    }
    let revisions = Revisions::here(&args.build)?;
    let folder = RunFolder::below(&revisions.home().join("confirm"))?;
    let mut measuring = Measuring { revisions, folder, args, interrupted: None };
    let begin = Instant::now();
    for (number, commits) in all.iter().enumerate() {
        let of_these = |told: &Told<'_>| {
            told.change.confirmation.is_none() && around(told.case, told.change).as_ref() == Ok(commits)
        };
        let mut names: Vec<String> =
            each(report).filter(|told| of_these(told)).map(|told| told.case.case.name()).collect();
        names.sort_unstable();
        names.dedup();
        let found = if measuring.interrupted.is_some() {
            Err("a signal ended the command before".to_owned())
        } else if number > 0 && begin.elapsed() >= args.confirm_time {
            Err("the time was up: a longer --confirm-time confirms more".to_owned())
        } else {
            measuring.measure(commits, &names)?
        };
        for told in each(report).filter(|told| of_these(told)) {
            told.change.confirmation = Some(match &found {
                Err(reason) => Confirmation::NotMeasured { reason: reason.clone() },
                Ok(run) => answer(run.as_ref(), &told),
            });
        }
    }
    Ok(measuring.interrupted)
}

/// Returns the commits around all changes, those of the newest change first. Changes without commits are noted as such.
fn all_around(report: &mut HistoryReport) -> Vec<Around> {
    let mut all: Vec<(u64, Around)> = Vec::new();
    for Told { case, change, .. } in each(report) {
        match around(case, change) {
            Ok(around) => all.push((change.begins.started, around)),
            Err(reason) => change.confirmation = Some(Confirmation::NotMeasured { reason }),
        }
    }
    all.sort_by_key(|(started, _)| Reverse(*started));
    let mut once: Vec<Around> = Vec::new();
    for (_, around) in all {
        if !once.contains(&around) {
            once.push(around);
        }
    }
    once
}

/// The changes of a report.
fn each(report: &mut HistoryReport) -> impl Iterator<Item = Told<'_>> {
    report.cases.iter_mut().flat_map(|it| {
        let case = &it.case;
        it.series.iter_mut().flat_map(move |series| {
            let Series { circumstances, changes, .. } = series;
            let uuid = circumstances.last().and_then(|last| last.uuid.as_deref());
            changes.iter_mut().map(move |change| Told { case, uuid, change })
        })
    })
}

/// Returns the commits around a change, or the reason that it has none.
fn around(case: &CaseOfSuite, change: &CaseChange) -> Result<Around, String> {
    let commit = |label: &RunLabel| match &label.commit {
        None => Err("no commit is known of a run beside it".to_owned()),
        Some(commit) if label.dirty => Err(format!("files had changed since {commit}")),
        Some(commit) => Ok(commit.clone()),
    };
    let (then, now) = (commit(&change.after)?, commit(&change.until)?);
    if then == now {
        return Err("both runs beside it are of one commit".to_owned());
    }
    Ok(Around { then, now, suite: case.suite.clone() })
}

/// The comparisons of commits.
struct Measuring<'a> {
    revisions: Revisions,
    folder: RunFolder,
    args: &'a HistoryArgs,
    /// The signal that ended one of them.
    interrupted: Option<Exit>,
}

impl Measuring<'_> {
    /// Compares these cases of both commits. Returns the later one's run with the comparison, if it has one, or the reason that both
    /// cannot be compared.
    fn measure(
        &mut self,
        commits: &Around,
        names: &[String],
    ) -> Result<Result<Option<Run>, String>, CommandError> {
        let Around { then, now, suite } = commits;
        output::note(&format!("{suite}: {}..{}: {}", short(then), short(now), names.join(", ")));
        match self.run(commits, names) {
            Ok(run) => Ok(Ok(run)),
            Err(CommandError::Revision(RevisionError::Interrupted(exit))) => {
                self.interrupted = Some(exit);
                Ok(Err("a signal ended the command before".to_owned()))
            }
            Err(CommandError::Revision(error)) => refused(error),
            Err(error) => Err(error),
        }
    }

    fn run(&mut self, commits: &Around, names: &[String]) -> Result<Option<Run>, CommandError> {
        let [then, now] = [self.built(&commits.then)?, self.built(&commits.now)?];
        let is_this = |name: &str, package: &str| commits.suite == format!("{package}/{name}");
        let mut suites = in_common(&then, &now)?.both.into_iter();
        let Some(suite) = suites.find(|[_, now]| is_this(&now.target.name, &now.target.package)) else {
            return Err(RevisionError::NoSuchSuite(commits.suite.clone()).into());
        };
        let flags = &self.args.flags;
        let exact = (!flags.iter().any(|flag| flag == "--exact")).then(|| "--exact".to_owned());
        let flags: Vec<String> = flags.iter().cloned().chain(exact).collect();
        let pairs = Pairs {
            most: self.args.pairs.pairs,
            seed: self.args.pairs.seed,
            time: None,
            limits: Limits::parse(Some(&self.args.band), None)?,
            filters: names,
            flags: &flags,
        };
        let mut processes = Processes::new([&then, &now], suite, &self.folder, &self.revisions, &pairs);
        let run = compared(&mut processes, &pairs)?;
        self.interrupted = processes.interrupted();
        Ok(run)
    }

    fn built(&self, commit: &str) -> Result<BuiltRevision, RevisionError> {
        let revision = self.revisions.named(commit)?;
        self.revisions.check_out(&revision, &self.args.build)?.build(&self.args.build)
    }
}

/// Returns the reason that two commits cannot be compared, for the changes between them; an error if it holds for all commits.
fn refused(error: RevisionError) -> Result<Result<Option<Run>, String>, CommandError> {
    match error {
        RevisionError::NoGit(_) | RevisionError::NoPlace { .. } | RevisionError::AllInUse(_) => {
            Err(error.into())
        }
        error => Ok(Err(error.to_string())),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
