//! The table of flags: one field for each, with its environment twin `GPUBENCH_…` and its help. The command line, the
//! environment, `gpubench.toml`, both help texts come from it. What the values mean together is
//! settled in [`options`](super::options).

mod actions;
mod against;
mod cases;
mod method;
mod results;
mod tune;

use clap::Parser;

pub(crate) use self::actions::TextFormat;
pub(super) use self::actions::{ActionArgs, ConfigArgs};
pub(super) use self::against::{ComparisonArgs, PeakArgs};
pub(super) use self::cases::{CacheChoice, CaseArgs};
pub(super) use self::method::{FlushChoice, MethodArgs, PathChoice, VerifyChoice};
pub(super) use self::results::{ResultArgs, StoredArgs};
pub(super) use self::tune::TuneArgs;
use super::libtest::LibtestArgs;

// The topics of --help, in its order.
const CASES: &str = "What to measure";
pub(super) const METHOD: &str = "How to measure";
const COMPARISONS: &str = "Comparisons";
pub(super) const TUNING: &str = "Tuning";
pub(super) const PEAKS: &str = "Peaks of the device";
const RESULTS: &str = "Results";
const STORED: &str = "Stored runs";
pub(super) const INSTEAD: &str = "Instead of measuring";
const CONFIG: &str = "Settings";

/// Measures the benchmarks of this program.
#[derive(Debug, Parser)]
#[command(
    name = "suite",
    about = "Measures the benchmarks of this program, and compares each result with the limits of its device.",
    disable_help_flag = true,
    disable_version_flag = true,
    // Scripts append flags to existing ones.
    args_override_self = true
)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) cases: CaseArgs,
    #[command(flatten)]
    pub(super) method: MethodArgs,
    #[command(flatten)]
    pub(super) comparisons: ComparisonArgs,
    #[command(flatten)]
    pub(super) tuning: TuneArgs,
    #[command(flatten)]
    pub(super) peaks: PeakArgs,
    #[command(flatten)]
    pub(super) results: ResultArgs,
    #[command(flatten)]
    pub(super) stored: StoredArgs,
    #[command(flatten)]
    pub(super) actions: ActionArgs,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
    #[command(flatten)]
    pub(super) libtest: LibtestArgs,
}
