//! `gpubench.toml`: its lines are flags without their dashes, and read as these are.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Id, builder::Resettable, parser::ValueSource,
};
use toml::de::{DeTable, DeValue as Value};

use super::{ArgValues, Settings, StatedPeak};
use gpubench_records::text::did_you_mean;

/// The name of the settings file, for which [`find_file`] searches.
const FILE_NAME: &str = "gpubench.toml";

/// The name of the only setting in the file without a flag: a table of peaks.
const PEAKS_KEY: &str = "peaks";
/// The error for peaks that are not tables of texts.
const PEAKS_FORMAT_HINT: &str = "peaks: give a section for each device, such as [peaks.\"NVIDIA H200\"], with lines such as memory = \"4800GB/s\"";

impl Settings {
    /// Returns the settings. Each comes from the command line, else from its environment variable, else from
    /// the file: the one that `GPUBENCH_CONFIG` names, or the nearest at or above the package or the current
    /// folder.
    ///
    /// # Errors
    /// Returns a sentence that names the file if it cannot be used, or the message of clap for a wrong flag.
    pub(crate) fn with_file(flags: &ArgMatches) -> Result<Self, String> {
        let file = settings_file().map(|path| read_file(&path));
        let mut settings = file.transpose()?.unwrap_or_default();
        settings.update(flags).map_err(|error| error.to_string())?;
        Ok(settings)
    }

    /// Sets each setting that the user gives by a flag or its variable. All others, switches too, stay as
    /// they are.
    fn update(&mut self, flags: &ArgMatches) -> Result<(), clap::Error> {
        let mut given = flags.clone();
        for id in flags.ids().map(Id::as_str) {
            if flags.value_source(id) == Some(ValueSource::DefaultValue) {
                _ = given.try_clear_id(id);
            }
        }
        self.update_from_arg_matches(&given)
    }

    /// Reads the text of a `gpubench.toml`.
    ///
    /// # Errors
    /// Returns the line of the first mistake, and what to write.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| {
            format!(
                "{}\n\n  tip: a switch is true or false, and text is in quotes",
                error.to_string().trim_end()
            )
        })?;
        let command = Command::new(FILE_NAME).no_binary_name(true).disable_help_flag(true);
        let mut command = Self::augment_args(command).mut_args(|arg| arg.env(Resettable::Reset));
        let mut settings = Self::default();
        for (name, value) in table.get_ref() {
            let at = |place: usize, error: String| {
                format!("line {}: {error}", 1 + text[..place].matches('\n').count())
            };
            let at_line = |error| at(name.span().start, error);
            let (key, value) = (&**name.get_ref(), value.get_ref());
            if key == PEAKS_KEY {
                let peaks = stated_peaks(name.span().start, value);
                settings.peaks = peaks.map_err(|(place, error)| at(place, error))?;
                continue;
            }
            if let ("arg", Value::Table(axes)) = (key, value) {
                for (name, values) in axes {
                    let values = value_texts(values.get_ref()).map_err(at_line)?;
                    settings.arg.push(ArgValues::new(&**name.get_ref(), values));
                }
                continue;
            }
            let flags = flags_of(&command, key, value).map_err(at_line)?;
            let read = command.try_get_matches_from_mut(flags).and_then(|flags| settings.update(&flags));
            read.map_err(|error| at_line(plain_message(&error)))?;
        }
        Ok(settings)
    }
}

/// Reads the peaks: tables of texts, one for each device, which begin at the byte `start` of the file.
/// An error has the byte index of its place in the file and a message.
fn stated_peaks(start: usize, devices: &Value) -> Result<Vec<StatedPeak>, (usize, String)> {
    let wrong = || (start, PEAKS_FORMAT_HINT.to_owned());
    let mut peaks = Vec::new();
    for (device, quantities) in devices.as_table().ok_or_else(wrong)? {
        for (quantity, value) in quantities.get_ref().as_table().ok_or_else(wrong)? {
            let place = quantity.span().start;
            let (device, quantity) = (device.get_ref(), quantity.get_ref());
            let value = value.get_ref().as_str().ok_or_else(|| {
                let what = format!("`{quantity}` of `{device}` has no unit");
                (place, format!("{what}: write it in quotes, such as \"4800GB/s\""))
            })?;
            let [device, quantity, value] = [device, quantity, value].map(ToString::to_string);
            let peak = StatedPeak { device, quantity, value };
            peak.read().map_err(|error| (place, error))?;
            peaks.push(peak);
        }
    }
    Ok(peaks)
}

