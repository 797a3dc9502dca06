//! `ab`: compares two revisions. It builds both, and then runs interleaved processes of both on one device, in
//! A/B pairs, until every result is decided, the time is up, or a signal arrives. The measurements before a
//! signal are compared.

use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use gpubench_records::baseline::{Baseline, check};
use gpubench_records::{Answer, BaselineComparison, BaselineFinding, Exit, Record, Run};
use gpubench_report::{
    join::join,
    loading::load,
    stored_runs::{NamedRun, StoredRuns},
};
use gpubench_runner::__private::{parse_positive_time, whole_number};
use gpubench_stats::{DECISION_ERROR, format::counted, random};
use gpubench_table::{
    export::{Format, escaped},
    paragraph,
};

use super::benchmark_binaries::{BuildArgs, BuiltBinaries, BuiltBinary, refuse_shared_file};
use super::{combined_exit, revision::RevisionCheckouts, signals, stored::LimitArgs};
use crate::output::{self, CommandError, ExportArgs, PrintOptions, Result, ResultDestinations, bail};

/// The arguments of `cargo gpubench ab`.
#[derive(Args)]
pub(super) struct AbArgs {
    /// The earlier revision: a commit, a tag, a branch, or `.` for the working tree
    #[arg(value_name = "REV")]
    then: String,
    /// The revision that is compared with it [default: `.`, the working tree with uncommitted changes]; required before a FILTER
    #[arg(value_name = "REV2", default_value = ".", hide_default_value = true)]
    now: String,
    /// Run only benchmarks whose names contain one of these texts, or match a /regex/
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Measure in at most this many pairs of processes, one of each revision; a result is measured until it is decided
    #[arg(long, value_name = "N", default_value = "16", value_parser = whole_number(2..=64), help_heading = "Comparison")]
    pairs: usize,
    /// The seed of the random order of processes
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Comparison")]
    seed: u64,
    /// Start no further pair of a benchmark binary after this time, such as 90s, 10m or 1h
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

/// Runs the command. After an error, still writes the comparisons that were complete before it, and then
/// returns the error.
pub(super) fn ab(args: &AbArgs, options: PrintOptions) -> Result<Exit> {
    let results = ResultDestinations::new(&args.exports, &[], options)?;
    let revisions = RevisionCheckouts::open(&args.build)?;
    let [then, now] = [revisions.resolve(&args.then)?, revisions.resolve(&args.now)?];
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
    let (both, others) = common_binaries(&then.name, &now.name, &built)?;
    others.iter().for_each(|other| output::warn(other));
    let mut runs = Vec::new();
    let measure = || -> Result<Exit> {
        let mut ends = Vec::new();
        for suite in both {
            let sides = [(&*then.name, &built[0]), (&*now.name, &built[1])];
            let mut pairs = ProcessPairs::new(sides, suite, &revisions, args);
            if let Some(run) = pairs.measure_and_compare()? {
                ends.push(exit_code(&run));
                results.print_run("", &run, false)?;
                runs.push((suite[1].display_name(), run));
            }
            if let Some(interrupted) = pairs.interrupted {
                ends.push(interrupted);
                break;
            }
        }
        Ok(combined_exit(ends))
    };
    let ended = measure();
    // Complete comparisons are written even after an error.
    let written = write_results(&results, &runs, &others);
    let exit = ended?;
    written.map(|()| exit)
}

/// Returns the benchmark binaries that both revisions have, each as `[earlier, later]`, and a sentence for
/// each binary that only one revision has. Returns an error if the revisions have no binary in common.
fn common_binaries<'a>(
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
        alone.map(|suite| format!("{} is {what} {now}", suite.display_name())).collect::<Vec<_>>()
    };
    let added = lacking(new, old, "new in").into_iter().map(|sentence| sentence + ", and not measured");
    let others: Vec<String> = added.chain(lacking(old, new, "missing in")).collect();
    if both.is_empty() {
        let lines: String = others.iter().map(|other| format!("\n  {other}")).collect();
        bail!(Nothing, "{then} and {now} have no benchmark binary in common{lines}");
    }
    Ok((both, others))
}

/// Returns the exit code for a comparison: [`Exit::of`] the run. If the later revision has no results, the
/// gate decides instead; without a regression threshold, the exit code is then [`Exit::Done`].
fn exit_code(run: &Run) -> Exit {
    match Exit::of(run) {
        Exit::Nothing => run.gate().map_or(Exit::Done, |gate| gate.exit()),
        exit => exit,
    }
}

/// Prints `others`, the sentences about binaries that were not compared, and writes the runs to all
/// destinations. Markdown takes any number of runs; the other formats are written only for a single run.
fn write_results(results: &ResultDestinations, runs: &[(String, Run)], others: &[String]) -> Result<()> {
    if !others.is_empty() {
        let lines: String = others.iter().map(|other| format!("{other}\n")).collect();
        results.print_unless_exported(&format!("\n{}", paragraph(&lines, results.options.page())))?;
    }
    for export in &results.exports {
        match runs {
            [] if others.is_empty() => {}
            runs if export.format.name == Format::MARKDOWN.name => {
                output::write_to(export, &|out| write_markdown(runs, others, out))?;
            }
            [(_, run)] => output::export_run(export, run)?,
            _ => {}
        }
    }
    Ok(())
}

