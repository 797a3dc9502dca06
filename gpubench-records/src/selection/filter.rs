//! A filter of names. In: text as a command line gives it. Out: true for each name that it takes. `/sum.*n=1024/` is a regular
//! expression, anything else a part of the name.

use serde::{Deserialize, Serialize};

use regex_lite::Regex;

/// A part of a name, or a pattern for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameFilter {
    /// A part of the name; the whole name where names are exact.
    Text(String),
    /// A regular expression that a part of the name matches.
    Pattern(Pattern),
}

/// A regular expression.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl TryFrom<String> for Pattern {
    type Error = BadFilter;

    fn try_from(pattern: String) -> Result<Self, BadFilter> {
        Regex::new(&pattern).map(Self).map_err(|error| BadFilter { pattern, why: error.to_string() })
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

/// A filter between slashes that is not a valid regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the filter `/{pattern}/` is not a valid regular expression: {why}")]
pub struct BadFilter {
    /// The text between the slashes.
    pub pattern: String,
    /// The reason.
    pub why: String,
}

impl NameFilter {
    /// Reads `/…/` as a regular expression and anything else as a part of a name.
    ///
    /// # Errors
    /// Returns an error if the regular expression is none.
    pub fn parse(text: &str) -> Result<Self, BadFilter> {
        match text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
            Some(pattern) => Pattern::try_from(pattern.to_owned()).map(Self::Pattern),
            None => Ok(Self::Text(text.to_owned())),
        }
    }

    /// Returns true if it takes this name; with `exact`, if it is the whole name.
    pub fn takes(&self, name: &str, exact: bool) -> bool {
        match self {
            Self::Text(text) if exact => text == name,
            Self::Text(text) => name.contains(text.as_str()),
            Self::Pattern(Pattern(regex)) => regex.is_match(name),
        }
    }
}

impl From<&str> for NameFilter {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl std::fmt::Display for NameFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Pattern(Pattern(regex)) => write!(f, "/{regex}/"),
        }
    }
}

#[cfg(test)]
mod tests {
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
        for filter in [NameFilter::from("/x/"), NameFilter::parse("/x/").expect("it is right")] {
            let stored = serde_json::to_string(&filter).expect("it is text");
            assert_eq!(serde_json::from_str::<NameFilter>(&stored).expect("it is read"), filter);
        }
    }
}
