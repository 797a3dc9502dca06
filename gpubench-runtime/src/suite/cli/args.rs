//! The command line as it is typed: one field for each flag, each with its environment twin `GPUBENCH_…`. What the
//! values mean together is settled in [`options`](super::options).

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Parser, ValueEnum};

use gpubench_report::Page;
use gpubench_report::export::ExportArgs;

/// Measures the benchmarks of this program.
#[derive(Debug, Parser)]
#[command(
    name = "suite",
    about = "Measures the benchmarks of this program, and compares each result with the limits of its device.",
    after_help = "Exit codes: 0 all measured (suspect rows included), 1 a benchmark failed or is invalid, or cannot be \
                  judged by --fail-on-regression, 2 usage, 3 a regression, 4 nothing matched, 5 the requested device is missing or, with --no-wait, busy, \
                  129/130/143 interrupted by SIGHUP, Ctrl-C or SIGTERM, after a report of the measured cases.\n\
                  Results go to standard output, progress and warnings to standard error. The FILE `-` is \
                  standard output, which then carries nothing else.\n\
                  Each flag can also be set in the environment; an empty variable counts as unset. If a flag is \
                  given twice, the last value counts; lists add up.",
    disable_version_flag = true,
    // Scripts append flags to existing ones.
    args_override_self = true
)]
pub(super) struct Args {
    /// Measure only the cases whose name contains one of these texts
    #[arg(value_name = "FILTER", env = "GPUBENCH_FILTER")]
    pub(super) filters: Vec<String>,

    /// Match whole names, in filters and in --skip
    #[arg(long, env = "GPUBENCH_EXACT", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) exact: bool,

    /// Skip the cases whose name contains this text
    #[arg(long, value_name = "FILTER", env = "GPUBENCH_SKIP", help_heading = "What to measure")]
    pub(super) skip: Vec<String>,

    /// Measure only the benchmarks with one of these tags
    #[arg(
        long,
        value_name = "TAG,…",
        env = "GPUBENCH_TAG",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(super) tag: Vec<String>,

    /// Measure only the benchmarks marked `ignore`
    #[arg(long, env = "GPUBENCH_IGNORED", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) ignored: bool,

    /// Measure also the benchmarks marked `ignore`
    #[arg(long, env = "GPUBENCH_INCLUDE_IGNORED", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) include_ignored: bool,

    /// Replace the values of an argument, such as n=1024,4096; choose among the listed types and constants, such as T=f32
    #[arg(long = "arg", value_name = "NAME=VALUE,…", env = "GPUBENCH_ARG", help_heading = "What to measure")]
    pub(super) args: Vec<String>,

    /// Measure with hot or cold caches, or both; overrides the attribute
    #[arg(long, env = "GPUBENCH_CACHE", help_heading = "What to measure")]
    pub(super) cache: Option<CacheChoice>,

    /// Choose the devices: GPUs by number or UUID (`0`, `0,2`), `host` for this machine's CPU, `all` for every device
    #[arg(long, value_name = "DEVICE", env = "GPUBENCH_DEVICE", help_heading = "What to measure")]
    pub(super) device: Option<String>,

    /// Measure a share of the cases, `3/8` of them for instance, as one of several tasks; `split`: as the task that Slurm numbers;
    /// `replicate`: all cases, on all GPUs that the task was given; `none`: as if there were no scheduler [default: replicate]
    #[arg(long, value_name = "SHARE", env = "GPUBENCH_SHARE", help_heading = "What to measure")]
    pub(super) share: Option<String>,

    /// Balance the shares by the times of this stored run, the same for all tasks, rather than by their numbers of cases
    #[arg(long, value_name = "RUN", env = "GPUBENCH_SHARE_TIMES", help_heading = "What to measure")]
    pub(super) share_times: Option<String>,

    /// Launch each case once, check its outputs, and time nothing; the default of bench targets without `--bench`
    #[arg(long, env = "GPUBENCH_TEST", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) test: bool,

    /// List the cases and measure nothing
    #[arg(long, env = "GPUBENCH_LIST", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) list: bool,

    /// Format of --list
    #[arg(long, env = "GPUBENCH_FORMAT", default_value = "pretty", help_heading = "What to measure")]
    pub(super) format: ListFormat,

    /// Measure quickly: at most 25 ms of warm-up and 50 ms of sampling per case, no energy unless --energy is given
    #[arg(long, env = "GPUBENCH_QUICK", value_parser = BoolishValueParser::new(), help_heading = "How to measure")]
    pub(super) quick: bool,

    /// Compare each selected case with this benchmark at the same arguments, or at those in brackets, as in
    /// "sum[BLOCK=128]". Their launches alternate; the answer is faster, slower, same or undecided
    #[arg(long, value_name = "NAME", env = "GPUBENCH_COMPARE_WITH", help_heading = "Comparisons")]
    pub(super) compare_with: Option<String>,

