//! The meaning of the command line. In: [`Args`] as typed. Out: [`Options`] that fit together, or a sentence
//! about those that do not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::args::{Args, CacheChoice, FlushChoice, ListFormat, PathChoice};
use super::peaks::parse_peaks;
use crate::device::ClockTarget;
use crate::plan::{Ignored, Selection};
use gpubench_records::baseline::{BaselineOptions, Place};
use gpubench_records::comparison::Threshold;
use gpubench_records::facts::Peak;
use gpubench_records::id::{Arg, BenchmarkId};
use gpubench_records::method::{Cache, Flush, Path};
use gpubench_records::sampling::Sampling;
use gpubench_report::export::{Export, exports};
use gpubench_stats::units::Seconds;

/// The user's wishes, validated.
#[derive(Clone, Debug)]
pub struct Options {
    /// The selection of cases.
    pub selection: Selection,
    /// The device, if one is named.
    pub device: Option<String>,
    /// Lists the cases in this format and measures nothing.
    pub list: Option<ListFormat>,
    /// Launches each benchmark once and times nothing.
    pub test: bool,
    /// The sampling of cases.
    pub sampling: Sampling,
    /// Peaks that override the known ones of a device.
    pub peaks: Vec<Peak>,
    /// Measures the ceilings of the device and no benchmark.
    pub measure_peaks: bool,
    /// The folder for measured ceilings, if not the user's cache.
    pub cache_dir: Option<PathBuf>,
    /// The file with the user's peaks, if not the nearest of the default name.
    pub config: Option<PathBuf>,
    /// The wall time a case may take.
    pub timeout: Duration,
    /// True if a benchmark's own `timeout` overrides that.
    pub own_timeout: bool,
    /// The clock to lock GPUs to for the run.
    pub lock_clocks: Option<ClockTarget>,
    /// Waits for a GPU that another suite is measuring.
    pub wait: bool,
    /// Measures in this process.
    pub in_process: bool,
    /// The number of times to measure everything, each time in a new process.
    pub runs: usize,
    /// The baselines to compare the run with, and the one to store it as.
    pub baselines: BaselineOptions,
    /// The slowdown from which on a case is a regression.
    pub threshold: Option<Threshold>,
    /// Reads this stored run instead of measuring.
    pub from: Option<PathBuf>,
    /// Explains the origin of each number.
    pub explain: bool,
    /// The run to resume, or `last`.
    pub resume: Option<String>,
    /// The folder for runs in progress.
    pub runs_dir: RunsDir,
    /// The formats that the run is written in, and their destinations.
    pub exports: Vec<Export>,
    /// The choice of colour.
    pub color: clap::ColorChoice,
}

/// The folder for runs in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunsDir {
    /// The default folder of this program.
    Usual,
    /// In this one.
    In(PathBuf),
    /// Nowhere.
    Nowhere,
}

