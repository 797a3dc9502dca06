//! The meaning of the command line. In: [`Args`] as typed. Out: [`Options`] that fit together, or an [`OptionsError`].

use std::path::PathBuf;

use super::args::{Args, CacheChoice, FlushChoice, PathChoice, TextFormat, VerifyChoice};
use super::peaks::parse_peaks;
use super::values::{
    parse_budget, parse_clocks, parse_partner, parse_percent, parse_threshold, parse_time, parse_timeout,
};
use crate::plan::{Ignored, Selection};
use crate::suite::options::{MeasureOptions, OptionsError, RunsDir, SamplingOptions, TuneOptions};
use gpubench_records::certificate::Verifiers;
use gpubench_records::method::{Cache, Flush, Path};
use gpubench_records::selection::{CaseSelection, parse_args, parse_filters};
use gpubench_report::export::{Export, exports};

/// The word for no folder, in place of one that the environment or a file of settings names.
const NONE: &str = "none";

/// A validated command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// The task of the program.
    pub action: Action,
    /// The cases, and the way to measure them.
    pub measure: MeasureOptions,
    /// The output of results.
    pub output: OutputOptions,
    /// What the user should know about the command line.
    pub warnings: Vec<String>,
}

/// The task of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Measures the selected cases.
    Measure,
    /// Measures the ceilings of the device and no benchmark.
    MeasurePeaks,
    /// Races the variants of benchmarks.
    Tune(TuneOptions),
    /// Lists the selected cases and measures nothing.
    List {
        /// The format of the list.
        format: TextFormat,
        /// True to list ceilings instead of benchmarks.
        ceilings: bool,
    },
    /// Launches each benchmark once and times nothing.
    Test {
        /// The format of the results.
        format: TextFormat,
        /// True to launch nothing more after a failure.
        fail_fast: bool,
    },
    /// Shows the run that is stored in this file.
    Report(PathBuf),
    /// Prints this text, such as the settings.
    Print(String),
}

/// The output of results.
#[derive(Clone, Debug)]
pub struct OutputOptions {
    /// The formats that the run is written in, and their destinations.
    pub exports: Vec<Export>,
    /// Explains the origin of each number.
    pub explain: bool,
    /// The choice of colour.
    pub color: clap::ColorChoice,
    /// The columns of a line of results, whatever the terminal has.
    pub width: Option<usize>,
    /// Shows no progress.
    pub quiet: bool,
}

impl Options {
    /// Validates `args` for a program that is a bench target or not.
    pub(super) fn of(args: Args, bench_target: bool) -> Result<Self, OptionsError> {
        if args.peaks.measure_peaks && args.actions.test {
            return Err(OptionsError::PeaksInTestMode);
        }
        if args.peaks.measure_peaks && args.stored.resume.is_some() {
            return Err(OptionsError::ResumedPeaks);
        }
        refuse_beside_races(&args)?;
        let action = action(&args, bench_target)?;
        let output = output(&args)?;
        let measure = measure_options(args)?;
        match action {
            Action::MeasurePeaks if measure.share.splits() => return Err(OptionsError::SplitPeaks),
            Action::Report(_) => measure.validate_for_stored_run()?,
            _ => measure.validate()?,
        }
        Ok(Self { action, measure, output, warnings: Vec::new() })
    }

    /// Prints `text` and does nothing else.
    pub(super) fn printing(args: Args, text: String) -> Result<Self, OptionsError> {
        let (action, output) = (Action::Print(text), output(&args)?);
        Ok(Self { action, measure: MeasureOptions::default(), output, warnings: Vec::new() })
    }
}

fn output(args: &Args) -> Result<OutputOptions, OptionsError> {
    Ok(OutputOptions {
        exports: exports(args.results.exports.0.iter().cloned())?,
        explain: args.results.explain,
        color: args.results.color,
        width: args.results.width.map(usize::from),
        quiet: args.results.quiet,
    })
}

/// Refuses flags that races do not obey.
fn refuse_beside_races(args: &Args) -> Result<(), OptionsError> {
    let Args { comparisons, results, stored, cases, method, actions, peaks, .. } = args;
    let others = [
        ("--compare-with", comparisons.compare_with.is_some()),
        ("--runs", comparisons.runs.is_some()),
        ("--baseline", comparisons.baseline.is_some()),
        ("--save-baseline", comparisons.save_baseline.is_some()),
        ("--fail-on-regression", comparisons.fail_on_regression.is_some()),
        ("--resume", stored.resume.is_some()),
        ("--history", history(args).is_some()),
        ("--share", cases.share.is_some()),
        ("--verify", !method.verify.is_empty()),
        ("--samples", method.samples.is_some()),
        ("--energy", method.energy),
        ("--explain", results.explain),
        ("--measure-peaks", peaks.measure_peaks),
        ("--test", actions.test),
    ];
    let exported = results.exports.0.first().map(|_| "an export such as --json");
    let given = others.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag).or(exported);
    match given.filter(|_| args.tuning.tune) {
        Some(beside) => Err(OptionsError::BesideRaces { beside }),
        None => Ok(()),
    }
}

