//! The command line as it is typed. In: words; out: a command with its flags.

mod history;
mod suites;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use gpubench_records::method::Cache;
use gpubench_records::selection::{ArgValues, CaseSelection, parse_filters};
use gpubench_report::export::ExportArgs;
use gpubench_table::Page;

pub(crate) use self::history::{HistoryArgs, HistoryCommand};
pub(crate) use self::suites::{AbArgs, Binding, BuildArgs, InitArgs, RunArgs, VerifyArgs};

use crate::error::CommandError;

/// Cargo's command line, of which this program is a subcommand.
#[derive(Debug, Parser)]
#[command(name = "cargo", bin_name = "cargo")]
pub(crate) enum Cargo {
    Gpubench(Gpubench),
}

/// Set up and run GPU benchmarks; report, compare and merge stored runs; find slow GPUs
#[derive(Debug, Args)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "A RUN is a file that --json wrote, `-` for standard input, a run's folder, the name or the number of a stored \
                  run, the name of a baseline, or `last`. A file with a list of runs is all of them; FILE#2 is its second.\n\
                  A FILE called `-` is standard output, which then carries nothing else.\n\
                  Exit codes: 0 done, 1 a benchmark of the run failed or is invalid, a case could not be judged, or results \
                  could not be written, 2 usage, 3 a regression or a slow GPU, 4 nothing matched, no \
                  records, or no GPU judged."
)]
pub(crate) struct Gpubench {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Print a script that completes these commands in a shell
    #[arg(long, value_name = "SHELL")]
    pub(crate) completions: Option<Shell>,

    /// Print the manual page
    #[arg(long)]
    pub(crate) man: bool,

    /// The folder with stored runs and baselines, rather than the nearest `target/gpubench` above
    #[arg(long, value_name = "FOLDER", global = true)]
    pub(crate) home: Option<PathBuf>,

    /// Colour the results
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: clap::ColorChoice,

    /// Print lines of at most COLUMNS, 40 or more, instead of the width of the terminal; what is printed to a file or a
    /// pipe has no limit
    #[arg(
        long,
        value_name = "COLUMNS",
        env = "GPUBENCH_WIDTH",
        value_parser = clap::value_parser!(u16).range(Page::LEAST_WIDTH as i64..),
        global = true
    )]
    pub(crate) width: Option<u16>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give a package its first benchmark: a dependency, a bench target, and an annotated function that needs no GPU
    #[command(
        after_help = "For example: cargo new --lib my-kernels && cd my-kernels && cargo gpubench init && cargo bench"
    )]
    Init(InitArgs),
    /// Build and run all suites of a workspace, one after another: the bench targets of packages that depend on gpubench
    #[command(
        after_help = "For example: cargo gpubench run -- --quick saxpy\n             cargo gpubench run --crate gpubench-kernels -- --device 0\n\
                      The exit code is the first of 130, 2, 5, 4, 1, 3 that a suite ends with; 4 only if nothing matched in any."
    )]
    Run(RunArgs),
    /// Compare two revisions: build both, run their suites in alternating processes on the same device, decide row by row
    #[command(
        after_help = "For example: cargo gpubench ab main                        # the working tree against main\n             \
                      cargo gpubench ab v1.2 main saxpy -- --quick   # two commits, some cases, flags of the suite"
    )]
    Ab(AbArgs),
    /// Check that this machine can measure: driver, GPUs, permissions, limits; say what to do; exit with 1 if a device
    /// cannot be measured
    Doctor {
        /// Print the answer as JSON
        #[arg(long)]
        json: bool,
        /// Unlock the clocks of these GPUs, such as cuda:0 or 0, or of all, and check nothing; only root may
        #[arg(
            long,
            value_name = "DEVICE",
            num_args = 0..,
            require_equals = true,
            value_delimiter = ',',
            conflicts_with = "json"
        )]
        reset_clocks: Option<Vec<String>>,
    },
    /// Print the table of a run, or write it in another format
    #[command(
        after_help = "For example: cargo gpubench report                          # the last run of this package\n             \
                                  cargo gpubench report last --html page.html -- saxpy\n             \
                                  cargo gpubench report run.json --explain --cache cold"
    )]
    Report {
        /// The runs, or the file of a tuning [default: the last run of this package]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
        /// Add how each number came about
        #[arg(long)]
        explain: bool,
        #[command(flatten)]
        selection: SelectionArgs,
        #[command(flatten)]
        exports: ExportArgs,
    },
    /// Compare a run with an earlier one, case by case
    Compare {
        /// The earlier run [default: the complete run of the same benchmark binary before LATER]
        #[arg(value_name = "EARLIER")]
        earlier: Option<String>,
        /// The later run [default: the last run of this package]
        #[arg(value_name = "LATER")]
        later: Option<String>,
        /// The difference of two times that does not matter, in percent, rather than that of the later run
        #[arg(long, value_name = "PERCENT")]
        band: Option<String>,
        /// Exit with 3 if a case is slower by at least this, beyond doubt, and with 1 if one cannot be judged; `noise`: slower by
        /// more than its processes differ by
        #[arg(long, value_name = "PERCENT")]
        fail_on_regression: Option<String>,
        #[command(flatten)]
        selection: SelectionArgs,
        #[command(flatten)]
        exports: ExportArgs,
    },
    /// Make one run of several, such as those of several processes, or the shares of a split; exit with 1 if cases of a split are
    /// missing
    Merge {
        /// The runs, or a file with several
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        /// The file to write, as JSON
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// Find slow GPUs among the runs of many; exit with 3 if there is one
    Fleet {
        /// Files of runs, folders with such files, or names with `*` and `?`
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// The least difference that counts as slow
        #[arg(long, value_name = "PERCENT", default_value = "1%")]
        least: String,
        /// The share of GPUs called slow that may be wrong, on average (the false discovery rate)
        #[arg(long, value_name = "PERCENT", default_value = "1%")]
        fdr: String,
        #[command(flatten)]
        selection: SelectionArgs,
        /// Write the answer as JSON: each GPU on each roof, with intervals
        #[arg(long, value_name = "FILE", help_heading = "Results")]
        json: Option<PathBuf>,
    },
    /// Find the changes of each case over the commits of a history: by how much, and which commits they came with
    #[command(
        after_help = "For example: cargo gpubench history add last --history history   # in CI, each night\n             \
                      cargo gpubench history history saxpy --html changes.html\n\
                      A folder that is called `add` is ./add."
    )]
    History(HistoryArgs),
    /// Compare the declared bytes and flops of cases with the GPU's counters, by Nsight Compute; exit with 1 if they differ
    #[command(
        after_help = "For example: cargo gpubench verify -- saxpy\n             cargo gpubench verify --program target/release/examples/suite -- --quick --cache cold"
    )]
    Verify(VerifyArgs),
}

