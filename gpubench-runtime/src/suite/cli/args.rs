//! The command line as it is typed: one field for each flag, each with its environment twin `GPUBENCH_…`. What the
//! values mean together is settled in [`options`](super::options).

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Parser, ValueEnum};

use gpubench_report::export::ExportArgs;

/// Measures the benchmarks of this program.
#[derive(Debug, Parser)]
#[command(
    name = "suite",
    about = "Measures the benchmarks of this program and prints how close to the hardware they run.",
    after_help = "Exit codes: 0 all measured (suspect rows included), 1 a benchmark failed or is invalid, 2 usage, \
                  3 a regression, 4 nothing matched, 5 the device asked for is not there or, with --no-wait, not free, \
                  129/130/143 interrupted by SIGHUP, Ctrl-C or SIGTERM, with a report of what was measured.\n\
                  Results go to standard output; progress and warnings to standard error. A FILE called `-` is \
                  standard output, which then carries nothing else.\n\
                  Each flag can be given in the environment too; an empty variable counts as unset. Of a flag that is \
                  given twice the last value counts; lists add up.",
    disable_version_flag = true,
    // Scripts append flags to existing ones.
    args_override_self = true
)]
pub(super) struct Args {
    /// Measure only cases whose name contains one of these
    #[arg(value_name = "FILTER", env = "GPUBENCH_FILTER")]
    pub(super) filters: Vec<String>,

    /// Take filters and skips as whole names
    #[arg(long, env = "GPUBENCH_EXACT", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) exact: bool,

    /// Leave out cases whose name contains this
    #[arg(long, value_name = "FILTER", env = "GPUBENCH_SKIP", help_heading = "What to measure")]
    pub(super) skip: Vec<String>,

    /// Measure only benchmarks that have one of these tags
    #[arg(
        long,
        value_name = "TAG,…",
        env = "GPUBENCH_TAG",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(super) tag: Vec<String>,

    /// Measure only benchmarks that are marked `ignore`
    #[arg(long, env = "GPUBENCH_IGNORED", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) ignored: bool,

    /// Measure those that are marked `ignore` too
    #[arg(long, env = "GPUBENCH_INCLUDE_IGNORED", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) include_ignored: bool,

    /// Values for an argument in place of those the benchmark lists, such as n=1024,4096; and which of the types and
    /// constants that it lists, such as T=f32
    #[arg(long = "arg", value_name = "NAME=VALUE,…", env = "GPUBENCH_ARG", help_heading = "What to measure")]
    pub(super) args: Vec<String>,

    /// Measure hot, cold or both, whatever the benchmark asks for
    #[arg(long, env = "GPUBENCH_CACHE", help_heading = "What to measure")]
    pub(super) cache: Option<CacheChoice>,

    /// Where to measure: GPUs by number or UUID (`0`, `0,2`), `host` for this machine's CPU, `all` for every device
    #[arg(long, value_name = "DEVICE", env = "GPUBENCH_DEVICE", help_heading = "What to measure")]
    pub(super) device: Option<String>,

    /// Launch each benchmark once, check it, and time nothing; bench targets do so without `--bench`
    #[arg(long, env = "GPUBENCH_TEST", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) test: bool,

    /// List the cases and measure nothing
    #[arg(long, env = "GPUBENCH_LIST", value_parser = BoolishValueParser::new(), help_heading = "What to measure")]
    pub(super) list: bool,

    /// How to list
    #[arg(long, env = "GPUBENCH_FORMAT", default_value = "pretty", help_heading = "What to measure")]
    pub(super) format: ListFormat,

    /// A rough look: warm-ups of 20 ms, at most 50 ms of sampling a case, no energy unless asked for
    #[arg(long, env = "GPUBENCH_QUICK", value_parser = BoolishValueParser::new(), help_heading = "How to measure")]
    pub(super) quick: bool,

