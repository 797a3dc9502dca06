//! Flags of races, which find the best of a benchmark's variants.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::TUNING;

/// The races.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// Find the best variants of the benchmarks with `tune(…)`: race them in turn, for each problem
    ///
    /// A variant that is certainly slower by more than the --band leaves the race, and one that is certainly within it is a tie. The
    /// race ends when all are decided, or by --budget.
    #[arg(
        long,
        env = "GPUBENCH_TUNE",
        value_parser = BoolishValueParser::new(),
        help_heading = TUNING
    )]
    pub(crate) tune: bool,

    /// End the races of --tune after this long in all [default: no limit]
    ///
    /// What is not decided then is told as undecided, and what was not reached as not measured. A problem of which a variant was not
    /// measured has no winner. A measurement that has begun is finished.
    #[arg(long, value_name = "TIME", env = "GPUBENCH_BUDGET", help_heading = TUNING)]
    pub(crate) budget: Option<String>,

    /// Write the answer of --tune to this file, as JSON
    #[arg(long, value_name = "FILE", env = "GPUBENCH_SAVE_TUNING", help_heading = TUNING)]
    pub(crate) save_tuning: Option<PathBuf>,
}