/// The flags that select cases, as those of a suite do.
#[derive(Debug, Args)]
pub(crate) struct SelectionArgs {
    /// Take only cases whose names contain one of these, or match it as in `/sum.*n=1024/`
    #[arg(value_name = "FILTER", last = true)]
    names: Vec<String>,

    /// Take filters and skips as whole names
    #[arg(long, help_heading = "Selection")]
    exact: bool,

    /// Leave out cases whose names contain this
    #[arg(long, value_name = "FILTER", help_heading = "Selection")]
    skip: Vec<String>,

    /// Take only cases with these values of an argument, such as n=1024,4096; cases without it are taken
    #[arg(long = "arg", value_name = "NAME=VALUE,…", help_heading = "Selection")]
    args: Vec<ArgValues>,

    /// Take only hot or only cold cases
    #[arg(long, help_heading = "Selection")]
    cache: Option<SelectedCache>,

    /// Take only cases of these devices: by number, name or UUID, with commas between them
    #[arg(long, help_heading = "Selection")]
    device: Option<String>,
}

/// The cache states to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SelectedCache {
    /// With the data in the caches
    Hot,
    /// With the last-level cache flushed before every sample
    Cold,
    /// Both
    Both,
}

impl SelectionArgs {
    /// Reads the selection, as a suite does.
    pub(crate) fn selection(&self) -> Result<CaseSelection, CommandError> {
        let Self { names, exact, skip, args, cache, device } = self;
        let caches = match cache {
            None | Some(SelectedCache::Both) => None,
            Some(SelectedCache::Hot) => Some(vec![Cache::Hot]),
            Some(SelectedCache::Cold) => Some(vec![Cache::Cold]),
        };
        Ok(CaseSelection {
            filters: parse_filters(names, *exact)?,
            exact: *exact,
            skip: parse_filters(skip, *exact)?,
            args: ArgValues::by_name(args),
            caches,
            device: device.clone(),
        })
    }
}
