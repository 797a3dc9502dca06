//! The names and arguments of a selection as a command line gives them. In: text such as `copy,sum` or `n=1024,4096`; out: names, or
//! values by the names of their arguments.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::filter::{BadFilter, NameFilter};
use crate::text::split_outside_brackets;

/// An argument of a benchmark and its values, as in `n=1024,4096`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgValues {
    /// The name of the argument.
    pub name: String,
    /// Its values as they are written.
    pub values: Vec<String>,
}

/// A text that is not an argument with its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give a name and its values, such as n=1024,4096")]
pub struct NoArg;

impl ArgValues {
    /// Replaces the values of the argument `name`.
    pub fn new<V: ToString>(name: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        Self { name: name.into(), values: values.into_iter().map(|value| value.to_string()).collect() }
    }

    /// Returns true if there are a name and values, none of them empty.
    pub fn is_complete(&self) -> bool {
        !self.name.is_empty() && !self.values.is_empty() && !self.values.iter().any(String::is_empty)
    }

    /// Collects the values of each argument.
    pub fn by_name(args: &[Self]) -> BTreeMap<String, Vec<String>> {
        let mut collected: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Self { name, values } in args {
            collected.entry(name.clone()).or_default().extend(values.iter().cloned());
        }
        collected
    }
}

impl FromStr for ArgValues {
    type Err = NoArg;

    fn from_str(text: &str) -> Result<Self, NoArg> {
        let (name, values) = text.split_once('=').ok_or(NoArg)?;
        let values = split_outside_brackets(values, ',').into_iter().map(str::trim);
        Some(Self::new(name.trim(), values)).filter(Self::is_complete).ok_or(NoArg)
    }
}

/// Reads filters, several in one text with commas between them. With `exact`, each text is one whole name, which may contain any
/// comma.
///
/// # Errors
/// Returns an error if one is `/…/` and no regular expression.
pub fn parse_filters(given: &[String], exact: bool) -> Result<Vec<NameFilter>, BadFilter> {
    if exact {
        return Ok(given.iter().cloned().map(NameFilter::Text).collect());
    }
    given.iter().flat_map(|names| split_names(names)).map(|name| NameFilter::parse(&name)).collect()
}

/// Splits names at commas. Commas within a name, as in `f[n=1, m=2]`, are followed by a space; those within a regular expression, as
/// in `/f{1,2}/`, stand between its slashes.
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

#[cfg(test)]
mod tests {
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
        let by_name = ArgValues::by_name(&args);
        assert_eq!(
            (&by_name["n"][..], &by_name["m"][..]),
            (&["1", "3"].map(str::to_owned)[..], &["2".to_owned()][..])
        );
    }
}
