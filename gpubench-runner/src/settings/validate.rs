//! Checks settings for impossible values and for conflicts.

use std::time::Duration;

use super::{ArgValues, Percent, RunsDir, Settings};
use crate::select::DEVICE_FORMS;
use gpubench_records::{Sampling, Threshold, files::is_name_of_run, sampling::MOST_SAMPLES};
use gpubench_table::check_columns;

/// The most repetitions of a run (`--runs`); more are refused, since a mistyped number should not measure for years.
pub(super) const MAX_RUNS: usize = 10_000;

impl Settings {
    /// Checks the settings.
    ///
    /// # Errors
    /// Returns an error if a value is impossible, or if two settings exclude each other. It names the flag and says what to give.
    pub(crate) fn validate(&self) -> Result<(), String> {
        self.validate_numbers()?;
        self.validate_names()?;
        self.validate_conflicts()?;
        self.selection().map(drop)
    }

    /// Checks percentages, counts and times for values out of range.
    fn validate_numbers(&self) -> Result<(), String> {
        let threshold = match self.fail_on_regression {
            Some(Threshold::Fraction(part)) => Some(Percent(100.0 * part)),
            _ => None,
        };
        for (flag, percent) in [
            ("--precision", self.precision),
            ("equivalence-margin", self.equivalence_margin),
            ("--fail-on-regression", threshold),
        ] {
            if let Some(wrong) = percent.filter(|percent| !percent.is_valid()) {
                return Err(format!("{flag} {}%: give a percentage above 0, such as 0.5%", wrong.0));
            }
        }
        for (flag, number, most) in
            [("--samples", self.samples, MOST_SAMPLES), ("--runs", self.runs, MAX_RUNS)]
        {
            if let Some(wrong) = number.filter(|number| *number == 0 || *number > most) {
                return Err(format!("{flag} {wrong}: give 1 to {most}"));
            }
        }
        let is_zero = |time: Option<Duration>| time.is_some_and(|time| time.is_zero());
        error_if(is_zero(self.timeout), "--timeout 0s: give a time above 0")?;
        error_if(is_zero(self.max_time), "--max-time 0s: give a time above 0")
    }

    /// Checks devices, arguments, baselines, columns, folders and peaks for names and values that are missing
    /// or cannot be used.
    fn validate_names(&self) -> Result<(), String> {
        self.device.as_deref().map_or(Ok(()), validate_device)?;
        if let Some(ArgValues { name, values }) = self.arg.iter().find(|arg| !arg.is_complete()) {
            let values = values.join(",");
            return Err(format!("--arg {name}={values}: give a name and its values, such as n=1024,4096"));
        }
        for (flag, name) in [("--baseline", &self.baseline), ("--save-baseline", &self.save_baseline)] {
            // A name that begins with a point is hidden, or leads out of the folder.
            let is_wrong = |name: &&String| name.is_empty() || (name.starts_with('.') && !name.contains('/'));
            if let Some(wrong) = name.as_ref().filter(is_wrong) {
                return Err(format!("{flag} `{wrong}`: give a name, or a path with a `/` in it"));
            }
        }
        if let Some(name) = self.save_baseline.as_ref().filter(|name| is_name_of_run(name)) {
            return Err(format!(
                "--save-baseline `{name}`: no baseline can be called `last` or a number, which mean stored runs: give another name"
            ));
        }
        check_columns(&self.columns)?;
        let has_no_name =
            matches!(&self.runs_dir, Some(RunsDir::In(folder)) if folder.as_os_str().is_empty());
        error_if(has_no_name, "--runs-dir: give a folder, or `none`")?;
        self.peaks.iter().try_for_each(|peak| peak.read().map(drop))
    }

    /// Checks for settings that exclude each other, and for a missing feature.
    fn validate_conflicts(&self) -> Result<(), String> {
        let Sampling { min_time, max_time, .. } = self.sampling();
        let (compared, repeated) = (self.compare_with.is_some(), self.repeats() > 1);
        let conflicts = [
            (
                min_time > max_time,
                "--min-time is more than --max-time: lower --min-time, or raise --max-time",
            ),
            (
                self.fail_on_regression.is_some() && self.baseline.is_none() && !compared,
                "--fail-on-regression needs --baseline or --compare-with",
            ),
            (
                repeated && compared,
                "--runs and --compare-with: a comparison repeats itself; leave out --runs",
            ),
            (
                repeated && self.in_process,
                "--runs and --in-process: each run needs a process of its own; leave out one of them",
            ),
            (
                repeated && self.resume.is_some(),
                "--resume and --runs: a run of several processes cannot be resumed; leave out --resume to measure it anew",
            ),
            (
                self.resume.is_some() && self.runs_dir == Some(RunsDir::Nowhere),
                "--resume needs a folder of runs: leave out `--runs-dir none`",
            ),
            (
                self.verify.is_some() && compared,
                "--verify and --compare-with: verify the two benchmarks in a run without --compare-with",
            ),
            (
                self.verify.is_some() && self.in_process,
                "--verify and --in-process: tracing needs a process of its own; leave out one of them",
            ),
            (
                self.verify.is_some() && !cfg!(feature = "verify"),
                "--verify `cupti` needs the feature `verify`: build with `--features gpubench/verify`, or add it to gpubench's features in Cargo.toml",
            ),
        ];
        let found = conflicts.into_iter().find(|(is_there, _)| *is_there);
        found.map_or(Ok(()), |(_, message)| Err(message.to_owned()))
    }
}

