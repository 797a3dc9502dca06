//! The flags of `history`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, Subcommand};

use gpubench_runtime::__private::parse_positive_time;

use super::{BuildArgs, PairArgs};

/// The history to read, and the changes to report.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, mut_args = of_confirmation)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
    /// The folder of the history [default: `history` next to the stored runs]
    #[arg(value_name = "DIR", env = "GPUBENCH_HISTORY")]
    pub(crate) folder: Option<PathBuf>,
    /// Take only results whose names contain one of these, or match it as in `/sum.*n=1024/`
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Count all GPUs of a model as one. Without this flag each GPU has a series of its own. A GPU that replaces another continues its
    /// series if both measured two or more of the same commits
    #[arg(long)]
    pub(crate) by_model: bool,
    /// Report changes of at least this
    #[arg(long, value_name = "PERCENT", default_value = "0.5%")]
    pub(crate) equivalence_margin: String,
    /// Report only changes that begin in one of the last RUNS runs of the same benchmark and device
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) last: Option<u64>,
    /// Exit with 3 if a reported change is a slowdown and the benchmark is still slower than before it; see --last
    #[arg(long)]
    pub(crate) fail_on_change: bool,
    /// Build the two commits around each reported change and compare them as `ab` does, to confirm the change or not. With
    /// --fail-on-change, an unconfirmed change does not count
    #[arg(long)]
    pub(crate) confirm: bool,
    /// Start to confirm no further change after this time, such as 90s, 10m or 2h. The newest changes go first; the others are reported
    /// as not measured
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time, default_value = "30m")]
    pub(crate) confirm_time: Duration,
    #[command(flatten)]
    pub(crate) pairs: PairArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    /// Flags for each process of the benchmark binaries
    #[arg(value_name = "FLAG", last = true)]
    pub(crate) flags: Vec<String>,
    /// Write the changes as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,
    /// Write a page with a line for each benchmark, one file that needs no network, as HTML
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) html: Option<PathBuf>,
}

/// Arguments about commits that are measured again.
const OF_CONFIRMATION: [&str; 10] = [
    "confirm_time",
    "pairs",
    "seed",
    "package",
    "bench",
    "features",
    "profile",
    "locked",
    "offline",
    "flags",
];

/// Lets those be given with `--confirm` alone.
fn of_confirmation(arg: Arg) -> Arg {
    if OF_CONFIRMATION.contains(&arg.get_id().as_str()) { arg.requires("confirm") } else { arg }
}

/// What to do with a history.
#[derive(Subcommand)]
pub(crate) enum HistoryCommand {
    /// Add runs to a history, each under its commit: a small file each, without samples
    Add {
        /// The runs
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        /// The folder of the history [default: `history` next to the stored runs]
        #[arg(long, value_name = "DIR", env = "GPUBENCH_HISTORY")]
        history: Option<PathBuf>,
        /// The commit of the run, if the run has none or another
        #[arg(long, value_name = "HASH")]
        commit: Option<String>,
    },
}
