//! `bisect`: the commit that made a case slower, or faster. In: a commit before the change, one behind it, and the case; out: the
//! commit, or those of which it is one. Each step compares a commit with the one before the change, in pairs of processes, and takes
//! it for changed if it differs by more than half of the whole change.

mod search;

use std::fmt::{self, Display};

use gpubench_records::comparison::{Answer, CaseFinding, Finding};
use gpubench_records::exit::Exit;
use gpubench_records::method::Cache;
use gpubench_stats::{DECISION_ERROR, Ratio};

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
        match bisection.answer(&change, commit, &latest)? {
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

/// A step of the search.
enum Step {
    /// The commit has the change or not, by its ratio to the one before the change.
    Answered { has_it: bool, ratio: Ratio },
    /// It gives no answer, for this reason.
    Skipped(String),
}

/// A row that changed between the commits that the user named.
struct Change {
    row: Row,
    ratio: Ratio,
    /// Slower or faster.
    answer: Answer,
    /// The package and the bench target that have the case.
    suite: [String; 2],
}

/// A row of a table.
#[derive(PartialEq, Eq)]
struct Row {
    name: String,
    device: String,
    cache: Cache,
}

impl Bisection<'_> {
    /// Finds the row that changed most certainly between both commits.
    fn whole_change(&self, bad: &Revision, limits: Limits) -> Result<Ended<Change>, CommandError> {
        let bad = self.revisions.build(bad, &self.args.build)?;
        let pairs = self.pairs(limits, std::slice::from_ref(&self.args.case), &self.args.flags);
        let (mut changes, mut others) = (Vec::new(), Vec::new());
        let suites = in_common(&self.good, &bad)?;
        suites.others.iter().for_each(|other| output::warn(other));
        for suite in suites.both {
            let found = match self.compared(&bad, suite, &pairs)? {
                Ended::By(exit) => return Ok(Ended::By(exit)),
                Ended::With(found) => found,
            };
            let target = &suite[1].target;
            for line in found {
                let row = Row::of(&line);
                match line.finding {
                    Finding::Compared {
                        ratio, answer: answer @ (Answer::Slower | Answer::Faster), ..
                    } => {
                        let suite = [target.package.clone(), target.name.clone()];
                        changes.push(Change { row, ratio, answer, suite });
                    }
                    finding => others.push(format!("{row}: {}", told(&finding))),
                }
            }
        }
        let unchanged = || BisectError::Unchanged {
            case: self.args.case.clone(),
            bad: bad.name.clone(),
            good: self.good.name.clone(),
            rows: others.clone(),
        };
        changes.sort_by(|one, other| other.least().total_cmp(&one.least()));
        let mut changes = changes.into_iter();
        let first = changes.next().ok_or_else(unchanged)?;
        for other in changes {
            output::note(&format!("{} changed too, less certainly: {}", other.row, percent(&other.ratio)));
        }
        Ok(Ended::With(first))
    }

    /// Asks whether a commit has the change. It takes the work tree of the commit `latest`, whose build has most in common.
    fn answer(
        &self,
        change: &Change,
        commit: &Revision,
        latest: &Revision,
    ) -> Result<Ended<Step>, CommandError> {
        let [package, bench] = change.suite.clone();
        let build = BuildArgs { package: vec![package], bench: vec![bench], ..self.args.build.clone() };
        let checked_out = self.revisions.check_out(commit, Some(latest), &build);
        let built = match checked_out.and_then(|commit| commit.build(&build)) {
            Ok(built) => built,
            // Cargo's words stand above.
            Err(RevisionError::NotBuilt { error, .. }) => {
                return Ok(Ended::With(Step::Skipped(error.to_string())));
            }
            Err(error) => return Err(error.into()),
        };
        let suite = match in_common(&self.good, &built) {
            Ok(suites) => suites.both[0],
            Err(error) => return Ok(Ended::With(Step::Skipped(error.to_string()))),
        };
        let names = [change.row.name.clone()];
        let exact = (!self.args.flags.iter().any(|flag| flag == "--exact")).then(|| "--exact".to_owned());
        let flags: Vec<String> = self.args.flags.iter().cloned().chain(exact).collect();
        // In the middle of the whole change: then both answers are as far away.
        let pairs = self.pairs(Limits::within(change.half()), &names, &flags);
        let found = match self.compared(&built, suite, &pairs)? {
            Ended::By(exit) => return Ok(Ended::By(exit)),
            Ended::With(found) => found,
        };
        let line = found.into_iter().find(|line| Row::of(line) == change.row);
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

    /// Compares a commit with the one before the change. Returns a line for each row.
    fn compared(
        &self,
        commit: &BuiltRevision,
        suite: [&BuiltSuite; 2],
        pairs: &Pairs<'_>,
    ) -> Result<Ended<Vec<CaseFinding>>, CommandError> {
        let sides = [&self.good, commit];
        let mut processes = Processes::new(sides, suite, &self.folder, self.revisions, pairs);
        let run = compared(&mut processes, pairs)?;
        if let Some(exit) = processes.interrupted() {
            return Ok(Ended::By(exit));
        }
        Ok(Ended::With(run.and_then(|run| run.check).map(|check| check.lines).unwrap_or_default()))
    }
}

impl Change {
    /// Returns the least change that its interval holds, as the logarithm of a ratio.
    fn least(&self) -> f64 {
        if self.answer == Answer::Slower { self.ratio.low.ln() } else { -self.ratio.high.ln() }
    }

    /// Returns the fraction by which half of the change, on the scale of logarithms, makes the longer time longer.
    fn half(&self) -> f64 {
        (self.ratio.value.ln().abs() / 2.0).exp_m1()
    }

    fn words(&self) -> String {
        let direction = if self.answer == Answer::Slower { "longer" } else { "less time" };
        format!("{direction}, {},", percent(&self.ratio))
    }

    /// Returns the heading of the commits that were found.
    fn conclusion(&self, commits: usize) -> String {
        let Self { row, ratio, answer, .. } = self;
        let verb = if *answer == Answer::Slower { "slower" } else { "faster" };
        let since = match commits {
            1 => "since this commit".to_owned(),
            several => format!("since one of these {several} commits, of which some gave no answer"),
        };
        format!("{row} is {verb} {since}: {}", percent(ratio))
    }
}

impl Row {
    fn of(line: &CaseFinding) -> Self {
        Self { name: line.name.clone(), device: line.device.clone(), cache: line.cache }
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} on {}", self.name, self.cache, self.device)
    }
}

/// Returns the reason why a finding decides nothing, or that there is no change.
fn told(finding: &Finding) -> String {
    match finding {
        Finding::Compared { ratio, answer: Answer::Undecided, .. } => {
            format!("undecided, {}: more --pairs may decide", percent(ratio))
        }
        Finding::Compared { ratio, .. } => format!("no change, {}", percent(ratio)),
        Finding::NotComparable(reasons) => format!("not comparable: {}", reasons.join(", ")),
        Finding::New => "it is not in the commit before the change".to_owned(),
        Finding::NoNumber(reason) => format!("no number: {reason}"),
    }
}

/// Returns the change of a time with its interval, such as `+3.05 % (+2.90 to +3.20 %)`.
fn percent(ratio: &Ratio) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|ratio| 100.0 * (ratio - 1.0));
    format!("{value:+.2} % ({low:+.2} to {high:+.2} %)")
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
