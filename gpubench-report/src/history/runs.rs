//! The runs of a history, which `cargo gpubench history add` stores in a folder for each commit, and the series of times that they make.
//! A stored run has one time and its circumstances for each case, without samples.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::{fs, io};

use gpubench_records::{
    CaseId, Counts, DeviceInfo, Measurement, NameFilter, Program, Record, Run, Value,
    device_info::{DRIVER, UUID},
    files::{Checksum, FileFormat, add_checksum, check_line, create, name_candidates},
};
use gpubench_stats::{Nanoseconds, format::joined, mean};
use serde::{Deserialize, Serialize};

use super::{CaseChange, RunLabel};
use crate::loading::find_run_files;

/// The format of a run in a history.
const HISTORY: FileFormat =
    FileFormat { schema: "gpubench-history/2", mismatch_message: "this is no run of a history" };

/// The JSON document in a file of a history.
#[derive(Deserialize, Serialize)]
struct HistoryDocument<R> {
    /// The run: a [`HistoryRun`], or a reference to one.
    run: R,
}

/// A run in a history, as its file stores it: one time for each case, without samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryRun {
    /// The name and version of this format.
    pub schema: String,
    /// The commit from which the program was built; `None` if it is not certain.
    pub commit: Option<String>,
    /// True if tracked files differed from that commit.
    #[serde(default)]
    pub dirty: bool,
    /// The beginning of the run, in seconds since 1970-01-01 UTC.
    pub started: u64,
    /// The benchmark binary: the package and its target.
    pub suite: String,
    /// The version of gpubench that measured.
    pub version: String,
    /// The circumstances of the cases, which refer to them by index.
    pub circumstances: Vec<Circumstances>,
    /// The cases with a valid or suspect time.
    pub cases: Vec<HistoryCase>,
}

/// The time of a case in a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryCase {
    /// The case.
    #[serde(flatten)]
    pub case: CaseId,
    /// True if the device is the fake driver for tests.
    #[serde(default)]
    pub fake: bool,
    /// The index of its circumstances.
    pub circumstances: usize,
    /// The time of a launch. If several processes measured it, the geometric mean of their medians.
    pub time: Nanoseconds,
}

impl HistoryRun {
    /// Returns the times of `run` for a history. Failed and invalid results are left out.
    pub fn new(run: &Run) -> Self {
        let package = run.program.package.as_ref();
        let mut kept = Self {
            schema: HISTORY.schema.to_owned(),
            commit: package.and_then(|package| package.commit.clone()),
            dirty: package.and_then(|package| package.dirty).unwrap_or(false),
            started: run.started,
            suite: run.program.suite.clone(),
            version: run.program.version.clone(),
            circumstances: Vec::new(),
            cases: Vec::new(),
        };
        for record in &run.records {
            kept.cases.extend(history_case(run, record, &mut kept.circumstances));
        }
        kept
    }

    /// Parses the contents of a file of a history, and compares them with their checksum.
    ///
    /// # Errors
    /// If the contents are no run of a history, were changed after they were written, or have a time that is
    /// not above zero or lacks its circumstances.
    pub fn parse(contents: &[u8]) -> Result<Self, String> {
        let HistoryDocument::<Self> { run } = HISTORY.read(contents).map_err(|error| error.to_string())?;
        if check_line(contents) != Checksum::Fits {
            return Err("it was changed after it was written: its checksum is another, or missing".to_owned());
        }
        let is_sound = |case: &HistoryCase| {
            let time = case.time.as_f64();
            case.circumstances < run.circumstances.len() && time.is_finite() && time > 0.0
        };
        if run.cases.iter().all(is_sound) { Ok(run) } else { Err("a time in it is not a time".to_owned()) }
    }

    /// Returns the contents of a file: one line of JSON with a checksum.
    fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(&HistoryDocument { run: self })?;
        add_checksum(&mut line);
        line.push(b'\n');
        Ok(line)
    }
}

/// Returns the time of a record for a history; `None` without a usable measurement. Adds the circumstances of
/// the record to `all`, unless `all` has them.
fn history_case(run: &Run, record: &Record, all: &mut Vec<Circumstances>) -> Option<HistoryCase> {
    let measured = record.usable_measurement()?;
    let first = measured.median();
    let ratios = record.measurements().map(|process| process.median() / first);
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    let time = first * mean(&logs).exp();
    let own = Circumstances::new(measured, run.device_of(record), &run.program);
    let circumstances = all.iter().position(|known| *known == own).unwrap_or_else(|| {
        all.push(own);
        all.len() - 1
    });
    Some(HistoryCase { case: record.case.clone(), fake: record.fake, circumstances, time })
}

/// Everything besides the code on which a time depends, by name: the GPU and its driver, the method and the
/// declared work. Times with different circumstances are not compared. The model of the device is part of the
/// case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances(BTreeMap<String, String>);