    /// Treat times as the same if they differ by no more than this [default: 0.5%]
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_BAND", help_heading = "Comparisons")]
    pub(super) band: Option<String>,

    /// Repeat the whole run K times, each in a new process, and report the spread between them, which needs 5 or more
    #[arg(long, value_name = "K", env = "GPUBENCH_RUNS", help_heading = "Comparisons")]
    pub(super) runs: Option<usize>,

    /// Save the results as a baseline: a name in cargo's target folder, or a file
    #[arg(long, value_name = "NAME", env = "GPUBENCH_SAVE_BASELINE", help_heading = "Comparisons")]
    pub(super) save_baseline: Option<String>,

    /// Compare each case with a baseline: a saved name, or a file written by --json
    #[arg(long, value_name = "NAME", env = "GPUBENCH_BASELINE", help_heading = "Comparisons")]
    pub(super) baseline: Option<String>,

    /// Exit with code 3 if a case is significantly slower by this much, with code 1 if one cannot be judged; `noise`: slower by
    /// more than the spread between processes
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_FAIL_ON_REGRESSION", help_heading = "Comparisons")]
    pub(super) fail_on_regression: Option<String>,

    /// Report a stored run instead of measuring: a file that --json wrote, `-`, the name of a run, or `last`; filters, --skip,
    /// --tag, --arg, --cache and --device select its cases
    #[arg(long, value_name = "RUN", env = "GPUBENCH_FROM", help_heading = "Comparisons")]
    pub(super) from: Option<PathBuf>,

    /// Choose the flush of the last-level cache before cold samples [default: chosen for the device]
    #[arg(long, value_name = "HOW", env = "GPUBENCH_FLUSH", help_heading = "How to measure")]
    pub(super) flush: Option<FlushChoice>,

