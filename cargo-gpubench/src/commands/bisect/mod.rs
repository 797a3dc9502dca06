//! `bisect`: the commit that made a case slower, or faster. In: a commit before the change, one behind it, and the case; out: the
//! commit, or those of which it is one. Each step compares a commit with the one before the change, in pairs of processes, and takes
//! it for changed if it differs by more than half of the whole change.

mod change;
mod search;

use gpubench_records::comparison::{Answer, CaseFinding, Check, Finding};
use gpubench_records::exit::Exit;
use gpubench_stats::{DECISION_ERROR, Ratio};

use self::change::{Change, Row, percent, told};
use self::search::{Search, most_answers};
use super::compare::Limits;
use super::pairs::{Pairs, Processes, RunFolder, compared, in_common};
use super::revision::{BuiltRevision, Revision, Revisions};
use super::suites::BuiltSuite;
use crate::args::{BisectArgs, BuildArgs, PairArgs};
use crate::error::{BisectError, CommandError, RevisionError};
use crate::output::{self, PrintOptions};

pub(super) fn bisect(args: &BisectArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let limits = Limits::parse(args.band.as_deref(), None)?;
    let revisions = Revisions::here(&args.build)?;
    let commits = revisions.between(&args.good, &args.bad)?;
    let [good, bad] = [revisions.named(&args.good)?, revisions.named(&args.bad)?];
    let bisection = Bisection {
        good: revisions.build(&good, &args.build)?,
        revisions: &revisions,
        folder: RunFolder::below(&revisions.home().join("bisect"))?,
        args,
        // By Bonferroni's inequality all decisions together err as often as one would.
        error: DECISION_ERROR / (most_answers(commits.len()) + 1) as f64,
    };
    let change = match bisection.whole_change(&bad, limits)? {
        Ended::By(exit) => return Ok(exit),
        Ended::With(change) => change,
    };
    output::note(&format!(
        "{} takes {} than in {}; {} to search",
        change.row,
        change.words(),
        bisection.good.name,
        count(commits.len(), "commit"),
    ));
    let (mut search, mut latest) = (Search::of(commits.len()), bad);
    while let Some(number) = search.next() {
        let commit = &commits[number - 1];
        let left = count(search.candidates(), "candidate");
        match bisection.step(&change, commit, &latest)? {
            Ended::By(exit) => return Ok(exit),
            Ended::With(Step::Skipped(reason)) => {
                output::note(&format!("{left}: {commit} gives no answer: {reason}"));
                search.skip(number);
            }
            Ended::With(Step::Answered { has_it, ratio }) => {
                let words = if has_it { "has the change" } else { "is before the change" };
                output::note(&format!("{left}: {commit} {words}: {}", percent(&ratio)));
                search.answered(number, has_it);
            }
        }
        latest = commit.clone();
    }
    let found = search.found().map(|number| revisions.describe(&commits[number - 1]));
    let found = found.collect::<Result<Vec<String>, RevisionError>>()?;
    output::print(&format!("{}\n{}\n", change.conclusion(found.len()), found.join("\n")), print_options)?;
    Ok(Exit::Done)
}

/// A commit before the change, which each step measures anew.
struct Bisection<'a> {
    good: BuiltRevision,
    revisions: &'a Revisions,
    folder: RunFolder,
    args: &'a BisectArgs,
    /// The error of a decision.
    error: f64,
}

/// The end of a step: what it gave, or the signal that ended it.
enum Ended<T> {
    With(T),
    By(Exit),
}

/// The rows of a comparison.
#[derive(Default)]
struct Found {
    lines: Vec<CaseFinding>,
    /// The cases that the later commit lacks.
    missing: Vec<String>,
}

/// The rows that did not change, as far as is known.
#[derive(Default)]
struct Others {
    /// A sentence for each.
    rows: Vec<String>,
    /// True if some were compared.
    compared: bool,
    /// True if some of these may have changed all the same.
    undecided: bool,
}

impl Others {
    fn add(&mut self, row: &Row, finding: &Finding) {
        self.rows.push(format!("{row}: {}", told(finding)));
        let is_same = matches!(finding, Finding::Compared { answer: Answer::Same, .. });
        let is_new = matches!(finding, Finding::New);
        self.compared |= !is_new;
        self.undecided |= !is_same && !is_new;
    }
}

/// A step of the search.
enum Step {
    /// The commit has the change or not, by its ratio to the one before the change.
    Answered { has_it: bool, ratio: Ratio },
    /// It gives no answer, for this reason.
    Skipped(String),
}

