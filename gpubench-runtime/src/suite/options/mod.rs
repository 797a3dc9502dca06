//! The settings of a measurement, as a program or a command line gives them. In: flags, environment variables or calls.
//! Out: valid [`MeasureOptions`], or an [`OptionsError`] that names the flag.

mod builder;
mod error;
mod sampling;
mod share;
mod tune;

use std::path::PathBuf;
use std::time::Duration;

pub(crate) use self::error::OptionsError;
pub(crate) use self::sampling::SamplingOptions;
pub use self::share::ShareChoice;
pub(crate) use self::tune::TuneOptions;

pub(crate) use self::sampling::is_fraction;

use crate::device::ClockTarget;
use crate::plan::Selection;
use gpubench_records::baseline::{BaselineOptions, Place};
use gpubench_records::certificate::Verifiers;
use gpubench_records::comparison::Threshold;
use gpubench_records::facts::Peak;
use gpubench_records::files::is_name_of_run;
use gpubench_records::sampling::Sampling;
use gpubench_records::selection::NoArg;

/// The cases to measure, and the way to measure them: what the flags of a suite's command line say, in types.
///
/// Each method has a flag, and the same default where it is not called. [`Suite::measure`](crate::Suite::measure) refuses what its flag would not take.
///
/// ```
/// use gpubench_runtime::MeasureOptions;
/// use gpubench_records::method::Cache;
///
/// let options = MeasureOptions::default()
///     .exact("my_kernels::saxpy[n=1048576]")
///     .arg("n", [1 << 20])
///     .cache(Cache::Cold)
///     .precision(0.01);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MeasureOptions {
    /// The selection of cases.
    pub(crate) selection: Selection,
    /// The devices, in the words of `--device`; the first GPU or this machine's CPU if `None`.
    pub(crate) device: Option<String>,
    /// The sampling of cases.
    pub(crate) sampling: SamplingOptions,
    /// Peaks that override the known ones of a device.
    pub(crate) peaks: Vec<Peak>,
    /// The folder for measured ceilings, if not the user's cache.
    pub(crate) cache_dir: Option<PathBuf>,
    /// The file with the user's peaks, if not the nearest of the default name.
    pub(crate) config: Option<PathBuf>,
    /// The wall time a case may take; 60 s, or the benchmark's own if `None`.
    pub(crate) timeout: Option<Duration>,
    /// The clock to lock GPUs to for the run.
    pub(crate) lock_clocks: Option<ClockTarget>,
    /// True to refuse a GPU that another suite is measuring, rather than wait for it.
    pub(crate) no_wait: bool,
    /// True to measure nothing side by side.
    pub(crate) one_at_a_time: bool,
    /// True to measure in this process.
    pub(crate) in_process: bool,
    /// The other clocks that times are checked by, behind all samples of a case.
    pub(crate) verifiers: Verifiers,
    /// The library of CUPTI, if not the first in the usual places.
    pub(crate) cupti: Option<PathBuf>,
    /// The number of times to measure everything, each time in a new process; 1 if `None`.
    pub(crate) runs: Option<usize>,
    /// The baseline to compare the run with, by its name or its file.
    pub(crate) baseline: Option<String>,
    /// The name or the file of the baseline to store the run as.
    pub(crate) save_baseline: Option<String>,
    /// The slowdown from which on a case is a regression.
    pub(crate) threshold: Option<Threshold>,
    /// The run to resume, or `last`.
    pub(crate) resume: Option<String>,
    /// The folder for runs in progress.
    pub(crate) runs_dir: RunsDir,
    /// The folder of the history that the run is added to.
    pub(crate) history: Option<PathBuf>,
    /// The share of the cases to measure.
    pub(crate) share: ShareChoice,
    /// The stored run whose times balance the shares, rather than one time for all cases.
    pub(crate) share_times: Option<String>,
}

/// The most repetitions of a run: a mistyped number should not measure for years.
const MOST_RUNS: usize = 10_000;

/// The folder for runs in progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunsDir {
    /// The default folder of this program.
    #[default]
    Usual,
    /// In this one.
    In(PathBuf),
    /// Nowhere.
    Nowhere,
}

