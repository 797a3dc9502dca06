//! The file itself. In: its path, or the folders above which the nearest is. Out: its settings, profiles and peaks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::{FileError, FileMistake, PlacedMistake, line};
use super::peaks::{self, DevicePeak, table};
use super::settings::Profile;
use gpubench_records::facts::{Facts, Peak, Quantity, UUID};

/// The default name of the file.
const NAME: &str = "gpubench.toml";
/// The file that may hold the same in a table of its own.
const MANIFEST: &str = "Cargo.toml";
/// The tables of a manifest whose `metadata.gpubench` is read, the first that is there.
const OWNERS: [&str; 2] = ["package", "workspace"];
/// The section of peaks.
const PEAKS: &str = "peaks";
/// The section of profiles.
const PROFILES: &str = "profile";

/// A file of settings, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigFile {
    path: PathBuf,
    settings: Profile,
    profiles: BTreeMap<String, Profile>,
    peaks: Vec<DevicePeak>,
}

impl ConfigFile {
    /// Reads the file that the user names, or else the nearest one at or above the package or the current folder.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    pub fn of(named: Option<&Path>) -> Result<Option<Self>, FileError> {
        let folders = || [env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from), env::current_dir().ok()];
        match named {
            Some(path) => Self::read(path).map(Some),
            None => Self::find(folders().iter().flatten().map(PathBuf::as_path)),
        }
    }

    /// Finds the nearest file in one of these folders or above it. Earlier folders come first, and `gpubench.toml` comes before
    /// `Cargo.toml`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    pub fn find<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Result<Option<Self>, FileError> {
        for folder in folders.into_iter().flat_map(Path::ancestors) {
            let own = folder.join(NAME);
            // Also what is no file or leads to none: whoever put it there wants its settings.
            if own.symlink_metadata().is_ok() {
                return Self::read(&own).map(Some);
            }
            let manifest = folder.join(MANIFEST);
            // Cargo reports a manifest that it cannot read; one elsewhere above is no concern of ours.
            let text = fs::read_to_string(&manifest).unwrap_or_default();
            if let Ok(document) = DeTable::parse(&text)
                && metadata(document.get_ref()).is_some()
            {
                return Self::parse(&text, &manifest).map(Some);
            }
        }
        Ok(None)
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// Returns an error if it cannot be used.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        // A pipe or a device may have no end.
        let is_file = fs::metadata(path).map(|file| file.is_file() || file.is_dir());
        let text = match is_file {
            Ok(false) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
            Err(error) if path.is_symlink() => {
                Err(io::Error::new(error.kind(), format!("it is a link that leads to no file: {error}")))
            }
            Ok(true) | Err(_) => fs::read_to_string(path),
        };
        Self::parse(&text.map_err(|error| FileError::Unreadable { path: path.to_owned(), error })?, path)
    }

    /// Parses the file at `path`, which has this `text`: a manifest if it is called `Cargo.toml`.
    ///
    /// # Errors
    /// Returns an error if it contains a mistake.
    pub fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        parse(text, path).map_err(|PlacedMistake { place, mistake }| FileError::Wrong {
            path: path.to_owned(),
            line: line(text, place.start),
            mistake,
        })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the settings outside profiles, then those of the profile called `name`, which replace them.
    ///
    /// # Errors
    /// Returns an error if there is no such profile.
    pub fn profiles(&self, name: Option<&str>) -> Result<Vec<&Profile>, FileError> {
        let Some(name) = name else { return Ok(vec![&self.settings]) };
        let profile = self.profiles.get(name).ok_or_else(|| FileError::NoProfile {
            profile: name.to_owned(),
            path: Some(self.path.clone()),
            there: self.profiles.keys().cloned().collect(),
        })?;
        Ok(vec![&self.settings, profile])
    }

    /// Returns every setting, of all profiles.
    pub fn settings(&self) -> impl Iterator<Item = &super::Setting> {
        [&self.settings].into_iter().chain(self.profiles.values()).flat_map(|profile| &profile.settings)
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

/// Returns the table of a manifest that is ours.
fn metadata<'a, 'i>(manifest: &'a DeTable<'i>) -> Option<&'a Spanned<DeValue<'i>>> {
    let of = |owner: &&str| manifest.get(*owner)?.get_ref().get("metadata")?.get_ref().get("gpubench");
    OWNERS.iter().find_map(of)
}

fn parse(text: &str, path: &Path) -> Result<ConfigFile, PlacedMistake> {
    let malformed = |error: toml::de::Error| PlacedMistake {
        place: error.span().unwrap_or_default(),
        mistake: FileMistake::NotToml(error.message().to_owned()),
    };
    let document = DeTable::parse(text).map_err(malformed)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let empty = DeTable::new();
    let ours = match metadata(document.get_ref()).filter(|_| name == MANIFEST) {
        Some(ours) => table(ours, || FileMistake::NoValue("gpubench".to_owned()))?,
        None if name == MANIFEST => &empty,
        None => document.get_ref(),
    };
    let peaks = ours.get(PEAKS).map_or(Ok(Vec::new()), |devices| peaks::read(devices, text, &name))?;
    let mut profiles = BTreeMap::new();
    if let Some(section) = ours.get(PROFILES) {
        for (name, keys) in table(section, || FileMistake::NoProfiles)? {
            let keys = table(keys, || FileMistake::NoProfiles)?;
            profiles.insert(name.get_ref().to_string(), Profile::read(name.get_ref(), keys, text)?);
        }
    }
    let flags = ours.iter().filter(|(key, _)| ![PEAKS, PROFILES].contains(&&**key.get_ref()));
    let settings = Profile::read("", flags, text)?;
    Ok(ConfigFile { path: path.to_owned(), settings, profiles, peaks })
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
        let file = ConfigFile::parse(EXAMPLE, Path::new(NAME)).unwrap_or_else(|error| panic!("{error}"));
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
            (
                "[peak.x]\nf32 = \"1TFLOP/s\"",
                1,
                "unknown key `peak`: give a flag's name such as precision, or",
            ),
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
            let error = ConfigFile::read(&path).expect_err("it is wrong").to_string();
            let place = format!("{}:{expected}: ", path.display());
            assert!(
                error.starts_with(&place) && error.contains(words),
                "no `{words}` at {place} in `{error}`"
            );
        }
        let missing =
            ConfigFile::read(&folder.path().join("nothing.toml")).expect_err("it is not there").to_string();
        assert!(missing.contains("nothing.toml: No such file"), "{missing}");
    }

    /// Its settings, such as `fail-on-regression`, are not passed over.
    #[test]
    #[cfg(unix)]
    fn what_cannot_be_read_as_a_file_is_an_error() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        let told = || ConfigFile::find([folder.path()]).expect_err("it is no file").to_string();
        for (target, words) in
            [("moved.toml", "leads to no file: No such file"), (NAME, "leads to no file: Too many")]
        {
            symlink(target, &path).expect("a link");
            assert!(told().contains(words), "{}", told());
            fs::remove_file(&path).expect("it is there");
        }
        fs::create_dir(&path).expect("a folder");
        assert!(told().contains("gpubench.toml: Is a directory"), "{}", told());
        fs::remove_dir(&path).expect("it is there");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o666.into(), 0)
            .expect("a pipe");
        assert!(told().contains("gpubench.toml: it is no file"), "{}", told());
    }

    #[test]
    fn the_nearest_file_is_found_upwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).expect("it can be made");
        let found = || {
            ConfigFile::find([inner.as_path()]).expect("it is right").expect("it is there").peaks[0]
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
        let elsewhere = ConfigFile::find([Path::new("/nowhere"), folder.path()]).expect("it is right");
        assert_eq!(elsewhere.map(|file| file.peaks[0].peak.value.0), Some(1e9));
    }
}
