//! Flags of results: their text and files, and the runs that are stored.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use gpubench_report::Page;
use gpubench_report::export::ExportArgs;

use super::{RESULTS, STORED};

/// The output of results.
#[derive(Debug, Args)]
pub(crate) struct ResultArgs {
    /// Explain each result below the table
    ///
    /// Timing path, flush and its cost, overhead, warm-up, samples.
    #[arg(long, env = "GPUBENCH_EXPLAIN", value_parser = BoolishValueParser::new(), help_heading = RESULTS)]
    pub(crate) explain: bool,

    #[command(flatten)]
    pub(crate) exports: ExportArgs<true>,

    /// Use colours in the results
    #[arg(
        long,
        env = "GPUBENCH_COLOR",
        default_value = "auto",
        value_name = "WHEN",
        help_heading = RESULTS
    )]
    pub(crate) color: clap::ColorChoice,

    /// Show no progress on standard error; in test mode, a letter for each case
    #[arg(long, short, env = "GPUBENCH_QUIET", value_parser = BoolishValueParser::new(), help_heading = RESULTS)]
    pub(crate) quiet: bool,

    /// Print lines of at most COLUMNS, 40 or more, instead of the width of the terminal; what is printed to a file or a
    /// pipe has no limit
    #[arg(
        long,
        value_name = "COLUMNS",
        env = "GPUBENCH_WIDTH",
        value_parser = clap::value_parser!(u16).range(Page::LEAST_WIDTH as i64..),
        help_heading = RESULTS
    )]
    pub(crate) width: Option<u16>,
}

/// Runs that are stored.
#[derive(Debug, Args)]
pub(crate) struct StoredArgs {
    /// Report a stored run, measure nothing
    ///
    /// RUN is a file that --json wrote, `-`, the name of a run, or `last`; filters, --skip, --tag, --arg, --cache and --device select
    /// its cases.
    #[arg(long, value_name = "RUN", env = "GPUBENCH_FROM", help_heading = STORED)]
    pub(crate) from: Option<PathBuf>,

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
    pub(crate) resume: Option<String>,

    /// Store each run here while it is measured, for --resume; `none` stores none [default: gpubench/runs in cargo's target
    /// folder; ~/.local/state for an installed program]
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_RUNS_DIR", help_heading = STORED)]
    pub(crate) runs_dir: Option<PathBuf>,

    /// Add the run to this history, a small file under its commit, for `cargo gpubench history`: a folder, as in "$PWD/history" since `cargo bench`
    /// runs suites in their package's folder; `none` adds it to none
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_HISTORY", help_heading = STORED)]
    pub(crate) history: Option<PathBuf>,
}
