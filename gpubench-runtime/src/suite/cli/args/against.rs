//! Flags that say what results are held against: other benchmarks, baselines and the peaks of the device.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::{COMPARISONS, PEAKS};

/// The comparisons to make.
#[derive(Debug, Args)]
pub(crate) struct ComparisonArgs {
    /// Compare each case with this benchmark
    ///
    /// It has the same arguments, or those in brackets, as in "sum[BLOCK=128]". Their launches alternate; the answer is faster,
    /// slower, same or undecided.
    #[arg(long, value_name = "NAME", env = "GPUBENCH_COMPARE_WITH", help_heading = COMPARISONS)]
    pub(crate) compare_with: Option<String>,

    /// Treat times as the same if they differ by no more than this [default: 0.5%]
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_BAND", help_heading = COMPARISONS)]
    pub(crate) band: Option<String>,

    /// Repeat the whole run K times, each in a new process, and report the spread between them, which needs 5 or more
    #[arg(long, value_name = "K", env = "GPUBENCH_RUNS", help_heading = COMPARISONS)]
    pub(crate) runs: Option<usize>,

    /// Save the results as a baseline
    ///
    /// NAME is a name in cargo's target folder, or a file.
    #[arg(long, value_name = "NAME", env = "GPUBENCH_SAVE_BASELINE", help_heading = COMPARISONS)]
    pub(crate) save_baseline: Option<String>,

    /// Compare each case with a baseline
    ///
    /// NAME is a saved name, a file written by --json, or `last`: the newest complete stored run.
    #[arg(long, value_name = "NAME", env = "GPUBENCH_BASELINE", help_heading = COMPARISONS)]
    pub(crate) baseline: Option<String>,

    /// Exit with 3 if a case is significantly slower, by PERCENT or more
    ///
    /// With `noise`: by more than the spread between processes. The exit code is 1 if a case cannot be judged.
    #[arg(long, value_name = "PERCENT", env = "GPUBENCH_FAIL_ON_REGRESSION", help_heading = COMPARISONS)]
    pub(crate) fail_on_regression: Option<String>,
}

/// The device's peaks.
#[derive(Debug, Args)]
pub(crate) struct PeakArgs {
    /// Set a peak of the device, in place of its known one: `memory=4800GB/s` (also h2d, d2h, p2p), or a precision as in
    /// "f16 tensor=300TFLOP/s". Results are judged against it
    #[arg(
        long = "peak",
        value_name = "QUANTITY=VALUE",
        env = "GPUBENCH_PEAK",
        help_heading = PEAKS
    )]
    pub(crate) peaks: Vec<String>,

    /// Measure the ceilings of the GPU instead of benchmarks, and store them for later runs: bandwidth of memory and L2,
    /// multiply-adds of each precision. Without a GPU, or with `--device host`, those of the CPU
    #[arg(
        long,
        env = "GPUBENCH_MEASURE_PEAKS",
        value_parser = BoolishValueParser::new(),
        help_heading = PEAKS
    )]
    pub(crate) measure_peaks: bool,

    /// Store measured ceilings in this folder [default: the user's cache]
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_CACHE_DIR", help_heading = PEAKS)]
    pub(crate) cache_dir: Option<PathBuf>,
}
