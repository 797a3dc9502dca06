//! The stored data: a [`Run`] with its [`Record`]s, the program that measured, and the machine. Reports read nothing else, so that
//! a stored run prints as a live one does.

use std::io::{self, Write};

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::verdict::claims;
use crate::{
    Arg, BaselineComparison, BenchmarkId, Cache, CaseId, Comparison, CoolDown, Counts, DeclaredWork,
    DeviceInfo, Energy, Environment, Failure, LaunchInfo, Link, Metrics, PlannedCase, Reason, Relaunch,
    Samples, Sampling, State, Threshold, UserMetric, Verdict, Verification, id::shown_name, json,
    limits::begins_cold,
};
use gpubench_stats::{Bytes, Nanoseconds, format, prediction_half_width, units::Range};

/// The relative standard deviation of the medians of processes that share processors with other programs, as far as it is known
/// before they are measured. About one process in ten is slower by 2 to 7 %, and the others do not show it.
const SHARED_PROCESSORS_SPREAD: f64 = 0.02;
/// The degrees of freedom of [`SHARED_PROCESSORS_SPREAD`]: it weighs as much as three processes.
const SHARED_PROCESSORS_FREEDOM: usize = 2;

/// The name and version of the format of stored runs, in their field `schema`. Readers refuse any other.
pub const SCHEMA: &str = "gpubench/3";