/// The name of the circumstance that is the UUID of the device.
const GPU_NAME: &str = "GPU";

impl Circumstances {
    /// Returns the circumstances of a measurement by this program on the device `info`. Without `info`, the
    /// properties of the device are missing, such as its UUID and its driver.
    pub fn new(measured: &Measurement, info: Option<&DeviceInfo>, program: &Program) -> Self {
        let property = |name| Some(info?.text(name)?.to_owned());
        // A part of a GPU has other counts, such as of multiprocessors, and is another device.
        let counts = info.iter().flat_map(|info| &info.properties);
        let counts = counts.filter(|property| matches!(property.value, Value::Count(_)));
        let counts = joined(counts, ", ");
        let Counts { reads, writes, bytes, intermediates, flops, items } = measured.counts;
        let number = |count: Option<u64>| count.map(|count| count.to_string());
        let (method, timer) = (&measured.samples.method, &measured.samples.timer);
        let facts = [
            (GPU_NAME, property(UUID)),
            ("bytes", number(bytes)),
            ("bytes read", number(reads)),
            ("bytes written", number(writes)),
            ("device", (!counts.is_empty()).then_some(counts)),
            ("driver", property(DRIVER)),
            ("flops", number(flops)),
            ("flush", Some(method.flush.to_string())),
            ("intermediates", number(intermediates)),
            ("items", number(items)),
            ("link", measured.link.map(|link| link.to_string())),
            ("opt-level", info.filter(|info| info.runs_program_code).map(|_| program.opt_level.clone())),
            ("overhead", timer.convention().map(str::to_owned)),
            ("path", Some(method.path.to_string())),
        ];
        Self(facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect())
    }

    /// Returns the UUID of the device, if it has one.
    pub fn gpu(&self) -> Option<&str> {
        self.0.get(GPU_NAME).map(String::as_str)
    }

    /// Returns the differences from `earlier` as texts, such as `driver 570 → 580`. A fact that only one of
    /// the two has is `not known` in the other.
    pub fn differences(&self, earlier: &Self) -> Vec<String> {
        let text = |facts: &Self, name| facts.0.get(name).map_or("not known", String::as_str).to_owned();
        let names: BTreeSet<&String> = self.0.keys().chain(earlier.0.keys()).collect();
        let pairs = names.into_iter().map(|name| (name, text(earlier, name), text(self, name)));
        let differ = pairs.filter(|(_, then, now)| then != now);
        differ.map(|(name, then, now)| format!("{name} {then} → {now}")).collect()
    }
}

/// The folder of runs without a commit, or with one that is not a hash.
const NO_COMMIT: &str = "no-commit";

/// Adds `run` to the history in `folder`, under `commit` if one is given, else under its own commit. With a
/// given `commit`, the run counts as one without changed files. Returns the file of the run, and true if the
/// file was there before with the same contents.
///
/// # Errors
/// If no result of the run is usable, or the file cannot be written.
pub fn add_to_history(folder: &Path, run: &Run, commit: Option<&str>) -> Result<(PathBuf, bool), String> {
    let mut kept = HistoryRun::new(run);
    if let Some(commit) = commit {
        (kept.commit, kept.dirty) = (Some(commit.to_owned()), false);
    }
    if kept.cases.is_empty() {
        return Err("no case of the run has a number that could be kept".to_owned());
    }
    let written = |error: io::Error, path: &Path| format!("{}: {error}", path.display());
    let line = kept.to_line().map_err(|error| written(error.into(), folder))?;
    // Runs of the same second have a number each. A run that is added twice is stored once.
    let hash = kept.commit.as_deref().filter(|commit| is_commit_hash(commit));
    let below = folder.join(hash.unwrap_or(NO_COMMIT));
    fs::create_dir_all(&below).map_err(|error| written(error, &below))?;
    let paths = || name_candidates(kept.started, None, &[]).map(|name| below.join(format!("{name}.json")));
    let mut there = paths().take_while(|path| path.exists());
    if let Some(file) = there.find(|path| fs::read(path).is_ok_and(|contents| contents == line)) {
        return Ok((file, true));
    }
    let file = create(paths(), &|out| out.write_all(&line)).map_err(|error| written(error, &below))?;
    Ok((file, false))
}

/// Returns true if the text can be the hash of a commit, or the beginning of one: at least 7 hexadecimal
/// digits.
pub fn is_commit_hash(commit: &str) -> bool {
    commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The position of each commit in the history of the repository, lower for earlier ones. The key is the hash
/// of the commit as stored runs have it, which may be shortened.
pub type CommitOrder = HashMap<String, usize>;

/// A case of a benchmark binary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CaseOfBinary {
    /// The suite: the package, and its target.
    pub suite: String,
    /// The case.
    #[serde(flatten)]
    pub case: CaseId,
    /// True for the fake driver.
    pub fake: bool,
}

