//! The file of settings: the nearest `gpubench.toml`.
//!
//! ```toml
//! precision = "1%"
//! arg = { n = [1024, "1Mi"] }
//! peaks."NVIDIA H200" = { memory = "4800GB/s", "bf16 tensor" = "800TFLOP/s" }
//! ```

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::Settings;

/// The name of the file.
const NAME: &str = "gpubench.toml";

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
    /// Returns a sentence that names the file, if it cannot be used.
    pub(crate) fn with_file(mut self) -> Result<Self, String> {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        self.cache_dir = self.cache_dir.or_else(|| variable("GPUBENCH_CACHE_DIR"));
        // `cargo gpubench ab` sets it to `none`: its runs are not added to a history.
        self.history = self.history.or_else(|| variable("GPUBENCH_HISTORY"));
        let folders = [variable("CARGO_MANIFEST_DIR"), env::current_dir().ok()];
        let nearest = || find(folders.iter().flatten().map(PathBuf::as_path));
        let mut settings = match variable("GPUBENCH_CONFIG").or_else(nearest) {
            Some(path) => self.or(read(&path)?),
            None => self,
        };
        settings.history = settings.history.filter(|folder| folder.as_os_str() != "none");
        Ok(settings)
    }
}

/// Finds the nearest file in one of these folders or above. Earlier folders come first.
fn find<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Option<PathBuf> {
    let files = folders.into_iter().flat_map(Path::ancestors).map(|folder| folder.join(NAME));
    // Also a broken link or a folder, which cannot be read: a user who put it there wants its settings.
    files.into_iter().find(|file| file.symlink_metadata().is_ok())
}

/// Reads the file at `path`.
fn read(path: &Path) -> Result<Settings, String> {
    let text = match fs::metadata(path) {
        // A pipe or a device may have no end.
        Ok(found) if !found.is_file() && !found.is_dir() => Err(io::Error::other("not a file")),
        _ => fs::read_to_string(path),
    };
    let text = text.map_err(|error| {
        let is_named = env::var_os("GPUBENCH_CONFIG").is_some_and(|named| named == path);
        let naming = if is_named { ", which GPUBENCH_CONFIG names" } else { "" };
        format!("{}{naming}: {error}", path.display())
    })?;
    let wrong = |error: String| format!("{}: {error}", path.display());
    let settings: Settings = toml::from_str(&text).map_err(|error| wrong(plain(&error)))?;
    // A gate may wait for the command line to name a baseline.
    let alone = Settings { fail_on_regression: None, ..settings.clone() };
    alone.validate().map_err(wrong)?;
    Ok(settings)
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
        read(&path)
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
        let samples = || read(&find([inner.as_path()]).expect("it is there")).expect("it is right").samples;
        let write =
            |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
        write("gpubench.toml", "samples = 2");
        assert_eq!(samples(), Some(2));
        write("a/gpubench.toml", "samples = 3");
        assert_eq!(samples(), Some(3));
        let elsewhere = find([Path::new("/nowhere"), folder.path()]);
        assert_eq!(elsewhere, Some(folder.path().join(NAME)));
    }

    /// A file that is there and cannot be read is not passed over.
    #[test]
    fn an_unreadable_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        std::os::unix::fs::symlink("moved.toml", &path).expect("a link");
        assert!(find([folder.path()]).is_some_and(|file| read(&file).is_err()));
        fs::remove_file(&path).expect("it is there");
        fs::create_dir(&path).expect("a folder");
        assert!(find([folder.path()]).is_some_and(|file| read(&file).is_err()));
        fs::remove_dir(&path).expect("it is there");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o666.into(), 0)
            .expect("a pipe");
        assert!(
            read(&find([folder.path()]).expect("it is there")).expect_err("a pipe").contains("not a file")
        );
    }
}
