//! A file of settings that cannot be used. In: the mistake and its place. Out: a sentence with the line and what to write there.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;

use super::written_peak::PeakTextError;

/// A file that cannot be used: the place, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// It contains a mistake.
    #[error("{}:{line}: {mistake}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The mistake.
        mistake: FileMistake,
    },
    /// It has no such profile.
    #[error("--profile {profile}: {}", no_profile(path.as_ref(), there))]
    NoProfile {
        /// The profile.
        profile: String,
        /// The file, if there is one.
        path: Option<PathBuf>,
        /// Its profiles.
        there: Vec<String>,
    },
}

/// A mistake in such a file, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileMistake {
    /// It is not TOML, for the parser's reason.
    #[error("this is no TOML: {0}")]
    NotToml(String),
    /// A key is neither a flag nor a section.
    #[error(
        "unknown key `{key}`{}: give a flag's name such as precision, or [profile.NAME] or [peaks.\"NAME OR UUID\"]",
        or_similar(similar.as_ref())
    )]
    UnknownKey {
        /// The key.
        key: String,
        /// A flag of a similar name.
        similar: Option<String>,
    },
    /// A key is a flag that says what to do, and no setting.
    #[error("`{0}` is no setting: give --{0} on the command line")]
    NoSetting(String),
    /// A key is there twice, as `max-time` and `max_time`.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// The value of a setting cannot be one.
    #[error("`{0}`: give text in quotes, a number, true or false, or a list of them")]
    NoValue(String),
    /// The value of a setting is not one of its flag.
    #[error("`{key}`: {error}")]
    Value {
        /// The key.
        key: String,
        /// The flag's own words.
        error: String,
    },
    /// The section of profiles is no table of tables.
    #[error("give a table for each profile, such as [profile.ci]")]
    NoProfiles,
    /// The section of peaks is no table.
    #[error("give a table for each device, such as [peaks.\"NVIDIA H200\"]")]
    NoDevices,
    /// A key of that section is no table.
    #[error("`{0}` is no table of a device: write [peaks.\"{0}\"] above its peaks")]
    NoDevice(String),
    /// A value is no text.
    #[error("`{0}`: give a number with its unit in quotes, such as \"4800GB/s\"")]
    Unquoted(String),
    /// A peak cannot be read.
    #[error("`{quantity}` cannot be {value}: {error}")]
    Peak {
        /// The quantity.
        quantity: String,
        /// The value as it is written.
        value: String,
        /// The reason.
        error: PeakTextError,
    },
}

fn no_profile(path: Option<&PathBuf>, there: &[String]) -> String {
    match path {
        None => "there is no gpubench.toml here that could have it".to_owned(),
        Some(path) if there.is_empty() => format!("{} has no profiles", path.display()),
        Some(path) => format!("{} has the profiles `{}`", path.display(), there.join("`, `")),
    }
}

fn or_similar(similar: Option<&String>) -> String {
    similar.map(|similar| format!(" (there is `{similar}`)")).unwrap_or_default()
}

/// A mistake with its place in the text.
pub(super) struct PlacedMistake {
    pub(super) place: Range<usize>,
    pub(super) mistake: FileMistake,
}

/// Places a mistake at a value.
pub(super) fn at<T>(value: &Spanned<T>, mistake: FileMistake) -> PlacedMistake {
    PlacedMistake { place: value.span(), mistake }
}

/// Returns the line of a place in `text`, from 1.
pub(super) fn line(text: &str, place: usize) -> usize {
    1 + text.bytes().take(place).filter(|byte| *byte == b'\n').count()
}
