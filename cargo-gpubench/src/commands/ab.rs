//! `ab`: compares two revisions. Both are built first. Then processes of both are interleaved on one device, in A/B pairs, until every
//! result is decided, the time is up, or a signal comes. What was measured before the signal is compared.

use std::io::{self, Write};
use std::time::{Duration, Instant};
use std::{path::Path, process::Stdio};

use clap::Args;
use gpubench_records::baseline::{Baseline, check};
use gpubench_records::{Answer, BaselineComparison, Exit, Finding, Record, Run};
use gpubench_report::{
    join::join,
    loading::load,
    stored_runs::{NamedRun, StoredRuns},
};
use gpubench_runner::__private::{parse_positive_time, whole_number};
use gpubench_stats::{DECISION_ERROR, format::counted, random};
use gpubench_table::export::{Format, escaped};
use gpubench_table::paragraph;

use crate::commands::benchmark_binaries::{BuildArgs, BuiltBinaries, BuiltBinary, refuse_shared_file};
use crate::commands::revision::RevisionCheckouts;
use crate::commands::{exit_of_all, signals};
use crate::output::{CommandError, ExportArgs, PrintOptions, Result, ResultDestinations, bail};
use crate::{commands::stored::LimitArgs, output};

/// The revisions to compare.
#[derive(Args)]
pub(super) struct AbArgs {
    /// The earlier revision: a commit, a tag, a branch, or `.` for the working tree
    #[arg(value_name = "REV")]
    then: String,
    /// The revision that is compared with it [default: `.`, the working tree with uncommitted changes]; required before a FILTER
    #[arg(value_name = "REV2", default_value = ".", hide_default_value = true)]
    now: String,
    /// Run only benchmarks whose names contain one of these
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Measure in at most this many pairs of processes, one of each revision; a result is measured until it is decided
    #[arg(long, value_name = "N", default_value = "16", value_parser = whole_number(2..=64), help_heading = "Comparison")]
    pairs: usize,
    /// The seed of the random order of processes
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Comparison")]
    seed: u64,
    /// Start no further pair after this time, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time, help_heading = "Comparison")]
    time: Option<Duration>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    build: BuildArgs,
    #[command(flatten)]
    exports: ExportArgs,
    /// Flags for each process of the benchmark binaries
    #[arg(value_name = "FLAG", last = true)]
    flags: Vec<String>,
}

pub(super) fn ab(args: &AbArgs, options: PrintOptions) -> Result<Exit> {
    let results = ResultDestinations::new(&args.exports, &[], options)?;
    let revisions = RevisionCheckouts::here(&args.build)?;
    let [then, now] = [revisions.named(&args.then)?, revisions.named(&args.now)?];
    if then.1 == now.1 {
        bail!(Usage, "both revisions are {}: name two that differ", then.0);
    }
    let then = revisions.check_out("then", then, &args.build)?;
    let now = revisions.check_out("now", now, &args.build)?;
    let in_common = now.targets.iter().filter(|it| then.targets.iter().any(|other| it.has_names_of(other)));
    let mut formats = results.exports.iter().map(|export| export.format);
    // Before anything is built.
    refuse_shared_file(formats.find(|format| format.name != Format::MARKDOWN.name), in_common.count())?;
    let built = [then.build(&args.build)?, now.build(&args.build)?];
    let (both, others) = pairs_of_suites(&then.name, &now.name, &built)?;
    others.iter().for_each(|other| output::warn(other));
    let mut runs = Vec::new();
    let measure = || -> Result<Exit> {
        let mut ends = Vec::new();
        for suite in both {
            let sides = [(&*then.name, &built[0]), (&*now.name, &built[1])];
            let mut pairs = ProcessPairs::new(sides, suite, &revisions, args);
            if let Some(run) = pairs.compared()? {
                ends.push(exit(&run));
                results.print_run("", &run, false)?;
                runs.push((suite[1].name(), run));
            }
            if let Some(interrupted) = pairs.interrupted {
                ends.push(interrupted);
                break;
            }
        }
        Ok(exit_of_all(ends))
    };
    let ended = measure();
    // What was compared before an error is written too.
    let written = write(&results, &runs, &others, options);
    let exit = ended?;
    written.map(|()| exit)
}

