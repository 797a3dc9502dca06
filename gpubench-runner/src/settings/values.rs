//! Values of settings: how they are written, on the command line and in `gpubench.toml`.

use std::{ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration};

use clap::ValueEnum;

use gpubench_records::{Cache, Flush, Part, Path, ShareMode, comparison::percentage};

/// A percentage above 0: `Percent(0.5)` is 0.5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl Percent {
    /// Returns the percentage as a fraction.
    pub fn fraction(self) -> f64 {
        self.0 / 100.0
    }

    /// Returns true if the percentage is finite and above 0.
    pub(super) fn is_valid(self) -> bool {
        self.0.is_finite() && self.0 > 0.0
    }
}

/// Reads `0.5%` or `0.5`.
impl FromStr for Percent {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        percentage(text).map(Self).ok_or("give a percentage above 0, such as 0.5%")
    }
}

/// The warm-up of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// For at least this time, and until times are steady.
    Time(Duration),
    /// With exactly this number of launches.
    Launches(usize),
}

/// Reads a number of launches, or a time with its unit.
impl FromStr for WarmUp {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "give a time with its unit, such as 5ms, or a number of launches";
        match text.trim().parse() {
            Ok(launches) => Ok(Self::Launches(launches)),
            Err(_) if text.trim().parse::<f64>().is_ok() => Err(wrong),
            Err(_) => parse_time(text).map(Self::Time).map_err(|_| wrong),
        }
    }
}

/// The units of time: the name, a number of these units, and the number of seconds that are equal to it. Both
/// numbers are whole, since a factor such as 0.001 is inexact.
const TIME_UNITS: [(&str, f64, f64); 8] = [
    ("s", 1.0, 1.0),
    ("ms", 1e3, 1.0),
    ("us", 1e6, 1.0),
    ("µs", 1e6, 1.0),
    ("ns", 1e9, 1.0),
    ("m", 1.0, 60.0),
    ("min", 1.0, 60.0),
    ("h", 1.0, 3600.0),
];

/// Reads a time with one of [`TIME_UNITS`], such as `500ms` or `2 min`. A number without a unit is in
/// seconds. Zero is allowed.
pub(crate) fn parse_time(text: &str) -> Result<Duration, &'static str> {
    let text = text.trim();
    let split = text.find(|letter: char| letter.is_alphabetic() && !matches!(letter, 'e' | 'E'));
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let unit = if unit.is_empty() { "s" } else { unit };
    let factors = TIME_UNITS.iter().find(|(name, ..)| *name == unit);
    let seconds = factors.and_then(|(_, units, seconds)| {
        number.trim_end().parse::<f64>().ok().map(|number| number * seconds / units)
    });
    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or("give a time, such as 500ms, 2min or 0.5 (seconds)")
}

/// Reads a time above 0, with a unit or in seconds.
pub fn parse_positive_time(text: &str) -> Result<Duration, &'static str> {
    parse_time(text).and_then(|time| if time.is_zero() { Err("give a time above 0") } else { Ok(time) })
}

/// Returns a parser of whole numbers in this range, whose error states the range.
pub fn whole_number(range: RangeInclusive<usize>) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| {
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("give a whole number from {} to {}", range.start(), range.end()))
    }
}

/// The cache states to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CacheStates {
    /// The data is in the caches.
    Hot,
    /// The last-level cache is flushed before each sample.
    Cold,
    /// Hot, then cold.
    Both,
}

impl CacheStates {
    /// Returns the states in the order in which they are measured.
    pub fn list(self) -> Vec<Cache> {
        match self {
            Self::Hot => vec![Cache::Hot],
            Self::Cold => vec![Cache::Cold],
            Self::Both => vec![Cache::Hot, Cache::Cold],
        }
    }
}

/// How to flush the last-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlushChoice {
    /// Write a buffer of the cache's size and discard its lines: leaves the cache empty and clean
    Discard,
    /// Read a buffer of twice the cache's size
    Read,
    /// Write a buffer of the cache's size: the time of a launch then includes writing it back
    Write,
    /// Drop only the inputs from the cache (x86-64 CPUs)
    Lines,
    /// Do not flush
    None,
}

impl From<FlushChoice> for Flush {
    fn from(choice: FlushChoice) -> Self {
        match choice {
            FlushChoice::Discard => Self::Discard,
            FlushChoice::Read => Self::Read,
            FlushChoice::Write => Self::Write,
            FlushChoice::Lines => Self::Lines,
            FlushChoice::None => Self::None,
        }
    }
}

/// The timing path on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PathChoice {
    /// Graph, or stream if the launch cannot be captured
    Auto,
    /// Graph: a launch that cannot be captured fails
    Graph,
    /// Stream
    Stream,
}

