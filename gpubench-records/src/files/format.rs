//! The formats of gpubench's files. A reader checks the schema before any other field, so that it reports a file of another
//! version as such and not as damaged.

use std::io;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::error::Category;

use crate::{json, record::SCHEMA};

/// A file format with its version. A change that an older reader would misread gets a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// The format's name and version, which its files have in the field `schema`.
    pub schema: &'static str,
    /// The beginning of the error about a file that is not of this format.
    pub mismatch_message: &'static str,
}

/// A run, as one JSON document or as JSON Lines.
pub const RUN: FileFormat = FileFormat { schema: SCHEMA, mismatch_message: "not a stored run" };
/// The measured peaks of a device. Stored files have the name `ceilings` in their `schema`, which therefore
/// stays.
pub const MEASURED_PEAKS: FileFormat =
    FileFormat { schema: "gpubench-ceilings/1", mismatch_message: "this is no file of measured peaks" };

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system cannot read it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The document is something else, or damaged.
    #[error("{what}: {why}")]
    Foreign {
        /// The message that it is not of the expected format.
        what: &'static str,
        /// The first fault, with its line and column if it has any.
        why: String,
    },
    /// The document has another format or version.
    #[error(
        "its format is `{schema}`, not `{current}`: read it with the gpubench that wrote it, or measure anew"
    )]
    OtherSchema {
        /// The schema of the file.
        schema: String,
        /// The schema that this program reads.
        current: &'static str,
    },
}

/// The field `schema` of a document: at the top, or in the object `run` with which the document begins.
#[derive(Deserialize)]
#[serde(expecting = "an object with a `schema`")]
pub struct Header {
    schema: Option<String>,
    run: Option<Box<Self>>,
}

impl Header {
    /// Returns the schema at the top, or else the one in `run`; `None` if there is neither.
    pub fn schema(self) -> Option<String> {
        self.schema.or_else(|| self.run?.schema)
    }
}

impl FileFormat {
    /// Reads a document of this format.
    ///
    /// # Errors
    /// If the file is of another format or version, or damaged.
    pub fn read<T: DeserializeOwned>(self, json: &[u8]) -> Result<T, ReadError> {
        self.check_schema(json)?;
        self.parse(json)
    }

    /// Returns the error that a document is not of this format, or is damaged. `why` describes the fault.
    pub fn foreign_error(self, why: impl Into<String>) -> ReadError {
        ReadError::Foreign { what: self.mismatch_message, why: why.into() }
    }

    /// Returns an error unless the document states exactly this format and version.
    pub(super) fn check_schema(self, json: &[u8]) -> Result<(), ReadError> {
        self.check_header(self.parse(json)?)
    }

    /// Returns an error unless the header states exactly this schema.
    ///
    /// # Errors
    /// If it states another one, or none.
    pub fn check_header(self, header: Header) -> Result<(), ReadError> {
        match header.schema() {
            Some(schema) if schema == self.schema => Ok(()),
            Some(schema) => Err(ReadError::OtherSchema { schema, current: self.schema }),
            None => Err(self.foreign_error("it has no `schema`, which each file of gpubench has")),
        }
    }

    /// Parses a document without a check of its schema. An error contains the line and the column of the
    /// fault.
    ///
    /// # Errors
    /// If the document is damaged, or not that of a `T`.
    pub fn parse<T: DeserializeOwned>(self, json: &[u8]) -> Result<T, ReadError> {
        json::from_slice(json).map_err(|error| self.parse_error(&error, json))
    }

    /// Returns the error of a document that cannot be parsed. This function is separate from
    /// [`parse`](Self::parse), which is compiled anew for each type.
    fn parse_error(self, error: &serde_json::Error, json: &[u8]) -> ReadError {
        let (line, column, why) = (error.line(), error.column(), json::message_without_position(error));
        let category = match json.last() {
            // serde_json reports a number that is cut off, such as `1.`, as a syntax error.
            Some(b'-' | b'+' | b'.' | b'e' | b'E') if why == "invalid number" => Category::Eof,
            _ => error.classify(),
        };
        self.foreign_error(match category {
            Category::Eof if json.trim_ascii().is_empty() => "it is empty".to_owned(),
            Category::Eof => format!("line {line}, column {column}: it is cut off there"),
            Category::Syntax => format!("line {line}, column {column}: it is not JSON ({why})"),
            Category::Data | Category::Io => format!("line {line}, column {column}: {why}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct TestDocument {
        schema: String,
        wanted: u32,
    }

    fn told(json: &str) -> String {
        RUN.read::<TestDocument>(json.as_bytes()).expect_err("it is no such document").to_string()
    }

    /// Wherever a file ends too early, also within a number.
    #[test]
    fn a_document_is_cut_off_at_any_of_its_bytes() {
        let json = r#"{"other": [-1.5e-3, true, null, "\u00b5s", {"a": 12}], "schema": "gpubench/3", "wanted": 3.25e+1}"#;
        for length in 1..json.len() {
            let told = told(&json[..length]);
            assert!(told.ends_with(": it is cut off there"), "{}: {told}", &json[..length]);
        }
        assert!(told(r#"{"wanted": -}"#).contains(" it is not JSON ("), "{}", told(r#"{"wanted": -}"#));
    }

    #[test]
    fn the_schema_is_looked_at_before_the_fields() {
        let read: TestDocument = RUN.read(br#"{"schema": "gpubench/3", "wanted": 3}"#).expect("it is whole");
        assert_eq!(read, TestDocument { schema: "gpubench/3".to_owned(), wanted: 3 });
        let newer = "its format is `gpubench/4`, not `gpubench/3`: read it with the gpubench that wrote it, or measure anew";
        for json in [
            r#"{"schema": "gpubench/4"}"#,
            r#"{"schema": "gpubench/4", "wanted": "three"}"#,
            r#"{"other": [{"schema": 1}], "schema": "gpubench/4"}"#,
            r#"{"run": {"schema": "gpubench/4"}}"#,
            r#"{"schema": "gpubench/4", "records": [null]}"#,
            "{\"sch\\u0065ma\": \"gpubench/4\"}",
        ] {
            assert_eq!(told(json), newer, "{json}");
        }
        assert_eq!(
            told(r#"{"schema": "gpubench/1"}"#),
            "its format is `gpubench/1`, not `gpubench/3`: read it with the gpubench that wrote it, or measure anew"
        );
        assert_eq!(
            told(r#"{"schema": "gpubench-ceilings/2"}"#),
            "its format is `gpubench-ceilings/2`, not `gpubench/3`: read it with the gpubench that wrote it, or measure anew"
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
            ("\n\n{}", "it has no `schema`, which each file of gpubench has"),
            (r#"{"run": {}}"#, "it has no `schema`, which each file of gpubench has"),
            (r#"{"schema": 7}"#, "line 1, column 12: invalid type: integer `7`, expected a string"),
            ("\n\"x\"", "line 2, column 3: invalid type: string \"x\", expected an object with a `schema`"),
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