impl Options {
    /// Validates `args` for a program that is a bench target or not.
    pub(super) fn of(args: Args, bench_target: bool) -> Result<Self, String> {
        let mut sampling = if args.quick { QUICK } else { Sampling::USUAL };
        if let Some(precision) = &args.precision {
            sampling.precision = parse_percent(precision)
                .ok_or_else(|| format!("--precision {precision}: give a percentage above 0, such as 0.5%"))?;
        }
        if args.measure_peaks && args.test {
            return Err("--measure-peaks and --test: the one measures, the other times nothing".to_owned());
        }
        if args.samples == Some(0) {
            return Err("--samples 0: give at least 1".to_owned());
        }
        sampling.samples = args.samples;
        let threshold = args.fail_on_regression.as_deref().map(parse_threshold).transpose()?;
        if threshold.is_some() && args.baseline.is_none() && args.compare_with.is_none() {
            return Err("--fail-on-regression: say against what, by --baseline or --compare-with".to_owned());
        }
        sampling.band = match (&args.band, threshold) {
            (Some(band), _) => parse_percent(band)
                .ok_or_else(|| format!("--band {band}: give a percentage above 0, such as 0.5%"))?,
            // A difference that is a regression matters.
            (None, Some(Threshold::Part(part))) => part.min(sampling.band),
            (None, _) => sampling.band,
        };
        let runs = args.runs.unwrap_or(1);
        if runs == 0 {
            return Err("--runs 0: give at least 1".to_owned());
        }
        if runs > 1 && args.compare_with.is_some() {
            return Err("--runs: a comparison by --compare-with makes rounds of its own".to_owned());
        }
        sampling.flush = args.flush.map(|how| match how {
            FlushChoice::Discard => Flush::Discard,
            FlushChoice::Read => Flush::Read,
            FlushChoice::Write => Flush::Write,
            FlushChoice::None => Flush::None,
        });
        sampling.path = match args.path {
            PathChoice::Auto => None,
            PathChoice::Graph => Some(Path::Graph),
            PathChoice::Stream => Some(Path::Stream),
        };
        sampling.warm_up_launches = args.warmup_launches;
        sampling.warm_up = seconds("--warmup", args.warmup, sampling.warm_up)?;
        sampling.min_time = seconds("--min-time", args.min_time, sampling.min_time)?;
        sampling.max_time = seconds("--max-time", args.max_time, sampling.max_time.max(sampling.min_time))?;
        sampling.energy = args.energy.then_some(true).or(sampling.energy);
        sampling.own_max_time = !args.quick && args.max_time.is_none() && args.min_time.is_none();
        if sampling.min_time > sampling.max_time {
            return Err(format!(
                "--min-time {} is more than --max-time {}: lower one or raise the other",
                sampling.min_time.0, sampling.max_time.0
            ));
        }
        let timeout = match args.timeout {
            None => TIMEOUT,
            Some(seconds) => Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|timeout| !timeout.is_zero())
                .ok_or_else(|| format!("--timeout {seconds}: give seconds above 0"))?,
        };
        let runs_dir = match args.runs_dir {
            None => RunsDir::Usual,
            Some(folder) if folder.as_os_str() == "none" => RunsDir::Nowhere,
            Some(folder) => RunsDir::In(folder),
        };
        if args.resume.is_some() && args.measure_peaks {
            return Err("--resume goes on with a run of the suite: leave out --measure-peaks".to_owned());
        }
        if args.resume.is_some() && runs > 1 {
            return Err("--resume goes on with a run of one process: leave out --runs".to_owned());
        }
        if args.resume.is_some() && runs_dir == RunsDir::Nowhere {
            return Err("--resume needs a folder of runs: leave out `--runs-dir none`".to_owned());
        }
        let ignored = match (args.ignored, args.include_ignored) {
            (_, true) => Ignored::Included,
            (true, false) => Ignored::Only,
            // Test runners expect a list to contain the ignored ones.
            (false, false) if args.list => Ignored::Included,
            (false, false) => Ignored::Left,
        };
        Ok(Self {
            selection: Selection {
                filters: args.filters.iter().flat_map(|names| split_names(names)).collect(),
                exact: args.exact,
                skip: args.skip.iter().flat_map(|names| split_names(names)).collect(),
                tags: args.tag,
                ignored,
                args: parse_args(&args.args)?,
                caches: args.cache.map(|choice| match choice {
                    CacheChoice::Hot => vec![Cache::Hot],
                    CacheChoice::Cold => vec![Cache::Cold],
                    CacheChoice::Both => vec![Cache::Hot, Cache::Cold],
                }),
                compare_with: args.compare_with.as_deref().map(parse_partner).transpose()?,
            },
            device: args.device,
            list: args.list.then_some(args.format),
            test: args.test || (bench_target && !args.bench && !args.measure_peaks),
            sampling,
            peaks: parse_peaks(&args.peaks)?,
            measure_peaks: args.measure_peaks,
            cache_dir: args.cache_dir,
            config: args.config,
            timeout,
            own_timeout: args.timeout.is_none(),
            lock_clocks: args.lock_clocks.as_deref().map(parse_lock).transpose()?,
            wait: !args.no_wait,
            in_process: args.in_process,
            runs,
            baselines: BaselineOptions {
                against: args.baseline.as_deref().map(|name| parse_place("--baseline", name)).transpose()?,
                save: args
                    .save_baseline
                    .as_deref()
                    .map(|name| parse_place("--save-baseline", name))
                    .transpose()?,
            },
            threshold,
            from: args.from,
            explain: args.explain,
            resume: args.resume,
            runs_dir,
            exports: exports(args.exports.0).map_err(|error| error.to_string())?,
            color: args.color,
        })
    }
}

/// The default limit for a case.
const TIMEOUT: Duration = Duration::from_secs(60);

const QUICK: Sampling =
    Sampling { warm_up: Seconds(0.02), max_time: Seconds(0.05), energy: Some(false), ..Sampling::USUAL };

/// Splits names at commas. Commas within a name, as in `f[n=1, m=2]`, are followed by a space.
fn split_names(names: &str) -> Vec<String> {
    let mut split: Vec<String> = Vec::new();
    for part in names.split(',') {
        match split.last_mut() {
            Some(last) if part.starts_with(' ') => *last = format!("{last},{part}"),
            _ => split.push(part.to_owned()),
        }
    }
    split
}

/// Reads `0.5%` or `0.5` as 0.005.
fn parse_percent(text: &str) -> Option<f64> {
    let number = text.trim().trim_end_matches('%').trim_end();
    number
        .parse::<f64>()
        .ok()
        .filter(|percent| percent.is_finite() && *percent > 0.0)
        .map(|percent| percent / 100.0)
}