    /// Choose the timing path on a GPU: events in a captured graph, or on the stream behind a delay
    #[arg(
        long,
        value_name = "PATH",
        env = "GPUBENCH_PATH",
        default_value = "auto",
        help_heading = "How to measure"
    )]
    pub(super) path: PathChoice,

    /// Sample until the 95 % confidence interval of the median has this half-width [default: 0.5%]
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_PRECISION", help_heading = "How to measure")]
    pub(super) precision: Option<String>,

    /// Take exactly N samples per case
    #[arg(long, value_name = "N", env = "GPUBENCH_SAMPLES", help_heading = "How to measure")]
    pub(super) samples: Option<usize>,

    /// Warm up each case for at least this long, and until it is steady, mostly for less than a second [default: 0.002]
    #[arg(long, value_name = "SECONDS", env = "GPUBENCH_WARMUP", help_heading = "How to measure")]
    pub(super) warmup: Option<f64>,

    /// Warm up each case with exactly N launches
    #[arg(
        long,
        value_name = "N",
        env = "GPUBENCH_WARMUP_LAUNCHES",
        conflicts_with = "warmup",
        help_heading = "How to measure"
    )]
    pub(super) warmup_launches: Option<usize>,

    /// Sample each case for at least this long
    #[arg(long, value_name = "SECONDS", env = "GPUBENCH_MIN_TIME", help_heading = "How to measure")]
    pub(super) min_time: Option<f64>,

    /// Sample each case for at most this long [default: 3, or the benchmark's own]
    #[arg(long, value_name = "SECONDS", env = "GPUBENCH_MAX_TIME", help_heading = "How to measure")]
    pub(super) max_time: Option<f64>,

    /// Abort a case after this long, with its process [default: 60, or the benchmark's own]
    #[arg(long, value_name = "SECONDS", env = "GPUBENCH_TIMEOUT", help_heading = "How to measure")]
    pub(super) timeout: Option<f64>,

    /// Set a peak of the device, in place of its known one: `memory=4800GB/s` (also h2d, d2h, p2p), or a precision as in
    /// "f16 tensor=300TFLOP/s". Results are judged against it
    #[arg(
        long = "peak",
        value_name = "QUANTITY=VALUE",
        env = "GPUBENCH_PEAK",
        help_heading = "How to measure"
    )]
    pub(super) peaks: Vec<String>,

    /// Measure the ceilings of the GPU instead of benchmarks, and store them for later runs: bandwidth of memory and L2,
    /// multiply-adds of each precision
    #[arg(
        long,
        env = "GPUBENCH_MEASURE_PEAKS",
        value_parser = BoolishValueParser::new(),
        help_heading = "How to measure"
    )]
    pub(super) measure_peaks: bool,

    /// Store measured ceilings in this folder [default: the user's cache]
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_CACHE_DIR", help_heading = "How to measure")]
    pub(super) cache_dir: Option<PathBuf>,

    /// Read your peaks from this file [default: the nearest `gpubench.toml` at or above the package or the current folder]
    #[arg(long, value_name = "FILE", env = "GPUBENCH_CONFIG", help_heading = "How to measure")]
    pub(super) config: Option<PathBuf>,

    /// Measure the energy of a launch: launches back-to-back for 1 to 2 s after the hot samples of each case; overrides the
    /// attribute
    #[arg(long, env = "GPUBENCH_ENERGY", value_parser = BoolishValueParser::new(), help_heading = "How to measure")]
    pub(super) energy: bool,

    /// Lock the multiprocessors' clock of each GPU during the run. Needs root. However the run ends, clocks return to the
    /// driver's default; an earlier lock is not restored
    #[arg(long, value_name = "base|max|MHZ", env = "GPUBENCH_LOCK_CLOCKS", help_heading = "How to measure")]
    pub(super) lock_clocks: Option<String>,

    /// Fail if another suite is measuring the GPU, instead of waiting for it
    #[arg(long, env = "GPUBENCH_NO_WAIT", value_parser = BoolishValueParser::new(), help_heading = "How to measure")]
    pub(super) no_wait: bool,

    /// Measure one case at a time. Without this, several GPUs are measured side by side: of copies from and to the host one at a
    /// time, and copies between GPUs and cases of the CPU alone
    #[arg(
        long,
        env = "GPUBENCH_ONE_AT_A_TIME",
        value_parser = BoolishValueParser::new(),
        help_heading = "How to measure"
    )]
    pub(super) one_at_a_time: bool,

    /// Measure in this process, for debuggers: a crash ends the run, and there is no --timeout
    #[arg(long, env = "GPUBENCH_IN_PROCESS", value_parser = BoolishValueParser::new(), help_heading = "How to measure")]
    pub(super) in_process: bool,

    /// Explain each result below the table: timing path, flush and its cost, overhead, warm-up, samples
    #[arg(long, env = "GPUBENCH_EXPLAIN", value_parser = BoolishValueParser::new(), help_heading = "Results")]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) exports: ExportArgs<true>,

    /// Resume an interrupted run, the last one or RUN: its measured cases are not measured again. A task of a scheduler resumes its
    /// own run, and begins one if it has none
    #[arg(
        long,
        value_name = "RUN",
        env = "GPUBENCH_RESUME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "last",
        help_heading = "Results"
    )]
    pub(super) resume: Option<String>,

    /// Store each run here while it is measured, for --resume; `none` stores none [default: gpubench/runs in cargo's target
    /// folder; ~/.local/state for an installed program]
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_RUNS_DIR", help_heading = "Results")]
    pub(super) runs_dir: Option<PathBuf>,

    /// Use colours in the results
    #[arg(
        long,
        env = "GPUBENCH_COLOR",
        default_value = "auto",
        value_name = "WHEN",
        help_heading = "Results"
    )]
    pub(super) color: clap::ColorChoice,

    /// Show no progress on standard error
    #[arg(long, env = "GPUBENCH_QUIET", value_parser = BoolishValueParser::new(), help_heading = "Results")]
    pub(super) quiet: bool,

    /// Print lines of at most COLUMNS, 40 or more, instead of the width of the terminal; what is printed to a file or a
    /// pipe has no limit
    #[arg(
        long,
        value_name = "COLUMNS",
        env = "GPUBENCH_WIDTH",
        value_parser = clap::value_parser!(u16).range(Page::LEAST_WIDTH as i64..),
        help_heading = "Results"
    )]
    pub(super) width: Option<u16>,

    /// Added by `cargo bench`: a bench target measures
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    pub(super) bench: bool,

    /// Nothing is captured; test runners pass it
    #[arg(long, alias = "show-output", hide = true, action = ArgAction::SetTrue)]
    pub(super) nocapture: bool,

    /// One case runs at a time; `cargo test -- --test-threads N` hands it to every target
    #[arg(long, hide = true)]
    pub(super) test_threads: Option<usize>,
}

/// The cache states to measure.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum CacheChoice {
    /// The data is in the caches
    Hot,
    /// The last-level cache is flushed before each sample
    Cold,
    /// Hot, then cold
    Both,
}

/// The method to flush with.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FlushChoice {
    /// Write a buffer of the cache's size and discard its lines: leaves the cache empty and clean
    Discard,
    /// Read a buffer of twice the cache's size
    Read,
    /// Write a buffer of the cache's size: the launch pays for its write-back
    Write,
    /// Do not flush
    None,
}

/// The path to time on.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PathChoice {
    /// Graph, or stream if the launch cannot be captured
    Auto,
    /// Graph; a launch that cannot be captured fails
    Graph,
    /// Stream
    Stream,
}

/// The format of `--list`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For people
    #[default]
    Pretty,
    /// For test runners: `name: benchmark`
    Terse,
    /// For programs: one JSON object per line
    Json,
}