impl Bisection<'_> {
    /// Finds the row that changed most certainly between both commits.
    fn whole_change(&self, bad: &Revision, limits: Limits) -> Result<Ended<Change>, CommandError> {
        let bad = self.revisions.build(bad, &self.args.build)?;
        let pairs = self.pairs(limits, std::slice::from_ref(&self.args.case), &self.args.flags);
        let suites = in_common(&self.good, &bad)?;
        suites.others.iter().for_each(|other| output::warn(other));
        let (mut changes, mut others) = (Vec::new(), Others::default());
        for suite in suites.both {
            let found = match self.compared(&bad, suite, &pairs)? {
                Ended::By(exit) => return Ok(Ended::By(exit)),
                Ended::With(found) => found,
            };
            let target = &suite[1].target;
            for line in found.lines {
                let row = Row::of(&line);
                match line.finding {
                    Finding::Compared {
                        ratio, answer: answer @ (Answer::Slower | Answer::Faster), ..
                    } => {
                        let suite = [target.package.clone(), target.name.clone()];
                        changes.push(Change { row, ratio, answer, suite });
                    }
                    finding => others.add(&row, &finding),
                }
            }
            others.rows.extend(found.missing.iter().map(|case| format!("{case}: it is not in {}", bad.name)));
        }
        changes.sort_by(|one, other| other.least().total_cmp(&one.least()));
        let mut changes = changes.into_iter();
        let Some(first) = changes.next() else { return Err(self.no_change(bad.name, others).into()) };
        for other in changes {
            output::note(&format!("{} changed too, less certainly: {}", other.row, percent(&other.ratio)));
        }
        Ok(Ended::With(first))
    }

    /// Returns the error of a search without a change, by the rows that have none.
    fn no_change(&self, bad: String, others: Others) -> BisectError {
        let (good, rows) = (self.good.name.clone(), others.rows);
        if others.undecided {
            BisectError::Undecided { good, bad, rows }
        } else if others.compared {
            BisectError::Unchanged { good, bad, rows }
        } else {
            BisectError::NoCase { case: self.args.case.clone(), good, bad, rows }
        }
    }

    /// Asks whether a commit has the change, after that of the commit `latest`. What says something of the commit alone is no answer, and
    /// the search goes on.
    fn step(
        &self,
        change: &Change,
        commit: &Revision,
        latest: &Revision,
    ) -> Result<Ended<Step>, CommandError> {
        match self.answer(change, commit, latest) {
            // The words of git, cargo or the suite stand above.
            Err(CommandError::Revision(error)) if error.is_of(&commit.to_string()) => {
                Ok(Ended::With(Step::Skipped(error.to_string())))
            }
            answer => answer,
        }
    }

    /// Measures a commit, in the work tree of the commit `latest`, whose build has most in common.
    fn answer(
        &self,
        change: &Change,
        commit: &Revision,
        latest: &Revision,
    ) -> Result<Ended<Step>, CommandError> {
        let [package, bench] = change.suite.clone();
        let build = BuildArgs { package: vec![package], bench: vec![bench], ..self.args.build.clone() };
        let built = self.revisions.check_out(commit, Some(latest), &build)?.build(&build)?;
        let suite = in_common(&self.good, &built)?.both[0];
        let names = [change.row.name.clone()];
        let exact = (!self.args.flags.iter().any(|flag| flag == "--exact")).then(|| "--exact".to_owned());
        let flags: Vec<String> = self.args.flags.iter().cloned().chain(exact).collect();
        // In the middle of the whole change: then both answers are as far away.
        let pairs = self.pairs(Limits::within(change.half()), &names, &flags);
        let found = match self.compared(&built, suite, &pairs)? {
            Ended::By(exit) => return Ok(Ended::By(exit)),
            Ended::With(found) => found,
        };
        let line = found.lines.into_iter().find(|line| Row::of(line) == change.row);
        Ok(Ended::With(match line.map(|line| line.finding) {
            Some(Finding::Compared { ratio, answer, .. }) if answer != Answer::Undecided => {
                Step::Answered { has_it: answer == change.answer, ratio }
            }
            Some(finding) => Step::Skipped(told(&finding)),
            None => Step::Skipped(format!("it has no case {}", change.row)),
        }))
    }

    fn pairs<'p>(&self, limits: Limits, filters: &'p [String], flags: &'p [String]) -> Pairs<'p> {
        let PairArgs { pairs, seed } = self.args.pairs;
        Pairs { most: pairs, seed, time: None, error: self.error, limits, filters, flags }
    }

    /// Compares a commit with the one before the change. Returns a line for each row; none if no case was measured.
    fn compared(
        &self,
        commit: &BuiltRevision,
        suite: [&BuiltSuite; 2],
        pairs: &Pairs<'_>,
    ) -> Result<Ended<Found>, CommandError> {
        let sides = [&self.good, commit];
        let mut processes = Processes::new(sides, suite, &self.folder, self.revisions, pairs);
        let run = compared(&mut processes, pairs)?;
        if let Some(exit) = processes.interrupted() {
            return Ok(Ended::By(exit));
        }
        let check = run.and_then(|run| run.check);
        Ok(Ended::With(
            check.map_or_else(Found::default, |Check { lines, missing, .. }| Found { lines, missing }),
        ))
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
