//! The cases of a run that the user names: by filters of names, values of arguments, cache states and devices. Records do not
//! contain the attribute's options, such as tags.

use std::{iter, str::FromStr};

use gpubench_stats::format::joined;
use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use crate::text::{did_you_mean, printable, split_outside_brackets};
use crate::{Arg, Cache, id::shown_name};

/// The user's selection of cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseSelection {
    /// Parts of names or patterns, at least one of which a case must match; empty for all cases. Whole names
    /// with `exact`.
    pub filters: Vec<NameFilter>,
    /// True if `filters` and `skip` are whole names.
    pub exact: bool,
    /// Parts of names or patterns that a case must not match.
    pub skip: Vec<NameFilter>,
    /// The selected values of arguments, sorted by name. They do not exclude a case that lacks the argument.
    pub args: Vec<ArgValues>,
    /// The cache states, if not all.
    pub caches: Option<Vec<Cache>>,
    /// The devices in the words of the command line, if not all: numbers, names or UUIDs with commas between them, or `all`.
    pub device: Option<String>,
}

impl CaseSelection {
    /// Returns true if the filters and skips select a benchmark of this name, arguments included.
    pub fn matches(&self, name: &str) -> bool {
        let hit = |filter: &NameFilter| self.filter_matches(filter, name);
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skip.iter().any(hit)
    }

    /// Returns true if `filter` matches this name, either unchanged or as lists print it.
    pub fn filter_matches(&self, filter: &NameFilter, name: &str) -> bool {
        [name, &printable(name)].iter().any(|name| filter.takes(name, self.exact))
    }

    /// Returns true if the value of `arg` is selected, or if the selection does not restrict this argument.
    pub fn takes_value(&self, arg: &Arg) -> bool {
        let takes = |given: &ArgValues| given.values.iter().any(|value| is_value(value, &arg.value));
        self.args.iter().filter(|given| given.name == arg.name).all(takes)
    }

    /// Returns true if this benchmark with these arguments is selected, whatever the cache state and the
    /// device.
    pub fn takes_benchmark(&self, benchmark: &str, args: &[Arg]) -> bool {
        self.matches(&shown_name(benchmark, args)) && args.iter().all(|arg| self.takes_value(arg))
    }

    /// Returns true if cases in this cache state are selected.
    pub fn takes_cache(&self, cache: Cache) -> bool {
        self.caches.as_ref().is_none_or(|caches| caches.contains(&cache))
    }

    /// Returns a hint for a user whose filters match none of `benchmarks` (paths): a similar name, or the
    /// correct syntax. Empty if neither is found.
    pub fn hint<'a>(&self, benchmarks: &'a [String]) -> String {
        match self.filters.first() {
            Some(NameFilter::Text(text)) if text.contains(['*', '|', '^', '$', '\\']) => {
                ": a filter is a part of a name, or a regular expression between slashes, as in `/sum.*n=1024/`".to_owned()
            }
            Some(NameFilter::Text(text)) if self.exact => {
                let longer = benchmarks.iter().find(|path| path.contains(&**text));
                let longer = longer.map(|path| format!(", such as `{path}`")).unwrap_or_default();
                format!(": --exact takes whole names{longer}")
            }
            Some(NameFilter::Text(text)) => {
                let shorter = |path: &&'a str| Some(path.split_once("::")?.1);
                let names = benchmarks.iter().flat_map(|path| iter::successors(Some(&**path), shorter));
                did_you_mean(text, names)
            }
            _ => String::new(),
        }
    }

    /// Returns up to two phrases about names: one for all filters, and one for all skips.
    pub fn describe_names(&self) -> Vec<String> {
        let mut words = Vec::new();
        if !self.filters.is_empty() {
            words.push(format!("`{}`", joined(&self.filters, "` or `")));
        }
        if !self.skip.is_empty() {
            words.push(format!("without `{}`", joined(&self.skip, "` and `")));
        }
        words
    }
}

