//! `--tune`, `--budget` and `--save-tuning`: the races of all selected benchmarks with `tune(…)`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{io, path::PathBuf};

use clap::{ArgMatches, Args, FromArgMatches};

use crate::tuning::{SCHEMA, TunedBenchmark, TunedProblem, TunedVariant, Tuning, TuningMethod, table};
use crate::{elimination::race, variants::Variants};
use gpubench_core::Entry;
use gpubench_records::{Arg, Cache, Destination, Exit};
use gpubench_runner::__private::{Extension, RunError, Session, environment, parse_positive_time};
use gpubench_runner::Error;
use gpubench_runtime::{Job, JobStatus};
use gpubench_stats::Nanoseconds;

/// The heading of the tuning flags in the help.
const TUNING_HEADING: &str = "Tuning";

/// The identifiers of the flags that cannot be combined with `--tune`.
const CONFLICTS_WITH_TUNE: [&str; 16] = [
    "compare_with",
    "runs",
    "baseline",
    "save_baseline",
    "fail_on_regression",
    "resume",
    "share",
    "verify",
    "samples",
    "energy",
    "explain",
    "json",
    "csv",
    "markdown",
    "test",
    "measure_peaks",
];

// The flags of tuning. The comments of its fields are their help texts. A doc comment here would become the help of the program.
#[derive(Args)]
struct TuneArgs {
    /// Find the fastest values of the parameters in `tune(…)`, for each problem size
    ///
    /// Variants that are slower than the fastest by more than 0.5 % (the equivalence margin) are dropped. The others are ties.
    #[arg(
        long,
        hide_short_help = true,
        help_heading = TUNING_HEADING,
        conflicts_with_all = CONFLICTS_WITH_TUNE
    )]
    tune: bool,

    /// Stop tuning after this time in total [default: no limit]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = parse_positive_time, requires = "tune", conflicts_with_all = CONFLICTS_WITH_TUNE, help_heading = TUNING_HEADING)]
    budget: Option<Duration>,

    /// Write the results of tuning to this file, as JSON; `-` prints them instead of the table
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "tune", conflicts_with_all = CONFLICTS_WITH_TUNE, help_heading = TUNING_HEADING)]
    save_tuning: Option<PathBuf>,
}

/// Returns the extension that adds `--tune`, `--budget` and `--save-tuning` to a benchmark binary, for
/// `gpubench::main!`.
#[doc(hidden)]
pub fn extension() -> Extension {
    Extension {
        flag: "tune",
        add_flags: TuneArgs::augment_args,
        is_for: |options| !options.tune.is_empty(),
        run: run_tuning,
    }
}

/// Runs `--tune`: races all selected problems, prints the results, and writes them to the file of
/// `--save-tuning`, even after an error. With `-` as the file, prints JSON in place of the table. Returns the
/// exit code, which is [`Exit::Failed`] if a problem has no winner.
fn run_tuning(flags: &ArgMatches, session: &mut Session<'_>) -> Result<Exit, Error> {
    let began = Instant::now();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let TuneArgs { budget, save_tuning, .. } =
        TuneArgs::from_arg_matches(flags).map_err(|error| Error::new(error, Exit::Usage))?;
    let name = save_tuning.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    let not_saved = |error: io::Error, exit| Error::new(format!("--save-tuning {name}: {error}"), exit);
    let is_standard_output = name == "-";
    let file = save_tuning.as_deref().filter(|_| !is_standard_output);
    let destination = file.map(Destination::open).transpose();
    let destination = destination.map_err(|error| not_saved(error, Exit::Usage))?;
    if session.jobs.is_empty() {
        return Err(Error::new(NOTHING_TO_TUNE, Exit::Usage));
    }
    let mut tuning = Tuning {
        schema: SCHEMA.to_owned(),
        program: session.program.clone(),
        environment: environment(None),
        started,
        wall_time: Nanoseconds::ZERO,
        notes: session.notes.clone(),
        method: TuningMethod::new(session.sampling, budget.map(Nanoseconds::from)),
        devices: Vec::new(),
        benchmarks: Vec::new(),
    };
    let ended = race_all(session, &mut tuning, budget.map(|budget| began + budget));
    tuning.devices.extend_from_slice(&session.cases.devices);
    tuning.notes.extend_from_slice(&session.cases.notes);
    tuning.wall_time = began.elapsed().into();
    if is_standard_output {
        let mut json = Vec::new();
        tuning.write(&mut json).map_err(|error| not_saved(error, Exit::Failed))?;
        print(session, &String::from_utf8_lossy(&json))?;
    } else {
        print(session, &table(&tuning, session.printer.page()))?;
    }
    if let Some(destination) = destination {
        let written = destination.write(&|out| tuning.write(out));
        written.map_err(|error| not_saved(error, Exit::Failed))?;
    }
    ended?;
    Ok(tuning.exit())
}

/// Prints text on standard output, while the line of progress is hidden.
fn print(session: &Session<'_>, text: &str) -> Result<(), Error> {
    session.progress.aside(|| session.printer.print(text))
}

