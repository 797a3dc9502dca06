//! The formats of gpubench's files. In: JSON; out: its document, or the reason that this program cannot read it. The schema
//! is checked before any other field, so that a file of another version is reported as such and not as damaged.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::fault::Fault;

/// A format with its version. A change that an older reader would misread gets a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// The schema that files of it have.
    pub schema: &'static str,
    /// The sentence about a file that is something else.
    foreign: &'static str,
}

/// A run, as one JSON document or as JSON Lines.
pub const RUN: FileFormat = FileFormat { schema: "gpubench/3", foreign: "not a stored run" };
/// The measured ceilings of a device.
pub const CEILINGS: FileFormat =
    FileFormat { schema: "gpubench-ceilings/1", foreign: "these are no measured ceilings" };

/// The races of variants.
pub const TUNING: FileFormat = FileFormat { schema: "gpubench-tuning/2", foreign: "this is no tuning" };
/// A run in a history.
pub const HISTORY: FileFormat =
    FileFormat { schema: "gpubench-history/1", foreign: "this is no run of a history" };

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// It is something else, or damaged.
    #[error("{what}: {why}")]
    Foreign {
        /// The sentence that says so.
        what: &'static str,
        /// The first place that differs.
        why: Fault,
    },
    /// Its format is another one.
    #[error("its format is `{schema}`, not `{current}` (line {line}){}", by_newer(schema, current))]
    OtherSchema {
        /// The line that says so.
        line: usize,
        /// The schema of the file.
        schema: String,
        /// The schema that this program reads.
        current: &'static str,
    },
}

impl FormatError {
    /// Returns true for a file of a newer gpubench.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::OtherSchema { schema, current, .. } if !by_newer(schema, current).is_empty())
    }
}

impl FileFormat {
    /// Reads a document of this format. Its schema is at the top, or in the `run` that it begins with.
    ///
    /// # Errors
    /// If the file is of another format or version, or damaged.
    pub fn read<T: DeserializeOwned>(self, json: &[u8]) -> Result<T, FormatError> {
        self.read_behind(json, 0)
    }

    /// Returns true for a document that says it is of this format, of whatever version.
    #[must_use]
    pub fn is_format_of(self, json: &[u8]) -> bool {
        let name = |schema: &str| schema.split_once('/').map(|(name, _)| name.to_owned());
        schema_of(json)
            .is_some_and(|(schema, _)| name(&schema).is_some() && name(&schema) == name(self.schema))
    }

    /// Reads a document that begins on the line after `lines_before` others.
    pub(super) fn read_behind<T: DeserializeOwned>(
        self,
        json: &[u8],
        lines_before: usize,
    ) -> Result<T, FormatError> {
        self.check_schema(json, lines_before)?;
        serde_json::from_slice(json).map_err(|error| self.foreign(Fault::of(&error, json, lines_before)))
    }

    /// The error of a document that has this fault.
    pub(super) fn foreign(self, why: Fault) -> FormatError {
        FormatError::Foreign { what: self.foreign, why }
    }

    /// Refuses a document of another format or version. It begins on the line after `lines_before` others.
    pub(super) fn check_schema(self, json: &[u8], lines_before: usize) -> Result<(), FormatError> {
        let Some((schema, line)) = schema_of(json) else {
            return Err(self.foreign(Fault::without_schema(json, lines_before)));
        };
        if schema == self.schema {
            return Ok(());
        }
        Err(FormatError::OtherSchema { line: lines_before + line, schema, current: self.schema })
    }
}

/// Returns the remark that ends the sentence about a file of a newer version.
pub(super) fn by_newer(schema: &str, current: &str) -> &'static str {
    let version = |schema: &str| {
        let (name, version) = schema.split_once('/')?;
        Some((name.to_owned(), version.parse::<u64>().ok()?))
    };
    match (version(schema), version(current)) {
        (Some((theirs, newer)), Some((ours, version))) if theirs == ours && newer > version => {
            ": a newer gpubench wrote it; update gpubench to read it"
        }
        _ => "",
    }
}

/// Returns the schema of a document and its line. Nothing behind the schema is read.
fn schema_of(json: &[u8]) -> Option<(String, usize)> {
    let found = RefCell::new(None);
    // Ends with an error as soon as the schema is found.
    let ended = serde_json::Deserializer::from_slice(json).deserialize_map(SchemaVisitor { found: &found });
    Some((found.into_inner()?, ended.map_or_else(|error| error.line(), |()| 1)))
}

