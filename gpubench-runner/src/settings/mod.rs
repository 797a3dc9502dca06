//! The settings of a measurement. The command line, `gpubench.toml` and programs fill the same [`Settings`], and
//! [`Settings::validate`] checks them all.

use std::{path::PathBuf, time::Duration};

use self::validate::MAX_RUNS;
use crate::plan::{Ignored, Selection};
use gpubench_records::{
    BenchmarkId, CaseSelection, HeatLevel, Sampling, Threshold, comparison::equivalence_margin,
    sampling::MOST_SAMPLES, selection::parse_filters, verdict::WIDEST,
};
use gpubench_runtime::device::ClockTarget;
use gpubench_stats::Nanoseconds;

pub(crate) use self::file::{plain_message, value_origin};
pub use self::values::{
    CacheStates, FlushChoice, PathChoice, Percent, RunsDir, ShareChoice, Verifier, WarmUp,
    parse_positive_time, whole_number,
};
pub use crate::peaks::StatedPeak;
pub use gpubench_records::selection::ArgValues;

mod file;
mod validate;
mod values;

/// The cases to measure, how to measure them, and the output of the results.
///
/// Each field is a flag of the command line and a line of `gpubench.toml`, unless its description says otherwise. The default is
/// what happens without the flag.
///
/// ```
/// use std::time::Duration;
/// use gpubench_runner::{ArgValues, Percent, Settings};
///
/// let settings = Settings {
///     filter: vec!["saxpy".into()],
///     arg: vec![ArgValues::new("n", [1 << 20])],
///     precision: Some(Percent(1.0)),
///     max_time: Some(Duration::from_secs(1)),
///     ..Settings::default()
/// };
/// ```
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Settings {
    /// Measure only cases with this text, or /regex/, in their names
    #[arg(value_name = "FILTER", env = "GPUBENCH_FILTER")]
    pub filter: Vec<String>,

    /// Match whole names, in filters and in --skip
    #[arg(long)]
    pub exact: bool,

    /// Skip cases with FILTER in their names
    #[arg(long, value_name = "FILTER")]
    pub skip: Vec<String>,

    /// Measure only benchmarks with one of these tags
    #[arg(long, value_name = "TAG,…", value_delimiter = ',')]
    pub tag: Vec<String>,

    /// Measure only benchmarks marked `ignore`
    #[arg(long)]
    pub ignored: bool,

    /// Also measure benchmarks marked `ignore`
    #[arg(long)]
    pub include_ignored: bool,

    /// Use these values of an argument in place of the benchmark's own, as in n=1024,1Mi
    ///
    /// A type or a constant, as in T=f32, must have one of the benchmark's own values. A number may end in k, M, G or T (powers of
    /// 1000), or in Ki, Mi, Gi or Ti (powers of 1024).
    #[arg(long, value_name = "NAME=VALUE,…")]
    pub arg: Vec<ArgValues>,

    /// Measure with the data in the caches (hot), with the last-level cache flushed before each sample (cold), or both
    #[arg(long, value_name = "STATE", hide_possible_values = true)]
    pub cache: Option<CacheStates>,

    /// Measure on these devices, as in cuda:0,cuda:1; also a UUID, `cuda` (every CUDA device), `host` (the CPU) or `all`
    #[arg(long, env = "GPUBENCH_DEVICE")]
    pub device: Option<String>,

    /// Divide the work among processes, such as the tasks of Slurm: 3/8, split, replicate or none [default: replicate]
    ///
    /// 3/8: the third of eight parts. `split`: the part with the number of this Slurm task. `replicate`: all cases, on the GPUs of this Slurm
    /// task; outside Slurm the same as `none`. `none`: all cases on the devices of `--device`, even in a Slurm task.
    #[arg(long, env = "GPUBENCH_SHARE")]
    pub share: Option<ShareChoice>,

    /// Measure roughly: to ± 5 %, for at most 50 ms per case (CPU: ± 2 %, 300 ms)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub quick: Option<bool>,

    /// Sample until the uncertainty (`± %`) is at most this [default: 0.5%, on a CPU 2%]
    #[arg(long, value_name = "PERCENT")]
    pub precision: Option<Percent>,

    /// Take exactly N samples per case
    #[arg(long, value_name = "N", value_parser = whole_number(1..=MOST_SAMPLES))]
    pub samples: Option<usize>,

    /// Warm up for at least this time, or N launches [default: 2ms, and until times are steady]
    #[arg(long, value_name = "TIME|N")]
    pub warmup: Option<WarmUp>,

    /// Sample each case for at least this time
    #[arg(long, value_name = "TIME", value_parser = values::parse_time)]
    pub min_time: Option<Duration>,

    /// Sample each case for at most this time [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = values::parse_positive_time)]
    pub max_time: Option<Duration>,

    /// Kill the process of a case that takes longer [default: 60s, or the benchmark's own]
    #[arg(long, value_name = "TIME", value_parser = values::parse_positive_time)]
    pub timeout: Option<Duration>,

    /// Flush the last-level cache this way before cold samples [default: what suits the device]
    #[arg(long, value_name = "HOW")]
    pub flush: Option<FlushChoice>,

    /// Launch from a CUDA graph (`graph`) or on the stream (`stream`) [default: auto]
    #[arg(long, value_name = "PATH", hide_possible_values = true)]
    pub path: Option<PathChoice>,

    /// Also measure the energy of a launch; takes 1 to 2 s more per hot case
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub energy: Option<bool>,

    /// After sampling, also time launches with `cupti`, and compare; needs the Cargo feature `verify`
    #[arg(long, value_name = "TOOL", hide_possible_values = true)]
    pub verify: Option<Verifier>,

    /// Before each case, wait until the GPU has at most this temperature or power: 60C or 150W
    #[arg(long, value_name = "LEVEL")]
    pub cool_down: Option<HeatLevel>,

    /// Lock the GPU's clock to `base`, `max` or a number of MHz during the run (needs root)
    #[arg(long, value_name = "CLOCK")]
    pub lock_clocks: Option<ClockTarget>,

    /// Measure everything N times, in new processes, and report how much these differ
    #[arg(long, value_name = "N", value_parser = whole_number(1..=MAX_RUNS))]
    pub runs: Option<usize>,

    /// Measure in this process, for debuggers: a crash ends the run, and nothing ends a launch that hangs
    #[arg(long)]
    pub in_process: bool,

    /// Write everything as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write one line per case as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write the table as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Show these columns of the table, in this order, such as time,±,p50,p99 (a wrong name lists all)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub columns: Vec<String>,

    /// Explain each result below the table
    #[arg(long)]
    pub explain: bool,

    /// Compare with a baseline, a file of a run, or the `last` run
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Save the results as a baseline: a name or a file
    #[arg(long, value_name = "NAME")]
    pub save_baseline: Option<String>,

    /// Exit with 3 if a case is slower than in --baseline, or than --compare-with, by PERCENT or more, and with 1 if such a difference is undecided
    ///
    /// `noise` instead of PERCENT: any slowdown larger than the differences between processes is a regression, however small. This run and
    /// the baseline together need three processes or more on the same GPU; `--runs 5` is enough.
    #[arg(long, value_name = "PERCENT")]
    pub fail_on_regression: Option<Threshold>,

    /// Compare each case with the benchmark NAME, such as sum[BLOCK=128], measured alternately
    #[arg(long, value_name = "NAME")]
    pub compare_with: Option<BenchmarkId>,

    /// Keep the results of the last run, or of RUN (its name or file), and measure only the missing cases
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "last")]
    pub resume: Option<String>,

    /// Store runs in this folder, or nowhere with `none` [default: gpubench/runs in cargo's target folder, else in ~/.local/state]
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_RUNS_DIR")]
    pub runs_dir: Option<RunsDir>,

    /// Show no progress; in test mode, print a letter for each case
    #[arg(short, long)]
    pub quiet: bool,

    /// Use colours: auto, always or never [default: auto]
    #[arg(long, value_name = "WHEN", hide_possible_values = true)]
    pub color: Option<clap::ColorChoice>,

    /// Times that differ by less than this count as equal; 0.5 % by default, or the percentage of `--fail-on-regression` if that is less.
    /// Its flag is not in the help.
    #[arg(long, hide = true)]
    pub equivalence_margin: Option<Percent>,

    /// Fail if another benchmark binary is measuring the GPU, in place of waiting for it. Its flag is not in the help.
    #[arg(long, hide = true)]
    pub no_wait: bool,

    /// Measure one case at a time, also on several GPUs. Its flag is not in the help.
    #[arg(long, hide = true)]
    pub one_at_a_time: bool,

    /// The folder for measured peaks; the user's cache by default. Its flag is not in the help.
    #[arg(long, hide = true, env = "GPUBENCH_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Peaks by device and quantity, as in `peaks."NVIDIA H200".memory = "4800GB/s"`. A device has its name, its UUID or its word on
    /// the command line; a quantity is `memory`, `l2`, `h2d`, `d2h`, `p2p` or a data type. No flag.
    #[arg(skip)]
    pub peaks: Vec<StatedPeak>,
}

