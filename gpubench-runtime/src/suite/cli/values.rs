//! Values on the command line. In: text such as `0.5%`, `n=1024,4096` or `sum[BLOCK=128]`. Out: the value, or an
//! [`OptionsError`] that says what to write.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::device::ClockTarget;
use crate::suite::options::OptionsError;
use gpubench_records::comparison::{NoThreshold, Threshold};
use gpubench_records::id::{Arg, BenchmarkId};

/// Splits names at commas. Commas within a name, as in `f[n=1, m=2]`, are followed by a space.
pub(super) fn split_names(names: &str) -> Vec<String> {
    let mut split: Vec<String> = Vec::new();
    for part in names.split(',') {
        match split.last_mut() {
            Some(last) if part.starts_with(' ') => *last = format!("{last},{part}"),
            _ => split.push(part.to_owned()),
        }
    }
    split
}

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

/// Reads `n=1,2` as the name and its values. One environment variable holds several, with `;` between them.
pub(super) fn parse_args(given: &[String]) -> Result<BTreeMap<String, Vec<String>>, OptionsError> {
    let mut args: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for arg in given.iter().flat_map(|given| split_outside_brackets(given, ';')) {
        let (name, values) = arg.split_once('=').unwrap_or((arg, ""));
        let values: Vec<String> =
            split_outside_brackets(values, ',').into_iter().map(|value| value.trim().to_owned()).collect();
        if name.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(OptionsError::Arg(arg.to_owned()));
        }
        args.entry(name.trim().to_owned()).or_default().extend(values);
    }
    Ok(args)
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

/// Splits `text` at each `separator` outside brackets, such as those of `[u8; 4]` and `Pair<u8, u8>`.
fn split_outside_brackets(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ if letter == separator && depth == 0 => {
                parts.push(&text[begin..place]);
                begin = place + letter.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_between_them_and_not_within() {
        assert_eq!(split_names("copy,f[n=1, m=2],sum"), ["copy", "f[n=1, m=2]", "sum"]);
    }

    proptest::proptest! {
        /// Draws values from all characters that do not separate values.
        #[test]
        fn any_value_is_read_as_it_is_written(
            name in "[a-zA-Z_][a-zA-Z0-9_]{0,8}",
            values in proptest::collection::vec("[^,;\\[\\](){}<>\\s][^,;\\[\\](){}<>]{0,12}", 1..6),
        ) {
            let given = format!("{name}={}", values.join(","));
            let args = parse_args(&[given]).expect("it is well formed");
            let values: Vec<String> = values.iter().map(|value| value.trim().to_owned()).collect();
            proptest::prop_assert_eq!(args, BTreeMap::from([(name, values)]));
        }
    }

    #[test]
    fn percentages_and_args_are_read_as_written() {
        assert_eq!(Threshold::part("0.5%"), Some(0.005));
        assert_eq!(Threshold::part("2"), Some(0.02));
        assert_eq!([Threshold::part("0%"), Threshold::part("x"), Threshold::part("-1")], [None; 3]);
        let args = parse_args(&["n=1, 2".to_owned(), "m=a".to_owned(), "n=3".to_owned()]);
        let args = args.expect("all are well formed");
        assert_eq!(args["n"], ["1", "2", "3"]);
        assert_eq!(args["m"], ["a"]);
        let args = parse_args(&["T=[u8; 4], Pair<u8, f32>;n=1".to_owned()]).expect("both are well formed");
        assert_eq!(
            (&args["T"][..], &args["n"][..]),
            (&["[u8; 4]", "Pair<u8, f32>"].map(str::to_owned)[..], &["1".to_owned()][..])
        );
        assert!(["n", "=1", "n=", "n=1,,2"].iter().all(|arg| parse_args(&[(*arg).to_owned()]).is_err()));
    }
}