/// The error message if no selected benchmark has `tune(…)`.
const NOTHING_TO_TUNE: &str = "--tune: no selected benchmark has parameters to tune: to tune a parameter with several values, such as `BLOCK`, write `tune(BLOCK)` in the `#[gpu_bench(…)]` of the benchmark";

/// A problem to race: the arguments of a benchmark that are not tuned, on a device in one cache state, with
/// the jobs that measure its variants.
struct Problem {
    entry: &'static Entry,
    device: String,
    cache: Cache,
    /// The job of each variant, in the order of `race.variants`.
    jobs: Vec<Job>,
    race: TunedProblem,
}

/// Groups jobs by problem: jobs of one problem differ only in tuned arguments. Jobs that the benchmark skips
/// are left out, and only counted in their problem. Broken jobs become failed variants.
fn group_by_problem(jobs: Vec<(&'static Entry, Job, JobStatus)>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for (entry, job, status) in jobs {
        let (variant, args): (Vec<Arg>, Vec<Arg>) =
            job.args.iter().cloned().partition(|arg| entry.options.tune.contains(&arg.name.as_str()));
        let (device, cache) = (job.device.clone(), job.caches.first().copied().unwrap_or(Cache::Hot));
        let is_same = |one: &Problem| {
            std::ptr::eq(one.entry, entry)
                && (&one.device, one.cache, &one.race.args) == (&device, cache, &args)
        };
        let place = problems.iter().rposition(is_same).unwrap_or_else(|| {
            let race = TunedProblem::new(args);
            problems.push(Problem { entry, device, cache, jobs: Vec::new(), race });
            problems.len() - 1
        });
        let problem = &mut problems[place];
        let failure = match status {
            JobStatus::Broken(failure) => Some(failure),
            JobStatus::Skipped(_) => {
                problem.race.skipped += 1;
                continue;
            }
            _ => None,
        };
        problem.jobs.push(job);
        problem.race.variants.push(TunedVariant::new(variant, failure));
    }
    problems
}

/// Races all problems of the session one after another, and adds each result to `tuning`, also the unfinished
/// one of a race that ends with an error. The time that is left until the `deadline` is divided equally among
/// the races that are left.
fn race_all(
    session: &mut Session<'_>,
    tuning: &mut Tuning,
    deadline: Option<Instant>,
) -> Result<(), RunError> {
    let problems = group_by_problem(std::mem::take(&mut session.jobs));
    let count = problems.len();
    for (number, Problem { entry, device, cache, jobs, race: mut raced }) in problems.into_iter().enumerate()
    {
        let model = session.cases.info(&device)?.name;
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let budget = left.map(|left| Nanoseconds::from(left) / (count - number) as f64);
        let ended =
            race(&mut Variants::new(session, &jobs), &mut raced, tuning.method.equivalence_margin, budget);
        let benchmark = entry.path();
        let is_same = |one: &&mut TunedBenchmark| {
            (&one.benchmark, &one.device, one.cache) == (&benchmark, &device, cache)
        };
        match tuning.benchmarks.iter_mut().find(is_same) {
            Some(one) => one.problems.push(raced),
            None => tuning.benchmarks.push(TunedBenchmark {
                benchmark,
                device,
                model,
                cache,
                tuned_axes: entry.options.tune.iter().map(|name| (*name).to_owned()).collect(),
                problems: vec![raced],
            }),
        }
        ended?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use gpubench_runner::__private::{Caller, parse};

    use super::*;

    fn parsed(flags: &[&str]) -> Result<String, String> {
        let caller = Caller { extension: Some(extension()), ..Caller::default() };
        let options = parse(["suite"].iter().chain(flags).map(OsString::from), &caller);
        options.map(|options| format!("{:?}", options.action)).map_err(|error| error.to_string())
    }

    #[test]
    fn races_exclude_what_they_do_not_obey() {
        for flags in
            [&["--runs", "3"][..], &["--samples", "30"], &["--json", "-"], &["--test"], &["--energy"]]
        {
            let told = parsed(&[&["--tune"], flags].concat()).expect_err("it has no effect");
            assert!(told.contains("cannot be used with"), "{told}");
        }
        assert!(parsed(&["--budget", "3s"]).expect_err("no races").contains("--tune"));
        let told = parsed(&["--save-tuning", "a", "--json", "b"]).expect_err("no races");
        assert!(told.contains("cannot be used with"), "{told}");
        assert!(parsed(&["--tune", "--budget", "3s", "--quick"]).expect("races").starts_with("Extension"));
        assert!(parsed(&["--tune", "--list"]).expect("a list").starts_with("List"));
        assert_eq!(parsed(&["--quick"]).expect("a run"), "Measure");
    }

    #[test]
    fn help_has_the_flags() {
        let help = parsed(&["--help"]).expect_err("it ends with the help");
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text} in {help}"));
        assert!(at("Tuning:") < at("--tune") && at("--tune") < at("--budget <TIME>"));
        assert!(help.contains("Write the results of tuning to this file, as JSON"));
    }
}