/// The sampling options of `--quick`. A case on a CPU, and a case whose fewest samples take longer than
/// `max_time`, may take `extended_max_time`: six cold samples on a CPU with half a gigabyte of cache take
/// 240 ms.
const QUICK_SAMPLING: Sampling = Sampling {
    precision: WIDEST,
    max_time: Nanoseconds::from_seconds(0.05),
    extended_max_time: Nanoseconds::from_seconds(0.3),
    energy: Some(false),
    ..Sampling::USUAL
};

/// The wall time after which the process of a case is killed, if neither the user nor the benchmark sets a
/// limit.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

impl Settings {
    /// Returns the selection of cases, without the devices. Returns an error if a filter is an invalid regular expression.
    pub(crate) fn selection(&self) -> Result<Selection, String> {
        let ignored = match (self.ignored, self.include_ignored) {
            (_, true) => Ignored::Included,
            (true, false) => Ignored::Only,
            (false, false) => Ignored::Excluded,
        };
        Ok(Selection {
            cases: CaseSelection {
                filters: parse_filters(&self.filter, self.exact)?,
                exact: self.exact,
                skip: parse_filters(&self.skip, self.exact)?,
                args: ArgValues::by_name(&self.arg),
                caches: self.cache.map(CacheStates::list),
                device: None,
            },
            tags: self.tag.clone(),
            ignored,
            absent_are_ignored: false,
            compare_with: self.compare_with.clone(),
        })
    }

