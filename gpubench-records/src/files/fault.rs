//! The faults of files. In: JSON that a reader refused; out: the first fault, with its line.

use std::fmt;

use serde::de::IgnoredAny;
use serde_json::error::Category;

/// A place in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace {
    /// The line.
    pub line: usize,
    /// The byte in it.
    pub column: usize,
}

impl fmt::Display for TextPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The first fault of a document, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// It ends too early.
    #[error("{0}: it is cut off there")]
    CutOff(TextPlace),
    /// It is not JSON, or has a number that is too large for one.
    #[error("{place}: it is not JSON ({why})")]
    NotJson {
        /// The place.
        place: TextPlace,
        /// The fault.
        why: String,
    },
    /// It is a list without runs.
    #[error("it is a list of no runs")]
    NoRuns,
    /// It is the JSON of something else.
    #[error("line {line}: {found} without a `schema`, which each file of gpubench has")]
    NoSchema {
        /// The line on which it begins.
        line: usize,
        /// The kind of JSON value that was found.
        found: &'static str,
    },
    /// A value is missing, or is not what it should be.
    #[error("{place}: {why}")]
    Damaged {
        /// The end of the value.
        place: TextPlace,
        /// The fault.
        why: String,
    },
}

impl Fault {
    /// The fault that `error` reports for `json`, which begins on the line after `lines_before` others.
    pub(super) fn of(error: &serde_json::Error, json: &[u8], lines_before: usize) -> Self {
        let place = TextPlace { line: lines_before + error.line(), column: error.column() };
        let end = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let why = text.strip_suffix(&end).unwrap_or(&text).to_owned();
        match error.classify() {
            Category::Eof if json.trim_ascii().is_empty() => Self::Empty,
            Category::Eof => Self::CutOff(place),
            Category::Syntax => Self::NotJson { place, why },
            Category::Data | Category::Io => Self::Damaged { place, why },
        }
    }

    /// The fault in words, without the line.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::CutOff(_) => "it is cut off".to_owned(),
            Self::NotJson { why, .. } => format!("it is not JSON: {why}"),
            Self::Damaged { why, .. } => why.clone(),
            Self::Empty | Self::NoRuns | Self::NoSchema { .. } => self.to_string(),
        }
    }

    /// The fault of a document that has no schema.
    pub(super) fn without_schema(json: &[u8], lines_before: usize) -> Self {
        if let Err(error) = serde_json::from_slice::<IgnoredAny>(json) {
            return Self::of(&error, json, lines_before);
        }
        let start = json.len() - json.trim_ascii_start().len();
        let found = match json.get(start) {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "a text",
            Some(b't' | b'f' | b'n') => "a word",
            _ => "a number",
        };
        Self::NoSchema { line: lines_before + 1 + newlines(&json[..start]), found }
    }
}

/// Returns the number of line ends.
pub(super) fn newlines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}