/// Writes runs as Markdown, each below the name of its benchmark binary if there are several, and then `others`,
/// the sentences about binaries that were not compared.
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

/// The measurement of one benchmark binary in two revisions by A/B pairs: each pair is one process of the
/// earlier and one of the later revision.
struct ProcessPairs<'a> {
    /// The earlier and the later revision.
    sides: [ComparedRevision<'a>; 2],
    /// The target folder that all processes share for measurements of the machine, such as peaks.
    target: &'a Path,
    args: &'a AbArgs,
    /// The exit code for a signal to this program or to one of the processes; `None` without a signal.
    interrupted: Option<Exit>,
}

/// The benchmark binary in one of the two revisions, with the runs of its processes so far.
struct ComparedRevision<'a> {
    /// The name of the revision.
    name: &'a str,
    /// All benchmark binaries of the revision.
    built: &'a BuiltBinaries,
    /// The binary that is compared.
    suite: &'a BuiltBinary,
    /// The folders in which its processes store their runs.
    stored: StoredRuns,
    runs: Vec<NamedRun>,
}

impl<'a> ProcessPairs<'a> {
    /// Prepares the pairs without starting a process. `revisions` has the name and all binaries of the
    /// earlier revision, then of the later one; `then` and `now` are the binary to compare in each.
    /// `checkouts` gives the folders for stored runs and for peaks.
    fn new(
        revisions: [(&'a str, &'a BuiltBinaries); 2],
        [then, now]: [&'a BuiltBinary; 2],
        checkouts: &'a RevisionCheckouts,
        args: &'a AbArgs,
    ) -> Self {
        let side = |(name, built), suite, folder: &str| {
            let stored = StoredRuns::within(checkouts.gpubench_folder().join("ab").join(folder));
            ComparedRevision { name, built, suite, stored, runs: Vec::new() }
        };
        let sides = [side(revisions[0], then, "then"), side(revisions[1], now, "now")];
        Self { sides, target: &checkouts.target, args, interrupted: None }
    }

    /// Measures pairs of processes. Ends when every result is decided, the time or the number of pairs is
    /// used up, the filters match nothing, or a signal arrives. Returns the later revision's run with the
    /// comparison, or `None` as [`Self::compare_runs`] does.
    fn measure_and_compare(&mut self) -> Result<Option<Run>> {
        let begin = Instant::now();
        let most = self.args.pairs;
        let checks = stopping_checks(most);
        // By Bonferroni's inequality all stopping checks together err as often as one would.
        let error = DECISION_ERROR / checks.len() as f64;
        let mut undecided: Option<Vec<String>> = None;
        let mut left = String::new();
        for pair in 0..most {
            // A first pair is always measured.
            if pair > 0 && self.args.time.is_some_and(|time| begin.elapsed() >= time) {
                break;
            }
            output::note(&format!("pair {} of at most {most}{left}", pair + 1));
            let mut nothing_matched = false;
            for side in process_order(self.args.seed, pair) {
                match self.run_process(side, undecided.as_deref())? {
                    Exit::Interrupted(_) => return self.compare_runs(error),
                    exit => nothing_matched |= exit == Exit::Nothing,
                }
            }
            if nothing_matched {
                break;
            }
            if checks.contains(&(pair + 1)) {
                let found = self.compare_runs(error)?;
                let check = found.as_ref().and_then(|run| run.baseline_comparison.as_ref());
                let mut names = check.map(undecided_names).unwrap_or_default();
                if names.is_empty() || pair + 1 == most {
                    return Ok(found);
                }
                left = format!(": {} undecided after pair {}", counted(names.len(), "result"), pair + 1);
                names.dedup();
                undecided = Some(names);
            }
        }
        self.compare_runs(error)
    }

    /// Runs one process of a revision, with all cases that the user selected, or only with the cases in
    /// `names`. Stores the run of the process in `self`, and returns the exit code of the process. After a
    /// signal, starts no process and returns the signal's exit code. A wrong command line, a missing device,
    /// and a run that was not stored or cannot be read are errors.
    fn run_process(&mut self, side: RevisionSide, names: Option<&[String]>) -> Result<Exit> {
        // A signal between two processes reached none of them.
        self.interrupted = signals::received_signal();
        if let Some(exit) = self.interrupted {
            return Ok(exit);
        }
        let flags = self.process_flags(names);
        let ComparedRevision { name, built, suite, stored, runs } = &mut self.sides[side as usize];
        let folder = stored.home().join("runs");
        let mut command = built.command(suite, &flags);
        command.env("GPUBENCH_RUNS_DIR", &folder).env("CARGO_TARGET_DIR", self.target);
        // Its table is one of many.
        command.stdout(Stdio::null());
        let before = stored.runs();
        let exit = signals::exit_of_child(signals::run_child(&mut command, Exit::Failed)?.status);
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

    /// Returns the flags of a process: those of the user, with the user's filters. If there are `names`, they
    /// replace the filters and must match whole names.
    fn process_flags(&self, names: Option<&[String]>) -> Vec<String> {
        let AbArgs { filters, flags, .. } = self.args;
        let Some(names) = names else { return [&flags[..], filters].concat() };
        // Whole names replace the user's own filters, which are none.
        let exact =
            if flags.iter().any(|flag| flag == "--exact") { vec![] } else { vec!["--exact".to_owned()] };
        [flags, &exact, names].concat()
    }

    /// Compares the runs so far. `error` is the probability of a wrong decision. If only one revision has a
    /// run, compares that run with an empty one, so that all of its cases are missing or new. Returns `None`
    /// if neither revision has a run, or if only one has and a signal arrived.
    fn compare_runs(&self, error: f64) -> Result<Option<Run>> {
        let nothing =
            |run: &Run| Run { records: Vec::new(), skipped: Vec::new(), planned_cases: 0, ..run.clone() };
        let is_whole = self.interrupted.is_none();
        let (then, mut now) = match (self.sides[0].joined_run()?, self.sides[1].joined_run()?) {
            (Some(then), Some(now)) => (then, now),
            (Some(then), None) if is_whole => (then.clone(), nothing(&then)),
            (None, Some(now)) if is_whole => (nothing(&now), now),
            _ => return Ok(None),
        };
        self.args.limits.apply_to(&mut now);
        let baseline = Baseline::new(self.sides[0].name.to_owned(), then);
        now.baseline_comparison = Some(check(&now, &baseline, &|_| true, error));
        Ok(Some(now))
    }
}

/// Returns the name of each undecided result, in order. The results of a benchmark that differ only in the
/// device or the cache state have the same name.
fn undecided_names(check: &BaselineComparison) -> Vec<String> {
    let undecided = check
        .findings
        .iter()
        .filter(|line| matches!(line.finding, BaselineFinding::Compared { answer: Answer::Undecided, .. }));
    let mut names: Vec<String> = undecided.map(|line| line.name.clone()).collect();
    names.sort_unstable();
    names
}

impl ComparedRevision<'_> {
    /// Returns the runs of all processes of this revision, joined into one; `None` if there is no run. Sets
    /// `remeasured` of each record to the number of its processes, minus the smallest such number of any
    /// measured case. Runs that cannot be joined are an error.
    fn joined_run(&self) -> Result<Option<Run>> {
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

/// One of the two revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RevisionSide {
    /// The earlier revision.
    Then,
    /// The later revision.
    Now,
}

/// The number of pairs before the first stopping check. Fewer processes do not show the differences between
/// processes.
const FIRST_CHECK: usize = 4;

/// Returns the numbers of pairs after which there is a stopping check: [`FIRST_CHECK`], then each twice the
/// one before while below `most`, and `most` itself. There are few checks because they share the error
/// probability.
fn stopping_checks(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(FIRST_CHECK), |pairs| pairs.checked_mul(2));
    doubled.take_while(|pairs| *pairs < most).chain([most]).collect()
}

/// Returns the order of the two processes of a pair, whose number `pair` counts from 0. Each even pair has a
/// random order, and the odd pair after it the reverse order, so that a steady drift adds the same to both
/// revisions.
fn process_order(seed: u64, pair: usize) -> [RevisionSide; 2] {
    let is_drawn = random(seed ^ (pair as u64 / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)) & 1 == 1;
    if is_drawn == pair.is_multiple_of(2) {
        [RevisionSide::Then, RevisionSide::Now]
    } else {
        [RevisionSide::Now, RevisionSide::Then]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_until_the_last_pair() {
        assert_eq!(stopping_checks(16), [4, 8, 16]);
        assert_eq!(stopping_checks(20), [4, 8, 16, 20]);
        assert_eq!(stopping_checks(2), [2]);
        assert_eq!(stopping_checks(4), [4]);
    }

    /// The places of a side, in the order of processes, add up to the same: that is what a steady drift adds.
    #[test]
    fn a_steady_drift_adds_the_same_to_both_sides() {
        for seed in 0..50 {
            let sides: Vec<RevisionSide> = (0..8).flat_map(|pair| process_order(seed, pair)).collect();
            let places =
                |side| sides.iter().zip(0..).filter(|(is, _)| **is == side).map(|(_, at)| at).sum::<i32>();
            assert_eq!(places(RevisionSide::Then), places(RevisionSide::Now), "{seed}: {sides:?}");
        }
    }

    #[test]
    fn each_side_goes_first_as_often_by_chance() {
        let first = (0..1000).filter(|seed| process_order(*seed, 0)[0] == RevisionSide::Then).count();
        assert!((430..570).contains(&first), "{first}");
        let pairs = (0..1000).filter(|pair| process_order(1, 2 * pair)[0] == RevisionSide::Then).count();
        assert!((430..570).contains(&pairs), "{pairs}");
    }
}