/// Returns true if `wanted`, a list of names with commas between them, contains a name of the device:
/// `device`, its `uuid`, its kind, or its number. `all` is not understood here.
pub fn names_device(wanted: &str, device: &str, uuid: Option<&str>) -> bool {
    let (kind, number) = device.split_once(':').unzip();
    let named = |name: &str| [Some(device), uuid, kind, number].contains(&Some(name));
    wanted.split(',').map(str::trim).any(named)
}

/// A part of a name, or a pattern for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum NameFilter {
    /// A part of the name, or the whole name if names are exact.
    #[error("{0}")]
    Text(String),
    /// A regular expression that a part of the name matches. It is compiled for each name, in some microseconds.
    #[error("/{0}/")]
    Pattern(String),
}

impl NameFilter {
    /// Reads `/…/` as a regular expression and anything else as a part of a name.
    ///
    /// # Errors
    /// Returns an error if the regular expression is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(pattern) = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) else {
            return Ok(Self::Text(text.to_owned()));
        };
        let valid = Regex::new(pattern).map(|_| Self::Pattern(pattern.to_owned()));
        valid.map_err(|error| format!("the filter `{text}` is not a valid regular expression: {error}"))
    }

    /// Returns true if this filter matches `name`; with `exact`, a text must be the whole name. An invalid pattern matches nothing.
    pub fn takes(&self, name: &str, exact: bool) -> bool {
        match self {
            Self::Text(text) if exact => text == name,
            Self::Text(text) => name.contains(text.as_str()),
            Self::Pattern(pattern) => Regex::new(pattern).is_ok_and(|regex| regex.is_match(name)),
        }
    }
}

/// An argument of a benchmark and its values, as in `n=1024,4096`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgValues {
    /// The name of the argument.
    pub name: String,
    /// Its values, as the user wrote them.
    pub values: Vec<String>,
}

/// The error message for text that is not an argument with its values.
const ARG_VALUES_USAGE: &str = "give a name and its values, such as n=1024,4096";

impl ArgValues {
    /// Creates the values of the argument `name`, which replace the benchmark's own.
    pub fn new<V: ToString>(name: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        Self { name: name.into(), values: values.into_iter().map(|value| value.to_string()).collect() }
    }

    /// Returns true if the name and all values are not empty, and there is at least one value.
    pub fn is_complete(&self) -> bool {
        !self.name.is_empty() && !self.values.is_empty() && !self.values.iter().any(String::is_empty)
    }

    /// Merges entries of the same name: joins their values in order. Sorts the result by name.
    pub fn by_name(args: &[Self]) -> Vec<Self> {
        let mut collected: Vec<Self> = Vec::new();
        for arg in args {
            match collected.binary_search_by(|known| known.name.cmp(&arg.name)) {
                Ok(place) => collected[place].values.extend_from_slice(&arg.values),
                Err(place) => collected.insert(place, arg.clone()),
            }
        }
        collected
    }
}

impl FromStr for ArgValues {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, values) = text.split_once('=').ok_or(ARG_VALUES_USAGE)?;
        let values = split_outside_brackets(values, ',').into_iter().map(str::trim);
        Some(Self::new(name.trim(), values)).filter(Self::is_complete).ok_or(ARG_VALUES_USAGE)
    }
}

/// Reads filters. A text may contain several, with commas between them. With `exact`, each text is one whole
/// name, which may contain commas.
///
/// # Errors
/// Returns an error if a filter has the form `/…/` and is not a valid regular expression.
pub fn parse_filters(given: &[String], exact: bool) -> Result<Vec<NameFilter>, String> {
    if exact {
        return Ok(given.iter().cloned().map(NameFilter::Text).collect());
    }
    given.iter().flat_map(|names| split_names(names)).map(|name| NameFilter::parse(&name)).collect()
}

