//! A run as a history keeps it: a time and its circumstances for each case, no samples.

use serde::{Deserialize, Serialize};

use super::circumstances::Circumstances;
use crate::files::{self, Checksum};
use crate::id::CaseId;
use crate::record::{Record, Run};
use gpubench_stats::units::Nanoseconds;

/// The contents of a file.
#[derive(Deserialize, Serialize)]
struct Document<R> {
    run: R,
}

/// A run in a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryRun {
    /// The name of this format.
    pub schema: String,
    /// The commit that the program was built from, if that is certain.
    pub commit: Option<String>,
    /// True if tracked files had changed since that commit.
    #[serde(default)]
    pub dirty: bool,
    /// The second in which the run began, from 1970 on.
    pub started: u64,
    /// The suite: the package, and its target.
    pub suite: String,
    /// The version of gpubench that measured.
    pub version: String,
    /// The circumstances that its cases refer to by number.
    pub circumstances: Vec<Circumstances>,
    /// The cases that have a number.
    pub cases: Vec<HistoryCase>,
}

/// A case in a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HistoryCase {
    /// The case.
    #[serde(flatten)]
    pub case: CaseId,
    /// True if the device is a stand-in for tests.
    #[serde(default)]
    pub fake: bool,
    /// The number of its circumstances.
    pub circumstances: usize,
    /// The time of a launch: of several processes, the mean of their medians on the scale of logarithms.
    pub time: Nanoseconds,
}

impl HistoryRun {
    /// Returns what a history keeps of `run`. Invalid numbers are not tracked.
    pub fn new(run: &Run) -> Self {
        let package = run.program.package.as_ref();
        let mut kept = Self {
            schema: files::HISTORY.schema.to_owned(),
            commit: package.and_then(|package| package.commit.clone()),
            dirty: package.and_then(|package| package.dirty).unwrap_or(false),
            started: run.started,
            suite: run.program.suite.clone(),
            version: run.program.version.clone(),
            circumstances: Vec::new(),
            cases: Vec::new(),
        };
        for record in &run.records {
            kept.cases.extend(case(run, record, &mut kept.circumstances));
        }
        kept
    }

    /// Reads the contents of a file.
    ///
    /// # Errors
    /// If they are no run of a history, or were changed.
    pub fn parse(contents: &[u8]) -> Result<Self, String> {
        let Document::<Self> { run } = files::HISTORY.read(contents).map_err(|error| error.to_string())?;
        if files::look_at_checksum(contents) != Checksum::Fits {
            return Err("it was changed after it was written: its checksum is another, or missing".to_owned());
        }
        let is_sound = |case: &HistoryCase| {
            let time = case.time.as_f64();
            case.circumstances < run.circumstances.len() && time.is_finite() && time > 0.0
        };
        if run.cases.iter().all(is_sound) { Ok(run) } else { Err("a time in it is not a time".to_owned()) }
    }

    /// Returns the contents of a file: one line with a checksum.
    pub(super) fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(&Document { run: self })?;
        files::add_checksum(&mut line);
        line.push(b'\n');
        Ok(line)
    }
}

fn case(run: &Run, record: &Record, all: &mut Vec<Circumstances>) -> Option<HistoryCase> {
    let measured = record.usable_measurement()?;
    let first = measured.median();
    let ratios =
        std::iter::once(measured).chain(&record.other_processes).map(|process| process.median() / first);
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    let time = first * (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    let own = Circumstances::new(measured, run.device_of(record), &run.program);
    let circumstances = all.iter().position(|known| *known == own).unwrap_or_else(|| {
        all.push(own);
        all.len() - 1
    });
    Some(HistoryCase { case: record.case.clone(), fake: record.fake, circumstances, time })
}
