//! Peaks that a device does not tell by itself: those that the user gives on the command line and in `gpubench.toml`, and the
//! ceilings that were measured on it before. In: what is known of a device; out: more of it, each peak in its place.

mod file;
mod written;

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use crate::device::kinds;
use gpubench_records::facts::{Facts, Peak};

pub use self::file::{File, FileError};
pub use gpubench_records::files::ceilings::{Ceiling, CeilingCache};

pub use self::written::read;

/// Where to look for peaks.
#[derive(Clone, Debug, Default)]
pub struct PeakSources {
    /// From the command line, for every device.
    pub given: Vec<Peak>,
    /// The user's file, where there is one.
    pub file: Option<File>,
    /// Where measured ceilings are kept; nothing where they are of no interest.
    pub kept: Option<CeilingCache>,
}

impl PeakSources {
    /// The peaks that are `given`, those of the user's file, which is `config` or the nearest of its name above the package or
    /// the current folder, and what is `kept`.
    ///
    /// # Errors
    /// Where that file cannot be used.
    pub fn of(
        given: Vec<Peak>,
        config: Option<&Path>,
        kept: Option<CeilingCache>,
    ) -> Result<Self, FileError> {
        let folders = || [env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from), env::current_dir().ok()];
        let file = match config {
            Some(path) => File::read(path).map(Some),
            None => File::find(folders().iter().flatten().map(PathBuf::as_path)),
        };
        Ok(Self { given, file: file?, kept })
    }

    /// Says which precisions of the user's file are neither known of GPUs nor `used`. They may be another program's, or
    /// misspelt.
    pub fn strange_precisions(&self, used: impl Iterator<Item = &'static str>) -> Vec<String> {
        let known: BTreeSet<&str> = used.chain(kinds::precisions()).collect();
        let given = self.file.iter().flat_map(File::precisions);
        let strange = given.filter(|(precision, _)| !known.contains(precision));
        let say = |(precision, place)| {
            format!("{place}: no benchmark of this program has the precision `{precision}`")
        };
        strange.map(say).collect()
    }

    /// Adds what is known of this device. Returns what a reader of its results must know of that.
    pub fn add_to(&self, facts: &mut Facts) -> Vec<String> {
        let mut peaks = self.given.clone();
        peaks.extend(self.file.iter().flat_map(|file| file.peaks(facts)));
        let measured = self.kept.as_ref().map_or(Ok(Vec::new()), |kept| kept.read(facts));
        let (measured, note) = match measured {
            Ok(measured) => (measured, None),
            Err(unusable) => (Vec::new(), Some(unusable.to_string())),
        };
        peaks.extend(measured.into_iter().map(|ceiling| ceiling.peak));
        facts.add(peaks);
        note.into_iter().collect()
    }
}