gpubench_stats::stored! {
    /// The records of one invocation.
    pub struct Run {
        /// [`SCHEMA`].
        pub schema: String,
        /// The program that measured.
        pub program: Program,
        /// The machine that it ran on, and the command. Empty in old runs.
        #[serde(default)]
        pub environment: Environment,
        /// When it began, in seconds since 1970-01-01 UTC.
        pub started: u64,
        /// The time that it took.
        pub wall_time: Nanoseconds,
        /// The notes that a reader must see first, such as why no GPU was measured.
        pub notes: Vec<String>,
        /// The part of it that an earlier run measured, if this one resumed it.
        pub resumed: Option<Resumed>,
        /// The rules by which cases were sampled unless their attribute says otherwise.
        pub sampling: Sampling,
        /// The wall time that a case might take, unless its attribute says otherwise.
        pub timeout: Option<Nanoseconds>,
        /// The names of the table's columns, if the user chose them, in their order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub columns: Vec<String>,
        /// The number of cases that were planned: an interrupted run has fewer records.
        pub planned_cases: usize,
        /// The devices that they ran on.
        pub devices: Vec<DeviceInfo>,
        /// The results, in the order in which they were measured.
        pub records: Vec<Record>,
        /// The cases that benchmarks skip.
        #[serde(default)]
        pub skipped: Vec<Skipped>,
        /// The difference from which on slower is a regression, if the user gave one.
        pub regression_threshold: Option<Threshold>,
        /// The comparison with a baseline.
        pub baseline_comparison: Option<BaselineComparison>,
    }

    /// A benchmark that is not measured with these arguments.
    #[derive(Eq)]
    pub struct Skipped {
        /// The benchmark's path, crate first.
        pub benchmark: String,
        /// Its arguments.
        pub args: Vec<Arg>,
        /// The device in the words of the command line.
        pub device: String,
        /// The reason, in the benchmark's own words.
        pub reason: String,
    }

    /// The stored result of a case.
    #[non_exhaustive]
    #[serde(remote = "Self")]
    pub struct Record {
        /// The case.
        #[serde(flatten, skip_deserializing)]
        #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
        pub case: CaseId,
        /// The device of the run that it was measured on, in the words of the command line.
        pub device: String,
        /// True on the fake device of the tests: then no number here was measured.
        pub fake: bool,
        /// The measurement; nothing if the case failed.
        pub measurement: Option<Measurement>,
        /// The measurements of the same case by other processes, if there were several: `measurement` is the one whose median is
        /// in the middle.
        #[serde(default)]
        pub other_processes: Vec<Measurement>,
        /// The number of processes among these that measured it again because it seemed slower than a baseline allows.
        #[serde(default)]
        pub remeasured: usize,
        /// The benchmark that it was interleaved with, and the result.
        pub compared: Option<Box<Compared>>,
        /// The trust that it deserves.
        pub verdict: Verdict,
    }

    /// The measurement of a case.
    #[serde(remote = "Self")]
    pub struct Measurement {
        /// The group of the benchmark, which precedes its name in the path.
        pub group: Option<String>,
        /// The work of one launch.
        pub counts: Counts,
        /// The data type, which selects the compute peak that results are compared with.
        pub data_type: String,
        /// The name of its items.
        pub item: Option<String>,
        /// The link that its bytes move over, if the benchmark names one.
        pub link: Option<Link>,
        /// True if its outputs were checked, and were right.
        pub checked: bool,
        /// The checked launch: its kernels, their occupancy, and the memory that it wrote.
        pub launch: LaunchInfo,
        /// The median time of a call of the launch function on the host, from calls after the samples; nothing if the host does the
        /// work, or if launches are too long to repeat.
        pub call_time: Option<Nanoseconds>,
        /// The launches after the samples, compared with the checked launch, if the device can see their outputs.
        pub relaunch: Option<Relaunch>,
        /// The checks by other clocks, if they were asked for.
        pub verification: Option<Verification>,
        /// The energy of a launch, or the reason that it is not known, if it was requested.
        pub energy: Option<Energy>,
        /// The wait until the device was cool, if it was asked for and the device has sensors.
        pub cool_down: Option<CoolDown>,
        /// The metrics that follow from it.
        pub metrics: Metrics,
        /// The most device memory that its `setup` allocated at once, if that is known.
        pub setup_memory: Option<Bytes>,
        /// The benchmark's own metrics.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub user_metrics: Vec<UserMetric>,
        /// The samples. Stored with their fields beside those of the measurement.
        #[serde(flatten, skip_deserializing)]
        #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
        pub samples: Samples,
    }

    /// The comparison that is stored beside the record of the case that is compared.
    #[serde(remote = "Self")]
    pub struct Compared {
        /// The benchmark that it was compared with.
        #[serde(flatten, skip_deserializing)]
        #[cfg_attr(feature = "schema", schemars(!skip_deserializing))]
        pub with: BenchmarkId,
        /// The result.
        pub comparison: Comparison,
        /// The measurement of the other case: sample by sample, the two form the pairs.
        pub measurement: Measurement,
        /// The trust that it deserves.
        pub verdict: Verdict,
    }

    /// The build that measured.
    #[derive(Default, Eq)]
    pub struct Program {
        /// The version of gpubench.
        pub version: String,
        /// The commit that gpubench was built from, if it is known.
        pub commit: Option<String>,
        /// True if files of gpubench had changed since that commit.
        pub dirty: Option<bool>,
        /// Its `opt-level`: host cases of an unoptimised program say little.
        pub opt_level: String,
        /// The target triple it was built for.
        pub target: String,
        /// The suite: the package, and its target that has the `main`.
        #[serde(default)]
        pub suite: String,
        /// The hash of this build's file, if runs are kept.
        pub fingerprint: Option<String>,
        /// The package that has the `main`. Nothing in an old run, or in one of a program that cargo did not build.
        pub package: Option<Package>,
    }

    /// The user's package that has the `main`.
    #[derive(Default, Eq)]
    pub struct Package {
        /// Its name.
        pub name: String,
        /// Its version.
        pub version: String,
        /// The commit that the program was built from. Nothing if that is not certain: without a checkout or git, or if sources
        /// have changed since the build.
        pub commit: Option<String>,
        /// True if tracked files of the checkout had changed since that commit.
        pub dirty: Option<bool>,
        /// Its folder when it was built. Not stored, because it describes a machine and not the program.
        #[serde(skip)]
        pub folder: String,
    }

    /// The cases of a resumed run that the earlier run measured.
    #[derive(Eq, thiserror::Error)]
    #[error("resumed: {kept} of {} were measured by the run of {run}", format::counted(*planned, "result"))]
    pub struct Resumed {
        /// The name of the earlier run.
        pub run: String,
        /// The number of cases that it measured.
        pub kept: usize,
        /// The number of all cases that are planned.
        pub planned: usize,
    }
}

