//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use gpubench_records::comparison::Threshold;
use gpubench_records::method::Cache;
use gpubench_records::selection::{ArgValues, CaseSelection, parse_filters};
use gpubench_report::export::ExportArgs;
use gpubench_runtime::__private::parse_positive_time;
use gpubench_runtime::CacheStates;
use gpubench_table::Page;

use crate::output::CommandError;

/// Cargo's command line, of which this program is a subcommand.
#[derive(Parser)]
#[command(name = "cargo", bin_name = "cargo")]
pub(crate) enum Cargo {
    Gpubench(Gpubench),
}

/// Set up and run GPU benchmarks; report, compare and merge stored runs; find slow GPUs
#[derive(Args)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "A benchmark binary is what cargo builds from a bench target with `gpubench::main!`. It measures and stores its \
                  results as a run.\n\
                  A RUN is a file that --json wrote, `-` for standard input, the folder, name or number of a stored run, the name \
                  of a baseline, or `last`. A file with a list of runs means all of them; FILE#2 is the second.\n\
                  A FILE `-` is standard output, which then carries nothing else.\n\
                  Exit codes: 0 done, 1 a benchmark failed or is invalid, a result could not be judged, or results could not be \
                  written, 2 usage, 3 a regression or a slow GPU, 4 nothing matched, no results, or no GPU judged, 5 a device \
                  is missing, 130 or 143 interrupted."
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

    /// The folder with stored runs and baselines [default: the nearest `target/gpubench` in the folders above]
    #[arg(long, value_name = "FOLDER", global = true)]
    pub(crate) home: Option<PathBuf>,

    /// Colour the results
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: clap::ColorChoice,

    /// Break lines at this width, 40 or more [default: the width of the terminal; no limit for files and pipes]
    #[arg(
        long,
        value_name = "COLUMNS",
        value_parser = clap::value_parser!(u16).range(Page::LEAST_WIDTH as i64..),
        global = true
    )]
    pub(crate) width: Option<u16>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add a first benchmark to a package: a dependency, a bench target, and an annotated function that needs no GPU
    #[command(
        after_help = "For example: cargo new --lib my-kernels && cd my-kernels && cargo gpubench init && cargo bench"
    )]
    Init(InitArgs),
    /// Build and run all benchmark binaries of a workspace, one after another: the bench targets of packages that depend on gpubench
    #[command(
        after_help = "For example: cargo gpubench run --quick saxpy\n             cargo gpubench run --crate gpubench-kernels -- --device 0\n\
                      Of the exit codes of the benchmark binaries, the first in the list 130, 2, 5, 1, 3, 0 counts; 4 only if nothing \
                      matched in any."
    )]
    Run(RunArgs),
    /// Compare two revisions: build both, run their benchmark binaries in alternating processes on the same device, and decide for
    /// each result whether it changed
    #[command(
        after_help = "For example: cargo gpubench ab main                        # the working tree against main\n             \
                      cargo gpubench ab v1.2 main saxpy -- --quick   # two commits, some benchmarks, flags"
    )]
    Ab(AbArgs),
    /// Check that this machine can measure: driver, GPUs, permissions, limits; print what to do; exit with 1 if a device
    /// cannot be measured
    Doctor(DoctorArgs),
    /// Print the table of a run, or write it in another format
    #[command(
        after_help = "For example: cargo gpubench report                          # the last run of this package\n             \
                                  cargo gpubench report last --html page.html -- saxpy\n             \
                                  cargo gpubench report run.json --explain --cache cold"
    )]
    Report(ReportArgs),
    /// Compare a run with an earlier one, result by result
    Compare(CompareArgs),
    /// Merge several runs into one, such as runs of several processes or the shares of a split run; exit with 1 if results of a
    /// split run are missing
    Merge(MergeArgs),
    /// Find slow GPUs among the runs of many; exit with 3 if there is one
    Fleet(FleetArgs),
    /// Find the changes of each result over the commits of a history: by how much, and which commits they came with
    #[command(
        after_help = "For example: cargo gpubench history add last --history history   # in CI, each night\n             \
                      cargo gpubench history history saxpy --json changes.json\n\
                      A folder that is called `add` is ./add."
    )]
    History(HistoryArgs),
    /// Compare the declared bytes and flops of benchmarks with the GPU's counters, using Nsight Compute; exit with 1 if they differ
    #[command(
        after_help = "For example: cargo gpubench verify -- saxpy\n             cargo gpubench verify --program target/release/examples/suite -- --quick --cache cold"
    )]
    Verify(VerifyArgs),
}

