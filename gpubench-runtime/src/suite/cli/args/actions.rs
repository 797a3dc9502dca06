//! Flags that ask for something else than a measurement, and those of the file of settings.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use super::{CONFIG, INSTEAD};

/// The task, if it is not to measure.
#[derive(Debug, Args)]
pub(crate) struct ActionArgs {
    /// List the cases and measure nothing
    #[arg(long, env = "GPUBENCH_LIST", value_parser = BoolishValueParser::new(), help_heading = INSTEAD)]
    pub(crate) list: bool,

    /// Format of --list and --test
    #[arg(long, env = "GPUBENCH_FORMAT", default_value = "pretty", help_heading = INSTEAD)]
    pub(crate) format: TextFormat,

    /// Launch and check each case, time nothing
    ///
    /// This is the default of bench targets without `--bench`, as `cargo test` runs them.
    #[arg(long, env = "GPUBENCH_TEST", value_parser = BoolishValueParser::new(), help_heading = INSTEAD)]
    pub(crate) test: bool,

    /// Show all settings and where each comes from
    #[arg(long, env = "GPUBENCH_SHOW_CONFIG", value_parser = BoolishValueParser::new(), help_heading = INSTEAD)]
    pub(crate) show_config: bool,
}

/// The file of settings.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Read settings and your peaks from this file
    ///
    /// [default: the nearest `gpubench.toml`, or `Cargo.toml` with `[package.metadata.gpubench]`, at or above the package or the
    /// current folder]
    #[arg(long, value_name = "FILE", env = "GPUBENCH_CONFIG", help_heading = CONFIG)]
    pub(crate) config: Option<PathBuf>,

    /// Use this profile of the settings, as in [profile.ci]
    #[arg(long, value_name = "NAME", env = "GPUBENCH_PROFILE", help_heading = CONFIG)]
    pub(crate) profile: Option<String>,
}

/// The format of `--list` and of test mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// For people
    #[default]
    Pretty,
    /// For test runners: `name: benchmark`; a letter for each case in test mode
    Terse,
    /// For programs: one JSON object per line; in test mode those of libtest
    Json,
    /// A format of libtest that nothing needs here: as `pretty`
    #[value(hide = true)]
    Junit,
}