/// Reads `5%`, or `noise`.
fn parse_threshold(text: &str) -> Result<Threshold, String> {
    if text.trim() == "noise" {
        return Ok(Threshold::Noise);
    }
    parse_percent(text).map(Threshold::Part).ok_or_else(|| {
        format!("--fail-on-regression {text}: give a percentage above 0, such as 5%, or `noise`")
    })
}

fn parse_place(flag: &str, name: &str) -> Result<Place, String> {
    // A name that begins with a point is hidden, or leads out of the folder.
    let plain = !name.is_empty() && (name.contains('/') || !name.starts_with('.'));
    if plain {
        Ok(Place::of(name))
    } else {
        Err(format!("{flag} `{name}`: give a name, or a path with a `/` in it"))
    }
}

fn seconds(flag: &str, given: Option<f64>, usual: Seconds) -> Result<Seconds, String> {
    match given {
        None => Ok(usual),
        Some(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(Seconds(seconds)),
        Some(seconds) => Err(format!("{flag} {seconds}: give seconds, 0 or more")),
    }
}

fn parse_lock(text: &str) -> Result<ClockTarget, String> {
    text.parse().map_err(|what| format!("--lock-clocks {text}: {what}"))
}

/// Reads `n=1,2` as the name and its values. One environment variable holds several, with `;` between them.
fn parse_args(given: &[String]) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut args: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for arg in given.iter().flat_map(|given| split_outside_brackets(given, ';')) {
        let (name, values) = arg.split_once('=').unwrap_or((arg, ""));
        let values: Vec<String> =
            split_outside_brackets(values, ',').into_iter().map(|value| value.trim().to_owned()).collect();
        if name.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(format!("--arg {arg}: give a name and its values, such as n=1024,4096"));
        }
        args.entry(name.trim().to_owned()).or_default().extend(values);
    }
    Ok(args)
}

/// Reads `sum`, or `sum[BLOCK=128, n=1024]` in the form of case names.
fn parse_partner(text: &str) -> Result<BenchmarkId, String> {
    let named = text.strip_suffix(']').and_then(|text| text.split_once('[')).unwrap_or((text, ""));
    let (benchmark, args) = (named.0.trim(), named.1);
    let args = split_outside_brackets(args, ',').into_iter().filter(|arg| !arg.trim().is_empty());
    let args: Option<Vec<Arg>> = args
        .map(|arg| {
            let (name, value) = arg.split_once('=')?;
            Some(Arg { name: name.trim().to_owned(), value: value.trim().to_owned() })
        })
        .collect();
    match args {
        Some(args) if !benchmark.is_empty() => Ok(BenchmarkId { benchmark: benchmark.to_owned(), args }),
        _ => Err(format!(
            "--compare-with {text}: give a benchmark's name, with its own arguments in brackets, such as sum[BLOCK=128]"
        )),
    }
}

/// Splits `text` at each `separator` outside brackets, such as those of `[u8; 4]` and `Pair<u8, u8>`.
fn split_outside_brackets(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (place, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ if letter == separator && depth == 0 => {
                parts.push(&text[begin..place]);
                begin = place + letter.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_between_them_and_not_within() {
        assert_eq!(split_names("copy,f[n=1, m=2],sum"), ["copy", "f[n=1, m=2]", "sum"]);
    }

    proptest::proptest! {
        /// Draws values from all characters that do not separate values.
        #[test]
        fn any_value_is_read_as_it_is_written(
            name in "[a-zA-Z_][a-zA-Z0-9_]{0,8}",
            values in proptest::collection::vec("[^,;\\[\\](){}<>\\s][^,;\\[\\](){}<>]{0,12}", 1..6),
        ) {
            let given = format!("{name}={}", values.join(","));
            let args = parse_args(&[given]).expect("it is well formed");
            let values: Vec<String> = values.iter().map(|value| value.trim().to_owned()).collect();
            proptest::prop_assert_eq!(args, BTreeMap::from([(name, values)]));
        }
    }

    #[test]
    fn percentages_and_args_are_read_as_written() {
        assert_eq!(parse_percent("0.5%"), Some(0.005));
        assert_eq!(parse_percent("2"), Some(0.02));
        assert_eq!([parse_percent("0%"), parse_percent("x"), parse_percent("-1")], [None; 3]);
        let args = parse_args(&["n=1, 2".to_owned(), "m=a".to_owned(), "n=3".to_owned()]);
        let args = args.expect("all are well formed");
        assert_eq!(args["n"], ["1", "2", "3"]);
        assert_eq!(args["m"], ["a"]);
        let args = parse_args(&["T=[u8; 4], Pair<u8, f32>;n=1".to_owned()]).expect("both are well formed");
        assert_eq!(
            (&args["T"][..], &args["n"][..]),
            (&["[u8; 4]", "Pair<u8, f32>"].map(str::to_owned)[..], &["1".to_owned()][..])
        );
        assert!(["n", "=1", "n=", "n=1,,2"].iter().all(|arg| parse_args(&[(*arg).to_owned()]).is_err()));
    }
}