    /// Returns the sampling options: those of `--quick` or the default ones, and in their place those that the user sets. `--precision` also sets
    /// the precision on a CPU. `--max-time` also limits long launches, and overrides the `max_time` of benchmarks, as `--min-time` and `--quick` do.
    pub(crate) fn sampling(&self) -> Sampling {
        let is_quick = self.quick.unwrap_or_default();
        let usual = if is_quick { QUICK_SAMPLING } else { Sampling::USUAL };
        let min_time = self.min_time.map_or(usual.min_time, Into::into);
        let margin = self.equivalence_margin.map(Percent::fraction);
        let (warm_up, warm_up_launches) = match self.warmup {
            Some(WarmUp::Time(time)) => (time.into(), None),
            Some(WarmUp::Launches(launches)) => (usual.min_warm_up_time, Some(launches)),
            None => (usual.min_warm_up_time, None),
        };
        Sampling {
            precision: self.precision.map_or(usual.precision, Percent::fraction),
            cpu_precision: self.precision.map_or(usual.cpu_precision, |_| 0.0),
            samples: self.samples,
            min_warm_up_time: warm_up,
            warm_up_launches,
            min_time,
            max_time: self.max_time.map_or(usual.max_time.max(min_time), Into::into),
            extended_max_time: self.max_time.map_or(usual.extended_max_time, |_| Nanoseconds::ZERO),
            benchmark_max_time: !is_quick && self.max_time.is_none() && self.min_time.is_none(),
            flush: self.flush.map(Into::into),
            path: self.path.and_then(PathChoice::path),
            energy: self.energy.or(usual.energy),
            cool_down: self.cool_down,
            equivalence_margin: equivalence_margin(margin, self.fail_on_regression, usual.equivalence_margin),
        }
    }

    /// Returns the time that a case may take, unless its benchmark has a limit of its own.
    pub(crate) fn time_limit(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// Returns the number of times to measure everything.
    pub(crate) fn repeats(&self) -> usize {
        self.runs.unwrap_or(1)
    }
}