/// The package that gets a benchmark.
#[derive(Args)]
pub(crate) struct InitArgs {
    /// The folder of the package
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// The name of the bench target
    #[arg(long, value_name = "NAME", default_value = "kernels")]
    pub(crate) bench: String,
    /// Depend on the checkout of gpubench in this folder, instead of on a published version
    #[arg(long, value_name = "FOLDER")]
    pub(crate) path: Option<PathBuf>,
    /// Accept streams of this CUDA binding; a build with cust needs a CUDA toolkit, or CUDA_LIBRARY_PATH=/usr
    #[arg(long)]
    pub(crate) binding: Option<Binding>,
}

/// A CUDA binding.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Binding {
    /// Streams of the crate cust
    Cust,
    /// Streams of the crate cudarc
    Cudarc,
}

/// The benchmark binaries to run.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// Run the benchmarks of a published crate, at its newest version or this one; it is fetched and built in the cache folder
    #[arg(long = "crate", value_name = "NAME[@VERSION]", help_heading = "Source")]
    pub(crate) krate: Option<String>,
    /// Keep what is fetched in this folder, instead of the user's cache folder
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_CACHE_DIR", help_heading = "Source")]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    /// Filters and flags of each benchmark binary; flags of this command go before them
    #[arg(value_name = "FILTER|FLAG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
}

/// The benchmark binaries to build, and how.
#[derive(Clone, Args)]
pub(crate) struct BuildArgs {
    /// Run only the benchmark binaries of this package; may be given several times
    #[arg(long, short, value_name = "NAME", help_heading = "Benchmark binaries")]
    pub(crate) package: Vec<String>,
    /// Run only this bench target; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Benchmark binaries")]
    pub(crate) bench: Vec<String>,
    /// Build with these features, in addition to those that a bench target requires
    #[arg(long, short = 'F', value_name = "FEATURES", help_heading = "Build")]
    pub(crate) features: Vec<String>,
    /// Build with this profile, instead of `bench`
    #[arg(long, value_name = "NAME", help_heading = "Build")]
    pub(crate) profile: Option<String>,
    /// Fail if Cargo.lock is missing or out of date
    #[arg(long, help_heading = "Build")]
    pub(crate) locked: bool,
    /// Build without network access
    #[arg(long, help_heading = "Build")]
    pub(crate) offline: bool,
}

/// The revisions to compare.
#[derive(Args)]
pub(crate) struct AbArgs {
    /// The earlier revision: a commit, a tag, a branch, or `.` for the working tree
    #[arg(value_name = "REV")]
    pub(crate) then: String,
    /// The revision that is compared with it [default: the working tree, with uncommitted changes]
    #[arg(value_name = "REV2", default_value = ".", hide_default_value = true)]
    pub(crate) now: String,
    /// Run only benchmarks whose names contain one of these
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Measure in at most this many pairs of processes, one of each revision; decided results are not measured again
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u64).range(2..=64), help_heading = "Comparison")]
    pub(crate) pairs: u64,
    /// The seed of the random order of processes
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Comparison")]
    pub(crate) seed: u64,
    /// Start no further pair after this time, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time, help_heading = "Comparison")]
    pub(crate) time: Option<Duration>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
    /// Flags for each process of the benchmark binaries
    #[arg(value_name = "FLAG", last = true)]
    pub(crate) flags: Vec<String>,
}

/// The differences that matter in a comparison.
#[derive(Args)]
pub(crate) struct LimitArgs {
    /// The equivalence margin: times that differ by less count as equal [default: that of the later run]
    #[arg(long, value_name = "PERCENT", value_parser = percentage, help_heading = "Comparison")]
    pub(crate) equivalence_margin: Option<f64>,
    /// Exit with 3 if a result is slower by at least this, beyond doubt, and with 1 if one cannot be judged; `noise`: slower by
    /// more than its processes differ by
    #[arg(long, value_name = "PERCENT", help_heading = "Comparison")]
    pub(crate) fail_on_regression: Option<Threshold>,
}

