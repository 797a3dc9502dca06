//! Options that cannot be obeyed. In: the flag and its value. Out: a sentence that names the flag and says what to give
//! instead. Options that a program sets through [`MeasureOptions`](super::MeasureOptions) are named by their flags too.

use std::error::Error;

use crate::config::PeakTextError;
use gpubench_records::sampling::MOST_SAMPLES;
use gpubench_records::selection::{BadFilter, NoArg};
use gpubench_report::export::SamePlace;

/// An option that cannot be obeyed, or two that contradict each other.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A value is no percentage above 0.
    #[error("{flag} {given}: give a percentage above 0, such as 0.5%")]
    Percentage {
        /// The flag.
        flag: &'static str,
        /// The value as it is written.
        given: String,
    },
    /// A number that must be at least 1 is 0.
    #[error("{flag} 0: give at least 1")]
    Zero {
        /// The flag.
        flag: &'static str,
    },
    /// More samples of a case than a stored record can have.
    #[error("--samples {given}: give at most {MOST_SAMPLES}, which a stored record can have")]
    TooManySamples {
        /// The number that the user gave.
        given: usize,
    },
    /// A text is no time.
    #[error("{flag} {given}: give a time, such as 0.5 (seconds), 500ms or 2min")]
    Time {
        /// The flag.
        flag: &'static str,
        /// The value as it is written.
        given: String,
    },
    /// A value is no duration.
    #[error("{flag} {given}: give seconds, 0 or more")]
    Duration {
        /// The flag.
        flag: &'static str,
        /// The value in seconds.
        given: f64,
    },
    /// Both a time and a number of launches are given for warm-ups.
    #[error("--warmup and --warmup-launches: give one of them")]
    WarmUpTwice,
    /// The limit of a case is no duration above 0; in seconds.
    #[error("--timeout {0}: give seconds above 0")]
    Timeout(f64),
    /// The shortest sampling is longer than the longest; both in seconds.
    #[error("--min-time {min} is more than --max-time {max}: lower one or raise the other")]
    MinAboveMax {
        /// The shortest.
        min: f64,
        /// The longest.
        max: f64,
    },
    /// The threshold of a regression is neither a percentage nor `noise`.
    #[error("--fail-on-regression {0}: give a percentage above 0, such as 5%, or `noise`")]
    Threshold(String),
    /// A threshold is given, and nothing to compare with.
    #[error("--fail-on-regression: say against what, by --baseline or --compare-with")]
    NoReference,
    /// More repetitions than anybody wants.
    #[error("--runs: give at most {most}")]
    Runs {
        /// The most.
        most: usize,
    },
    /// Both a comparison and repeated runs are requested.
    #[error("--runs: a comparison by --compare-with makes rounds of its own")]
    RepeatedComparison,
    /// Both ceilings and test mode are requested.
    #[error("--measure-peaks and --test: the one measures, the other times nothing")]
    PeaksInTestMode,
    /// A share of the cases cannot be read.
    #[error(
        "--share {0}: give a task's number, from 1, and the number of all, such as 3/8 or replicate:3/8; or `split` or \
         `replicate` where a scheduler numbers the tasks, or `none`"
    )]
    Share(String),
    /// Ceilings are requested, and a share of the cases.
    #[error("--measure-peaks and --share: each GPU has ceilings of its own; leave out --share, or replicate")]
    SplitPeaks,
    /// A run of ceilings is to be resumed.
    #[error("--resume goes on with a run of the suite: leave out --measure-peaks")]
    ResumedPeaks,
    /// Times are to be checked by other clocks, beside an option with which they cannot be.
    #[error("--verify and {beside}: {}", not_verified(beside))]
    NotVerified {
        /// The other option.
        beside: &'static str,
    },
    /// A repeated run is to be resumed.
    #[error(
        "--resume and --runs: a run of several processes cannot go on; leave out --resume to measure it anew"
    )]
    ResumedRepetition,
    /// A run is to be resumed, and runs are not stored.
    #[error("--resume needs a folder of runs: leave out `--runs-dir none`")]
    ResumedFromNowhere,
    /// A flag stands beside races that they do not obey.
    #[error("--tune and {beside}: a race is no run, and has rules of its own; leave out one of them")]
    BesideRaces {
        /// The flag.
        beside: &'static str,
    },
    /// A flag of races stands without them.
    #[error("--{flag} is for races: add --tune")]
    WithoutRaces {
        /// The name of the flag.
        flag: String,
    },
    /// A flag that says how to measure stands beside a stored run.
    #[error("--from and --{flag}: --from shows a stored run and measures nothing; leave out one of them")]
    BesideStoredRun {
        /// The name of the flag.
        flag: String,
    },
    /// An environment variable asks for something else than a measurement, in a program that measures.
    #[error("{variable}: this program measures; it does not list, test or show a stored run")]
    NoMeasurement {
        /// The variable.
        variable: &'static str,
    },
    /// A device has no name.
    #[error(
        "--device `{0}`: give GPUs by number or UUID such as 0 or 0,2, `host` for this machine's CPU, or `all`"
    )]
    UnnamedDevice(String),
    /// `all` devices and further ones are requested.
    #[error("--device {0}: `all` is every device; give `all` alone, or the devices by name")]
    AllAndOthers(String),
    /// The name of a baseline is empty or hidden.
    #[error("{flag} `{name}`: give a name, or a path with a `/` in it")]
    BaselineName {
        /// The flag.
        flag: &'static str,
        /// The name.
        name: String,
    },
    /// A baseline would be called as a run is.
    #[error(
        "--save-baseline `{0}`: a run is meant by this name, such as `last`, its number or its time; give another name"
    )]
    BaselineIsRun(String),
    /// A clock target cannot be read.
    #[error("--lock-clocks {given}: {why}")]
    ClockTarget {
        /// The value as it is written.
        given: String,
        /// The reason.
        why: Box<dyn Error + Send + Sync>,
    },
    /// An argument has no name or no value.
    #[error(transparent)]
    Arg(#[from] NoArg),
    /// The benchmark to compare with cannot be read.
    #[error(
        "--compare-with {0}: give a benchmark's name, with its own arguments in brackets, such as sum[BLOCK=128]"
    )]
    Partner(String),
    /// A peak has no name or no value.
    #[error(
        "--peak {0}: give `memory` or a precision, and its peak, such as memory=4800GB/s or \"f16 tensor=300TFLOP/s\""
    )]
    NoPeak(String),
    /// A peak cannot be read.
    #[error("--peak {given}: {error}")]
    Peak {
        /// The peak as it is written.
        given: String,
        /// The reason.
        error: PeakTextError,
    },
    /// A peak is given twice.
    #[error("--peak {0}: this peak is given twice")]
    PeakTwice(String),
    /// A filter is no regular expression.
    #[error(transparent)]
    Filter(#[from] BadFilter),
    /// Settings from elsewhere than the command line cannot be obeyed.
    #[error("{error} ({})", places.join(", "))]
    Placed {
        /// The error.
        error: Box<Self>,
        /// The origins of the flags that it names, in words.
        places: Vec<String>,
    },
    /// Two formats have the same destination.
    #[error(transparent)]
    SamePlace(#[from] SamePlace),
}

/// Returns the reason that nothing is verified beside a flag.
fn not_verified(beside: &str) -> &'static str {
    match beside {
        "--in-process" => {
            "tracing leaves something behind, so that each check needs a process that ends; leave out one of them"
        }
        _ => "launches that take turns are not traced; verify the two benchmarks in a run without it",
    }
}