/// Returns the flags for a line of the file, such as `--precision=1%` for the key `precision`. Filters follow
/// `--`; a switch that is `false` has no flag. Returns an error for an unknown key, for a value that is no
/// text, number, switch or list, and for an empty list where one value is expected.
fn flags_of(command: &Command, key: &str, value: &Value) -> Result<Vec<String>, String> {
    // The filters are no flag on the command line.
    let name = |arg: &Arg| arg.get_long().unwrap_or("filter").to_owned();
    let Some(arg) = command.get_arguments().find(|arg| name(arg) == key) else {
        let near = did_you_mean(key, command.get_arguments().map(name).chain([PEAKS_KEY.to_owned()]));
        let near = if near.is_empty() { ": `--help` lists the settings" } else { &near };
        return Err(format!("unknown setting `{key}`{near}"));
    };
    let flag = arg.get_long().map(|long| format!("--{long}"));
    match (value, flag) {
        (Value::Boolean(is_on), Some(flag)) if matches!(arg.get_action(), ArgAction::SetTrue) => {
            Ok(is_on.then_some(flag).into_iter().collect())
        }
        (value, flag) => {
            let texts = value_texts(value)?;
            if texts.is_empty() && !matches!(arg.get_action(), ArgAction::Append) {
                return Err(format!("{key}: an empty list: give a value, or leave out the line"));
            }
            Ok(match flag {
                Some(flag) => texts.iter().map(|text| format!("{flag}={text}")).collect(),
                None => [vec!["--".to_owned()], texts].concat(),
            })
        }
    }
}

/// Returns a value of the file as the texts of a flag: one, or one for each item of a list.
fn value_texts(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::String(text) => Ok(vec![text.to_string()]),
        Value::Array(values) if values.iter().all(|value| !value.get_ref().is_array()) => {
            let texts = values.iter().map(|value| value_texts(value.get_ref()));
            Ok(texts.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Value::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Ok(vec![number.to_string()]),
            Err(_) => Err(format!("the number `{number}` is too large")),
        },
        Value::Float(number) => {
            // `1e3` is the number 1000 for a flag that takes whole numbers.
            let value = number.as_str().parse::<f64>();
            Ok(vec![value.map_or_else(|_| number.to_string(), |value| value.to_string())])
        }
        Value::Boolean(is_on) => Ok(vec![is_on.to_string()]),
        _ => Err("expected text in quotes, or a list of texts".to_owned()),
    }
}

/// Returns the message of an error of clap, without `error: `, usage and hints.
fn plain_message(error: &clap::Error) -> String {
    let text = error.to_string();
    let text =
        text.split("\n\nFor more").next().and_then(|text| text.split("\n\nUsage").next()).unwrap_or_default();
    text.strip_prefix("error: ").unwrap_or(text).to_owned()
}

/// Returns the file that `GPUBENCH_CONFIG` names, existing or not, else the nearest one at or above the package's folder, else at or above the
/// current folder. `None` if there is none.
fn settings_file() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folders = [variable("CARGO_MANIFEST_DIR"), env::current_dir().ok()];
    variable("GPUBENCH_CONFIG").or_else(|| find_file(folders.iter().flatten().map(PathBuf::as_path)))
}

/// The environment variables in which [`value_origin`] looks for a wrong value: those of flags whose values are checked.
const SETTING_VARIABLES: [&str; 4] =
    ["GPUBENCH_DEVICE", "GPUBENCH_FILTER", "GPUBENCH_RUNS_DIR", "GPUBENCH_SHARE"];

