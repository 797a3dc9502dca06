//! Values on the command line. In: text such as `0.5%` or `sum[BLOCK=128]`. Out: the value, or an
//! [`OptionsError`] that says what to write.

use std::time::Duration;

use crate::device::ClockTarget;
use crate::suite::options::OptionsError;
use gpubench_records::comparison::{NoThreshold, Threshold};
use gpubench_records::id::{Arg, BenchmarkId};
use gpubench_records::selection::split_outside_brackets;
use gpubench_stats::units::Nanoseconds;

/// Reads `0.5%` or `0.5` as 0.005.
pub(super) fn parse_percent(flag: &'static str, text: &str) -> Result<f64, OptionsError> {
    Threshold::part(text).ok_or_else(|| OptionsError::Percentage { flag, given: text.to_owned() })
}

/// Reads `5%`, or `noise`.
pub(super) fn parse_threshold(text: &str) -> Result<Threshold, OptionsError> {
    text.parse().map_err(|NoThreshold| OptionsError::Threshold(text.to_owned()))
}

/// The units of a time: the seconds that a number of them is, both whole, as a product of tenths is not exact.
const UNITS: [(&str, f64, f64); 8] = [
    ("s", 1.0, 1.0),
    ("ms", 1.0, 1e3),
    ("us", 1.0, 1e6),
    ("µs", 1.0, 1e6),
    ("ns", 1.0, 1e9),
    ("m", 60.0, 1.0),
    ("min", 60.0, 1.0),
    ("h", 3600.0, 1.0),
];

/// Reads `500ms`, `2 min`, or a number of seconds.
pub(super) fn parse_time(flag: &'static str, text: &str) -> Result<Nanoseconds, OptionsError> {
    let seconds = seconds(text).ok_or_else(|| OptionsError::Time { flag, given: text.to_owned() })?;
    Ok(Nanoseconds::from_seconds(seconds))
}

/// Reads the limit of a case.
pub(super) fn parse_timeout(text: &str) -> Result<Duration, OptionsError> {
    let wrong = || OptionsError::Time { flag: "--timeout", given: text.to_owned() };
    let seconds = seconds(text).ok_or_else(wrong)?;
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
    limit.ok_or(OptionsError::Timeout(seconds))
}

/// Reads the time of all races.
pub(super) fn parse_budget(text: &str) -> Result<Duration, OptionsError> {
    let wrong = || OptionsError::Time { flag: "--budget", given: text.to_owned() };
    let budget = seconds(text).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    budget.filter(|budget| !budget.is_zero()).ok_or_else(wrong)
}

fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    // Not a number and infinity are refused with the other times that are none.
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let unit = text.find(|letter: char| letter.is_alphabetic())?;
    let (number, unit) = text.split_at(unit);
    let (_, seconds, units) = UNITS.iter().find(|(name, ..)| *name == unit)?;
    number.trim_end().parse::<f64>().ok().map(|number| number * seconds / units)
}

/// Reads `base`, `max` or a clock in MHz.
pub(super) fn parse_clocks(text: &str) -> Result<ClockTarget, OptionsError> {
    text.parse().map_err(|why: <ClockTarget as std::str::FromStr>::Err| OptionsError::ClockTarget {
        given: text.to_owned(),
        why: why.into(),
    })
}

/// Reads `sum`, or `sum[BLOCK=128, n=1024]` in the form of case names.
pub(super) fn parse_partner(text: &str) -> Result<BenchmarkId, OptionsError> {
    let named = text.strip_suffix(']').and_then(|text| text.split_once('[')).unwrap_or((text, ""));
    let (benchmark, args) = (named.0.trim(), named.1);
    let args = split_outside_brackets(args, ',').into_iter().filter(|arg| !arg.trim().is_empty());
    let args: Option<Vec<Arg>> = args
        .map(|arg| {
            let (name, value) = arg.split_once('=')?;
            Some(Arg { name: name.trim().to_owned(), value: value.trim().to_owned() })
        })
        .collect();
    match args {
        Some(args) if !benchmark.is_empty() => Ok(BenchmarkId { benchmark: benchmark.to_owned(), args }),
        _ => Err(OptionsError::Partner(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, expected) in [
            ("2", 2.0),
            ("0.5", 0.5),
            ("500ms", 0.5),
            ("1.5 s", 1.5),
            ("20us", 2e-5),
            ("20 µs", 2e-5),
            ("7ns", 7e-9),
            ("2min", 120.0),
            ("2m", 120.0),
            ("1h", 3600.0),
            ("1e-3", 1e-3),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "fast", "ms", "5 parsecs", "1 2s", "500MS", "0x10"] {
            let told = parse_time("--warmup", text).expect_err("it is no time").to_string();
            assert!(told.starts_with(&format!("--warmup {text}: give a time")), "{told}");
        }
    }

    #[test]
    fn percentages_are_read_as_written() {
        assert_eq!(Threshold::part("0.5%"), Some(0.005));
        assert_eq!(Threshold::part("2"), Some(0.02));
        assert_eq!([Threshold::part("0%"), Threshold::part("x"), Threshold::part("-1")], [None; 3]);
    }
}
