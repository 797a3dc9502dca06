//! Flags of libtest, the harness of `#[test]` and `#[bench]`, which cargo, test runners and editors pass to every target. Those without a
//! flag of ours are accepted.

use clap::Args;

/// Flags of libtest, besides those that mean the same here, such as `--exact`, `--skip` and `--list`.
#[derive(Debug, Args)]
pub(super) struct LibtestArgs {
    /// Added by `cargo bench`: a bench target measures
    #[arg(long, hide = true)]
    pub(super) bench: bool,

    /// Test mode launches nothing more after a failure
    #[arg(long, hide = true)]
    pub(super) fail_fast: bool,

    /// Changes nothing
    #[arg(long = "nocapture", aliases = ["no-capture", "show-output", "ensure-time", "shuffle", "force-run-in-process", "exclude-should-panic"], hide = true)]
    ignored_flag: bool,

    /// Changes nothing
    #[arg(long = "test-threads", short = 'Z', aliases = ["logfile", "shuffle-seed"], value_name = "VALUE", hide = true)]
    ignored_option: Option<String>,

    /// Changes nothing
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "plain")]
    report_time: Option<String>,
}