/// Splits names at commas. Two kinds of commas do not split: those before a space, as in `f[n=1, m=2]`, and
/// those within the slashes of a regular expression, as in `/f{1,2}/`.
pub fn split_names(names: &str) -> Vec<String> {
    let is_open = |name: &str| name.starts_with('/') && (name.len() == 1 || !name.ends_with('/'));
    let mut split: Vec<String> = Vec::new();
    for part in names.split(',') {
        match split.last_mut() {
            Some(last) if part.starts_with(' ') => *last = format!("{last},{part}"),
            // A comma that ends the text is part of a name that goes on, as in `f[n=1,`, or separates nothing: an empty name would
            // take all.
            Some(last) if part.is_empty() => {
                if last.contains('[') && !last.contains(']') {
                    last.push(',');
                }
            }
            Some(last) if is_open(last) && names.matches('/').count() > 1 => *last = format!("{last},{part}"),
            _ => split.push(part.to_owned()),
        }
    }
    split
}

/// The suffixes of numbers with their factors, longest first. A `B` may follow.
const SUFFIXES: [(&str, u128); 9] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

/// Converts a number with a suffix, or a power of two, to digits, such as `1M` to `1000000` and `2^10` to
/// `1024`. `None` for other text, for plain digits, and if the result is no whole number or too large.
pub fn amount(text: &str) -> Option<String> {
    if let Some(power) = text.strip_prefix("2^") {
        return 1_u64.checked_shl(power.parse().ok()?).map(|amount| amount.to_string());
    }
    let bare = text.strip_suffix('B').unwrap_or(text);
    let (number, factor) =
        SUFFIXES.iter().find_map(|(suffix, factor)| Some((bare.strip_suffix(suffix)?, *factor)))?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > 12 || !digits(whole) || !digits(part) {
        return None;
    }
    let scale = 10_u128.pow(u32::try_from(part.len()).ok()?);
    let amount = format!("{whole}{part}").parse::<u128>().ok()?.checked_mul(factor)?;
    (amount % scale == 0).then(|| (amount / scale).to_string())
}

/// Returns true if `given` is the text `value`, or a number with a suffix that equals it.
pub fn is_value(given: &str, value: &str) -> bool {
    given == value || amount(given).as_deref() == Some(value)
}

#[cfg(test)]
mod selection_tests {
    use super::*;

    fn selection(filters: &[&str], exact: bool, skip: &[&str]) -> CaseSelection {
        let owned = |names: &[&str]| names.iter().map(|name| NameFilter::Text((*name).to_owned())).collect();
        CaseSelection { filters: owned(filters), exact, skip: owned(skip), ..CaseSelection::default() }
    }

    #[test]
    fn names_are_parts_or_whole() {
        let args = [Arg { name: "n".to_owned(), value: "4".to_owned() }];
        let takes = |selection: &CaseSelection| selection.takes_benchmark("a::copy", &args);
        assert!(takes(&selection(&[], false, &[])) && takes(&selection(&["x", "copy[n"], false, &[])));
        assert!(
            !takes(&selection(&["copy"], false, &["n=4"])) && !takes(&selection(&["a::copy"], true, &[]))
        );
        assert!(takes(&selection(&["a::copy[n=4]"], true, &["n=4"])));
        let with = |value: &str| CaseSelection {
            args: vec![ArgValues::new("n", [value])],
            ..CaseSelection::default()
        };
        assert!(takes(&with("4")) && !takes(&with("8")));
    }

    #[test]
    fn devices_are_named_by_number_name_or_uuid() {
        for wanted in ["1", "cuda:1", "GPU-7", "0, 1"] {
            assert!(names_device(wanted, "cuda:1", Some("GPU-7")), "{wanted}");
        }
        assert!(!names_device("0,host", "cuda:1", Some("GPU-7")));
        assert!(names_device("host,cuda", "cuda:1", None) && names_device("host", "host", None));
        assert!(!names_device("", "host", None) && !names_device("cud", "cuda:1", None));
    }
}

#[cfg(test)]
mod filter_tests {
    use super::*;

