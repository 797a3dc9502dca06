//! Changes of a history, measured again: the commit before each is compared with the one after it, in pairs of processes. Cases of one suite
//! that changed between the same commits are measured together.

use std::time::Instant;

use gpubench_records::device_info::UUID;
use gpubench_records::exit::Exit;
use gpubench_records::record::Run;
use gpubench_report::history::{CaseChange, CaseOfSuite, Confirmation, HistoryReport, RunLabel};

use super::super::compare::Limits;
use super::super::pairs::{Pairs, Processes, RunFolder, compared, in_common};
use super::super::revision::{BuiltRevision, Revisions};
use crate::args::HistoryArgs;
use crate::error::{CommandError, RevisionError};
use crate::output;

/// The two commits around changes, and the suite whose cases changed.
#[derive(PartialEq, Eq)]
struct Around {
    then: String,
    now: String,
    suite: String,
}

/// A change: the numbers of its case, of its series there, and its own.
type Place = [usize; 3];

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
    for (number, (around, places)) in all.iter().enumerate() {
        let mut names: Vec<String> =
            places.iter().map(|[case, ..]| report.cases[*case].case.case.name()).collect();
        names.sort_unstable();
        names.dedup();
        let found = if measuring.interrupted.is_some() {
            Err("a signal ended the command before".to_owned())
        } else if number > 0 && begin.elapsed() >= args.confirm_time {
            Err("the time was up: a longer --confirm-time confirms more".to_owned())
        } else {
            measuring.measure(around, &names)?
        };
        for [case, series, change] in places {
            let case = &mut report.cases[*case];
            let series = &mut case.series[*series];
            let uuid = series.uuid().map(str::to_owned);
            let change = &mut series.changes[*change];
            change.confirmation = Some(match &found {
                Err(reason) => not_measured(reason.clone()),
                Ok(run) => answer(run.as_ref(), &case.case, uuid.as_deref(), change.ratio),
            });
        }
    }
    Ok(measuring.interrupted)
}

fn not_measured(reason: String) -> Confirmation {
    Confirmation::NotMeasured { reason }
}

/// Returns the commits around all changes with these, those of the newest change first. Changes without commits are noted as such.
fn all_around(report: &mut HistoryReport) -> Vec<(Around, Vec<Place>)> {
    let mut all: Vec<(u64, Around, Place)> = Vec::new();
    for (number, case) in report.cases.iter_mut().enumerate() {
        for (series, of) in case.series.iter_mut().enumerate() {
            for (place, change) in of.changes.iter_mut().enumerate() {
                match around(&case.case, change) {
                    Ok(around) => all.push((change.begins.started, around, [number, series, place])),
                    Err(reason) => change.confirmation = Some(not_measured(reason)),
                }
            }
        }
    }
    all.sort_by_key(|(started, ..)| std::cmp::Reverse(*started));
    let mut groups: Vec<(Around, Vec<Place>)> = Vec::new();
    for (_, around, place) in all {
        match groups.iter_mut().find(|(known, _)| *known == around) {
            Some((_, places)) => places.push(place),
            None => groups.push((around, vec![place])),
        }
    }
    groups
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

/// Returns the answer to a change by the factor `ratio`: of the result of its device, else of another device of its model, else of the only
/// device.
fn answer(run: Option<&Run>, case: &CaseOfSuite, uuid: Option<&str>, ratio: f64) -> Confirmation {
    let (case, model) = (&case.case, &case.case.model);
    let rows = run.into_iter().flat_map(|run| {
        // The lines are in the order of the records.
        let lines = run.baseline_comparison.iter().flat_map(|check| &check.findings).zip(&run.records);
        lines.map(|(line, record)| {
            let own = run.devices.iter().find(|info| info.device == record.device);
            (line, &record.case.model, own.and_then(|info| info.text(UUID)))
        })
    });
    let rows: Vec<_> =
        rows.filter(|(line, ..)| line.name == case.name() && line.cache == case.cache).collect();
    let only = |is_this: &dyn Fn(&str, Option<&str>) -> bool| {
        let mut found = rows.iter().filter(|(_, model, uuid)| is_this(model, *uuid));
        found.next().filter(|_| found.next().is_none())
    };
    let its_own = only(&|_, own| uuid.is_some() && own == uuid);
    let found = its_own.or_else(|| only(&|own, _| own == model)).or_else(|| only(&|_, _| true));
    let Some((line, own_model, own_uuid)) = found else {
        let devices: Vec<&str> = rows.iter().map(|(line, ..)| &*line.device).collect();
        return not_measured(match &devices[..] {
            [] => "the case was not measured".to_owned(),
            all => {
                let device = uuid.unwrap_or(model);
                format!("its device, {device}, is not among {}: choose one by -- --device", all.join(", "))
            }
        });
    };
    if its_own.is_none() && (uuid.is_some() || *own_model != model) {
        let [was, is] =
            [uuid, *own_uuid].map(|uuid| uuid.map_or_else(String::new, |uuid| format!(" ({uuid})")));
        output::warn(&format!(
            "{case}: its change is of {model}{was}, and is measured again on {own_model}{is}"
        ));
    }
    Confirmation::new(ratio, &line.finding)
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
        let short = |commit: &str| commit.get(..8).unwrap_or(commit).to_owned();
        output::note(&format!("{suite}: {}..{}: {}", short(then), short(now), names.join(", ")));
        match self.run(commits, names) {
            Ok(run) => Ok(Ok(run)),
            Err(CommandError::Revision(RevisionError::Interrupted(exit))) => {
                self.interrupted = Some(exit);
                Ok(Err("a signal ended the command before".to_owned()))
            }
            // These hold for all commits.
            Err(CommandError::Revision(
                error
                @ (RevisionError::NoGit(_) | RevisionError::NoPlace { .. } | RevisionError::AllInUse(_)),
            )) => Err(error.into()),
            Err(CommandError::Revision(error)) => Ok(Err(error.to_string())),
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
        let mut flags = self.args.flags.clone();
        if !flags.iter().any(|flag| flag == "--exact") {
            flags.push("--exact".to_owned());
        }
        let pairs = Pairs {
            most: self.args.pairs.pairs,
            seed: self.args.pairs.seed,
            time: None,
            limits: Limits::parse(Some(&self.args.equivalence_margin), None)?,
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