    /// Hold every selected case against this benchmark with the same arguments, others of its own in brackets as in
    /// "sum[BLOCK=128]": their launches take turns, and the answer is faster, slower, same or undecided
    #[arg(long, value_name = "NAME", env = "GPUBENCH_COMPARE_WITH", help_heading = "Comparisons")]
    pub(super) compare_with: Option<String>,

    /// The difference of two times that does not matter; 0.5%
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_BAND", help_heading = "Comparisons")]
    pub(super) band: Option<String>,

    /// Measure everything so often, each time in a process of its own, to know what processes differ by; 5 or more tell
    #[arg(long, value_name = "K", env = "GPUBENCH_RUNS", help_heading = "Comparisons")]
    pub(super) runs: Option<usize>,

    /// Store what was measured as the baseline of this name in cargo's folder, or in this file
    #[arg(long, value_name = "NAME", env = "GPUBENCH_SAVE_BASELINE", help_heading = "Comparisons")]
    pub(super) save_baseline: Option<String>,

    /// Hold every case against the baseline of this name, or against a file that --json wrote
    #[arg(long, value_name = "NAME", env = "GPUBENCH_BASELINE", help_heading = "Comparisons")]
    pub(super) baseline: Option<String>,

    /// Exit with 3 where a case is slower by so much and beyond doubt; `noise`: by more than its processes differ by
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_FAIL_ON_REGRESSION", help_heading = "Comparisons")]
    pub(super) fail_on_regression: Option<String>,

    /// Measure nothing, and take the run that --json stored in this file, as far as names, --skip, --tag, --arg, --cache
    /// and --device select its cases
    #[arg(long, value_name = "FILE", env = "GPUBENCH_FROM", help_heading = "Comparisons")]
    pub(super) from: Option<PathBuf>,

    /// What empties the last-level cache before cold samples, rather than what suits the device
    #[arg(long, value_name = "HOW", env = "GPUBENCH_FLUSH", help_heading = "How to measure")]
    pub(super) flush: Option<FlushChoice>,