/// Stops at the first `schema`, at the top or within `run`.
struct SchemaVisitor<'a> {
    found: &'a RefCell<Option<String>>,
}

impl<'de> Visitor<'de> for SchemaVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a schema")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                "schema" => {
                    *self.found.borrow_mut() = Some(map.next_value()?);
                    return Err(M::Error::custom("found"));
                }
                "run" => map.next_value_seed(Within(Self { found: self.found }))?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Looks within an object.
struct Within<'a>(SchemaVisitor<'a>);

impl<'de> serde::de::DeserializeSeed<'de> for Within<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_map(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Document {
        schema: String,
        wanted: u32,
    }

    fn told(json: &str) -> String {
        RUN.read::<Document>(json.as_bytes()).expect_err("it is no such document").to_string()
    }

    #[test]
    fn the_format_of_a_document_is_told_by_its_schema_alone() {
        let is_tuning = |json: &str| TUNING.is_format_of(json.as_bytes());
        assert!(is_tuning(r#"{"schema": "gpubench-tuning/2", "wanted": 3}"#));
        assert!(is_tuning(r#"{"schema": "gpubench-tuning/9", cut off"#));
        assert!(!is_tuning(r#"{"schema": "gpubench/3"}"#) && !is_tuning(r#"{"schema": "gpubench-tuning"}"#));
        assert!(!is_tuning("") && !is_tuning("[]") && !is_tuning(r#"{"schema": 1}"#));
    }

    #[test]
    fn the_schema_is_looked_at_before_the_fields() {
        let read: Document = RUN.read(br#"{"schema": "gpubench/3", "wanted": 3}"#).expect("it is whole");
        assert_eq!(read, Document { schema: "gpubench/3".to_owned(), wanted: 3 });
        let newer = "its format is `gpubench/4`, not `gpubench/3` (line 1): a newer gpubench wrote it; update gpubench to read it";
        for json in [
            r#"{"schema": "gpubench/4"}"#,
            r#"{"schema": "gpubench/4", "wanted": "three"}"#,
            r#"{"other": [{"schema": 1}], "schema": "gpubench/4"}"#,
            r#"{"run": {"schema": "gpubench/4"}}"#,
            // What follows the schema may be anything.
            r#"{"schema": "gpubench/4", cut off"#,
            "{\"sch\\u0065ma\": \"gpubench/4\"}",
        ] {
            assert_eq!(told(json), newer, "{json}");
        }
        let third = "{\n\"other\":\n1,\n\"schema\": \"gpubench/4\",\n\"wanted\": 3}";
        assert_eq!(told(third), newer.replace("(line 1)", "(line 4)"));
        assert_eq!(
            told(r#"{"schema": "gpubench/1"}"#),
            "its format is `gpubench/1`, not `gpubench/3` (line 1)"
        );
        assert_eq!(
            told(r#"{"schema": "gpubench-ceilings/2"}"#),
            "its format is `gpubench-ceilings/2`, not `gpubench/3` (line 1)"
        );
        for (json, why) in [
            ("", "it is empty"),
            (" \n", "it is empty"),
            ("{", "line 1, column 1: it is cut off there"),
            ("{\n\"a\": [1,", "line 2, column 8: it is cut off there"),
            (r#"{"schema": "gpubench/3", "wanted"#, "line 1, column 32: it is cut off there"),
            ("name,time\ncopy,1\n", "line 1, column 2: it is not JSON (expected ident)"),
            (
                "{\"schema\": \"gpubench/3\",\n\"wanted\": 1e999}",
                "line 2, column 15: it is not JSON (number out of range)",
            ),
            ("[]", "line 1: a list without a `schema`, which each file of gpubench has"),
            ("\n\n{}", "line 3: an object without a `schema`, which each file of gpubench has"),
            (r#"{"schema": 7}"#, "line 1: an object without a `schema`, which each file of gpubench has"),
            ("\"x\"", "line 1: a text without a `schema`, which each file of gpubench has"),
            ("null", "line 1: a word without a `schema`, which each file of gpubench has"),
            ("-1", "line 1: a number without a `schema`, which each file of gpubench has"),
            (
                "{\"schema\": \"gpubench/3\",\n\"wanted\": 3.5\n}",
                "line 2, column 13: invalid type: floating point `3.5`, expected u32",
            ),
            (r#"{"schema": "gpubench/3"}"#, "line 1, column 24: missing field `wanted`"),
        ] {
            assert_eq!(told(json), format!("not a stored run: {why}"), "{json}");
        }
    }
}