/// Returns a phrase with the origin of the first value quoted by `error`: an environment variable, or a line
/// of the file, such as ` (`7` is from GPUBENCH_DEVICE)`. Returns an empty text if the value may come from
/// the command line, or if its origin is not found.
pub(crate) fn value_origin(error: &str) -> String {
    let Some(quoted) = error.split('`').nth(1) else { return String::new() };
    if env::args_os().skip(1).any(|arg| arg.to_string_lossy().contains(quoted)) {
        return String::new();
    }
    let has = |text: &str| text.split([',', '"', '\'', '[', ']']).any(|value| value.trim() == quoted);
    let variable = SETTING_VARIABLES.into_iter().find(|name| env::var(name).is_ok_and(|value| has(&value)));
    let line_of_file = || {
        let path = settings_file()?;
        let text = fs::read_to_string(&path).ok()?;
        let is_set = |line: &str| {
            !line.trim_start().starts_with('#') && has(line.split_once('=').map_or(line, |(_, value)| value))
        };
        Some(format!("{}, line {}", path.display(), text.lines().position(is_set)? + 1))
    };
    let origin = variable.map(str::to_owned).or_else(line_of_file);
    origin.map(|origin| format!(" (`{quoted}` is from {origin})")).unwrap_or_default()
}

/// Finds the nearest `gpubench.toml` in one of these folders or above. Earlier folders, with all folders above them, come first.
fn find_file<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Option<PathBuf> {
    let files = folders.into_iter().flat_map(Path::ancestors).map(|folder| folder.join(FILE_NAME));
    // Also a broken link or a folder, which cannot be read: a user who put it there wants its settings.
    files.into_iter().find(|file| file.symlink_metadata().is_ok())
}

/// Reads and checks the settings of the file at `path`. Returns an error that names the file if it cannot be
/// read, or if a setting is wrong whatever the command line has.
fn read_file(path: &Path) -> Result<Settings, String> {
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
    let settings = Settings::from_toml(&text).map_err(wrong)?;
    // A gate may wait for the command line to name a baseline, and a test does not verify.
    let alone = Settings { fail_on_regression: None, verify: None, ..settings.clone() };
    alone.validate().map_err(wrong)?;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DEFAULT_TIMEOUT;

    #[test]
    fn the_command_line_comes_before_the_file() {
        let file = Settings {
            quick: Some(true),
            samples: Some(7),
            skip: vec!["slow".into()],
            explain: true,
            ..Settings::default()
        };
        let switches = ["--exact", "--ignored", "--include-ignored", "--in-process", "--quiet"];
        let given = [&["suite", "--quick=false", "--skip", "x", "--timeout", "60s"][..], &switches].concat();
        let flags = Settings::augment_args(Command::new("suite")).try_get_matches_from(given);
        let mut both = file;
        both.update(&flags.expect("they are flags")).expect("they are settings");
        assert_eq!((both.quick, both.samples, both.explain), (Some(false), Some(7), true));
        assert_eq!((both.skip, both.timeout), (vec!["x".to_owned()], Some(DEFAULT_TIMEOUT)));
        assert!(both.exact && both.ignored && both.include_ignored && both.in_process && both.quiet);
    }

    /// The command line takes back no switch of the file.
    #[test]
    fn every_switch_of_the_file_stays_on() {
        let command = Settings::augment_args(Command::new("suite"));
        let is_switch = |arg: &&Arg| matches!(arg.get_action(), ArgAction::SetTrue);
        let switches: Vec<_> =
            command.get_arguments().filter(is_switch).map(|arg| arg.get_id().to_string()).collect();
        assert_eq!(switches.len(), 8);
        let flags = command.try_get_matches_from(["suite"]).expect("nothing is given");
        for switch in switches {
            let mut file =
                Settings::from_toml(&format!("{} = true", switch.replace('_', "-"))).expect("a switch");
            file.update(&flags).expect("they are right");
            let kept = format!("{file:?}");
            assert!(kept.contains(&format!("{switch}: true")), "{kept}");
        }
    }
}

