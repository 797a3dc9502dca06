//! Flags that say how to measure: samples, warm-up, limits of time, flush, timing path, clocks, processes.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use super::METHOD;

/// The way to measure.
#[derive(Debug, Args)]
pub(crate) struct MethodArgs {
    /// Take a rough look, in a few seconds
    ///
    /// At most 25 ms of warm-up and 50 ms of sampling per case, or 0.3 s where six samples take that long; no energy unless --energy is
    /// given.
    #[arg(long, env = "GPUBENCH_QUICK", value_parser = BoolishValueParser::new(), help_heading = METHOD)]
    pub(crate) quick: bool,

    /// Sample until the median's interval is this narrow
    ///
    /// That is the half-width of its 95 % confidence interval [default: 0.5%].
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_PRECISION", help_heading = METHOD)]
    pub(crate) precision: Option<String>,

    /// Take exactly N samples per case
    #[arg(long, value_name = "N", env = "GPUBENCH_SAMPLES", help_heading = METHOD)]
    pub(crate) samples: Option<usize>,

    /// Warm up each case for at least this long, and until it is steady, mostly for less than a second [default: 2ms]
    #[arg(long, value_name = "TIME", env = "GPUBENCH_WARMUP", help_heading = METHOD)]
    pub(crate) warmup: Option<String>,

    /// Warm up each case with exactly N launches
    #[arg(
        long,
        value_name = "N",
        env = "GPUBENCH_WARMUP_LAUNCHES",
        conflicts_with = "warmup",
        help_heading = METHOD
    )]
    pub(crate) warmup_launches: Option<usize>,

    /// Sample each case for at least this long
    #[arg(long, value_name = "TIME", env = "GPUBENCH_MIN_TIME", help_heading = METHOD)]
    pub(crate) min_time: Option<String>,

    /// Sample each case at most this long
    ///
    /// [default: 3s, or the benchmark's own]
    #[arg(long, value_name = "TIME", env = "GPUBENCH_MAX_TIME", help_heading = METHOD)]
    pub(crate) max_time: Option<String>,

    /// Abort a case after this long, with its process [default: 60s, or the benchmark's own]
    #[arg(long, value_name = "TIME", env = "GPUBENCH_TIMEOUT", help_heading = METHOD)]
    pub(crate) timeout: Option<String>,

    /// Choose the flush of the last-level cache before cold samples [default: chosen for the device]
    #[arg(long, value_name = "HOW", env = "GPUBENCH_FLUSH", help_heading = METHOD)]
    pub(crate) flush: Option<FlushChoice>,

    /// Choose the timing path on a GPU: events in a captured graph, or on the stream behind a delay
    #[arg(
        long,
        value_name = "PATH",
        env = "GPUBENCH_PATH",
        default_value = "auto",
        help_heading = METHOD
    )]
    pub(crate) path: PathChoice,

    /// Check each row by other tools: `cupti` traces launches behind its samples, `ncu` reads the GPU's counters
    ///
    /// The row then has CUPTI's time and the difference, and what Nsight Compute counted beside what is declared. A case that a tool says
    /// nothing of keeps its time.
    #[arg(long, value_name = "TOOL,…", env = "GPUBENCH_VERIFY", value_delimiter = ',', help_heading = METHOD)]
    pub(crate) verify: Vec<VerifyChoice>,

    /// Use this library for CUPTI [default: that of a CUDA toolkit, a Python package or the loader's path]
    #[arg(long, value_name = "FILE", env = "GPUBENCH_CUPTI", help_heading = METHOD)]
    pub(crate) cupti: Option<PathBuf>,

    /// Measure the energy of a launch: launches back-to-back for 1 to 2 s after the hot samples of each case; overrides the
    /// attribute
    #[arg(long, env = "GPUBENCH_ENERGY", value_parser = BoolishValueParser::new(), help_heading = METHOD)]
    pub(crate) energy: bool,

    /// Lock the multiprocessors' clock of each GPU during the run. Needs root. However the run ends, clocks return to the
    /// driver's default; an earlier lock is not restored
    #[arg(long, value_name = "base|max|MHZ", env = "GPUBENCH_LOCK_CLOCKS", help_heading = METHOD)]
    pub(crate) lock_clocks: Option<String>,

    /// Fail if another suite is measuring the GPU, instead of waiting for it
    #[arg(long, env = "GPUBENCH_NO_WAIT", value_parser = BoolishValueParser::new(), help_heading = METHOD)]
    pub(crate) no_wait: bool,

    /// Measure one case at a time. Without this, GPUs are measured at the same time, but copies from and to the host one at a time, and
    /// copies between GPUs and cases of the CPU alone
    #[arg(
        long,
        env = "GPUBENCH_ONE_AT_A_TIME",
        value_parser = BoolishValueParser::new(),
        help_heading = METHOD
    )]
    pub(crate) one_at_a_time: bool,

    /// Measure in this process, for debuggers: a crash ends the run, and there is no --timeout
    #[arg(long, env = "GPUBENCH_IN_PROCESS", value_parser = BoolishValueParser::new(), help_heading = METHOD)]
    pub(crate) in_process: bool,
}

/// The method to flush with.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FlushChoice {
    /// Write a buffer of the cache's size and discard its lines: leaves the cache empty and clean
    Discard,
    /// Read a buffer of twice the cache's size
    Read,
    /// Write a buffer of the cache's size: the launch pays for its write-back
    Write,
    /// Drop the cache lines of the inputs' memory alone: on an x86-64 CPU, where that is known
    Lines,
    /// Do not flush
    None,
}

/// The path to time on.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PathChoice {
    /// Graph, or stream if the launch cannot be captured
    Auto,
    /// Graph; a launch that cannot be captured fails
    Graph,
    /// Stream
    Stream,
}

/// A tool to check rows by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerifyChoice {
    /// CUPTI's trace
    Cupti,
    /// Nsight Compute's counters, before the first sample
    Ncu,
}
