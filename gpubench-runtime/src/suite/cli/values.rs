//! Values on the command line. In: text such as `0.5%` or `sum[BLOCK=128]`. Out: the value, or an
//! [`OptionsError`] that says what to write.

use std::time::Duration;

use crate::device::ClockTarget;
use crate::suite::options::OptionsError;
use gpubench_records::comparison::{NoThreshold, Threshold};
use gpubench_records::id::{Arg, BenchmarkId};
use gpubench_records::selection::split_outside_brackets;

/// Reads `0.5%` or `0.5` as 0.005.
pub(super) fn parse_percent(flag: &'static str, text: &str) -> Result<f64, OptionsError> {
    Threshold::part(text).ok_or_else(|| OptionsError::Percentage { flag, given: text.to_owned() })
}

/// Reads `5%`, or `noise`.
pub(super) fn parse_threshold(text: &str) -> Result<Threshold, OptionsError> {
    text.parse().map_err(|NoThreshold| OptionsError::Threshold(text.to_owned()))
}

/// Reads the limit of a case, in seconds.
pub(super) fn parse_timeout(seconds: f64) -> Result<Duration, OptionsError> {
    let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
    limit.ok_or(OptionsError::Timeout(seconds))
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
    fn percentages_are_read_as_written() {
        assert_eq!(Threshold::part("0.5%"), Some(0.005));
        assert_eq!(Threshold::part("2"), Some(0.02));
        assert_eq!([Threshold::part("0%"), Threshold::part("x"), Threshold::part("-1")], [None; 3]);
    }
}
