//! The file of settings: the nearest `gpubench.toml`, or a table of the nearest `Cargo.toml`.
//!
//! ```toml
//! precision = "1%"
//! arg = { n = [1024, "1Mi"] }
//! peaks."NVIDIA H200" = { memory = "4800GB/s", "bf16 tensor" = "800TFLOP/s" }
//! ```

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde::Deserialize;
use toml::de::DeTable;

use super::{Settings, SettingsError};

/// The name of the file.
const NAME: &str = "gpubench.toml";
/// The file that may have the settings in `package.metadata.gpubench` or `workspace.metadata.gpubench`.
const MANIFEST: &str = "Cargo.toml";

/// A file of settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// It cannot be read.
    #[error("{}{}: {error}", path.display(), naming(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// It is not TOML, or has an unknown key or a wrong value.
    #[error("{}: {}", path.display(), plain(error))]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, and the reason.
        error: Box<toml::de::Error>,
    },
    /// A setting is impossible, or excludes another.
    #[error("{}: {error}", path.display())]
    Impossible {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: SettingsError,
    },
}

/// Names the variable that names the file, if one does.
fn naming(path: &Path) -> &'static str {
    let is_named = env::var_os("GPUBENCH_CONFIG").is_some_and(|named| named == path);
    if is_named { ", which GPUBENCH_CONFIG names" } else { "" }
}

/// Rewrites an error of the parser for users: without Rust's types, and without the names of all settings after an unknown one.
fn plain(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let text = match text.split_once("`, expected one of `filter`") {
        Some((unknown, _)) => format!("{unknown}`: `--help` lists the settings"),
        None => text.trim_end().to_owned(),
    };
    let words = [
        ("unknown field", "unknown setting"),
        ("unknown variant", "unknown value"),
        ("expected usize", "expected a whole number"),
        ("expected a boolean", "expected true or false"),
        ("invalid type: ", "found "),
    ];
    words.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}

impl Settings {
    /// Adds the settings of the environment without a flag, and those of the file that `GPUBENCH_CONFIG` names, else of the nearest
    /// file at or above the package or the current folder.
    ///
    /// # Errors
    /// Returns an error if the file cannot be used.
    pub(crate) fn with_file(mut self) -> Result<Self, FileError> {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        self.cache_dir = self.cache_dir.or_else(|| variable("GPUBENCH_CACHE_DIR"));
        // `cargo gpubench ab` sets it to `none`: its runs are not added to a history.
        self.history = self.history.or_else(|| variable("GPUBENCH_HISTORY"));
        let folders = [variable("CARGO_MANIFEST_DIR"), env::current_dir().ok()];
        let file = match variable("GPUBENCH_CONFIG") {
            Some(path) => Some(read(&path)?),
            None => find(folders.iter().flatten().map(PathBuf::as_path))?,
        };
        let mut settings = match file {
            Some(file) => self.or(file),
            None => self,
        };
        settings.history = settings.history.filter(|folder| folder.as_os_str() != "none");
        Ok(settings)
    }
}

/// Reads the nearest file in one of these folders or above. Earlier folders come first, and `gpubench.toml` comes before `Cargo.toml`.
fn find<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Result<Option<Settings>, FileError> {
    for folder in folders.into_iter().flat_map(Path::ancestors) {
        let own = folder.join(NAME);
        // Also a broken link or a folder: whoever put it there wants its settings.
        if own.symlink_metadata().is_ok() {
            return read(&own).map(Some);
        }
        let manifest = folder.join(MANIFEST);
        // Cargo reports a manifest that it cannot read.
        let text = fs::read_to_string(&manifest).unwrap_or_default();
        if text.contains("gpubench")
            && DeTable::parse(&text).is_ok()
            && let Some(settings) = of_manifest(&text, &manifest)?
        {
            return Ok(Some(settings));
        }
    }
    Ok(None)
}

/// Reads the file at `path`.
fn read(path: &Path) -> Result<Settings, FileError> {
    let text = text(path)?;
    if path.file_name().is_some_and(|name| name == MANIFEST) {
        return Ok(of_manifest(&text, path)?.unwrap_or_default());
    }
    let settings = toml::from_str(&text);
    checked(path, settings.map_err(|error| wrong(path, error))?)
}

/// Reads the settings in the `text` of a manifest, if it has any.
fn of_manifest(text: &str, path: &Path) -> Result<Option<Settings>, FileError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Manifest {
        package: Owner,
        workspace: Owner,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Owner {
        metadata: Metadata,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Metadata {
        gpubench: Option<Settings>,
    }
    let manifest: Manifest = toml::from_str(text).map_err(|error| wrong(path, error))?;
    let settings = manifest.package.metadata.gpubench.or(manifest.workspace.metadata.gpubench);
    settings.map(|settings| checked(path, settings)).transpose()
}

/// Reads a file, and no pipe or device, which may have no end.
fn text(path: &Path) -> Result<String, FileError> {
    let read = match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(io::Error::other("not a file")),
        _ => fs::read_to_string(path),
    };
    read.map_err(|error| FileError::Unreadable { path: path.to_owned(), error })
}

