//! Flags of libtest, the harness of `#[test]` and `#[bench]`. Cargo, test runners and editors hand them to every target. In:
//! those that have no field of their own in [`Args`](super::args::Args). Out: the two with a meaning here; the others are accepted
//! and change nothing.

use clap::{ArgAction, Args};

/// Flags of libtest beside those with a meaning of ours, such as `--exact`, `--skip` and `--list`.
#[derive(Debug, Args)]
pub(super) struct LibtestArgs {
    /// Added by `cargo bench`: a bench target measures
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    pub(super) bench: bool,

    /// Test mode launches nothing more after a failure
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    pub(super) fail_fast: bool,

    /// Nothing is captured
    #[arg(long, aliases = ["no-capture", "show-output"], hide = true, action = ArgAction::SetTrue)]
    nocapture: bool,

    /// One case runs at a time
    #[arg(long, hide = true)]
    test_threads: Option<usize>,

    /// Deprecated by libtest itself
    #[arg(long, hide = true, value_name = "PATH")]
    logfile: Option<std::path::PathBuf>,

    /// Nothing here needs a nightly compiler
    #[arg(short = 'Z', hide = true, value_name = "FEATURE")]
    unstable: Vec<String>,

    /// Test mode times nothing
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "plain")]
    report_time: Option<String>,

    /// Benchmarks have a limit of their own
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    ensure_time: bool,

    /// Cases are launched in the order of the source
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    shuffle: bool,

    /// The seed of that
    #[arg(long, hide = true)]
    shuffle_seed: Option<u64>,

    /// A worker process survives a panic that aborts
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    force_run_in_process: bool,

    /// No benchmark is to panic
    #[arg(long, hide = true, action = ArgAction::SetTrue)]
    exclude_should_panic: bool,
}