/// The default limit for a case.
const TIMEOUT: Duration = Duration::from_secs(60);

impl MeasureOptions {
    /// Checks the options, as `Suite::measure` does before anything else.
    ///
    /// # Errors
    /// Returns an [`OptionsError`] if an option is impossible, or contradicts another.
    pub(crate) fn validate(&self) -> Result<(), OptionsError> {
        self.sampling.validate()?;
        self.validate_for_stored_run()?;
        let compared = self.selection.compare_with.is_some();
        if self.threshold.is_some() && self.baseline.is_none() && !compared {
            return Err(OptionsError::NoReference);
        }
        if self.runs == Some(0) {
            return Err(OptionsError::Zero { flag: "--runs" });
        }
        if self.repeats() > MOST_RUNS {
            return Err(OptionsError::Runs { most: MOST_RUNS });
        }
        self.validate_verifiers(compared)?;
        if self.repeats() > 1 && compared {
            return Err(OptionsError::RepeatedComparison);
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(OptionsError::Timeout(0.0));
        }
        if self.resume.is_some() && self.repeats() > 1 {
            return Err(OptionsError::ResumedRepetition);
        }
        if self.resume.is_some() && self.runs_dir == RunsDir::Nowhere {
            return Err(OptionsError::ResumedFromNowhere);
        }
        Ok(())
    }

    /// Checks that times can be checked by other clocks.
    fn validate_verifiers(&self, compared: bool) -> Result<(), OptionsError> {
        let beside = match self.verifiers {
            verifiers if !verifiers.any() => return Ok(()),
            _ if compared => "--compare-with",
            _ if self.in_process => "--in-process",
            _ => return Ok(()),
        };
        Err(OptionsError::NotVerified { beside })
    }

    /// Checks the options that apply to a stored run as well: its cases, and what it is compared with.
    pub(crate) fn validate_for_stored_run(&self) -> Result<(), OptionsError> {
        self.device.as_deref().map_or(Ok(()), validate_device)?;
        validate_threshold(self.threshold)?;
        for (flag, name) in [("--baseline", &self.baseline), ("--save-baseline", &self.save_baseline)] {
            if let Some(name) = name.as_ref().filter(|name| !is_baseline_name(name)) {
                return Err(OptionsError::BaselineName { flag, name: name.clone() });
            }
        }
        if let Some(name) = self.save_baseline.as_ref().filter(|name| is_name_of_run(name)) {
            return Err(OptionsError::BaselineIsRun(name.clone()));
        }
        for (name, values) in &self.selection.cases.args {
            if name.is_empty() || values.is_empty() || values.iter().any(String::is_empty) {
                return Err(NoArg(format!("{name}={}", values.join(","))).into());
            }
        }
        let partner = self.selection.compare_with.as_ref();
        match partner.filter(|partner| partner.benchmark.is_empty()) {
            Some(partner) => Err(OptionsError::Partner(partner.to_string())),
            None => Ok(()),
        }
    }

    /// Returns the rules of sampling that these options ask for.
    #[must_use]
    pub(crate) fn sampling(&self) -> Sampling {
        self.sampling.rules(self.threshold)
    }

