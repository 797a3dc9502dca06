//! The user's `gpubench.toml`: peaks of devices, by their UUIDs or names. In: the file. Out: the peaks of a device, or
//! the wrong line and what to write there.
//!
//! ```toml
//! [peaks."NVIDIA H200"]
//! memory = "4800GB/s"
//! "bf16 tensor" = "800TFLOP/s"
//! ```

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::written::{self, PeakTextError};
use gpubench_records::facts::{Facts, Peak, PeakSource, Quantity, UUID};
use gpubench_stats::units::Rate;

/// The default name of the file.
const NAME: &str = "gpubench.toml";
/// Its only section.
const SECTION: &str = "peaks";

/// A file of peaks, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct PeaksFile {
    peaks: Vec<DevicePeak>,
}

/// A peak that it gives.
#[derive(Clone, Debug, PartialEq)]
struct DevicePeak {
    device: String,
    peak: Peak,
}

/// A file that cannot be used: the place, and what to do.
#[derive(Debug, thiserror::Error)]
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
}

/// A mistake in such a file, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileMistake {
    /// It is not TOML, for the parser's reason.
    #[error("this is no TOML: {0}")]
    NotToml(String),
    /// It has a key beside its only section.
    #[error("unknown key `{0}`: there is `[peaks.\"NAME OR UUID\"]`")]
    UnknownKey(String),
    /// Its section is no table.
    #[error("give a table for each device, such as [peaks.\"NVIDIA H200\"]")]
    NoDevices,
    /// A key of its section is no table.
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

impl PeaksFile {
    /// Finds the nearest `gpubench.toml` in one of these folders or above it. Earlier folders come first.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    pub fn find<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Result<Option<Self>, FileError> {
        let mut places = folders.into_iter().flat_map(Path::ancestors).map(|folder| folder.join(NAME));
        places.find(|place| place.is_file()).map(|place| Self::read(&place)).transpose()
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be used.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = fs::read_to_string(path);
        Self::parse(&text.map_err(|error| FileError::Unreadable { path: path.to_owned(), error })?, path)
    }

    /// Parses the file at `path`, which has this `text`.
    ///
    /// # Errors
    /// Returns an error if it contains a mistake.
    pub fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let wrong = |PlacedMistake { place, mistake }| FileError::Wrong {
            path: path.to_owned(),
            line: line(text, place.start),
            mistake,
        };
        parse(text, &name).map(|peaks| Self { peaks }).map_err(wrong)
    }

    /// Returns the peaks of this device: those by its UUID, then those by its name or by its word on the
    /// command line.
    #[must_use]
    pub fn peaks(&self, facts: &Facts) -> Vec<Peak> {
        let of = |name: Option<&str>| {
            let given = self.peaks.iter().filter(move |given| Some(&*given.device) == name);
            given.map(|given| given.peak.clone()).collect::<Vec<_>>()
        };
        [facts.text(UUID), Some(&facts.name), Some(&facts.device)].into_iter().flat_map(of).collect()
    }

    /// Returns the precisions of its peaks, each with its place in the file.
    pub fn precisions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.peaks.iter().filter_map(|DevicePeak { peak, .. }| match &peak.quantity {
            Quantity::Compute(precision) => Some((&**precision, &*peak.method)),
            _ => None,
        })
    }
}

/// A mistake with its place in the text.
struct PlacedMistake {
    place: Range<usize>,
    mistake: FileMistake,
}

fn at<T>(value: &Spanned<T>, mistake: FileMistake) -> PlacedMistake {
    PlacedMistake { place: value.span(), mistake }
}

fn parse(text: &str, name: &str) -> Result<Vec<DevicePeak>, PlacedMistake> {
    let malformed = |error: toml::de::Error| PlacedMistake {
        place: error.span().unwrap_or_default(),
        mistake: FileMistake::NotToml(error.message().to_owned()),
    };
    let document = DeTable::parse(text).map_err(malformed)?;
    let mut found = Vec::new();
    for (section, devices) in document.get_ref() {
        if section.get_ref() != SECTION {
            return Err(at(section, FileMistake::UnknownKey(section.get_ref().to_string())));
        }
        for (device, peaks) in table(devices, || FileMistake::NoDevices)? {
            let device_name = device.get_ref().to_string();
            for (quantity, value) in table(peaks, || FileMistake::NoDevice(device_name.clone()))? {
                let peak = peak(text, name, quantity.get_ref(), value)?;
                found.push((quantity.span().start, DevicePeak { device: device_name.clone(), peak }));
            }
        }
    }
    // A table does not keep the order in which its keys were written.
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, given)| given).collect())
}

fn table<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    otherwise: impl FnOnce() -> FileMistake,
) -> Result<&'a DeTable<'i>, PlacedMistake> {
    value.get_ref().as_table().ok_or_else(|| at(value, otherwise()))
}

