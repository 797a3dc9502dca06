//! The formats of gpubench's files. In: JSON; out: what it holds, or why this program cannot read it. The schema is looked at
//! before any other field, so that a file of a newer gpubench is reported as such and not as a damaged one, and one of an
//! older is upgraded first.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::upgrade;

/// A format with its version. A change that an older reader would misread gets a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// The schema that files of it have.
    pub schema: &'static str,
    /// The sentence that says of a file that it is something else.
    foreign: &'static str,
    /// The schema of the version before, and the changes since.
    earlier: Option<(&'static str, Upgrade)>,
}

/// Changes a document of the version before to one of this.
type Upgrade = fn(&mut Value);

/// A version of a format that this program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaVersion {
    /// The one that it writes.
    Current,
    /// The one before.
    Earlier,
}

/// A run, as one JSON document or as JSON Lines.
pub const RUN: FileFormat = FileFormat {
    schema: upgrade::SCHEMA,
    foreign: "not a stored run",
    earlier: Some(("gpubench/1", upgrade::run_of_version_1)),
};
/// The measured ceilings of a device.
pub const CEILINGS: FileFormat =
    FileFormat { schema: "gpubench-ceilings/1", foreign: "these are no measured ceilings", earlier: None };

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// It is something else, or damaged.
    #[error("{what}: {error}")]
    Foreign {
        /// The sentence that says so.
        what: &'static str,
        /// The first place that differs.
        error: serde_json::Error,
    },
    /// Its format is another one.
    #[error("its format is `{schema}`, not `{current}`{}", by_newer(schema, current))]
    OtherSchema {
        /// The schema of the file.
        schema: String,
        /// The schema that this program reads.
        current: &'static str,
    },
}

impl FileFormat {
    /// Reads a document of this format. Its schema is at the top, or in the `run` that it begins with.
    ///
    /// # Errors
    /// If the file is of another format or version, or damaged.
    pub fn read<T: DeserializeOwned>(self, json: &[u8]) -> Result<T, FormatError> {
        let version = self.version_of(json)?;
        self.read_as(version, json).map_err(|error| FormatError::Foreign { what: self.foreign, error })
    }

    /// Returns the version of a document. One without a schema counts as current: reading it says what is missing.
    pub(super) fn version_of(self, json: &[u8]) -> Result<SchemaVersion, FormatError> {
        match schema_of(json) {
            None => Ok(SchemaVersion::Current),
            Some(schema) if schema == self.schema => Ok(SchemaVersion::Current),
            Some(schema) if self.earlier.is_some_and(|(earlier, _)| schema == earlier) => {
                Ok(SchemaVersion::Earlier)
            }
            Some(schema) => Err(FormatError::OtherSchema { schema, current: self.schema }),
        }
    }

    /// Reads a document of this version, or a line of one.
    pub(super) fn read_as<T: DeserializeOwned>(
        self,
        version: SchemaVersion,
        json: &[u8],
    ) -> serde_json::Result<T> {
        match (version, self.earlier) {
            (SchemaVersion::Earlier, Some((_, upgrade))) => {
                let mut document = serde_json::from_slice(json)?;
                upgrade(&mut document);
                T::deserialize(document)
            }
            _ => serde_json::from_slice(json),
        }
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

/// Returns the schema of a document, of which nothing behind the schema is read.
fn schema_of(json: &[u8]) -> Option<String> {
    let found = RefCell::new(None);
    // Ends with an error as soon as the schema is found.
    _ = serde_json::Deserializer::from_slice(json).deserialize_map(SchemaVisitor { found: &found });
    found.into_inner()
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
    fn the_schema_is_looked_at_before_the_fields() {
        for schema in ["gpubench/1", "gpubench/2"] {
            let json = format!("{{\"schema\": \"{schema}\", \"wanted\": 3}}");
            let read: Document = RUN.read(json.as_bytes()).expect("it is whole");
            assert_eq!(read, Document { schema: "gpubench/2".to_owned(), wanted: 3 });
        }
        let newer = "its format is `gpubench/3`, not `gpubench/2`: a newer gpubench wrote it; update gpubench to read it";
        for json in [
            r#"{"schema": "gpubench/3"}"#,
            r#"{"schema": "gpubench/3", "wanted": "three"}"#,
            r#"{"other": [{"schema": 1}], "schema": "gpubench/3"}"#,
            r#"{"run": {"schema": "gpubench/3"}}"#,
            // What follows the schema may be anything.
            r#"{"schema": "gpubench/3", cut off"#,
            "{\"sch\\u0065ma\": \"gpubench/3\"}",
        ] {
            assert_eq!(told(json), newer, "{json}");
        }
        assert_eq!(told(r#"{"schema": "gpubench/0"}"#), "its format is `gpubench/0`, not `gpubench/2`");
        assert_eq!(
            told(r#"{"schema": "gpubench-ceilings/2"}"#),
            "its format is `gpubench-ceilings/2`, not `gpubench/2`"
        );
        for json in ["", "[]", "{", "{}", r#"{"schema": 7}"#, r#"{"schema": "gpubench/2"}"#] {
            assert!(told(json).starts_with("not a stored run: "), "{json}: {}", told(json));
        }
    }
}
