//! What is stored. In: everything that was found out about a case, and about the run it belongs to; out: a [`Record`] and
//! a [`Run`] that serde writes and reads. Reports see these and nothing else, so that a stored run prints as a live one.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::comparison::{Check, Comparison, Finding, Threshold};
use crate::conditions::{Conditions, DeviceClock};
use crate::facts::Facts;
use crate::failure::Failure;
use crate::files::{self, FormatError};
use crate::id::{Arg, CaseId, Partner, shown_name};
use crate::method::{Method, Timer};
use crate::metrics::Metrics;
use crate::resumed::Resumed;
use crate::samples::{Energy, WarmUp};
use crate::sampling::Sampling;
use crate::seen::Seen;
use crate::verdict::{self, Reason, Verdict};
use crate::work::{Counts, Link};
use gpubench_stats::units::{Nanoseconds, Range, Seconds};
use gpubench_stats::{Ratio, Summary};

/// The name of this format.
pub const SCHEMA: &str = files::RUN.schema;

/// The records of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: String,
    /// What measured.
    pub program: Program,
    /// When it began, in seconds since 1970-01-01 UTC.
    pub started: u64,
    /// The time that it took.
    pub wall: Seconds,
    /// What a reader must know first, such as why no GPU was measured.
    pub notes: Vec<String>,
    /// The part of it that an earlier run measured, where it goes on from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// How cases were sampled unless their attribute says otherwise.
    pub sampling: Sampling,
    /// The wall time that a case might take, unless its attribute says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
    /// How many cases were planned: more than there are records of a run that was interrupted.
    pub planned: usize,
    /// What they ran on.
    pub devices: Vec<Facts>,
    /// What came out, in the order it was measured.
    pub records: Vec<Record>,
    /// What benchmarks say is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// From when on slower is a regression, where that is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// How they stand against a baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
}

impl Run {
    /// Reads what is stored as JSON.
    ///
    /// # Errors
    /// If that is no run of this format.
    pub fn parse(json: &[u8]) -> Result<Self, FormatError> {
        files::RUN.read(json).map(Self::with_old_notes_read)
    }

    /// Returns the same run with the note of an older version in its field.
    pub(crate) fn with_old_notes_read(mut self) -> Self {
        self.resumed = self.resumed.take().or_else(|| Resumed::of_notes(&mut self.notes));
        self
    }

    /// Writes it as [`parse`](Self::parse) reads it.
    ///
    /// # Errors
    /// If `out` takes no more.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// The cases that are slower than they may be, each with the ratio that says so: against what they took turns with, and
    /// against a baseline.
    #[must_use]
    pub fn regressions(&self) -> Vec<(String, Ratio)> {
        let Some(threshold) = self.threshold else { return Vec::new() };
        let in_turn = self.records.iter().filter_map(|record| {
            let comparison = &record.compared.as_ref()?.comparison;
            let ratio = comparison.ratio.filter(|_| comparison.regressed(threshold))?;
            Some((record.case.to_string(), ratio))
        });
        let since_then = self.check.iter().flat_map(|check| &check.lines).filter_map(|line| {
            let Finding::Compared { ratio, regressed: true, .. } = line.finding else { return None };
            Some((format!("{} {}", line.name, line.cache), ratio))
        });
        in_turn.chain(since_then).collect()
    }
}

/// A benchmark's arguments that are not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The benchmark's path, crate first.
    pub benchmark: String,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// The device in the words of the command line.
    pub device: String,
    /// Why, in the benchmark's own words.
    pub why: String,
}

impl Skipped {
    /// The name by which its cases would be known, less their device and cache state.
    #[must_use]
    pub fn name(&self) -> String {
        shown_name(&self.benchmark, &self.args)
    }
}

/// The build that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The version of gpubench.
    pub version: String,
    /// The commit that gpubench was built from, where that is known.
    pub commit: Option<String>,
    /// Whether files of gpubench had changed since that commit.
    pub dirty: Option<bool>,
    /// Its `opt-level`: host cases of a program that is not optimised say little.
    pub opt_level: String,
    /// The target triple it was built for.
    pub target: String,
    /// The suite: the package and the target of its that has the `main`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    /// What tells this very build from any other, where runs are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The package that has the `main`. Nothing in a run of before it was known, or of a program that cargo did not build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<Package>,
}

/// The package of the user's that has the `main`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that the program was built from. Nothing where that is not certain: without a checkout, without git, or
    /// where sources have changed since the program was built.
    pub commit: Option<String>,
    /// Whether tracked files of the checkout had changed since that commit.
    pub dirty: Option<bool>,
    /// Its folder when it was built. Not stored: it says something of a machine and nothing of the program.
    #[serde(skip)]
    pub folder: String,
}