#[cfg(test)]
mod file_tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::{ArgValues, CacheStates, Percent, WarmUp};

    fn parsed(text: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE_NAME);
        fs::write(&path, text).expect("it can be written");
        read_file(&path)
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

    /// A filter is no flag, and a value with a comma is one value.
    #[test]
    fn texts_are_values_as_they_are() {
        let text = "filter = [\"--exact\", \"-x\"]\narg = { mode = [\"a,b\", \"c\"] }\nquick = true\n";
        let settings = parsed(text).expect("it is right");
        assert_eq!((settings.exact, settings.filter), (false, vec!["--exact".to_owned(), "-x".to_owned()]));
        assert_eq!(settings.arg, [ArgValues::new("mode", ["a,b", "c"])]);
        assert_eq!(settings.quick, Some(true));
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (text, words) in [
            (
                "quick = true\nmax-time = \"fast\"",
                "line 2: invalid value 'fast' for '--max-time <TIME>': give a time",
            ),
            ("quick = true\n\nprecison = 1", "line 3: unknown setting `precison`: did you mean `precision`?"),
            ("max_time = 1", "did you mean `max-time`?"),
            ("cache-dir = \"x\"\ncache = \"warm\"", "line 2: "),
            ("quick = true\n\t\"max-time\" = \"fast\"", "line 2: "),
            ("max-time = []", "line 1: max-time: an empty list"),
            ("[peak.x]\nmemory = 1", "line 1: unknown setting `peak`: did you mean `peaks`?"),
            ("list = true", "unknown setting `list`: `--help` lists the settings"),
            ("samples = \"many\"", "'many' for '--samples <N>': give a whole number from 1 to 1000000"),
            ("quick = \"often\"", "[possible values: true, false]"),
            ("explain = \"often\"", "unexpected value 'often' for '--explain'"),
            ("samples = [1, 2]", "'--samples <N>' cannot be used multiple times"),
            ("arg = \"n\"", "give a name and its values"),
            ("cache = \"warm\"", "[possible values: hot, cold, both]"),
            ("skip = [[1]]", "expected text in quotes, or a list of texts"),
            ("quick = true\nquick = false", "duplicate key"),
            (
                "[peaks.x]\nmemory = \"4800\"",
                "line 2: peaks.\"x\".\"memory\" = \"4800\": `memory` needs a bandwidth above 0",
            ),
            (
                "[peaks.x]\nf32 = \"1TFLOP/s\"\nmem = \"1GB/s\"",
                "line 3: peaks.\"x\".\"mem\" = \"1GB/s\": no bandwidth is called `mem`: write memory, l2, h2d, d2h or p2p",
            ),
            ("samples = 0", "line 1: invalid value '0' for '--samples <N>': give a whole number from 1 to"),
            ("quick = ", "line 1"),
        ] {
            let told = parsed(text).expect_err("it is wrong");
            assert!(told.contains(words) && told.contains(FILE_NAME), "no `{words}` in `{told}`");
        }
    }

    #[test]
    fn the_nearest_file_is_found_upwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).expect("it can be made");
        let samples =
            || read_file(&find_file([inner.as_path()]).expect("it is there")).expect("it is right").samples;
        let write =
            |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
        write("gpubench.toml", "samples = 2");
        assert_eq!(samples(), Some(2));
        write("a/gpubench.toml", "samples = 3");
        assert_eq!(samples(), Some(3));
        let elsewhere = find_file([Path::new("/nowhere"), folder.path()]);
        assert_eq!(elsewhere, Some(folder.path().join(FILE_NAME)));
    }

    /// A file that is there and cannot be read is not passed over.
    #[test]
    fn an_unreadable_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE_NAME);
        std::os::unix::fs::symlink("moved.toml", &path).expect("a link");
        assert!(find_file([folder.path()]).is_some_and(|file| read_file(&file).is_err()));
        fs::remove_file(&path).expect("it is there");
        fs::create_dir(&path).expect("a folder");
        assert!(find_file([folder.path()]).is_some_and(|file| read_file(&file).is_err()));
        fs::remove_dir(&path).expect("it is there");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o666.into(), 0)
            .expect("a pipe");
        assert!(
            read_file(&find_file([folder.path()]).expect("it is there"))
                .expect_err("a pipe")
                .contains("not a file")
        );
    }
}