    /// What times samples on a GPU: events in a captured graph, or on the stream behind a delay
    #[arg(
        long,
        value_name = "PATH",
        env = "GPUBENCH_PATH",
        default_value = "auto",
        help_heading = "How to measure"
    )]
    pub(super) path: PathChoice,

    /// The half-width of the median's 95 % confidence interval to reach, such as 0.5%
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_PRECISION", help_heading = "How to measure")]
    pub(super) precision: Option<String>,

    /// Take exactly this many samples a case
    #[arg(long, value_name = "N", env = "GPUBENCH_SAMPLES", help_heading = "How to measure")]
    pub(super) samples: Option<usize>,

    /// Warm a case up at least this long
    #[arg(long, value_name = "SECONDS", env = "GPUBENCH_WARMUP", help_heading = "How to measure")]
    pub(super) warmup: Option<f64>,

    /// Warm a case up with exactly this many launches, however long they take
    #[arg(
        long,
        value_name = "N",
        env = "GPUBENCH_WARMUP_LAUNCHES",
        conflicts_with = "warmup",
        help_heading = "How to measure"
    )]
    pub(super) warmup_launches: Option<usize>,

    /// Sample a case at least this long
    #[arg(long, value_name = "SECONDS", env = "GPUBENCH_MIN_TIME", help_heading = "How to measure")]
    pub(super) min_time: Option<f64>,

    /// Sample a case at most this long
    #[arg(long, value_name = "SECONDS", env = "GPUBENCH_MAX_TIME", help_heading = "How to measure")]
    pub(super) max_time: Option<f64>,

    /// Give a case up, and its process with it, after this long; 60 s, or what the benchmark says
    #[arg(long, value_name = "SECONDS", env = "GPUBENCH_TIMEOUT", help_heading = "How to measure")]
    pub(super) timeout: Option<f64>,

    /// A limit of the device to hold results against, before those that are known: `memory=4800GB/s`, `h2d`, `d2h` and `p2p`
    /// likewise, or a precision as in "f16 tensor=300TFLOP/s"; impossible results are told by it
    #[arg(
        long = "peak",
        value_name = "QUANTITY=VALUE",
        env = "GPUBENCH_PEAK",
        help_heading = "How to measure"
    )]
    pub(super) peaks: Vec<String>,

    /// Measure no benchmark but what the GPU itself reaches, bytes of its memory and its L2 and multiply-adds of each
    /// precision, and keep that for later runs
    #[arg(
        long,
        env = "GPUBENCH_MEASURE_PEAKS",
        value_parser = BoolishValueParser::new(),
        help_heading = "How to measure"
    )]
    pub(super) measure_peaks: bool,

    /// Where measured ceilings are kept, rather than in the user's cache
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_CACHE_DIR", help_heading = "How to measure")]
    pub(super) cache_dir: Option<PathBuf>,

    /// The file with peaks of yours, rather than the nearest `gpubench.toml` above the package or the current folder
    #[arg(long, value_name = "FILE", env = "GPUBENCH_CONFIG", help_heading = "How to measure")]
    pub(super) config: Option<PathBuf>,

    /// Measure what a launch takes from the supply, whatever the benchmark asks for: launches follow one another for a second or
    /// two after the hot samples of each case
    #[arg(long, env = "GPUBENCH_ENERGY", value_parser = BoolishValueParser::new(), help_heading = "How to measure")]
    pub(super) energy: bool,

    /// Lock the clock of the GPUs' multiprocessors for this run: at `base`, at `max`, or at so many MHz. Needs root; at the end of
    /// the run, however it ends, the clocks are reset to the driver's default, which need not be what they were locked to before
    #[arg(long, value_name = "base|max|MHZ", env = "GPUBENCH_LOCK_CLOCKS", help_heading = "How to measure")]
    pub(super) lock_clocks: Option<String>,

    /// Refuse to measure a GPU that another suite is measuring, rather than wait for it
    #[arg(long, env = "GPUBENCH_NO_WAIT", value_parser = BoolishValueParser::new(), help_heading = "How to measure")]
    pub(super) no_wait: bool,

    /// Measure in this process, for debuggers: a crash then ends the run, and nothing is given up after a time
    #[arg(long, env = "GPUBENCH_IN_PROCESS", value_parser = BoolishValueParser::new(), help_heading = "How to measure")]
    pub(super) in_process: bool,

    /// Say below the results how each number came about: path, flush and what it costs, overhead, warm-up, samples
    #[arg(long, env = "GPUBENCH_EXPLAIN", value_parser = BoolishValueParser::new(), help_heading = "Results")]
    pub(super) explain: bool,

    #[command(flatten)]
    pub(super) exports: ExportArgs<true>,

    /// Go on from a run that ended early, the last one of this suite or the one named: what it has is not measured again
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

    /// Where each run is kept while it is measured, for --resume; `none` keeps none. Usually `gpubench/runs` in cargo's
    /// target folder, for an installed program in ~/.local/state
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_RUNS_DIR", help_heading = "Results")]
    pub(super) runs_dir: Option<PathBuf>,

    /// Colour the results
    #[arg(
        long,
        env = "GPUBENCH_COLOR",
        default_value = "auto",
        value_name = "WHEN",
        help_heading = "Results"
    )]
    pub(super) color: clap::ColorChoice,

    /// What `cargo bench` adds to the command line: a bench target measures
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
    /// With the data in the caches
    Hot,
    /// With the last-level cache flushed before every sample
    Cold,
    /// Hot, then cold
    Both,
}

/// The method to flush with.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FlushChoice {
    /// Write a buffer of the cache's size, then discard its lines: the cache is empty and clean
    Discard,
    /// Read a buffer of twice the cache's size
    Read,
    /// Write a buffer of the cache's size, and leave what it takes to evict it to the launch
    Write,
    /// Do nothing
    None,
}

/// The path to time on.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PathChoice {
    /// A graph, or the stream where a launch cannot be captured
    Auto,
    /// A graph or nothing
    Graph,
    /// The stream
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
    /// For programs: a JSON object a line
    Json,
}
