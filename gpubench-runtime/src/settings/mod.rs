//! The settings of a measurement. The command line, `gpubench.toml` and programs fill the same [`Settings`], and
//! [`Settings::validate`] checks them all.

use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, env, fs, io, time::Duration};

use clap::{ArgMatches, FromArgMatches};
use serde::Deserialize;

use self::values::{args, duration, list, positive_duration, text};
use crate::device::ClockTarget;
use crate::plan::{Ignored, Selection};
use gpubench_records::{
    BaselineOptions, BenchmarkId, CaseSelection, Threshold, files::Place, selection::parse_filters,
};

pub(crate) use self::validate::peaks_of;
pub use self::values::{
    CacheStates, FlushChoice, PathChoice, Percent, RunsDir, ShareChoice, Verifier, WarmUp,
    parse_positive_time,
};
pub use gpubench_records::selection::ArgValues;

mod validate;
mod values;

/// The cases to measure, how to measure them, and the output of the results.
///
/// Each field is a flag of the command line and a line of `gpubench.toml`, unless its description says otherwise. The default is
/// what happens without the flag.
///
/// ```
/// use std::time::Duration;
/// use gpubench_runtime::{ArgValues, Percent, Settings};
///
/// let settings = Settings {
///     filter: vec!["saxpy".into()],
///     arg: vec![ArgValues::new("n", [1 << 20])],
///     precision: Some(Percent(1.0)),
///     max_time: Some(Duration::from_secs(1)),
///     ..Settings::default()
/// };
/// ```
#[derive(Clone, Debug, Default, clap::Args, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// Measure only cases with this text, or /regex/, in their names
    #[arg(value_name = "FILTER", env = "GPUBENCH_FILTER")]
    #[serde(deserialize_with = "list")]
    pub filter: Vec<String>,

    /// Match whole names, in filters and in --skip
    #[arg(long)]
    pub exact: bool,

    /// Skip cases with FILTER in their names
    #[arg(long, value_name = "FILTER")]
    #[serde(deserialize_with = "list")]
    pub skip: Vec<String>,

    /// Measure only benchmarks with one of these tags
    #[arg(long, value_name = "TAG,…", value_delimiter = ',')]
    #[serde(deserialize_with = "list")]
    pub tag: Vec<String>,

    /// Measure only benchmarks marked `ignore`
    #[arg(long)]
    pub ignored: bool,

    /// Also measure benchmarks marked `ignore`
    #[arg(long)]
    pub include_ignored: bool,

    /// Replace the values of an argument, as in n=1024,1Mi
    ///
    /// Of types and constants, such as T=f32, choose among the values that the benchmark lists. A number may end in k, M, G or T
    /// (powers of 1000), or in Ki, Mi, Gi or Ti (powers of 1024).
    #[arg(long, value_name = "NAME=VALUE,…")]
    #[serde(deserialize_with = "args")]
    pub arg: Vec<ArgValues>,

    /// Measure with hot caches, cold caches or both
    #[arg(long, value_name = "STATE")]
    pub cache: Option<CacheStates>,

    /// Measure on 0, cuda:0, wgpu:1, a UUID, cuda, host, all
    #[arg(long, env = "GPUBENCH_DEVICE")]
    pub device: Option<String>,

    /// Measure a share of the cases, as one of several tasks: 3/8, split, replicate or none [default: replicate]
    #[arg(long, env = "GPUBENCH_SHARE")]
    #[serde(deserialize_with = "text")]
    pub share: Option<ShareChoice>,

    /// Measure roughly: sample for at most 50 ms per case
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub quick: Option<bool>,

    /// Sample until the median is this precise [default: 0.5%]
    #[arg(long, value_name = "PERCENT")]
    #[serde(deserialize_with = "text")]
    pub precision: Option<Percent>,

    /// Take exactly N samples per case
    #[arg(long, value_name = "N")]
    pub samples: Option<usize>,

    /// Warm up for at least this time, or with exactly N launches [default: 2ms, and until times are steady]
    #[arg(long, value_name = "TIME|N")]
    #[serde(deserialize_with = "text")]
    pub warmup: Option<WarmUp>,

    /// Sample each case for at least this time
    #[arg(long, value_name = "TIME", value_parser = values::parse_time)]
    #[serde(deserialize_with = "duration")]
    pub min_time: Option<Duration>,

    /// Sample each case for at most this time [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = values::parse_time)]
    #[serde(deserialize_with = "duration")]
    pub max_time: Option<Duration>,

    /// Kill the process of a case that takes longer than this [default: 60s, or the benchmark's own]
    #[arg(long, value_name = "TIME", value_parser = values::parse_positive_time)]
    #[serde(deserialize_with = "positive_duration")]
    pub timeout: Option<Duration>,

    /// Flush the last-level cache this way before cold samples [default: what suits the device]
    #[arg(long, value_name = "HOW")]
    pub flush: Option<FlushChoice>,

    /// Time launches in a captured CUDA graph (`graph`) or on the stream (`stream`) [default: auto]
    #[arg(long, value_name = "PATH", hide_possible_values = true)]
    pub path: Option<PathChoice>,

    /// Measure the energy of a launch, in 1 to 2 s after the hot samples of each case
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true, value_name = "BOOL")]
    pub energy: Option<bool>,

    /// Trace launches after the samples with `cupti`, and compare the times (feature `verify`)
    #[arg(long, value_name = "TOOL", hide_possible_values = true)]
    pub verify: Option<Verifier>,

    /// Lock the GPU's clock to `base`, `max` or a number of MHz during the run (needs root)
    #[arg(long, value_name = "CLOCK")]
    #[serde(deserialize_with = "text")]
    pub lock_clocks: Option<ClockTarget>,

    /// Measure everything N times, in new processes, and report the spread (from 5 on)
    #[arg(long, value_name = "N")]
    pub runs: Option<usize>,

    /// Measure in this process, for debuggers: a crash ends the run, and --timeout has no effect
    #[arg(long)]
    pub in_process: bool,

    /// Write everything as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write one line per case as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write the table as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,

    /// Explain each result below the table
    #[arg(long)]
    pub explain: bool,

    /// Compare with a baseline: a name, a file, or `last`
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,

    /// Save the results as a baseline: a name or a file
    #[arg(long, value_name = "NAME")]
    pub save_baseline: Option<String>,

    /// Exit with 3 if a case is slower by PERCENT or more; with `noise`, by more than processes differ
    #[arg(long, value_name = "PERCENT")]
    #[serde(deserialize_with = "text")]
    pub fail_on_regression: Option<Threshold>,

    /// Compare with this benchmark, as in sum[BLOCK=128]
    #[arg(long, value_name = "NAME")]
    #[serde(deserialize_with = "text")]
    pub compare_with: Option<BenchmarkId>,

    /// Resume an interrupted run, the last one or RUN
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "last")]
    pub resume: Option<String>,

    /// Store runs in this folder, or nowhere with `none` [default: gpubench/runs in cargo's target folder]
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_RUNS_DIR")]
    #[serde(deserialize_with = "text")]
    pub runs_dir: Option<RunsDir>,

    /// Show no progress; in test mode, print a letter for each case
    #[arg(short, long)]
    pub quiet: bool,

    /// Use colours: auto, always or never [default: auto]
    #[arg(long, value_name = "WHEN", hide_possible_values = true)]
    #[serde(deserialize_with = "text")]
    pub color: Option<clap::ColorChoice>,

    /// The difference of two times that does not matter; 0.5 % by default. No flag.
    #[arg(skip)]
    #[serde(deserialize_with = "text")]
    pub equivalence_margin: Option<Percent>,

    /// Fail if another benchmark binary is measuring the GPU, in place of waiting for it. No flag.
    #[arg(skip)]
    pub no_wait: bool,

    /// Measure one case at a time, also on several GPUs. No flag.
    #[arg(skip)]
    pub one_at_a_time: bool,

    /// The folder for measured peaks; the user's cache by default. No flag, but `GPUBENCH_CACHE_DIR`.
    #[arg(skip)]
    pub cache_dir: Option<PathBuf>,

    /// Peaks by device and quantity, as in `peaks."NVIDIA H200".memory = "4800GB/s"`. A device has its name, its UUID or its word on
    /// the command line; a quantity is `memory`, `l2`, `h2d`, `d2h`, `p2p` or a data type. No flag.
    #[arg(skip)]
    pub peaks: BTreeMap<String, BTreeMap<String, String>>,
}

