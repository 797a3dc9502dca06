//! Changes of a history, measured again. In: the changes that are told; out: for each the answer of a comparison of the commit before it
//! with the one behind it, in pairs of processes. Cases of one suite that changed between the same commits are measured together.

use gpubench_records::comparison::{CaseFinding, Check};
use gpubench_records::exit::Exit;
use gpubench_records::history::{CaseChange, CaseOfSuite, Confirmation, HistoryReport, RunLabel};
use gpubench_stats::DECISION_ERROR;

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

/// Measures the commits around each change of `report` and notes the answers there. Returns the end by a signal, if one came.
pub(super) fn confirm(report: &mut HistoryReport, args: &HistoryArgs) -> Result<Option<Exit>, CommandError> {
    let mut all: Vec<Around> = Vec::new();
    for (case, change) in each(report) {
        match around(case, change) {
            Ok(around) if !all.contains(&around) => all.push(around),
            Ok(_) => {}
            Err(reason) => change.confirmation = Some(Confirmation::NotMeasured { reason }),
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let revisions = Revisions::here(&args.build)?;
    let folder = RunFolder::below(&revisions.home().join("confirm"))?;
    let measuring = Measuring { revisions, folder, args };
    for commits in &all {
        let of_these = |case: &CaseOfSuite, change: &CaseChange| {
            change.confirmation.is_none() && around(case, change).as_ref() == Ok(commits)
        };
        let mut names: Vec<String> = each(report)
            .filter(|(case, change)| of_these(case, change))
            .map(|(case, _)| case.case.name())
            .collect();
        names.sort_unstable();
        names.dedup();
        let answers = match measuring.revisions.interruption().exit() {
            Some(_) => Err("a signal ended the command before".to_owned()),
            None => measuring.measure(commits, &names)?,
        };
        for (case, change) in each(report) {
            if !of_these(case, change) {
                continue;
            }
            let is_row = |line: &&CaseFinding| line.name == case.case.name() && line.cache == case.case.cache;
            change.confirmation = Some(match &answers {
                Err(reason) => Confirmation::NotMeasured { reason: reason.clone() },
                Ok(lines) => lines.iter().find(is_row).map_or_else(
                    || Confirmation::NotMeasured { reason: "the case was not measured".to_owned() },
                    |line| Confirmation::of(change.ratio, &line.finding),
                ),
            });
        }
    }
    Ok(measuring.revisions.interruption().exit())
}

/// The changes of a report with their cases.
fn each(report: &mut HistoryReport) -> impl Iterator<Item = (&CaseOfSuite, &mut CaseChange)> {
    report.cases.iter_mut().flat_map(|it| {
        let case = &it.case;
        it.series.iter_mut().flat_map(|series| &mut series.changes).map(move |change| (case, change))
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
}

impl Measuring<'_> {
    /// Compares these cases of both commits. Returns a line for each row, or the reason that there is none.
    fn measure(
        &self,
        commits: &Around,
        names: &[String],
    ) -> Result<Result<Vec<CaseFinding>, String>, CommandError> {
        let Around { then, now, suite } = commits;
        output::note(&format!("{suite}: {}..{}: {}", short(then), short(now), names.join(", ")));
        let [then, now] = match [self.built(then), self.built(now)] {
            [Ok(then), Ok(now)] => [then, now],
            [Err(error), _] | [_, Err(error)] => return refused(error),
        };
        let suites = match in_common(&then, &now) {
            Ok(suites) => suites.both,
            Err(error) => return refused(error),
        };
        let is_this = |name: &str, package: &str| *suite == format!("{package}/{name}");
        let Some(suite) = suites.into_iter().find(|[_, now]| is_this(&now.target.name, &now.target.package))
        else {
            return Ok(Err(format!("the suite {suite} is no bench target of both commits here")));
        };
        let flags = &self.args.flags;
        let exact = (!flags.iter().any(|flag| flag == "--exact")).then(|| "--exact".to_owned());
        let flags: Vec<String> = flags.iter().cloned().chain(exact).collect();
        let pairs = Pairs {
            most: self.args.pairs.pairs,
            seed: self.args.pairs.seed,
            time: None,
            error: DECISION_ERROR,
            limits: Limits::parse(Some(&self.args.band), None)?,
            filters: names,
            flags: &flags,
        };
        let mut processes = Processes::new([&then, &now], suite, &self.folder, &self.revisions, &pairs);
        match compared(&mut processes, &pairs) {
            Ok(run) => {
                Ok(Ok(run.and_then(|run| run.check).map_or_else(Vec::new, |Check { lines, .. }| lines)))
            }
            Err(CommandError::Revision(error)) => refused(error),
            Err(error) => Err(error),
        }
    }

    fn built(&self, commit: &str) -> Result<BuiltRevision, RevisionError> {
        let revision = self.revisions.named(commit)?;
        self.revisions.build(&revision, &self.args.build)
    }
}

/// Returns the reason that two commits cannot be compared, for the changes between them; an error if it holds for all commits.
fn refused(error: RevisionError) -> Result<Result<Vec<CaseFinding>, String>, CommandError> {
    match error {
        RevisionError::NoGit(_)
        | RevisionError::NoPlace { .. }
        | RevisionError::AllInUse(_)
        | RevisionError::Interrupted(_) => Err(error.into()),
        error => Ok(Err(error.to_string())),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
