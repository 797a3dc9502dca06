//! The table of flags: one field for each, with its environment twin `GPUBENCH_…` and its help. The command line, the
//! environment, `gpubench.toml`, both help texts, completions and the manual page come from it. What the values mean together is
//! settled in [`options`](super::options).

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Parser, ValueEnum};
use clap_complete::Shell;

use gpubench_report::Page;
use gpubench_report::export::ExportArgs;

use super::libtest::LibtestArgs;

// The topics of --help, in its order.
const CASES: &str = "What to measure";
pub(super) const METHOD: &str = "How to measure";
const COMPARISONS: &str = "Comparisons";
pub(super) const PEAKS: &str = "Peaks of the device";
const RESULTS: &str = "Results";
const STORED: &str = "Stored runs";
pub(super) const INSTEAD: &str = "Instead of measuring";
const CONFIG: &str = "Settings";

/// Measures the benchmarks of this program.
#[derive(Debug, Parser)]
#[command(
    name = "suite",
    about = "Measures the benchmarks of this program, and compares each result with the limits of its device.",
    disable_help_flag = true,
    disable_version_flag = true,
    // Scripts append flags to existing ones.
    args_override_self = true
)]
pub(super) struct Args {
    /// Measure only cases with this in their names
    ///
    /// A FILTER is a part of the name, or a regular expression between slashes, as in `/sum.*n=1024/`. A case needs one of them.
    /// Several may stand in one variable, with commas between them.
    #[arg(value_name = "FILTER", env = "GPUBENCH_FILTER", help_heading = CASES)]
    pub(super) filters: Vec<String>,

    /// Measure only cases that an expression takes, as in "device(cuda) & benchmark(/sum/) & arg(n>=1M)"
    ///
    /// The tests are benchmark(…), device(…), tag(…) with a part of the name, =NAME or /regular expression/, cache(hot), cache(cold),
    /// and arg(…) with an argument, one of = != < <= > >= and a value. They are joined by `&`, `|`, `!` and brackets.
    #[arg(short = 'E', long, value_name = "EXPRESSION", env = "GPUBENCH_FILTERSET", help_heading = CASES)]
    pub(super) filterset: Option<String>,

    /// Match whole names, in filters and in --skip
    #[arg(long, env = "GPUBENCH_EXACT", value_parser = BoolishValueParser::new(), help_heading = CASES)]
    pub(super) exact: bool,

    /// Leave out cases with this in their names
    #[arg(long, value_name = "FILTER", env = "GPUBENCH_SKIP", help_heading = CASES)]
    pub(super) skip: Vec<String>,

