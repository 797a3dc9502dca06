//! Flags that say what to measure: names, tags, arguments, caches, devices, a share of several tasks.

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use super::CASES;

/// The cases to measure.
#[derive(Debug, Args)]
pub(crate) struct CaseArgs {
    /// Measure only cases with this in their names
    ///
    /// A FILTER is a part of the name, or a regular expression between slashes, as in `/sum.*n=1024/`. A case needs one of them.
    /// Several are separated by spaces or commas.
    #[arg(value_name = "FILTER", env = "GPUBENCH_FILTER", help_heading = CASES)]
    pub(crate) filters: Vec<String>,

    /// Match whole names, in filters and in --skip
    #[arg(long, env = "GPUBENCH_EXACT", value_parser = BoolishValueParser::new(), help_heading = CASES)]
    pub(crate) exact: bool,

    /// Leave out cases with this in their names
    #[arg(long, value_name = "FILTER", env = "GPUBENCH_SKIP", help_heading = CASES)]
    pub(crate) skip: Vec<String>,

    /// Measure only the benchmarks with one of these tags
    #[arg(
        long,
        value_name = "TAG,…",
        env = "GPUBENCH_TAG",
        value_delimiter = ',',
        help_heading = CASES
    )]
    pub(crate) tag: Vec<String>,

    /// Measure only the benchmarks marked `ignore`
    #[arg(long, env = "GPUBENCH_IGNORED", value_parser = BoolishValueParser::new(), help_heading = CASES)]
    pub(crate) ignored: bool,

    /// Measure also the benchmarks marked `ignore`
    #[arg(long, env = "GPUBENCH_INCLUDE_IGNORED", value_parser = BoolishValueParser::new(), help_heading = CASES)]
    pub(crate) include_ignored: bool,

    /// Set an argument's values, as in n=1024,1Mi
    ///
    /// They replace those that the benchmark lists; of its types and constants, such as T=f32, listed ones are chosen. A number may
    /// end in k, M, G or T for powers of 1000 and in Ki, Mi, Gi or Ti for powers of 1024, with or without a B, as in 2GiB.
    #[arg(long = "arg", value_name = "NAME=VALUE,…", env = "GPUBENCH_ARG", help_heading = CASES)]
    pub(crate) args: Vec<String>,

    /// Choose hot or cold caches, or both
    ///
    /// This overrides the benchmark's attribute.
    #[arg(long, env = "GPUBENCH_CACHE", help_heading = CASES)]
    pub(crate) cache: Option<CacheChoice>,

    /// Choose devices: 0, cuda:0, wgpu:1, a UUID, host, all
    ///
    /// CUDA GPUs are named by number or UUID, `cuda` is every one of them, `host` is this machine's CPU, `all` is every device. Several are
    /// separated by commas.
    #[arg(long, value_name = "DEVICE", env = "GPUBENCH_DEVICE", help_heading = CASES)]
    pub(crate) device: Option<String>,

    /// Measure a share of the cases, `3/8` of them for instance, as one of several tasks; `split`: as the task that Slurm numbers;
    /// `replicate`: all cases, on all GPUs that the task was given; `none`: as if there were no scheduler [default: replicate]
    #[arg(long, value_name = "SHARE", env = "GPUBENCH_SHARE", help_heading = CASES)]
    pub(crate) share: Option<String>,

    /// Balance the shares by the times of this stored run, the same for all tasks, rather than by their numbers of cases
    #[arg(long, value_name = "RUN", env = "GPUBENCH_SHARE_TIMES", help_heading = CASES)]
    pub(crate) share_times: Option<String>,
}

/// The cache states to measure.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CacheChoice {
    /// The data is in the caches
    Hot,
    /// The last-level cache is flushed before each sample
    Cold,
    /// Hot, then cold
    Both,
}