fn wrong(path: &Path, error: toml::de::Error) -> FileError {
    FileError::Wrong { path: path.to_owned(), error: Box::new(error) }
}

fn checked(path: &Path, settings: Settings) -> Result<Settings, FileError> {
    // A gate may wait for the command line to name a baseline.
    let alone = Settings { fail_on_regression: None, ..settings.clone() };
    match alone.validate() {
        Ok(()) => Ok(settings),
        Err(error) => Err(FileError::Impossible { path: path.to_owned(), error }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::{ArgValues, CacheStates, Percent, WarmUp};

    fn parsed(text: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        fs::write(&path, text).expect("it can be written");
        read(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_has_the_values_of_the_flags() {
        let settings = parsed(
            "precision = \"1%\"\nsamples = 7\nwarmup = 3\nmin-time = 0.5\ntimeout = \"2min\"\nskip = \"slow\"\n\
             tag = [\"a\", \"b\"]\narg = { n = [1024, \"1Mi\"], T = \"f32\" }\ncache = \"both\"\nquick = true\n",
        )
        .expect("it is right");
        assert_eq!((settings.precision, settings.samples), (Some(Percent(1.0)), Some(7)));
        assert_eq!(settings.warmup, Some(WarmUp::Launches(3)));
        assert_eq!(
            [settings.min_time, settings.timeout],
            [0.5, 120.0].map(|time| Some(Duration::from_secs_f64(time)))
        );
        assert_eq!(
            (settings.skip, settings.tag),
            (vec!["slow".to_owned()], vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(settings.arg, [ArgValues::new("T", ["f32"]), ArgValues::new("n", ["1024", "1Mi"])]);
        assert_eq!((settings.cache, settings.quick), (Some(CacheStates::Both), Some(true)));
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (text, words) in [
            ("quick = true\nmax-time = \"fast\"", "line 2"),
            ("quick = true\nmax-time = \"fast\"", "`fast`: give a time"),
            ("precison = 1", "unknown setting `precison`: `--help` lists the settings"),
            ("list = true", "unknown setting `list`"),
            ("samples = \"many\"", "found string \"many\", expected a whole number"),
            ("cache = \"warm\"", "unknown value `warm`, expected one of `hot`, `cold`, `both`"),
            ("skip = [[1]]", "expected text in quotes, or a list of texts"),
            ("quick = true\nquick = false", "duplicate key"),
            ("[peaks.x]\nmemory = \"4800\"", "peaks.\"x\".\"memory\" = \"4800\": give a bandwidth above 0"),
            ("samples = 0", "--samples 0: give 1 to"),
            ("quick = ", "line 1"),
        ] {
            let told = parsed(text).expect_err("it is wrong");
            assert!(told.contains(words) && told.contains(NAME), "no `{words}` in `{told}`");
        }
    }

    #[test]
    fn the_nearest_file_is_found_upwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).expect("it can be made");
        let samples = || find([inner.as_path()]).expect("it is right").expect("it is there").samples;
        let write =
            |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
        write("Cargo.toml", "[workspace.metadata.gpubench]\nsamples = 1");
        assert_eq!(samples(), Some(1));
        write("gpubench.toml", "samples = 2");
        assert_eq!(samples(), Some(2));
        write("a/Cargo.toml", "[package]\nname = \"x\"\n[package.metadata.gpubench]\nsamples = 3");
        assert_eq!(samples(), Some(3));
        write("a/b/Cargo.toml", "[package]\nname = \"x\"");
        assert_eq!(samples(), Some(3));
        write("a/b/Cargo.toml", "[package]\nmetadata = { gpubench = { samples = 4 } }");
        assert_eq!(samples(), Some(4));
        write("a/b/Cargo.toml", "[package] gpubench is not TOML");
        assert_eq!(samples(), Some(3));
        let elsewhere = find([Path::new("/nowhere"), folder.path()]).expect("it is right");
        assert_eq!(elsewhere.and_then(|file| file.samples), Some(2));
    }

    /// A file that is there and cannot be read is not passed over.
    #[test]
    fn an_unreadable_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        std::os::unix::fs::symlink("moved.toml", &path).expect("a link");
        assert!(find([folder.path()]).is_err());
        fs::remove_file(&path).expect("it is there");
        fs::create_dir(&path).expect("a folder");
        assert!(find([folder.path()]).is_err());
        fs::remove_dir(&path).expect("it is there");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o666.into(), 0)
            .expect("a pipe");
        assert!(find([folder.path()]).expect_err("a pipe").to_string().contains("not a file"));
    }
}