    /// Measure only the benchmarks with one of these tags
    #[arg(
        long,
        value_name = "TAG,…",
        env = "GPUBENCH_TAG",
        value_delimiter = ',',
        help_heading = CASES
    )]
    pub(super) tag: Vec<String>,

    /// Measure only the benchmarks marked `ignore`
    #[arg(long, env = "GPUBENCH_IGNORED", value_parser = BoolishValueParser::new(), help_heading = CASES)]
    pub(super) ignored: bool,

    /// Measure also the benchmarks marked `ignore`
    #[arg(long, env = "GPUBENCH_INCLUDE_IGNORED", value_parser = BoolishValueParser::new(), help_heading = CASES)]
    pub(super) include_ignored: bool,

    /// Set an argument's values, as in n=1024,1Mi
    ///
    /// They replace those that the benchmark lists; of its types and constants, such as T=f32, listed ones are chosen. A number may
    /// end in k, M, G or T for powers of 1000 and in Ki, Mi, Gi or Ti for powers of 1024, with or without a B, as in 2GiB.
    #[arg(long = "arg", value_name = "NAME=VALUE,…", env = "GPUBENCH_ARG", help_heading = CASES)]
    pub(super) args: Vec<String>,

    /// Choose hot or cold caches, or both
    ///
    /// This overrides the benchmark's attribute.
    #[arg(long, env = "GPUBENCH_CACHE", help_heading = CASES)]
    pub(super) cache: Option<CacheChoice>,

    /// Choose devices: 0, 0,2, a UUID, host or all
    ///
    /// GPUs are named by number or UUID, `host` is this machine's CPU, `all` is every device.
    #[arg(long, value_name = "DEVICE", env = "GPUBENCH_DEVICE", help_heading = CASES)]
    pub(super) device: Option<String>,

    /// Measure a share of the cases, `3/8` of them for instance, as one of several tasks; `split`: as the task that Slurm numbers;
    /// `replicate`: all cases, on all GPUs that the task was given; `none`: as if there were no scheduler [default: replicate]
    #[arg(long, value_name = "SHARE", env = "GPUBENCH_SHARE", help_heading = CASES)]
    pub(super) share: Option<String>,

    /// Balance the shares by the times of this stored run, the same for all tasks, rather than by their numbers of cases
    #[arg(long, value_name = "RUN", env = "GPUBENCH_SHARE_TIMES", help_heading = CASES)]
    pub(super) share_times: Option<String>,

    /// Take a rough look, in a few seconds
    ///
    /// At most 25 ms of warm-up and 50 ms of sampling per case, no energy unless --energy is given.
    #[arg(long, env = "GPUBENCH_QUICK", value_parser = BoolishValueParser::new(), help_heading = METHOD)]
    pub(super) quick: bool,

    /// Sample until the median is this sure
    ///
    /// That is the half-width of its 95 % confidence interval [default: 0.5%].
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_PRECISION", help_heading = METHOD)]
    pub(super) precision: Option<String>,

    /// Take exactly N samples per case
    #[arg(long, value_name = "N", env = "GPUBENCH_SAMPLES", help_heading = METHOD)]
    pub(super) samples: Option<usize>,

    /// Warm up each case for at least this long, and until it is steady, mostly for less than a second [default: 2ms]
    #[arg(long, value_name = "TIME", env = "GPUBENCH_WARMUP", help_heading = METHOD)]
    pub(super) warmup: Option<String>,

    /// Warm up each case with exactly N launches
    #[arg(
        long,
        value_name = "N",
        env = "GPUBENCH_WARMUP_LAUNCHES",
        conflicts_with = "warmup",
        help_heading = METHOD
    )]
    pub(super) warmup_launches: Option<usize>,

    /// Sample each case for at least this long
    #[arg(long, value_name = "TIME", env = "GPUBENCH_MIN_TIME", help_heading = METHOD)]
    pub(super) min_time: Option<String>,

    /// Sample each case at most this long
    ///
    /// [default: 3s, or the benchmark's own]
    #[arg(long, value_name = "TIME", env = "GPUBENCH_MAX_TIME", help_heading = METHOD)]
    pub(super) max_time: Option<String>,

    /// Abort a case after this long, with its process [default: 60s, or the benchmark's own]
    #[arg(long, value_name = "TIME", env = "GPUBENCH_TIMEOUT", help_heading = METHOD)]
    pub(super) timeout: Option<String>,

    /// Choose the flush of the last-level cache before cold samples [default: chosen for the device]
    #[arg(long, value_name = "HOW", env = "GPUBENCH_FLUSH", help_heading = METHOD)]
    pub(super) flush: Option<FlushChoice>,

    /// Choose the timing path on a GPU: events in a captured graph, or on the stream behind a delay
    #[arg(
        long,
        value_name = "PATH",
        env = "GPUBENCH_PATH",
        default_value = "auto",
        help_heading = METHOD
    )]
    pub(super) path: PathChoice,

    /// Measure the energy of a launch: launches back-to-back for 1 to 2 s after the hot samples of each case; overrides the
    /// attribute
    #[arg(long, env = "GPUBENCH_ENERGY", value_parser = BoolishValueParser::new(), help_heading = METHOD)]
    pub(super) energy: bool,

    /// Lock the multiprocessors' clock of each GPU during the run. Needs root. However the run ends, clocks return to the
    /// driver's default; an earlier lock is not restored
    #[arg(long, value_name = "base|max|MHZ", env = "GPUBENCH_LOCK_CLOCKS", help_heading = METHOD)]
    pub(super) lock_clocks: Option<String>,

    /// Fail if another suite is measuring the GPU, instead of waiting for it
    #[arg(long, env = "GPUBENCH_NO_WAIT", value_parser = BoolishValueParser::new(), help_heading = METHOD)]
    pub(super) no_wait: bool,

    /// Measure one case at a time. Without this, several GPUs are measured side by side: of copies from and to the host one at a
    /// time, and copies between GPUs and cases of the CPU alone
    #[arg(
        long,
        env = "GPUBENCH_ONE_AT_A_TIME",
        value_parser = BoolishValueParser::new(),
        help_heading = METHOD
    )]
    pub(super) one_at_a_time: bool,

    /// Measure in this process, for debuggers: a crash ends the run, and there is no --timeout
    #[arg(long, env = "GPUBENCH_IN_PROCESS", value_parser = BoolishValueParser::new(), help_heading = METHOD)]
    pub(super) in_process: bool,

    /// Compare each case with this benchmark
    ///
    /// It has the same arguments, or those in brackets, as in "sum[BLOCK=128]". Their launches alternate; the answer is faster,
    /// slower, same or undecided.
    #[arg(long, value_name = "NAME", env = "GPUBENCH_COMPARE_WITH", help_heading = COMPARISONS)]
    pub(super) compare_with: Option<String>,

    /// Treat times as the same if they differ by no more than this [default: 0.5%]
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_BAND", help_heading = COMPARISONS)]
    pub(super) band: Option<String>,

    /// Repeat the whole run K times, each in a new process, and report the spread between them, which needs 5 or more
    #[arg(long, value_name = "K", env = "GPUBENCH_RUNS", help_heading = COMPARISONS)]
    pub(super) runs: Option<usize>,

    /// Save the results as a baseline
    ///
    /// NAME is a name in cargo's target folder, or a file.
    #[arg(long, value_name = "NAME", env = "GPUBENCH_SAVE_BASELINE", help_heading = COMPARISONS)]
    pub(super) save_baseline: Option<String>,

    /// Compare each case with a baseline
    ///
    /// NAME is a saved name, or a file written by --json.
    #[arg(long, value_name = "NAME", env = "GPUBENCH_BASELINE", help_heading = COMPARISONS)]
    pub(super) baseline: Option<String>,

    /// Exit with 3 if a case is slower by this
    ///
    /// That is significantly slower, by this much or more; `noise` is by more than the spread between processes. The exit code is 1
    /// if a case cannot be judged.
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_FAIL_ON_REGRESSION", help_heading = COMPARISONS)]
    pub(super) fail_on_regression: Option<String>,

    /// Set a peak of the device, in place of its known one: `memory=4800GB/s` (also h2d, d2h, p2p), or a precision as in
    /// "f16 tensor=300TFLOP/s". Results are judged against it
    #[arg(
        long = "peak",
        value_name = "QUANTITY=VALUE",
        env = "GPUBENCH_PEAK",
        help_heading = PEAKS
    )]
    pub(super) peaks: Vec<String>,

    /// Measure the ceilings of the GPU instead of benchmarks, and store them for later runs: bandwidth of memory and L2,
    /// multiply-adds of each precision
    #[arg(
        long,
        env = "GPUBENCH_MEASURE_PEAKS",
        value_parser = BoolishValueParser::new(),
        help_heading = PEAKS
    )]
    pub(super) measure_peaks: bool,

    /// Store measured ceilings in this folder [default: the user's cache]
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_CACHE_DIR", help_heading = PEAKS)]
    pub(super) cache_dir: Option<PathBuf>,

    /// Explain each result below the table
    ///
    /// Timing path, flush and its cost, overhead, warm-up, samples.
    #[arg(long, env = "GPUBENCH_EXPLAIN", value_parser = BoolishValueParser::new(), help_heading = RESULTS)]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) exports: ExportArgs<true>,

    /// Use colours in the results
    #[arg(
        long,
        env = "GPUBENCH_COLOR",
        default_value = "auto",
        value_name = "WHEN",
        help_heading = RESULTS
    )]
    pub(super) color: clap::ColorChoice,

    /// Show no progress on standard error; in test mode, a letter for each case
    #[arg(long, short, env = "GPUBENCH_QUIET", value_parser = BoolishValueParser::new(), help_heading = RESULTS)]
    pub(super) quiet: bool,

    /// Print lines of at most COLUMNS, 40 or more, instead of the width of the terminal; what is printed to a file or a
    /// pipe has no limit
    #[arg(
        long,
        value_name = "COLUMNS",
        env = "GPUBENCH_WIDTH",
        value_parser = clap::value_parser!(u16).range(Page::LEAST_WIDTH as i64..),
        help_heading = RESULTS
    )]
    pub(super) width: Option<u16>,

    /// Report a stored run, measure nothing
    ///
    /// RUN is a file that --json wrote, `-`, the name of a run, or `last`; filters, --skip, --tag, --arg, --cache and --device select
    /// its cases.
    #[arg(long, value_name = "RUN", env = "GPUBENCH_FROM", help_heading = STORED)]
    pub(super) from: Option<PathBuf>,

    /// Resume an interrupted run
    ///
    /// The last one or RUN: its measured cases are not measured again. A task of a scheduler resumes its own run, and begins one if
    /// it has none.
    #[arg(
        long,
        value_name = "RUN",
        env = "GPUBENCH_RESUME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "last",
        help_heading = STORED
    )]
    pub(super) resume: Option<String>,

    /// Store each run here while it is measured, for --resume; `none` stores none [default: gpubench/runs in cargo's target
    /// folder; ~/.local/state for an installed program]
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_RUNS_DIR", help_heading = STORED)]
    pub(super) runs_dir: Option<PathBuf>,

    /// List the cases and measure nothing
    #[arg(long, env = "GPUBENCH_LIST", value_parser = BoolishValueParser::new(), help_heading = INSTEAD)]
    pub(super) list: bool,

    /// Format of --list and --test
    #[arg(long, env = "GPUBENCH_FORMAT", default_value = "pretty", help_heading = INSTEAD)]
    pub(super) format: TextFormat,

    /// Launch and check each case, time nothing
    ///
    /// This is the default of bench targets without `--bench`, as `cargo test` runs them.
    #[arg(long, env = "GPUBENCH_TEST", value_parser = BoolishValueParser::new(), help_heading = INSTEAD)]
    pub(super) test: bool,

    /// Read settings and your peaks from this file
    ///
    /// [default: the nearest `gpubench.toml`, or `Cargo.toml` with `[package.metadata.gpubench]`, at or above the package or the
    /// current folder]
    #[arg(long, value_name = "FILE", env = "GPUBENCH_CONFIG", help_heading = CONFIG)]
    pub(super) config: Option<PathBuf>,

    /// Use this profile of the settings, as in [profile.ci]
    #[arg(long, value_name = "NAME", env = "GPUBENCH_PROFILE", help_heading = CONFIG)]
    pub(super) profile: Option<String>,

    /// Show all settings and where each comes from
    #[arg(long, env = "GPUBENCH_SHOW_CONFIG", value_parser = BoolishValueParser::new(), help_heading = INSTEAD)]
    pub(super) show_config: bool,

    /// Print a script for a shell that completes these flags
    #[arg(long, value_name = "SHELL", env = "GPUBENCH_COMPLETIONS", help_heading = INSTEAD)]
    pub(super) completions: Option<Shell>,

    /// Print this help as a manual page, in roff
    #[arg(long, env = "GPUBENCH_MAN", value_parser = BoolishValueParser::new(), help_heading = INSTEAD)]
    pub(super) man: bool,

    #[command(flatten)]
    pub(super) libtest: LibtestArgs,
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

/// The format of `--list` and of test mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// For people
    #[default]
    Pretty,
    /// For test runners: `name: benchmark`; a letter for each case in test mode
    Terse,
    /// For programs: one JSON object per line; in test mode those of libtest
    Json,
    /// A format of libtest that nothing needs here: as `pretty`
    #[value(hide = true)]
    Junit,
}
