//! A run without its samples, as a fleet keeps it. In: a stored run; out: for each measurement its median, its roof and what the sensors said,
//! and nothing of its samples, so that thousands of runs fit into memory.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::facts::Facts;
use crate::files::Stored;
use crate::id::{BenchmarkId, CaseId};
use crate::method::Cache;
use crate::program::Program;
use crate::record::{Measurement, Record, Run};
use crate::verdict::State;
use gpubench_stats::units::{Hertz, Nanoseconds, Watts};

use super::roof::FleetRoof;

/// A case of a fleet: the same on each GPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FleetCase {
    pub(super) benchmark: BenchmarkId,
    pub(super) cache: Cache,
}

impl FleetCase {
    fn of(case: &CaseId) -> Self {
        let benchmark = BenchmarkId { benchmark: case.benchmark.clone(), args: case.args.clone() };
        Self { benchmark, cache: case.cache }
    }
}

impl std::fmt::Display for FleetCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.benchmark, self.cache)
    }
}

/// A run without its samples.
#[derive(Debug)]
pub(super) struct KeptRun {
    /// The name of its file, with its number there if the file has several.
    pub(super) name: String,
    pub(super) program: Program,
    pub(super) host: Option<String>,
    pub(super) devices: Vec<Facts>,
    pub(super) records: Vec<KeptRecord>,
    /// The faults of its file.
    pub(super) faults: Vec<String>,
    /// The numbers of cases that were measured and planned, if some are left.
    pub(super) unfinished: Option<(usize, usize)>,
    /// True if it begins with measurements of an earlier run, which it resumed.
    pub(super) is_resumed: bool,
}

/// A record without its samples.
#[derive(Debug)]
pub(super) struct KeptRecord {
    pub(super) case: FleetCase,
    /// The device in the words of the run.
    pub(super) device: String,
    pub(super) state: State,
    /// The reasons against it, in words.
    pub(super) reasons: Vec<String>,
    /// Its measurements by one process or several, the fastest first.
    pub(super) measured: Vec<KeptMeasurement>,
}

/// A measurement without its samples.
#[derive(Clone, Debug)]
pub(super) struct KeptMeasurement {
    pub(super) median: Nanoseconds,
    pub(super) roof: FleetRoof,
    /// The work and the method, in words: medians of others are not comparable.
    pub(super) method: String,
    /// A hash that no other measurement has.
    pub(super) hash: u64,
    pub(super) clock: Option<Hertz>,
    pub(super) power: Option<Watts>,
    pub(super) temperature: Option<u32>,
    pub(super) slowed_by: Vec<String>,
    pub(super) other_processes: u32,
}

impl KeptRun {
    pub(super) fn of(name: String, stored: Stored) -> Self {
        let faults = stored.faults();
        let run = stored.run;
        let records = run.records.iter().map(|record| KeptRecord::of(record, &run)).collect();
        let is_resumed = run.resumed.is_some();
        let Run { program, environment, devices, .. } = run;
        Self { name, program, host: environment.host, devices, records, faults, unfinished: None, is_resumed }
    }
}

impl KeptRecord {
    fn of(record: &Record, run: &Run) -> Self {
        let facts = run.devices.iter().find(|facts| facts.device == record.device);
        let all = record.measurement.iter().chain(&record.other_processes);
        let kept = |measured| Some(KeptMeasurement::of(measured, record.case.cache, facts?));
        // A record of several processes does not tell which of them measured what. In this order they differ by no less
        // than they did.
        let mut measured: Vec<KeptMeasurement> = all.filter_map(kept).collect();
        measured.sort_by(|a, b| a.median.total_cmp(&b.median));
        // A remark on a valid row is no reservation.
        let against = record.verdict.reasons.iter().filter(|reason| reason.state() != State::Valid);
        Self {
            case: FleetCase::of(&record.case),
            device: record.device.clone(),
            state: record.verdict.state,
            reasons: against.map(ToString::to_string).collect(),
            measured,
        }
    }
}

impl KeptMeasurement {
    fn of(measured: &Measurement, cache: Cache, facts: &Facts) -> Self {
        let during = measured.samples.conditions.as_ref().map(|conditions| &conditions.during);
        let own_clock = measured.samples.device_clock.as_ref().map(|clock| clock.mean);
        let sensor = || during.and_then(|during| during.sm_clock).map(|clock| clock.low);
        Self {
            median: measured.median(),
            roof: FleetRoof::of(measured, cache, facts),
            method: method(measured),
            hash: hash(measured),
            clock: own_clock.or_else(sensor),
            power: during.and_then(|during| during.power).map(|power| power.high),
            temperature: during.and_then(|during| during.temperature).map(|range| range.high),
            slowed_by: during.map(|during| during.slowed_by.clone()).unwrap_or_default(),
            other_processes: during.and_then(|during| during.other_processes).unwrap_or_default(),
        }
    }
}

/// The work and the method of a measurement in words, such as `path graph, flush discard, 8192 bytes`.
fn method(measured: &Measurement) -> String {
    let counts = &measured.counts;
    let counted = |count: Option<u64>, what: &str| count.map(|count| format!("{count} {what}"));
    let method = &measured.samples.method;
    let words = [
        Some(format!("path {}", method.path)),
        Some(format!("flush {}", method.flush)),
        measured.samples.timer.convention().map(|overhead| format!("overhead {overhead}")),
        counted(counts.reads, "bytes read"),
        counted(counts.writes, "bytes written"),
        counted(counts.bytes, "bytes"),
        counted(counts.flops, "flops"),
        counted(counts.items, "items"),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Two measurements never agree to the last bit in all samples and in the time that they took.
fn hash(measured: &Measurement) -> u64 {
    let mut hasher = DefaultHasher::new();
    let samples = &measured.samples;
    for time in samples.events.iter().chain([&samples.elapsed, &samples.wall]) {
        time.as_f64().to_bits().hash(&mut hasher);
    }
    hasher.finish()
}