/// The time of a case in one run. If several devices without a UUID measured the case, the geometric mean of
/// their times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePoint {
    /// The index of its run in the history, from 0 for the first.
    pub run: usize,
    /// The time of a launch.
    pub time: Nanoseconds,
}

/// The comparable times of a case over the runs of a history: those with the same circumstances.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TimeSeries {
    /// The circumstances.
    pub circumstances: Circumstances,
    /// True if another series of the case has enough runs after the last run of this one to search them for
    /// changes. The changes of this series then no longer matter.
    pub is_over: bool,
    /// The changes, the newest first.
    pub changes: Vec<CaseChange>,
    /// The times, in the order of their runs.
    #[serde(skip)]
    pub points: Vec<TimePoint>,
}

/// The runs of a history, in order.
#[derive(Clone, Debug, Default)]
pub struct History {
    runs: Vec<HistoryRun>,
    /// An error message for each file that is no run of a history.
    pub faults: Vec<String>,
}

impl History {
    /// Returns a history of these runs, ordered by their beginnings.
    pub fn new(runs: impl IntoIterator<Item = HistoryRun>) -> Self {
        Self { runs: runs.into_iter().collect(), ..Self::default() }.ordered_by_commits(&CommitOrder::new())
    }

    /// Reads the history in `folder`, ordered by the beginnings of runs. Keeps the cases that one of
    /// `filters` takes, or all cases without a filter.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn read(folder: &Path, filters: &[NameFilter]) -> io::Result<Self> {
        fs::read_dir(folder)?;
        let (files, mut faults) = find_run_files(&[folder.to_owned()]);
        let mut runs = Vec::new();
        let takes = |case: &HistoryCase| {
            let name = case.case.to_string();
            filters.is_empty() || filters.iter().any(|filter| filter.takes(&name, false))
        };
        for file in files {
            let contents = fs::read(&file).map_err(|error| error.to_string());
            match contents.and_then(|contents| HistoryRun::parse(&contents)) {
                Ok(mut run) => {
                    run.cases.retain(takes);
                    runs.push(run);
                }
                Err(why) => faults.push(format!("{}: {why}", file.display())),
            }
        }
        Ok(Self { faults, ..Self::new(runs) })
    }

    /// Returns the commits of its runs, as the runs store them.
    pub fn commits(&self) -> BTreeSet<&str> {
        self.runs.iter().filter_map(|run| run.commit.as_deref()).collect()
    }

    /// Returns true if it has no run.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Orders runs by the positions of their commits, and runs of a commit by their beginnings. A run whose
    /// commit has no position stays after the runs that were measured before it.
    #[must_use]
    pub fn ordered_by_commits(mut self, commits: &CommitOrder) -> Self {
        self.runs.sort_by(|a, b| (a.started, &a.commit).cmp(&(b.started, &b.commit)));
        let mut latest = None;
        let with_place = |run: HistoryRun| {
            let own = run.commit.as_ref().and_then(|commit| commits.get(commit)).copied();
            latest = latest.max(own);
            (own.or(latest), run)
        };
        let mut runs: Vec<_> = self.runs.into_iter().map(with_place).collect();
        runs.sort_by_key(|(place, _)| *place);
        Self { runs: runs.into_iter().map(|(_, run)| run).collect(), ..self }
    }

    /// Returns a label of each run, and the series of each case, the earliest first. Times of several devices
    /// without a UUID in one run are averaged.
    pub(super) fn into_series(self) -> (Vec<RunLabel>, HashMap<CaseOfBinary, Vec<TimeSeries>>) {
        let (mut labels, mut cases) = (Vec::new(), HashMap::new());
        for (number, run) in self.runs.into_iter().enumerate() {
            labels.push(RunLabel { commit: run.commit, dirty: run.dirty, started: run.started });
            // The devices without a UUID that have measured a case in this run.
            let mut devices: HashMap<(CaseOfBinary, usize), f64> = HashMap::new();
            for it in run.cases {
                let case = CaseOfBinary { suite: run.suite.clone(), case: it.case, fake: it.fake };
                let circumstances = &run.circumstances[it.circumstances];
                let all: &mut Vec<TimeSeries> = cases.entry(case.clone()).or_default();
                let known = all.iter().position(|series| series.circumstances == *circumstances);
                let place = known.unwrap_or_else(|| {
                    all.push(TimeSeries { circumstances: circumstances.clone(), ..TimeSeries::default() });
                    all.len() - 1
                });
                let count = devices.entry((case, place)).or_default();
                *count += 1.0;
                let points = &mut all[place].points;
                match points.last_mut().filter(|last| last.run == number) {
                    // Of several devices of a model, the mean on the scale of logarithms.
                    Some(last) => last.time = last.time * (it.time / last.time).powf(1.0 / *count),
                    None => points.push(TimePoint { run: number, time: it.time }),
                }
            }
        }
        (labels, cases)
    }
}