/// Returns `message` as an error if `is_wrong`.
fn error_if(is_wrong: bool, message: &str) -> Result<(), String> {
    if is_wrong { Err(message.to_owned()) } else { Ok(()) }
}

/// Checks a list of devices for empty names, and for `all` together with others.
fn validate_device(device: &str) -> Result<(), String> {
    let names: Vec<&str> = device.split(',').map(str::trim).collect();
    if names.contains(&"") {
        return Err(format!("--device `{device}`: give {DEVICE_FORMS}; several with commas between them"));
    }
    if names.len() > 1 && names.contains(&"all") {
        return Err(format!(
            "--device {device}: `all` is every device; give `all` alone, or the devices by name"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::Verifier;
    use gpubench_stats::Nanoseconds;

    fn usual() -> Settings {
        Settings::default()
    }

    #[test]
    fn impossible_settings_are_refused_with_what_to_give() {
        assert_eq!(usual().validate(), Ok(()));
        let some = |name: &str| Some(name.to_owned());
        let compare_with = || Some("sum".parse().expect("a name"));
        for (wrong, text) in [
            (
                Settings { precision: Some(Percent(0.0)), ..usual() },
                "--precision 0%: give a percentage above 0",
            ),
            (Settings { samples: Some(0), ..usual() }, "--samples 0: give 1 to 1000000"),
            (Settings { samples: Some(12_000_000), ..usual() }, "--samples 12000000: give 1 to 1000000"),
            (Settings { runs: Some(0), ..usual() }, "--runs 0: give 1 to 10000"),
            (Settings { timeout: Some(Duration::ZERO), ..usual() }, "--timeout 0s: give a time above 0"),
            (
                Settings { arg: vec![ArgValues::new("n", [""; 0])], ..usual() },
                "--arg n=: give a name and its values",
            ),
            (Settings { baseline: some(".."), ..usual() }, "--baseline `..`: give a name, or a path"),
            (
                Settings { save_baseline: some("last"), ..usual() },
                "--save-baseline `last`: no baseline can be called `last` or a number",
            ),
            (
                Settings { save_baseline: some("12"), ..usual() },
                "--save-baseline `12`: no baseline can be called `last` or a number",
            ),
            (
                Settings { fail_on_regression: Some(Threshold::Noise), ..usual() },
                "--fail-on-regression needs --baseline or --compare-with",
            ),
            (
                Settings {
                    min_time: Some(Duration::from_secs(4)),
                    max_time: Some(Duration::from_secs(1)),
                    ..usual()
                },
                "--min-time is more than --max-time",
            ),
            (
                Settings { runs: Some(2), compare_with: compare_with(), ..usual() },
                "--runs and --compare-with",
            ),
            (Settings { runs: Some(2), resume: some("last"), ..usual() }, "--resume and --runs"),
            (
                Settings { verify: Some(Verifier::Cupti), in_process: true, ..usual() },
                "--verify and --in-process",
            ),
            (
                Settings { filter: vec!["/(/".into()], ..usual() },
                "the filter `/(/` is not a valid regular expression",
            ),
        ] {
            let told = wrong.validate().expect_err("it is wrong").to_string();
            assert!(told.starts_with(text), "{told}");
        }
    }

    #[test]
    fn verify_needs_its_feature() {
        let validated = Settings { verify: Some(Verifier::Cupti), ..usual() }.validate();
        let is_named = validated.err().map(|error| error.contains("the feature `verify`"));
        assert_eq!(is_named, (!cfg!(feature = "verify")).then_some(true));
    }

    #[test]
    fn devices_have_names_and_all_is_alone() {
        let validated = |device: &str| Settings { device: Some(device.to_owned()), ..usual() }.validate();
        for wrong in ["", " ", "0,", "host,,0", "all,0", "host, all"] {
            assert!(validated(wrong).is_err(), "{wrong}");
        }
        for right in ["all", "0", "0, 2", "host"] {
            assert_eq!(validated(right), Ok(()));
        }
    }

    #[test]
    fn other_settings_come_before_those_of_quick() {
        assert_eq!(Settings::default().sampling(), Sampling::USUAL);
        let max_time = Some(Duration::from_secs(1));
        let rules = Settings { quick: Some(true), max_time, ..Settings::default() }.sampling();
        assert_eq!((rules.max_time, rules.energy), (Nanoseconds::from_seconds(1.0), Some(false)));
        assert_eq!((rules.extended_max_time, rules.benchmark_max_time), (Nanoseconds::ZERO, false));
    }
}
