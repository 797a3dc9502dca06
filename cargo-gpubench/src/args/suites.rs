//! The flags of commands around suites: the first benchmark, the suites to run.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use gpubench_report::export::ExportArgs;

use crate::error::BadTime;

/// The package that gets a benchmark.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The folder of the package
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// The name of the bench target
    #[arg(long, value_name = "NAME", default_value = "kernels")]
    pub(crate) bench: String,
    /// Depend on the checkout of gpubench in this folder, rather than on a published version
    #[arg(long, value_name = "FOLDER")]
    pub(crate) path: Option<PathBuf>,
    /// Take streams of this CUDA binding; a build with cust asks for a CUDA toolkit, or CUDA_LIBRARY_PATH=/usr
    #[arg(long)]
    pub(crate) binding: Option<Binding>,
}

/// The suites to run.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").args(["krate", "git", "path"]))]
pub(crate) struct RunArgs {
    /// Run the suites that a published crate ships, at its newest version or this one: it is fetched and built in the cache folder
    #[arg(long = "crate", value_name = "NAME[@VERSION]", help_heading = "Source")]
    pub(crate) krate: Option<String>,
    /// Run the suites of a repository, which is fetched and built in the cache folder
    #[arg(long, value_name = "URL", help_heading = "Source")]
    pub(crate) git: Option<String>,
    /// Take this branch, tag or commit of the repository, rather than its default branch
    #[arg(long, value_name = "REVISION", requires = "git", help_heading = "Source")]
    pub(crate) rev: Option<String>,
    /// Run the suites of the workspace in this folder, rather than of the current one
    #[arg(long, value_name = "FOLDER", help_heading = "Source")]
    pub(crate) path: Option<PathBuf>,
    /// Keep what is fetched in this folder, rather than in the user's cache folder
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_CACHE_DIR", help_heading = "Source")]
    pub(crate) cache_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    /// Filters and flags of each suite; flags of this command go before them
    #[arg(value_name = "FILTER|FLAG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) flags: Vec<String>,
}

/// The suites that are built, and the build.
#[derive(Clone, Debug, Args)]
pub(crate) struct BuildArgs {
    /// Run only the suites of this package; may be given several times
    #[arg(long, short, value_name = "NAME", help_heading = "Suites")]
    pub(crate) package: Vec<String>,
    /// Run only this bench target; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Suites")]
    pub(crate) bench: Vec<String>,
    /// Build with these features, beside those that a bench target requires
    #[arg(long, short = 'F', value_name = "FEATURES", help_heading = "Build")]
    pub(crate) features: Vec<String>,
    /// Build with this profile, rather than `bench`
    #[arg(long, value_name = "NAME", help_heading = "Build")]
    pub(crate) profile: Option<String>,
    /// Build with the versions of Cargo.lock, or not at all
    #[arg(long, help_heading = "Build")]
    pub(crate) locked: bool,
    /// Build without a network
    #[arg(long, help_heading = "Build")]
    pub(crate) offline: bool,
}

/// The revisions to compare.
#[derive(Debug, Args)]
pub(crate) struct AbArgs {
    /// The revision that counts as before: a commit, a tag, a branch, or `.` for the working tree
    #[arg(value_name = "REV")]
    pub(crate) then: String,
    /// The revision that is held against it; without one the working tree, with what is not committed
    #[arg(value_name = "REV2", default_value = ".")]
    pub(crate) now: String,
    /// Take only cases whose names contain one of these
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,
    #[command(flatten)]
    pub(crate) pairs: PairArgs,
    /// Begin no further pair after this time, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Comparison")]
    pub(crate) time: Option<Duration>,
    /// The difference of two times that does not matter, in percent, rather than that of the suite
    #[arg(long, value_name = "PERCENT", help_heading = "Comparison")]
    pub(crate) band: Option<String>,
    /// Exit with 3 if a case is slower by at least this, beyond doubt, and with 1 if one cannot be judged; `noise`: slower by
    /// more than its processes differ by
    #[arg(long, value_name = "PERCENT", help_heading = "Comparison")]
    pub(crate) fail_on_regression: Option<String>,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
    /// Flags of a suite, which each process gets
    #[arg(value_name = "FLAG", last = true)]
    pub(crate) flags: Vec<String>,
}

/// The pairs of processes of a comparison.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct PairArgs {
    /// Measure in at most so many pairs of processes, one of each revision; rows that are decided earlier are not measured again
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u64).range(2..=64), help_heading = "Comparison")]
    pub(crate) pairs: u64,
    /// Draw the order of processes from this number
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Comparison")]
    pub(crate) seed: u64,
}

/// The cases to verify.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Verify this benchmark binary, and build none
    #[arg(long, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
    /// Add how each number came about, with all counters
    #[arg(long)]
    pub(crate) explain: bool,
    /// End Nsight Compute after this time for each case
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "60s")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
    /// Filters and flags of each benchmark binary
    #[arg(value_name = "FILTER|FLAG", last = true)]
    pub(crate) flags: Vec<String>,
}

/// Reads `90`, `90s`, `10m` or `1h`.
pub(super) fn time(text: &str) -> Result<Duration, BadTime> {
    let split = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(BadTime),
    };
    let number: f64 = number.parse().map_err(|_| BadTime)?;
    Duration::try_from_secs_f64(number * seconds).ok().filter(|time| !time.is_zero()).ok_or(BadTime)
}

/// A CUDA binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Binding {
    /// `cust`
    Cust,
    /// `cudarc`
    Cudarc,
}
