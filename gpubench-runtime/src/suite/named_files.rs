//! Files that a command line names, each for one purpose. In: flags with their files; out: nothing, or the two flags of one file. A
//! result in the place of another, or of what is read, would replace it without a word.

use std::path::{Path, PathBuf};

use super::cli::TuneOptions;
use crate::settings::Settings;
use gpubench_records::files::is_one_file;
use gpubench_report::export::{Export, ExportTo};

/// A file with the flag that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedFile {
    /// The flag as the user gave it.
    flag: String,
    path: PathBuf,
    /// What is read from it; `None` if it is written.
    read: Option<&'static str>,
}

/// Two flags that name one file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OneFile {
    /// Something would be written over what is read.
    #[error("{written} would be written over {read} from it: give another file")]
    WrittenOver {
        /// The flag of what is written.
        written: String,
        /// What is read from the file.
        read: &'static str,
    },
    /// Both are written.
    #[error("{one} and {other}: give each a file of its own")]
    BothWritten {
        /// The flag that is named first.
        one: String,
        /// The other.
        other: String,
    },
}

impl NamedFile {
    /// A file that a run is read from.
    pub(super) fn run(flag: &str, value: &Path, path: PathBuf) -> Self {
        Self::read(flag, value, path, "the run that is read")
    }

    fn read(flag: &str, value: &Path, path: PathBuf, what: &'static str) -> Self {
        Self { flag: format!("{flag} {}", value.display()), path, read: Some(what) }
    }

    fn written(flag: &str, path: &Path) -> Self {
        Self { flag: format!("{flag} {}", path.display()), path: path.to_owned(), read: None }
    }

    /// The files of formats.
    pub(super) fn of_exports(exports: &[Export]) -> Vec<Self> {
        let file = |export: &Export| match &export.to {
            ExportTo::File(path) => Some(Self { flag: export.to_string(), path: path.clone(), read: None }),
            ExportTo::StandardOutput => None,
        };
        exports.iter().filter_map(file).collect()
    }

    /// The file of a tuning.
    pub(super) fn of_races(options: &TuneOptions) -> Vec<Self> {
        options.save.iter().map(|file| Self::written("--save-tuning", file)).collect()
    }

    /// The files of settings, baselines and a history. A baseline may be compared with and then be replaced.
    pub(super) fn of_options(options: &Settings) -> Vec<Self> {
        let mut files: Vec<Self> = Vec::new();
        let baselines = options.baselines();
        for (flag, place) in [("--baseline", &baselines.against), ("--save-baseline", &baselines.save)] {
            let Some(place) = place else { continue };
            let read = |path| Self::read(flag, Path::new(place.name()), path, "the baseline that is read");
            match place.file() {
                Some(file) if flag == "--save-baseline" => {
                    files.retain(|other| other.read.is_none() || !is_one_file(&other.path, file));
                    files.push(Self::written(flag, file));
                }
                Some(file) => files.push(read(file.to_owned())),
                None => files.extend(place.stored().into_iter().map(read)),
            }
        }
        // A name of a git ref is no path.
        let history = options.history.iter().filter(|folder| !folder.starts_with("refs"));
        files.extend(history.map(|folder| Self::written("--history", folder)));
        files
    }
}

/// Checks that no two flags name one file, unless both read it.
///
/// # Errors
/// Returns the first two that do.
pub(super) fn each_has_one_purpose(files: &[NamedFile]) -> Result<(), OneFile> {
    for (number, other) in files.iter().enumerate() {
        for one in &files[..number] {
            let error = match (one.read, other.read) {
                (Some(_), Some(_)) => continue,
                (Some(read), None) => OneFile::WrittenOver { written: other.flag.clone(), read },
                (None, Some(read)) => OneFile::WrittenOver { written: one.flag.clone(), read },
                (None, None) => OneFile::BothWritten { one: one.flag.clone(), other: other.flag.clone() },
            };
            if is_one_file(&one.path, &other.path) {
                return Err(error);
            }
        }
    }
    Ok(())
}
