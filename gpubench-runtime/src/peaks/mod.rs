//! Peaks that a device does not report: those that the user gives on the command line and in `gpubench.toml`,
//! and the ceilings measured on it before. In: the facts of a device. Out: the facts with these peaks added.

use std::collections::BTreeSet;
use std::path::Path;

use crate::config::{ConfigFile, FileError};
use crate::devices::kinds;
use gpubench_records::facts::{Facts, Peak};

pub(crate) use gpubench_records::files::ceilings::CeilingCache;

/// The sources of peaks.
#[derive(Clone, Debug, Default)]
pub struct PeakSources {
    /// Peaks from the command line, for every device.
    pub given: Vec<Peak>,
    /// The user's file, if there is one.
    pub file: Option<ConfigFile>,
    /// The store of measured ceilings; `None` if they are not needed.
    pub ceilings: Option<CeilingCache>,
}

impl PeakSources {
    /// Collects the sources: the `given` peaks, the user's file, and the stored `ceilings`. The user's file
    /// is `config`, or else the nearest file of the default name above the package or the current folder.
    ///
    /// # Errors
    /// Returns an error if that file cannot be used.
    pub fn of(
        given: Vec<Peak>,
        config: Option<&Path>,
        ceilings: Option<CeilingCache>,
    ) -> Result<Self, FileError> {
        Ok(Self { given, file: ConfigFile::of(config)?, ceilings })
    }

    /// Warns about precisions of the user's file that are neither known for GPUs nor `used`. They may belong
    /// to another program, or be misspelt.
    pub fn unknown_precisions(&self, used: impl Iterator<Item = &'static str>) -> Vec<String> {
        let known: BTreeSet<&str> = used.chain(kinds::precisions()).collect();
        let given = self.file.iter().flat_map(ConfigFile::precisions);
        let unknown = given.filter(|(precision, _)| !known.contains(precision));
        let warning = |(precision, place)| {
            format!("{place}: no benchmark of this program has the precision `{precision}`")
        };
        unknown.map(warning).collect()
    }

    /// Adds the known peaks of this device. Returns notes for the reader of its results.
    pub fn add_to(&self, facts: &mut Facts) -> Vec<String> {
        let mut peaks = self.given.clone();
        peaks.extend(self.file.iter().flat_map(|file| file.peaks(facts)));
        let measured = self.ceilings.as_ref().map_or(Ok(Vec::new()), |ceilings| ceilings.read(facts));
        let (measured, note) = match measured {
            Ok(measured) => (measured, None),
            Err(unusable) => (Vec::new(), Some(unusable.to_string())),
        };
        peaks.extend(measured.into_iter().map(|ceiling| ceiling.peak));
        facts.add(peaks);
        note.into_iter().collect()
    }
}