/// Reads a struct and the fields of a part that are stored beside its own. serde's `flatten` would compile the code that reads the
/// part once more.
macro_rules! read_flattened {
    ($($name:ident: $part:ident),+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, to)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <&RawValue>::deserialize(from)?.get().as_bytes();
                let read = json::read(text, |reader| Self::deserialize(reader));
                let part = |whole| Ok(Self { $part: json::from_slice(text)?, ..whole });
                read.and_then(part).map_err(D::Error::custom)
            }
        }
    )+};
}

read_flattened!(Record: case, Measurement: samples, Compared: with);

impl Run {
    /// Writes the run as one line of JSON, which [`parse`](Self::parse) reads.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        // In bytes first: lines of a run are written into bytes too, and the code for both is the same.
        out.write_all(&serde_json::to_vec(self)?)?;
        out.write_all(b"\n")
    }

    /// Returns the device that the command line calls `name`; `None` if the run has none.
    pub fn device(&self, name: &str) -> Option<&DeviceInfo> {
        self.devices.iter().find(|info| info.device == name)
    }

    /// Returns the device of `record`; `None` if the run does not describe it, such as a device that could
    /// not be opened.
    pub fn device_of(&self, record: &Record) -> Option<&DeviceInfo> {
        self.device(&record.device)
    }

    /// Returns the records that have a measurement, each with that measurement.
    pub fn measured(&self) -> impl Iterator<Item = (&Record, &Measurement)> {
        self.records.iter().filter_map(|record| Some((record, record.measurement.as_ref()?)))
    }
}

impl Skipped {
    /// Returns the name of the skipped cases, without their device and cache state.
    pub fn name(&self) -> String {
        shown_name(&self.benchmark, &self.args)
    }
}

impl Measurement {
    /// Returns the median time of a launch.
    pub fn median(&self) -> Nanoseconds {
        self.samples.time.median
    }

    /// Returns the declared work of a launch, with the observed facts that limit it. `cache` is the cache
    /// state of the samples.
    pub fn declared_work(&self, cache: Cache) -> DeclaredWork<'_> {
        let cold = begins_cold(cache, &self.samples.method);
        let written = claims::most_written(&self.launch);
        let Self { counts, data_type, link, .. } = self;
        DeclaredWork { counts: *counts, data_type, link: *link, cold, written, operations: self.operations() }
    }

    /// Returns the number of operations of a launch: kernels, copies and memsets. If that was not observed,
    /// returns the number of kernels; `None` if neither was observed.
    fn operations(&self) -> Option<usize> {
        let kernels = Some(self.launch.kernel_count).filter(|count| *count > 0);
        self.samples.method.operations.or(kernels)
    }

    /// Returns the time of each sample, in the order they ran: event time less overhead.
    pub fn times(&self) -> Vec<Nanoseconds> {
        self.samples.times()
    }
}

impl Compared {
    /// Returns the other case's measurement unless its verdict is invalid.
    pub fn usable_measurement(&self) -> Option<&Measurement> {
        (self.verdict.state != State::Invalid).then_some(&self.measurement)
    }
}

impl Record {
    /// Creates the record of `case`. The model of its device is empty until [`set_device`](Self::set_device).
    pub fn new(case: PlannedCase, measurement: Option<Measurement>, verdict: Verdict) -> Self {
        let (device, other_processes) = (case.device.clone(), Vec::new());
        let (case, fake, remeasured, compared) = (case.on(""), false, 0, None);
        Self { case, device, fake, measurement, other_processes, remeasured, compared, verdict }
    }

    /// Creates the record of `case`, which failed before it had a result.
    #[doc(hidden)]
    pub fn failed(case: PlannedCase, failure: Failure) -> Self {
        Self::new(case, None, Verdict::of(vec![Reason::Failed(failure)]))
    }

    /// Returns a copy. Other crates call this function because each call of `clone` compiles 20 KB anew.
    #[doc(hidden)]
    pub fn boxed_clone(&self) -> Box<Self> {
        Box::new(self.clone())
    }

    /// Returns the failure because of which the case has no result; `None` if the verdict has no such reason.
    pub fn failure(&self) -> Option<&Failure> {
        self.verdict.reasons.iter().find_map(|reason| match reason {
            Reason::Failed(failure) => Some(failure),
            _ => None,
        })
    }