fn action(args: &Args, bench_target: bool) -> Result<Action, OptionsError> {
    if args.actions.list {
        return Ok(Action::List { format: args.actions.format, ceilings: args.peaks.measure_peaks });
    }
    if let Some(file) = &args.stored.from {
        return Ok(Action::Report(file.clone()));
    }
    let in_test_mode = args.actions.test || (bench_target && !args.libtest.bench);
    if args.tuning.tune && !in_test_mode {
        let budget = args.tuning.budget.as_deref().map(parse_budget).transpose()?;
        return Ok(Action::Tune(TuneOptions { budget, save: args.tuning.save_tuning.clone() }));
    }
    Ok(match args.peaks.measure_peaks {
        true => Action::MeasurePeaks,
        // What `cargo test` builds and runs is a bench target without `--bench`.
        false if in_test_mode => {
            // `-q` of libtest is a letter for each test.
            let format = if args.results.quiet { TextFormat::Terse } else { args.actions.format };
            Action::Test { format, fail_fast: args.libtest.fail_fast }
        }
        false => Action::Measure,
    })
}

/// Reads the values of the flags that say what to measure, and how.
pub(super) fn measure_options(args: Args) -> Result<MeasureOptions, OptionsError> {
    let sampling = sampling(&args)?;
    let threshold = args.comparisons.fail_on_regression.as_deref().map(parse_threshold).transpose()?;
    let history = history(&args);
    let runs_dir = match args.stored.runs_dir.clone() {
        None => RunsDir::Usual,
        Some(folder) if folder.as_os_str() == NONE => RunsDir::Nowhere,
        Some(folder) => RunsDir::In(folder),
    };
    Ok(MeasureOptions {
        selection: selection(&args)?,
        device: args.cases.device,
        sampling,
        peaks: parse_peaks(&args.peaks.peaks)?,
        cache_dir: args.peaks.cache_dir,
        config: args.config.config,
        timeout: args.method.timeout.as_deref().map(parse_timeout).transpose()?,
        lock_clocks: args.method.lock_clocks.as_deref().map(parse_clocks).transpose()?,
        no_wait: args.method.no_wait,
        in_process: args.method.in_process,
        verifiers: Verifiers {
            cupti: args.method.verify.contains(&VerifyChoice::Cupti),
            ncu: args.method.verify.contains(&VerifyChoice::Ncu),
        },
        cupti: args.method.cupti,
        one_at_a_time: args.method.one_at_a_time,
        runs: args.comparisons.runs,
        baseline: args.comparisons.baseline,
        save_baseline: args.comparisons.save_baseline,
        threshold,
        resume: args.stored.resume,
        runs_dir,
        history,
        share: args.cases.share.as_deref().map(str::parse).transpose()?.unwrap_or_default(),
        share_times: args.cases.share_times,
    })
}

/// Returns the history that the run is added to.
fn history(args: &Args) -> Option<PathBuf> {
    args.stored.history.clone().filter(|folder| folder.as_os_str() != NONE)
}

fn selection(args: &Args) -> Result<Selection, OptionsError> {
    let ignored = match (args.cases.ignored, args.cases.include_ignored) {
        (_, true) => Ignored::Included,
        (true, false) => Ignored::Only,
        // Test runners expect a list to contain the ignored ones.
        (false, false) if args.actions.list => Ignored::Included,
        (false, false) => Ignored::Left,
    };
    Ok(Selection {
        cases: CaseSelection {
            filters: parse_filters(&args.cases.filters, args.cases.exact)?,
            exact: args.cases.exact,
            skip: parse_filters(&args.cases.skip, args.cases.exact)?,
            args: parse_args(&args.cases.args)?,
            caches: args.cases.cache.map(|choice| match choice {
                CacheChoice::Hot => vec![Cache::Hot],
                CacheChoice::Cold => vec![Cache::Cold],
                CacheChoice::Both => vec![Cache::Hot, Cache::Cold],
            }),
            device: None,
        },
        tags: args.cases.tag.clone(),
        ignored,
        compare_with: args.comparisons.compare_with.as_deref().map(parse_partner).transpose()?,
    })
}

fn sampling(args: &Args) -> Result<SamplingOptions, OptionsError> {
    let percent =
        |flag, text: &Option<String>| text.as_deref().map(|text| parse_percent(flag, text)).transpose();
    let time = |flag, text: &Option<String>| text.as_deref().map(|text| parse_time(flag, text)).transpose();
    Ok(SamplingOptions {
        quick: args.method.quick,
        precision: percent("--precision", &args.method.precision)?,
        samples: args.method.samples,
        warm_up: time("--warmup", &args.method.warmup)?,
        warm_up_launches: args.method.warmup_launches,
        min_time: time("--min-time", &args.method.min_time)?,
        max_time: time("--max-time", &args.method.max_time)?,
        flush: args.method.flush.map(|how| match how {
            FlushChoice::Discard => Flush::Discard,
            FlushChoice::Read => Flush::Read,
            FlushChoice::Write => Flush::Write,
            FlushChoice::Lines => Flush::Lines,
            FlushChoice::None => Flush::None,
        }),
        path: match args.method.path {
            PathChoice::Auto => None,
            PathChoice::Graph => Some(Path::Graph),
            PathChoice::Stream => Some(Path::Stream),
        },
        energy: args.method.energy.then_some(true),
        band: percent("--band", &args.comparisons.band)?,
    })
}