    #[test]
    fn text_between_slashes_is_a_pattern() {
        let takes =
            |filter: &str, name: &str| NameFilter::parse(filter).expect("it is right").takes(name, false);
        assert!(takes("/sum.*n=(1|2)]$/", "a::sum[n=2]") && !takes("/^sum/", "a::sum[n=2]"));
        assert!(takes("/", "a/b") && takes("a/b", "a/b/c") && takes("//", "anything"));
        let told = NameFilter::parse("/sum[/").expect_err("a bracket is open").to_string();
        assert!(told.starts_with("the filter `/sum[/` is not a valid regular expression: "), "{told}");
    }

    #[test]
    fn a_filter_is_stored_as_what_it_is() {
        for filter in [NameFilter::Text("/x/".to_owned()), NameFilter::parse("/x/").expect("it is right")] {
            let stored = serde_json::to_string(&filter).expect("it is text");
            assert_eq!(serde_json::from_str::<NameFilter>(&stored).expect("it is read"), filter);
        }
    }
}

#[cfg(test)]
mod given_tests {
    use super::*;

    #[test]
    fn names_are_split_between_them_and_not_within() {
        assert_eq!(split_names("copy,f[n=1, m=2],sum"), ["copy", "f[n=1, m=2]", "sum"]);
        assert_eq!(split_names("copy,/f{1,2}$/,sum"), ["copy", "/f{1,2}$/", "sum"]);
        assert_eq!(split_names("/a,b"), ["/a", "b"]);
        assert_eq!(split_names("f[n=1,"), ["f[n=1,"]);
        assert_eq!(split_names("copy,"), ["copy"]);
        assert_eq!(split_names("copy,,sum"), ["copy", "sum"]);
        assert_eq!(split_names(""), [""]);
    }

    proptest::proptest! {
        /// Draws values from all characters that do not separate values.
        #[test]
        fn any_value_is_read_as_it_is_written(
            name in "[a-zA-Z_][a-zA-Z0-9_]{0,8}",
            values in proptest::collection::vec("[^,;\\[\\](){}<>\\s][^,;\\[\\](){}<>]{0,12}", 1..6),
        ) {
            let read = format!("{name}={}", values.join(",")).parse();
            proptest::prop_assert_eq!(read, Ok(ArgValues::new(name, values.iter().map(|value| value.trim()))));
        }
    }

    #[test]
    fn arguments_have_a_name_and_values() {
        assert_eq!("n=1, 2".parse(), Ok(ArgValues::new("n", [1, 2])));
        assert_eq!("T=[u8; 4], Pair<u8, f32>".parse(), Ok(ArgValues::new("T", ["[u8; 4]", "Pair<u8, f32>"])));
        assert!(["n", "=1", "n=", "n=1,,2"].iter().all(|text| text.parse::<ArgValues>().is_err()));
        let args = [("n", 1), ("m", 2), ("n", 3)].map(|(name, value)| ArgValues::new(name, [value]));
        assert_eq!(ArgValues::by_name(&args), [ArgValues::new("m", [2]), ArgValues::new("n", [1, 3])]);
    }
}

#[cfg(test)]
mod amount_tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, digits) in [
            ("1M", "1000000"),
            ("1Mi", "1048576"),
            ("2GiB", "2147483648"),
            ("64kB", "64000"),
            ("64K", "64000"),
            ("1.5k", "1500"),
            ("0.5Ki", "512"),
            ("2^20", "1048576"),
            ("3TiB", "3298534883328"),
        ] {
            assert_eq!(amount(text).as_deref(), Some(digits), "{text}");
        }
        for text in
            ["", "M", "1", "1m", "1.0001k", "-1k", "1e3k", "1 M", "2^64", "3^2", "B", "1MiBB", ".5k", "f32"]
        {
            assert_eq!(amount(text), None, "{text}");
        }
        assert!(is_value("1k", "1000") && is_value("1k", "1k") && !is_value("1k", "1024"));
    }
}