fn peak(text: &str, file: &str, quantity: &str, value: &Spanned<DeValue<'_>>) -> Result<Peak, PlacedMistake> {
    let unquoted = || at(value, FileMistake::Unquoted(quantity.to_owned()));
    let written = value.get_ref().as_str().ok_or_else(unquoted)?;
    let unreadable = |error| {
        let (quantity, written) = (quantity.to_owned(), written.to_owned());
        at(value, FileMistake::Peak { quantity, value: written, error })
    };
    let (read, amount) = written::read(quantity, written).map_err(unreadable)?;
    let method = format!("{file}:{}", line(text, value.span().start));
    Ok(Peak::new(read, Rate(amount), PeakSource::User, method))
}

/// Returns the line of a place in `text`, from 1.
fn line(text: &str, place: usize) -> usize {
    1 + text.bytes().take(place).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::facts::Value;

    const EXAMPLE: &str = r#"
# What we were promised
[peaks."NVIDIA H200"]
memory = "4800GB/s"
"bf16 tensor" = "800 TFLOP/s"

[peaks.GPU-1]
memory = "4.7TB/s"

[peaks.host]
f64 = "2TFLOP/s"
"#;

    fn facts(name: &str, uuid: &str, device: &str) -> Facts {
        Facts::new(device, name).with_property(UUID, Value::Text(uuid.to_owned()))
    }

    #[test]
    fn peaks_are_those_of_the_device_the_uuids_first() {
        let file =
            PeaksFile { peaks: parse(EXAMPLE, NAME).unwrap_or_else(|placed| panic!("{}", placed.mistake)) };
        let of = |name, uuid, device| {
            let mut facts = facts(name, uuid, device);
            facts.add(file.peaks(&facts));
            facts
                .peaks
                .into_iter()
                .map(|peak| (peak.quantity.name().to_owned(), peak.value.0, peak.method))
                .collect::<Vec<_>>()
        };
        let memory = ("memory".to_owned(), 4.8e12, "gpubench.toml:4".to_owned());
        let tensor = ("bf16 tensor".to_owned(), 800e12, "gpubench.toml:5".to_owned());
        assert_eq!(of("NVIDIA H200", "GPU-2", "cuda:0"), [memory.clone(), tensor.clone()]);
        let own = ("memory".to_owned(), 4.7e12, "gpubench.toml:8".to_owned());
        assert_eq!(of("NVIDIA H200", "GPU-1", "cuda:0"), [own, memory, tensor]);
        assert_eq!(of("a CPU", "", "host"), [("f64".to_owned(), 2e12, "gpubench.toml:11".to_owned())]);
        assert_eq!(of("NVIDIA H100", "GPU-3", "cuda:1"), []);
        let precisions: Vec<_> = file.precisions().collect();
        assert_eq!(precisions, [("bf16 tensor", "gpubench.toml:5"), ("f64", "gpubench.toml:11")]);
    }

    #[test]
    fn mistakes_are_told_with_their_line_and_what_to_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        for (text, expected, words) in [
            ("[peak.x]\nf32 = \"1TFLOP/s\"", 1, "unknown key `peak`: there is `[peaks.\"NAME OR UUID\"]`"),
            ("peaks = 3", 1, "give a table for each device"),
            ("[peaks]\nmemory = \"1GB/s\"", 2, "`memory` is no table of a device: write [peaks.\"memory\"]"),
            ("[peaks.x]\n\nmemory = 4800", 3, "`memory`: give a number with its unit in quotes"),
            ("[peaks.x]\nmemory = \"4800\"", 2, "`memory` cannot be 4800: give a bandwidth above 0 in MB/s"),
            ("[peaks.x]\nmem = \"4800GB/s\"", 2, "bandwidths are memory, l2, h2d, d2h and p2p"),
            (
                "[peaks.x]\n\"\" = \"1TFLOP/s\"",
                2,
                "`` cannot be 1TFLOP/s: name memory, l2, h2d, d2h, p2p or a precision",
            ),
            ("[peaks.x]\nf32 = \"1TFLOP/s\"\nf32 = \"2TFLOP/s\"", 3, "duplicate key"),
            ("[peaks.x\n", 1, "this is no TOML"),
        ] {
            fs::write(&path, text).expect("it can be written");
            let error = PeaksFile::read(&path).expect_err("it is wrong").to_string();
            let place = format!("{}:{expected}: ", path.display());
            assert!(
                error.starts_with(&place) && error.contains(words),
                "no `{words}` at {place} in `{error}`"
            );
        }
        let missing =
            PeaksFile::read(&folder.path().join("nothing.toml")).expect_err("it is not there").to_string();
        assert!(missing.contains("nothing.toml: No such file"), "{missing}");
    }

    #[test]
    fn the_nearest_file_is_found_upwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).expect("it can be made");
        let found = || {
            PeaksFile::find([inner.as_path()]).expect("it is right").expect("it is there").peaks[0]
                .peak
                .value
                .0
        };
        let write = |place: &str, value| {
            let text = format!("[peaks.x]\nmemory = \"{value}GB/s\"");
            fs::write(folder.path().join(place).join(NAME), text).expect("it can be written");
        };
        write("", 1);
        assert_eq!(found(), 1e9);
        write("a", 2);
        assert_eq!(found(), 2e9);
        let elsewhere = PeaksFile::find([Path::new("/nowhere"), folder.path()]).expect("it is right");
        assert_eq!(elsewhere.map(|file| file.peaks[0].peak.value.0), Some(1e9));
    }
}