/// The time that a case may take.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Settings {
    /// Returns the selection of cases.
    pub(crate) fn selection(&self) -> Result<Selection, String> {
        let ignored = match (self.ignored, self.include_ignored) {
            (_, true) => Ignored::Included,
            (true, false) => Ignored::Only,
            (false, false) => Ignored::Left,
        };
        Ok(Selection {
            cases: CaseSelection {
                filters: parse_filters(&self.filter, self.exact).map_err(|error| error.to_string())?,
                exact: self.exact,
                skip: parse_filters(&self.skip, self.exact).map_err(|error| error.to_string())?,
                args: ArgValues::by_name(&self.arg),
                caches: self.cache.map(CacheStates::list),
                device: None,
            },
            tags: self.tag.clone(),
            ignored,
            compare_with: self.compare_with.clone(),
        })
    }

    /// Returns the time that a case may take, unless its benchmark has a limit of its own.
    pub(crate) fn time_limit(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// Returns the number of times to measure everything.
    pub(crate) fn repeats(&self) -> usize {
        self.runs.unwrap_or(1)
    }

    /// Returns the places of the baselines.
    pub(crate) fn baselines(&self) -> BaselineOptions {
        let place = |name: &Option<String>| name.as_deref().map(Place::of);
        BaselineOptions { against: place(&self.baseline), save: place(&self.save_baseline) }
    }
}

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
    /// Returns the settings of the command line and its variables, then those of the environment without a flag, then those of the
    /// file that `GPUBENCH_CONFIG` names, else of the nearest file at or above the package or the current folder.
    ///
    /// # Errors
    /// Returns a sentence that names the file, if it cannot be used.
    pub(crate) fn with_file(flags: &ArgMatches) -> Result<Self, String> {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folders = [variable("CARGO_MANIFEST_DIR"), env::current_dir().ok()];
        let nearest = || find(folders.iter().flatten().map(PathBuf::as_path));
        let file = variable("GPUBENCH_CONFIG").or_else(nearest).map(|path| read(&path));
        let mut settings = file.transpose()?.unwrap_or_default().with_flags(flags)?;
        settings.cache_dir = variable("GPUBENCH_CACHE_DIR").or(settings.cache_dir);
        Ok(settings)
    }

    /// Returns these settings of a file, with those of the command line in their place. A switch of the file stays on.
    fn with_flags(mut self, flags: &ArgMatches) -> Result<Self, String> {
        let Self { exact, ignored, include_ignored, in_process, explain, quiet, .. } = self;
        self.update_from_arg_matches(flags).map_err(|error| error.to_string())?;
        self.exact |= exact;
        self.ignored |= ignored;
        self.include_ignored |= include_ignored;
        self.in_process |= in_process;
        self.explain |= explain;
        self.quiet |= quiet;
        Ok(self)
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
    use clap::{Args, Command};

    use super::*;

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
        let both = file.with_flags(&flags.expect("they are flags")).expect("they are settings");
        assert_eq!((both.quick, both.samples, both.explain), (Some(false), Some(7), true));
        assert_eq!((both.skip, both.timeout), (vec!["x".to_owned()], Some(TIMEOUT)));
        assert!(both.exact && both.ignored && both.include_ignored && both.in_process && both.quiet);
    }

    /// The command line takes back no switch of the file.
    #[test]
    fn every_switch_of_the_file_stays_on() {
        let command = Settings::augment_args(Command::new("suite"));
        let is_switch = |arg: &&clap::Arg| matches!(arg.get_action(), clap::ArgAction::SetTrue);
        let switches: Vec<_> =
            command.get_arguments().filter(is_switch).map(|arg| arg.get_id().to_string()).collect();
        assert_eq!(switches.len(), 6);
        let flags = command.try_get_matches_from(["suite"]).expect("nothing is given");
        for switch in switches {
            let file: Settings =
                toml::from_str(&format!("{} = true", switch.replace('_', "-"))).expect("a switch");
            let kept = format!("{:?}", file.with_flags(&flags).expect("it is right"));
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