/// Returns the benchmark binaries that both revisions have, the earlier revision's first, and a sentence for each that one lacks.
fn pairs_of_suites<'a>(
    then: &str,
    now: &str,
    [old, new]: &'a [BuiltBinaries; 2],
) -> Result<(Vec<[&'a BuiltBinary; 2]>, Vec<String>)> {
    let find = |built: &'a BuiltBinaries, like: &BuiltBinary| {
        built.binaries.iter().find(|suite| suite.target.has_names_of(&like.target))
    };
    let both: Vec<_> = new.binaries.iter().filter_map(|new| Some([find(old, new)?, new])).collect();
    let lacking = |built: &'a BuiltBinaries, other: &'a BuiltBinaries, what: &str| {
        let alone = built.binaries.iter().filter(|suite| find(other, suite).is_none());
        alone.map(|suite| format!("{} is {what} {now}", suite.name())).collect::<Vec<_>>()
    };
    let added = lacking(new, old, "new in").into_iter().map(|sentence| sentence + ", and not measured");
    let others: Vec<String> = added.chain(lacking(old, new, "missing in")).collect();
    if both.is_empty() {
        let lines: String = others.iter().map(|other| format!("\n  {other}")).collect();
        bail!(Nothing, "{then} and {now} have no benchmark binary in common{lines}");
    }
    Ok((both, others))
}

/// Returns the exit code for a comparison. One without results of the later revision is no empty run: it lists what is missing.
fn exit(run: &Run) -> Exit {
    match Exit::of(run) {
        Exit::Nothing => run.gate().map_or(Exit::Done, |gate| gate.exit()),
        exit => exit,
    }
}

/// Prints the benchmark binaries that were not compared, and writes the files.
fn write(
    results: &ResultDestinations,
    runs: &[(String, Run)],
    others: &[String],
    options: PrintOptions,
) -> Result<()> {
    if !others.is_empty() {
        let lines: String = others.iter().map(|other| format!("{other}\n")).collect();
        results.print(&format!("\n{}", paragraph(&lines, options.page())))?;
    }
    for export in &results.exports {
        match runs {
            [] if others.is_empty() => {}
            runs if export.format.name == Format::MARKDOWN.name => {
                output::write_to(&export.to, &|out| write_markdown(runs, others, out))?;
            }
            [(_, run)] => output::write(export, run)?,
            _ => {}
        }
    }
    Ok(())
}

/// Writes the runs of suites as Markdown, each under its suite's name, and behind them `others`, sentences about suites that have none. The run
/// of the only suite has no heading, as if it were exported alone.
fn write_markdown(runs: &[(String, Run)], others: &[String], out: &mut dyn Write) -> io::Result<()> {
    for (number, (name, run)) in runs.iter().enumerate() {
        if number > 0 {
            out.write_all(b"\n")?;
        }
        if runs.len() > 1 {
            write!(out, "## {}\n\n", escaped(name))?;
        }
        (Format::MARKDOWN.write)(run, out)?;
    }
    if !others.is_empty() && !runs.is_empty() {
        out.write_all(b"\n")?;
    }
    others.iter().try_for_each(|other| writeln!(out, "- {}", escaped(other)))
}

/// A benchmark binary of two revisions, with the runs so far.
struct ProcessPairs<'a> {
    sides: [ComparedRevision<'a>; 2],
    /// The target folder that all processes share for what they measure of the machine.
    target: &'a Path,
    args: &'a AbArgs,
    /// The signal that ended this program, or a process alone.
    interrupted: Option<Exit>,
}

struct ComparedRevision<'a> {
    /// The revision.
    name: &'a str,
    built: &'a BuiltBinaries,
    suite: &'a BuiltBinary,
    /// Where its processes store their runs.
    stored: StoredRuns,
    runs: Vec<NamedRun>,
}