impl PathChoice {
    /// Returns the path; `None` for [`Auto`](Self::Auto).
    pub(super) fn path(self) -> Option<Path> {
        match self {
            Self::Auto => None,
            Self::Graph => Some(Path::Graph),
            Self::Stream => Some(Path::Stream),
        }
    }
}

/// A tool that times launches after the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Verifier {
    /// CUPTI's trace, on NVIDIA GPUs
    Cupti,
}

/// The folder for stored runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunsDir {
    /// In this folder.
    In(PathBuf),
    /// Nowhere.
    Nowhere,
}

impl FromStr for RunsDir {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "none" { Self::Nowhere } else { Self::In(text.into()) })
    }
}

/// The cases that a run measures if it is one of several tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareChoice {
    /// The cases of the task that the scheduler numbers. Without a scheduler, everything with
    /// [`Replicate`](ShareMode::Replicate), and an error with [`Split`](ShareMode::Split).
    Scheduled(ShareMode),
    /// The cases of this task, whatever a scheduler says.
    Given(ShareMode, Part),
    /// Everything, whatever a scheduler says.
    Whole,
}

impl ShareChoice {
    /// Returns true if each task measures only a part of the cases.
    pub fn splits(self) -> bool {
        matches!(self, Self::Scheduled(ShareMode::Split) | Self::Given(ShareMode::Split, _))
    }
}

/// Reads `3/8`, `split`, `replicate`, `replicate:3/8` or `none`.
impl FromStr for ShareChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "give PART/PARTS, such as 1/2 or 2/2; `split`, the part of this Slurm task; \
                     `replicate`; or `none`";
        let mode = |text: &str| match text {
            "replicate" => Some(ShareMode::Replicate),
            "split" => Some(ShareMode::Split),
            _ => None,
        };
        if text == "none" {
            return Ok(Self::Whole);
        }
        if let Some(mode) = mode(text) {
            return Ok(Self::Scheduled(mode));
        }
        let (mode, part) = match text.split_once(':') {
            Some((name, part)) => (mode(name).ok_or(wrong)?, part),
            None => (ShareMode::Split, text),
        };
        part.parse().map(|part| Self::Given(mode, part)).map_err(|_| wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, expected) in [
            ("2", 2.0),
            ("0.5", 0.5),
            ("500ms", 0.5),
            ("1.5 s", 1.5),
            ("20us", 2e-5),
            ("20 µs", 2e-5),
            ("7ns", 7e-9),
            ("2min", 120.0),
            ("2m", 120.0),
            ("1h", 3600.0),
            ("1e-3", 1e-3),
        ] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs_f64(expected)), "{text}");
        }
        for text in ["", "fast", "ms", "5 parsecs", "1 2s", "500MS", "0x10", "-1s", "inf", "NaN"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
        assert!(parse_positive_time("0s").is_err());
    }

    #[test]
    fn a_warm_up_is_a_time_or_a_number_of_launches() {
        assert_eq!("100".parse(), Ok(WarmUp::Launches(100)));
        assert_eq!("5ms".parse(), Ok(WarmUp::Time(Duration::from_millis(5))));
        assert!("0.5".parse::<WarmUp>().is_err() && "-1".parse::<WarmUp>().is_err());
    }

    #[test]
    fn percentages_are_above_zero() {
        assert_eq!(
            ["0.5%", "2", " 5 % "].map(str::parse),
            [0.5, 2.0, 5.0].map(|percent| Ok(Percent(percent)))
        );
        assert!(["0%", "x", "-1", "inf"].iter().all(|text| text.parse::<Percent>().is_err()));
    }

    #[test]
    fn shares_are_read_as_documented() {
        let part = Part::new(3, 8).expect("a part");
        for (text, choice) in [
            ("replicate", ShareChoice::Scheduled(ShareMode::Replicate)),
            ("split", ShareChoice::Scheduled(ShareMode::Split)),
            ("none", ShareChoice::Whole),
            ("3/8", ShareChoice::Given(ShareMode::Split, part)),
            ("split:3/8", ShareChoice::Given(ShareMode::Split, part)),
            ("replicate:3/8", ShareChoice::Given(ShareMode::Replicate, part)),
        ] {
            assert_eq!(text.parse(), Ok(choice), "{text}");
        }
        for wrong in ["", "0/8", "9/8", "half", "3", "3:8", "hash:3/8", "split:", "split:0/8", "none:1/2"] {
            assert!(wrong.parse::<ShareChoice>().is_err(), "{wrong}");
        }
    }
}