    /// Adds the failure of the first try to this record of a second try. If the second try failed too, the
    /// record gets the first failure, and its message ends with the second failure if that differs.
    #[doc(hidden)]
    pub fn set_first_failure(&mut self, first: &Failure) {
        let Some(second) = self.failure() else {
            return self.verdict.add([Reason::SecondTry(first.clone())]);
        };
        let is_same = second.stage == first.stage && second.message == first.message;
        let message = format!("{}; at the second try, in a new process: {second}", first.message);
        let both = if is_same { first.clone() } else { Failure { message, ..first.clone() } };
        self.verdict = Verdict::of(vec![Reason::Failed(both)]);
    }

    /// Sets the model of the device, and whether it is a fake.
    #[doc(hidden)]
    pub fn set_device(&mut self, info: &DeviceInfo) {
        self.case.model.clone_from(&info.name);
        self.fake = info.fake;
    }

    /// Returns the case as its run planned it: with the device's name instead of its model.
    pub fn planned(&self) -> PlannedCase {
        let CaseId { benchmark, args, model: _, cache } = self.case.clone();
        PlannedCase { benchmark, args, device: self.device.clone(), cache }
    }

    /// Returns the measurement; `None` if the case failed or the verdict is invalid. Invalid numbers are shown with the reason, and neither
    /// compared nor tracked.
    pub fn usable_measurement(&self) -> Option<&Measurement> {
        self.measurement.as_ref().filter(|_| self.verdict.state != State::Invalid)
    }

    /// Returns the number of bytes that a launch on memory with other contents must change before the declared work is judged; `None` if no such
    /// launch is needed.
    #[doc(hidden)]
    pub fn declared_work_in_doubt(&self, info: &DeviceInfo) -> Option<Bytes> {
        claims::doubtful_writes(self.measurement.as_ref()?, self.case.cache, info)
    }

    /// Stores the size of the memory that launches on other contents changed, or `None` if it is unknown.
    /// Then judges the declared work again. Does nothing without a measurement.
    #[doc(hidden)]
    pub fn set_changed_when_altered(&mut self, changed: Option<Bytes>, info: &DeviceInfo) {
        let Some(measured) = &mut self.measurement else { return };
        if let Some(written) = &mut measured.launch.written {
            written.writes_on_other_contents = changed.map(|changed| changed > Bytes::ZERO);
            written.changed_on_other_contents = changed;
        }
        self.verdict.judge_declared_work(measured, self.case.cache, info);
    }

    /// Drops the times of the record's single samples to free memory. Its statistics stay, and so do the
    /// samples of other processes and of the case that it was compared with.
    pub fn forget_samples(&mut self) {
        if let Some(measured) = &mut self.measurement {
            (measured.samples.event_times, measured.samples.start_intervals) = (Vec::new(), Vec::new());
        }
    }

    /// Returns the measurements of all processes that measured the case; empty if it failed.
    pub fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        self.measurement.iter().chain(&self.other_processes)
    }

    /// Returns the half-width of the 95 % interval of the case, as a fraction of its time. With one process,
    /// it is that of the median. With several, it is the larger of that and the half-width of the prediction
    /// for one more process. Infinite if it is unknown.
    pub fn half_width(&self) -> f64 {
        let Some(measured) = &self.measurement else { return f64::INFINITY };
        let own = measured.samples.time.half_width_or_infinity();
        if self.other_processes.is_empty() {
            return own;
        }
        let medians: Vec<_> = self.measurements().map(Measurement::median).collect();
        let known = match measured.samples.shares_processors() {
            true => (SHARED_PROCESSORS_SPREAD * measured.median(), SHARED_PROCESSORS_FREEDOM),
            false => (Nanoseconds::ZERO, 0),
        };
        own.max(prediction_half_width(&medians, known) / measured.median())
    }

    /// Returns the range of the medians of all processes that measured the case, and the number of these
    /// processes; `None` if there are not at least two.
    pub fn processes(&self) -> Option<(Range<Nanoseconds>, usize)> {
        self.measurement.as_ref().filter(|_| !self.other_processes.is_empty())?;
        Some((Range::of(self.measurements().map(Measurement::median))?, 1 + self.other_processes.len()))
    }
}