/// The history to read, and the changes to report.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    pub(crate) command: Option<HistoryCommand>,
    /// The folder of the history [default: `history` next to the stored runs]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Take only results whose names contain one of these, or match it as in `/sum.*n=1024/`
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    /// Count all GPUs of a model as one. Without this flag each GPU has a series of its own
    #[arg(long)]
    pub(crate) by_model: bool,
    /// Report changes of at least this
    #[arg(long, value_name = "PERCENT", value_parser = percentage, default_value = "0.5%")]
    pub(crate) equivalence_margin: f64,
    /// Report only changes that begin in one of the last RUNS runs of the same benchmark and device
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) last: Option<u64>,
    /// Exit with 3 if a reported change is a slowdown and the benchmark is still slower than before it; see --last
    #[arg(long)]
    pub(crate) fail_on_change: bool,
    /// Write the changes as JSON
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,
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
        #[arg(long, value_name = "DIR")]
        history: Option<PathBuf>,
        /// The commit of the run, if the run has none or another
        #[arg(long, value_name = "HASH")]
        commit: Option<String>,
    },
}

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Unlock the clocks of these GPUs, such as cuda:0 or 0, or of all, instead of checking; needs root
    #[arg(
        long,
        value_name = "DEVICE",
        num_args = 0..,
        require_equals = true,
        value_delimiter = ',',
        conflicts_with = "json"
    )]
    pub(crate) reset_clocks: Option<Vec<String>>,
}

#[derive(Args)]
pub(crate) struct ReportArgs {
    /// The runs, or the file of a tuning [default: the last run of this package]
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Add how each number came about
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// The earlier run [default: the last complete run of the same benchmark binary before LATER]
    #[arg(value_name = "EARLIER")]
    pub(crate) earlier: Option<String>,
    /// The later run [default: the last run of this package]
    #[arg(value_name = "LATER")]
    pub(crate) later: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
}

#[derive(Args)]
pub(crate) struct MergeArgs {
    /// The runs, or a file with several
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    /// The file to write, as JSON
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Args)]
pub(crate) struct FleetArgs {
    /// Files of runs, and folders with such files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The least difference that counts as slow
    #[arg(long, value_name = "PERCENT", value_parser = percentage, default_value = "1%")]
    pub(crate) least: f64,
    /// The share of GPUs reported as slow that may be wrong, on average (the false discovery rate)
    #[arg(long, value_name = "PERCENT", value_parser = percentage, default_value = "1%")]
    pub(crate) fdr: f64,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    /// Write the answer as JSON: each GPU on each peak, with intervals
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) json: Option<PathBuf>,
}

/// Reads a percentage above 0, as a fraction.
fn percentage(text: &str) -> Result<f64, &'static str> {
    Threshold::part(text).ok_or("give a percentage above 0, such as 5%")
}

/// The benchmark binaries to verify.
#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// Verify this benchmark binary, and build none
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
    /// Add how each number came about, with all counters
    #[arg(long)]
    pub(crate) explain: bool,
    /// Kill Nsight Compute after this time for each benchmark
    #[arg(long, value_name = "TIME", value_parser = parse_positive_time, default_value = "60s")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
    /// Filters and flags of each benchmark binary
    #[arg(value_name = "FILTER|FLAG", last = true)]
    pub(crate) flags: Vec<String>,
}

/// The flags that select results, as those of a benchmark binary do.
#[derive(Args)]
pub(crate) struct SelectionArgs {
    /// Take only results whose names contain one of these, or match it as in `/sum.*n=1024/`
    #[arg(value_name = "FILTER", last = true)]
    names: Vec<String>,

    /// Compare filters and skips with whole names
    #[arg(long, help_heading = "Selection")]
    exact: bool,

    /// Leave out results whose names contain this
    #[arg(long, value_name = "FILTER", help_heading = "Selection")]
    skip: Vec<String>,

    /// Take only results with these values of an argument, such as n=1024,4096, and results without the argument
    #[arg(long = "arg", value_name = "NAME=VALUE,…", help_heading = "Selection")]
    args: Vec<ArgValues>,

    /// Take only hot or only cold results
    #[arg(long, help_heading = "Selection")]
    cache: Option<CacheStates>,

    /// Take only results of these devices: numbers, names or UUIDs, separated by commas
    #[arg(long, help_heading = "Selection")]
    device: Option<String>,
}

impl SelectionArgs {
    /// Reads the selection as a benchmark binary does.
    pub(crate) fn selection(&self) -> Result<CaseSelection, CommandError> {
        let caches = match self.cache {
            None | Some(CacheStates::Both) => None,
            Some(CacheStates::Hot) => Some(vec![Cache::Hot]),
            Some(CacheStates::Cold) => Some(vec![Cache::Cold]),
        };
        Ok(CaseSelection {
            filters: parse_filters(&self.names, self.exact)?,
            exact: self.exact,
            skip: parse_filters(&self.skip, self.exact)?,
            args: ArgValues::by_name(&self.args),
            caches,
            device: self.device.clone(),
        })
    }
}