impl<'a> ProcessPairs<'a> {
    /// The benchmark binary before and now.
    fn new(
        revisions: [(&'a str, &'a BuiltBinaries); 2],
        [then, now]: [&'a BuiltBinary; 2],
        here: &'a RevisionCheckouts,
        args: &'a AbArgs,
    ) -> Self {
        let side = |(name, built), suite, place: &str| {
            let stored = StoredRuns::within(here.home().join("ab").join(place));
            ComparedRevision { name, built, suite, stored, runs: Vec::new() }
        };
        let sides = [side(revisions[0], then, "then"), side(revisions[1], now, "now")];
        Self { sides, target: &here.target, args, interrupted: None }
    }

    /// Measures pairs of processes until every result is decided. Returns the later revision's run with the comparison; nothing if it has
    /// no result.
    fn compared(&mut self) -> Result<Option<Run>> {
        let begin = Instant::now();
        let most = self.args.pairs;
        let checks = process_looks(most);
        // By Bonferroni's inequality all stopping checks together err as often as one would.
        let error = DECISION_ERROR / checks.len() as f64;
        let mut undecided: Option<Vec<String>> = None;
        for pair in 0..most {
            // A first pair is always measured.
            if pair > 0 && self.args.time.is_some_and(|time| begin.elapsed() >= time) {
                break;
            }
            let left =
                undecided.as_ref().map(|names| format!(": {} undecided", counted(names.len(), "result")));
            output::note(&format!("pair {} of at most {most}{}", pair + 1, left.unwrap_or_default()));
            let mut nothing_matched = false;
            for side in process_order(self.args.seed, pair) {
                match self.measure(side, undecided.as_deref())? {
                    Exit::Interrupted(_) => return self.compare(error),
                    exit => nothing_matched |= exit == Exit::Nothing,
                }
            }
            if nothing_matched {
                break;
            }
            if checks.contains(&(pair + 1)) {
                let found = self.compare(error)?;
                let check = found.as_ref().and_then(|run| run.baseline_comparison.as_ref());
                let names = check.map(names_undecided).unwrap_or_default();
                if names.is_empty() || pair + 1 == most {
                    return Ok(found);
                }
                undecided = Some(names);
            }
        }
        self.compare(error)
    }

    /// Runs a process of a side: of all cases that the user wants, or of those of these names. Returns how it ended.
    fn measure(&mut self, side: Side, names: Option<&[String]>) -> Result<Exit> {
        // A signal between two processes reached none of them.
        self.interrupted = signals::received();
        if let Some(exit) = self.interrupted {
            return Ok(exit);
        }
        let flags = self.flags(names);
        let ComparedRevision { name, built, suite, stored, runs } = &mut self.sides[side as usize];
        let folder = stored.home().join("runs");
        let mut command = built.command(suite, &flags);
        command.env("GPUBENCH_RUNS_DIR", &folder).env("CARGO_TARGET_DIR", self.target);
        // Its table is one of many.
        command.stdout(Stdio::null());
        let before = stored.runs();
        let exit = signals::exit(signals::output(&mut command, Exit::Failed)?.status);
        let run = stored.runs().into_iter().find(|run| !before.contains(run));
        let is_missing = run.is_none();
        if let Some((run_name, path)) = run {
            match load(&path) {
                Ok(stored) => runs.push(NamedRun { name: run_name, run: stored.run }),
                Err(error) => {
                    bail!(Failed, "{name}: the benchmark binary stored a run that cannot be read: {error}")
                }
            }
        }
        match exit {
            Exit::Interrupted(_) => self.interrupted = Some(exit),
            Exit::Usage | Exit::NoDevice => {
                let what = format!("{name}: the benchmark binary ended with {exit}: its message is above");
                return Err(CommandError::new(exit, what));
            }
            // A case that failed has no number, which the comparison reports.
            Exit::Failed | Exit::Regression | Exit::Done if is_missing => bail!(
                Failed,
                "{name}: the benchmark binary stored no run in {}: do not give it --runs-dir or --resume",
                folder.display()
            ),
            _ => {}
        }
        Ok(exit)
    }

    /// Returns the flags of a process.
    fn flags(&self, names: Option<&[String]>) -> Vec<String> {
        let AbArgs { filters, flags, .. } = self.args;
        let Some(names) = names else { return [&flags[..], filters].concat() };
        // Whole names replace the user's own filters, which are none.
        let exact =
            if flags.iter().any(|flag| flag == "--exact") { vec![] } else { vec!["--exact".to_owned()] };
        [flags, &exact, names].concat()
    }

    /// Compares what was measured so far; nothing if neither side has a run, or if a signal came before both had one. Otherwise a side
    /// without a run has no results: those of the other side are new or missing.
    fn compare(&self, error: f64) -> Result<Option<Run>> {
        let nothing =
            |run: &Run| Run { records: Vec::new(), skipped: Vec::new(), planned_cases: 0, ..run.clone() };
        let is_whole = self.interrupted.is_none();
        let (then, mut now) = match (self.sides[0].joined()?, self.sides[1].joined()?) {
            (Some(then), Some(now)) => (then, now),
            (Some(then), None) if is_whole => (then.clone(), nothing(&then)),
            (None, Some(now)) if is_whole => (nothing(&now), now),
            _ => return Ok(None),
        };
        self.args.limits.set(&mut now);
        let baseline = Baseline::of(self.sides[0].name.to_owned(), then);
        now.baseline_comparison = Some(check(&now, &baseline, &|_| true, error));
        Ok(Some(now))
    }
}

/// Returns the names of the cases that more processes may decide, each once.
fn names_undecided(check: &BaselineComparison) -> Vec<String> {
    let undecided = check
        .findings
        .iter()
        .filter(|line| matches!(line.finding, Finding::Compared { answer: Answer::Undecided, .. }));
    let mut names: Vec<String> = undecided.map(|line| line.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl ComparedRevision<'_> {
    /// Returns all runs as one; nothing if there is none. Each record has the number of processes that measured it beyond those that
    /// measured all.
    fn joined(&self) -> Result<Option<Run>> {
        let mut run = match &self.runs[..] {
            [] => return Ok(None),
            [one] => one.run.clone(),
            several => match join(several.to_vec()) {
                Ok(joined) => joined.run,
                Err(error) => bail!(Failed, "the processes of {} cannot be merged: {error}", self.name),
            },
        };
        let processes = |record: &Record| record.measurements().count();
        let least = run.records.iter().map(processes).filter(|count| *count > 0).min().unwrap_or(0);
        for record in &mut run.records {
            record.remeasured = processes(record).saturating_sub(least);
        }
        Ok(Some(run))
    }
}

/// A program of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// The program that was there before.
    Then,
    /// The one that is compared with it.
    Now,
}

/// The pairs before the first look. Fewer processes do not show what processes differ by.
const FIRST_LOOK: usize = 4;

/// Returns the numbers of pairs after which there is a look: each twice as many as the one before, and `most` at the end. The looks
/// share the error, so that there must be few.
fn process_looks(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(FIRST_LOOK), |pairs| pairs.checked_mul(2));
    doubled.take_while(|pairs| *pairs < most).chain([most]).collect()
}