    /// Returns the wall time that a case may take, unless its benchmark has a limit of its own.
    pub(crate) fn time_limit(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// Returns the number of times to measure everything.
    pub(crate) fn repeats(&self) -> usize {
        self.runs.unwrap_or(1)
    }

    /// Returns the places of the baselines.
    pub(crate) fn baselines(&self) -> BaselineOptions {
        let place = |name: &Option<String>| name.as_deref().map(Place::of);
        BaselineOptions { against: place(&self.baseline), save: place(&self.save_baseline) }
    }
}

fn validate_device(device: &str) -> Result<(), OptionsError> {
    let names: Vec<&str> = device.split(',').map(str::trim).collect();
    if names.iter().any(|name| name.is_empty()) {
        return Err(OptionsError::UnnamedDevice(device.to_owned()));
    }
    if names.len() > 1 && names.contains(&"all") {
        return Err(OptionsError::AllAndOthers(device.to_owned()));
    }
    Ok(())
}

fn validate_threshold(threshold: Option<Threshold>) -> Result<(), OptionsError> {
    match threshold {
        Some(Threshold::Part(part)) if !is_fraction(part) => {
            Err(OptionsError::Threshold(format!("{}%", 100.0 * part)))
        }
        _ => Ok(()),
    }
}

/// Returns false for a name that begins with a point: it is hidden, or leads out of the folder.
fn is_baseline_name(name: &str) -> bool {
    !name.is_empty() && (name.contains('/') || !name.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::units::Nanoseconds;

    fn refused(options: MeasureOptions) -> String {
        options.validate().expect_err("it is wrong").to_string()
    }

    #[test]
    fn what_a_program_sets_is_checked_as_flags_are() {
        let options = MeasureOptions::default;
        assert!(options().validate().is_ok());
        for (wrong, text) in [
            (options().precision(0.0), "--precision 0%: give a percentage above 0, such as 0.5%"),
            (options().samples(0), "--samples 0: give at least 1"),
            (
                options().samples(12_000_000),
                "--samples 12000000: give at most 1000000, which a stored record can have",
            ),
            (options().runs(0), "--runs 0: give at least 1"),
            (options().runs(10_001), "--runs: give at most 10000"),
            (options().warm_up(Nanoseconds::from_seconds(f64::NAN)), "--warmup NaN: give seconds, 0 or more"),
            (
                options().warm_up(Nanoseconds::from_seconds(0.1)).warm_up_launches(9),
                "--warmup and --warmup-launches: give one of them",
            ),
            (options().timeout(Duration::ZERO), "--timeout 0: give seconds above 0"),
            (
                options().arg("n", [] as [usize; 0]),
                "--arg n=: give a name and its values, such as n=1024,4096",
            ),
            (options().baseline(".."), "--baseline `..`: give a name, or a path with a `/` in it"),
            (
                options().save_baseline("last"),
                "--save-baseline `last`: a run is meant by this name, such as `last`, its number or its time; give another name",
            ),
            (
                options().save_baseline("12"),
                "--save-baseline `12`: a run is meant by this name, such as `last`, its number or its time; give another name",
            ),
            (
                options().fail_on_regression(Threshold::Noise),
                "--fail-on-regression: say against what, by --baseline or --compare-with",
            ),
            (
                options().min_time(Nanoseconds::from_seconds(2.0)).max_time(Nanoseconds::from_seconds(1.0)),
                "--min-time 2 is more than --max-time 1: lower one or raise the other",
            ),
            (
                options().runs(2).compare_with("sum"),
                "--runs: a comparison by --compare-with makes rounds of its own",
            ),
            (
                options().resume("last").runs(2),
                "--resume and --runs: a run of several processes cannot go on; leave out --resume to measure it anew",
            ),
        ] {
            assert_eq!(refused(wrong), text);
        }
    }

    #[test]
    fn devices_have_names_and_all_stands_alone() {
        for empty in ["", " ", "0,", "host,,0"] {
            assert!(
                refused(MeasureOptions::default().device(empty))
                    .starts_with(&format!("--device `{empty}`: give GPUs by"))
            );
        }
        for all in ["all,0", "host, all"] {
            assert!(
                refused(MeasureOptions::default().device(all))
                    .contains("`all` is every device; give `all` alone")
            );
        }
        for right in ["all", "0", "0, 2", "host"] {
            assert!(MeasureOptions::default().device(right).validate().is_ok());
        }
    }

    #[test]
    fn the_order_of_calls_does_not_matter() {
        let rules = MeasureOptions::default().max_time(Nanoseconds::from_seconds(1.0)).quick().sampling();
        assert_eq!(
            rules,
            MeasureOptions::default().quick().max_time(Nanoseconds::from_seconds(1.0)).sampling()
        );
        assert_eq!((rules.max_time, rules.energy), (Nanoseconds::from_seconds(1.0), Some(false)));
        assert_eq!(MeasureOptions::default().sampling(), Sampling::USUAL);
    }
}