/// What is stored for a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which case.
    #[serde(flatten)]
    pub case: CaseId,
    /// Whether its device is a stand-in for tests: then nothing here is a measurement.
    pub fake: bool,
    /// What was measured; nothing where the case failed.
    pub measurement: Option<Measurement>,
    /// What other processes measured of the same case, where it was measured in several: `measurement` is the one of them
    /// whose median is in the middle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Measurement>,
    /// What it was compared with in turn, and what came of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Box<Compared>>,
    /// Whether to believe it.
    pub verdict: Verdict,
}

/// What was measured of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The work of one launch.
    pub counts: Counts,
    /// The compute peak it is held against.
    pub precision: String,
    /// What its items are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The link that its bytes move over, where the benchmark names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Whether its outputs were checked, and right.
    pub checked: bool,
    /// What the device saw of the launch that was checked.
    #[serde(default)]
    pub seen: Seen,
    /// How it was timed.
    pub method: Method,
    /// The timer's step and what it reads around nothing, in nanoseconds.
    pub timer: Timer,
    /// What preceded the samples.
    pub warm_up: WarmUp,
    /// What the device's sensors said meanwhile, where it has some.
    #[serde(default)]
    pub conditions: Option<Conditions>,
    /// The clock of the multiprocessors behind its groups by the device's own counters, where it has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_clock: Option<DeviceClock>,
    /// In how many groups the samples were taken.
    pub groups: usize,
    /// What all groups took on the device, flushes included, in nanoseconds.
    pub elapsed: Nanoseconds,
    /// What they took by the measuring machine's clock, in nanoseconds: the device's part of it is `elapsed` over this.
    pub wall: Nanoseconds,
    /// Whether the stop rule was met.
    pub converged: bool,
    /// The time of a launch: event time less overhead, in nanoseconds.
    pub time: Summary,
    /// The time of one more launch in a row of launches, for hot launches under 5 µs, in nanoseconds.
    pub in_a_row: Option<Nanoseconds>,
    /// The time of a launch of several kernels with the gaps that a stream has, where it was sampled in a graph, in
    /// nanoseconds.
    pub on_stream: Option<Nanoseconds>,
    /// What a launch takes from the supply, or why that is not known, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// What follows from it.
    pub metrics: Metrics,
    /// The event times in the order they ran, in nanoseconds.
    pub samples: Vec<Nanoseconds>,
}

impl Measurement {
    /// The times of its samples, in the order they ran: event times less overhead.
    #[must_use]
    pub fn times(&self) -> Vec<Nanoseconds> {
        self.samples.iter().map(|event| *event - self.timer.overhead).collect()
    }
}

/// What is stored of a comparison beside the record of the case that is compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// What it was compared with.
    #[serde(flatten)]
    pub with: Partner,
    /// What came of it.
    pub comparison: Comparison,
    /// What came out for the other: its samples and this case's, number by number, are the pairs.
    pub measurement: Measurement,
    /// How far that holds.
    pub verdict: Verdict,
}

impl Record {
    /// The record of `case`, on a device that is none of the fakes.
    #[must_use]
    pub fn new(case: CaseId, measurement: Option<Measurement>, verdict: Verdict) -> Self {
        Self { case, fake: false, measurement, others: Vec::new(), compared: None, verdict }
    }

    /// The record of `case`, which did not get as far as a result.
    #[must_use]
    pub fn failed(case: CaseId, failure: Failure) -> Self {
        Self::new(case, None, Verdict::of(vec![Reason::Failed(failure)]))
    }

    /// Whether the launch claims to write and may have written nothing, which is to be found out.
    #[must_use]
    pub fn may_write_nothing(&self) -> bool {
        let measured = self.measurement.as_ref();
        measured.is_some_and(|measured| verdict::may_write_nothing(&measured.counts, &measured.seen))
    }

    /// Keeps whether launches write anything where memory holds something else, and what that says of them.
    pub fn found_out(&mut self, when_altered: Option<bool>) {
        let Some(measured) = &mut self.measurement else { return };
        if let Some(written) = &mut measured.seen.written {
            written.when_altered = when_altered;
        }
        if let Some(reason) = verdict::nothing_written(&measured.counts, &measured.seen) {
            self.verdict = self.verdict.clone().and(reason);
        }
    }

    /// From the shortest to the longest median of the processes that measured it, and how many they are. Nothing where it
    /// was one.
    #[must_use]
    pub fn processes(&self) -> Option<(Range<Nanoseconds>, usize)> {
        let own = self.measurement.as_ref().filter(|_| !self.others.is_empty())?;
        let medians = std::iter::once(own).chain(&self.others).map(|measured| measured.time.median);
        Some((Range::of(medians)?, 1 + self.others.len()))
    }
}