/// Returns the order within the pair of this number, from 0. Of each two pairs the first is drawn, and the second has it reversed: a
/// steady drift, such as of a device that warms up, adds the same to both sides.
fn process_order(seed: u64, pair: usize) -> [Side; 2] {
    let is_drawn = random(seed ^ (pair as u64 / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)) & 1 == 1;
    if is_drawn == pair.is_multiple_of(2) { [Side::Then, Side::Now] } else { [Side::Now, Side::Then] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_until_the_last_pair() {
        assert_eq!(process_looks(16), [4, 8, 16]);
        assert_eq!(process_looks(20), [4, 8, 16, 20]);
        assert_eq!(process_looks(2), [2]);
        assert_eq!(process_looks(4), [4]);
    }

    /// The places of a side, in the order of processes, add up to the same: that is what a steady drift adds.
    #[test]
    fn a_steady_drift_adds_the_same_to_both_sides() {
        for seed in 0..50 {
            let sides: Vec<Side> = (0..8).flat_map(|pair| process_order(seed, pair)).collect();
            let places =
                |side| sides.iter().zip(0..).filter(|(is, _)| **is == side).map(|(_, at)| at).sum::<i32>();
            assert_eq!(places(Side::Then), places(Side::Now), "{seed}: {sides:?}");
        }
    }

    #[test]
    fn each_side_goes_first_as_often_by_chance() {
        let first = (0..1000).filter(|seed| process_order(*seed, 0)[0] == Side::Then).count();
        assert!((430..570).contains(&first), "{first}");
        let pairs = (0..1000).filter(|pair| process_order(1, 2 * pair)[0] == Side::Then).count();
        assert!((430..570).contains(&pairs), "{pairs}");
    }
}
