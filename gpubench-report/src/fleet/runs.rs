//! The runs of a fleet, read from their files without samples, so that thousands fit into memory, and the peak that limits each case.

use std::path::{Path, PathBuf};

use gpubench_records::files::LoadRunError;
use gpubench_records::{
    Cache, CaseSelection, Counts, DeviceInfo, Link, Measurement, Program, Quantity, ReadError, Record, Run,
    State, StoredRun, device_info::UUID,
};
use gpubench_stats::{Bytes, Nanoseconds, format::joined};
use rayon::prelude::*;
use serde::Serialize;

use super::FleetGpu;
use crate::history::Circumstances;
use crate::loading::{faults, find_run_files, load_all, retain_selected};

/// The runs of a fleet, for [`FleetReport::new`](super::FleetReport::new).
#[derive(Debug, Default)]
pub struct FleetRuns {
    /// The number of files that were found, also those that cannot be read.
    pub files: usize,
    /// The runs.
    pub(super) runs: Vec<FleetRun>,
    /// An error message for each file that cannot be read.
    pub unread: Vec<String>,
}

/// A run of a fleet, without samples.
#[derive(Debug)]
pub(super) struct FleetRun {
    /// The name of its file.
    pub name: String,
    /// The number of results that it took over from an earlier run, if it resumed one.
    pub resumed: Option<usize>,
    /// The GPUs with their measurements.
    pub gpus: Vec<(ModelAndBuild, FleetGpu, Vec<FleetMeasurement>)>,
    /// The reason for each part that is left out, and the name of the case if the part is a single case.
    pub missing: Vec<(String, Option<String>)>,
    /// A sentence about cases that were planned and not measured.
    pub unfinished: Option<String>,
}

/// A model of GPU and the build that measured. GPUs are comparable if both are the same.
#[derive(Debug, PartialEq)]
pub(super) struct ModelAndBuild {
    pub name: String,
    /// The number of multiprocessors, which is smaller for instances of a partitioned GPU.
    multiprocessors: Option<u64>,
    pub fake: bool,
    /// The build. Its fingerprint is removed if the sources are committed, since builds of one commit on
    /// several hosts have different fingerprints.
    program: Program,
}

/// The measurement of a case by one process, without samples.
#[derive(Debug)]
pub(super) struct FleetMeasurement {
    /// The name of the case.
    pub case: String,
    /// The number of the process in its record, from 0 for the fastest, because a record does not tell which
    /// process measured what. `judged_groups` replaces it by a number that no other process of the fleet has.
    pub process: usize,
    /// The natural logarithm of the median.
    pub log_time: f64,
    /// The bottleneck of the case.
    pub roof: Bottleneck,
    /// The declared work and the method. Medians are comparable only if these are equal.
    pub method: Circumstances,
    /// The bits of its median and of its wall time, which no other measurement of the GPU has. Equal bits
    /// reveal a measurement that two runs contain.
    pub identity: [u64; 2],
    /// Phrases for conditions that may have slowed it, such as a limit of the clocks.
    pub causes: Vec<String>,
}

impl FleetRuns {
    /// Reads the runs in these files and folders, and keeps the cases that `selection` takes. Files with a
    /// report on a fleet are ignored. Each other file that cannot be read gets a message in `unread`.
    pub fn read(given: &[PathBuf], selection: &CaseSelection) -> Self {
        let (files, unread) = find_run_files(given);
        let mut fleet = Self { files: files.len(), runs: Vec::new(), unread };
        let read: Vec<_> = files.par_iter().map(|path| read_file(path, selection)).collect();
        for runs in read {
            match runs {
                Ok(runs) => fleet.runs.extend(runs),
                // The answer about a fleet, which users may write next to its runs.
                Err(LoadRunError::Unreadable { error: ReadError::OtherSchema { schema, .. }, .. })
                    if schema.starts_with("gpubench-fleet/") => {}
                Err(error) => fleet.unread.push(error.to_string()),
            }
        }
        fleet
    }

    /// Returns true if there is no run.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

/// Reads the runs of one file.
fn read_file(path: &Path, selection: &CaseSelection) -> Result<Vec<FleetRun>, LoadRunError> {
    let name = path.display().to_string();
    Ok(load_all(path)?.into_iter().map(|stored| FleetRun::new(name.clone(), stored, selection)).collect())
}

impl FleetRun {
    /// Collects the GPUs of a run with their measurements, and everything that is left out.
    fn new(name: String, stored: StoredRun, selection: &CaseSelection) -> Self {
        let mut missing: Vec<_> = faults(&stored).into_iter().map(|fault| (fault, None)).collect();
        let mut run = stored.run;
        let (measured, planned) = (run.records.len(), run.planned_cases);
        let unfinished =
            (planned > measured).then(|| format!("unfinished: {measured} of {planned} cases are there"));
        retain_selected(selection, &mut run);
        for record in run.records.iter().filter(|record| is_unusable(record)) {
            // A GPU that could not be opened has no facts, and invalid records alone. A device without UUID is no GPU, which is reported below.
            if run.device_of(record).is_none_or(|info| !info.runs_program_code && info.text(UUID).is_some()) {
                let reasons = joined(&record.verdict.reasons, "; ");
                let [host, device] = host_and_device_of(&run, &record.device);
                let host = if host.is_empty() { String::new() } else { format!(" of machine {host}") };
                let why = format!("not usable on {device}{host} ({reasons})");
                missing.push((why, Some(record.case.to_string())));
            }
        }
        let is_committed = clean_commit(&run.program).is_some();
        let fingerprint = run.program.fingerprint.clone().filter(|_| !is_committed);
        let program = Program { fingerprint, ..run.program.clone() };
        let mut gpus = Vec::new();
        for info in run.devices.iter().filter(|info| !info.runs_program_code) {
            let records: Vec<&Record> =
                run.records.iter().filter(|record| record.device == info.device).collect();
            match info.text(UUID) {
                _ if records.is_empty() => {}
                None => {
                    let why = format!("`{}` is not a GPU: give runs that were measured on GPUs", info.device);
                    missing.push((why, None));
                }
                Some(uuid) => {
                    let model = ModelAndBuild {
                        name: info.name.clone(),
                        multiprocessors: info.count("multiprocessors"),
                        fake: info.fake,
                        program: program.clone(),
                    };
                    let [host, device] = host_and_device_of(&run, &info.device).map(str::to_owned);
                    let gpu = FleetGpu::new(uuid.to_owned(), host, device, gpu_properties(info));
                    let valid = records.into_iter().filter(|record| !is_unusable(record));
                    let readings =
                        valid.flat_map(|record| FleetMeasurement::from_record(record, info, &run.program));
                    gpus.push((model, gpu, readings.collect()));
                }
            }
        }
        Self { name, resumed: run.resumed.map(|resumed| resumed.kept), gpus, missing, unfinished }
    }
}

/// Returns true if a result cannot be compared: its verdict is invalid, or a median is not above zero.
fn is_unusable(record: &Record) -> bool {
    record.verdict.state == State::Invalid
        || record.measurements().any(|measured| measured.median() <= Nanoseconds::ZERO)
}

/// Returns the host of a device, which is empty if it is not known, and the name of the device there.
fn host_and_device_of<'a>(run: &'a Run, device: &'a str) -> [&'a str; 2] {
    // A run that was merged of several hosts names the host with the device.
    let host = run.environment.host.as_deref().unwrap_or_default();
    device.rsplit_once('/').unwrap_or((host, device)).into()
}

/// Returns the properties of a GPU and its bus as texts, without the UUID.
fn gpu_properties(info: &DeviceInfo) -> Vec<String> {
    let own = info.properties.iter().filter(|property| property.name != UUID).map(ToString::to_string);
    let bus = info.peak(&Quantity::HostToDevice);
    own.chain(bus.map(|peak| format!("bus to the host {}", peak.method))).collect()
}

/// Returns the commit of the package. Returns `None` without a commit, if files differ from it, or if that is
/// not known.
fn clean_commit(program: &Program) -> Option<&str> {
    let package = program.package.as_ref().filter(|package| package.dirty == Some(false))?;
    package.commit.as_deref()
}

impl ModelAndBuild {
    /// Describes the build: the benchmark binary, the commit or fingerprint, and the version of gpubench.
    pub(super) fn describe_build(&self) -> String {
        let program = &self.program;
        let suite = if program.suite.is_empty() { String::new() } else { format!("{}, ", program.suite) };
        let commit =
            clean_commit(program).map(|commit| format!("commit {}", commit.get(..12).unwrap_or(commit)));
        let fingerprint = program.fingerprint.as_deref().unwrap_or("without a fingerprint");
        let built = commit.unwrap_or_else(|| format!("build {fingerprint}"));
        format!("{suite}{built}, gpubench {}", program.version)
    }
}

impl FleetMeasurement {
    /// Returns the measurement of each process of a record, the fastest first.
    fn from_record(record: &Record, info: &DeviceInfo, program: &Program) -> Vec<Self> {
        let mut all: Vec<&Measurement> = record.measurements().collect();
        all.sort_by(|a, b| a.median().total_cmp(&b.median()));
        let reading = |(process, measured): (usize, &Measurement)| {
            let during = measured.samples.conditions.as_ref().map(|conditions| &conditions.during);
            let throttled = during.into_iter().flat_map(|during| &during.throttle_reasons);
            let others = during.and_then(|during| during.other_processes).filter(|others| *others > 0);
            Self {
                case: record.case.to_string(),
                process,
                log_time: measured.median().as_f64().ln(),
                roof: Bottleneck::from_measurement(measured, record.case.cache, info),
                method: Circumstances::new(measured, None, program),
                identity: [measured.median(), measured.samples.wall_time].map(|it| it.as_f64().to_bits()),
                causes: throttled
                    .map(|cause| format!("clocks held down by {cause}"))
                    .chain(others.map(|_| "other processes on the GPU".to_owned()))
                    .collect(),
            }
        };
        all.into_iter().enumerate().map(reading).collect()
    }
}

/// A peak limits a case that reaches at least this fraction of it. Below, something else determines the time.
const MIN_PEAK_FRACTION: f64 = 0.4;
/// Traffic in one direction is neglected if it is below this fraction of the other direction.
const NEGLIGIBLE_TRAFFIC: f64 = 0.05;

/// The part of a GPU that limits the time of a case. Tables list bottlenecks in the order of these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// Reads from memory.
    #[error("memory reads")]
    MemoryReads,
    /// Writes to memory.
    #[error("memory writes")]
    MemoryWrites,
    /// Reads from memory and writes to memory.
    #[error("memory mixed")]
    MemoryMixed,
    /// The last-level cache.
    #[error("L2")]
    L2,
    /// Arithmetic of any data type.
    #[error("compute")]
    Compute,
    /// The bus to the host.
    #[error("PCIe")]
    Pcie,
    /// The links between GPUs.
    #[error("P2P")]
    Peer,
    /// None of these: the latency of launches or of memory, or the host.
    #[error("latency")]
    Latency,
}

impl Bottleneck {
    /// Returns the bottleneck of a measurement on the device `info`: the peak of which it reaches the largest
    /// fraction. Returns [`Self::Latency`] if no fraction reaches [`MIN_PEAK_FRACTION`]. If no fraction at
    /// all is known, a declared link of L2 or P2P is the bottleneck.
    fn from_measurement(measured: &Measurement, cache: Cache, info: &DeviceInfo) -> Self {
        let fractions = &measured.metrics.peak_fractions;
        let most = fractions.iter().max_by(|a, b| a.fraction.total_cmp(&b.fraction));
        let bound = most.filter(|share| share.fraction >= MIN_PEAK_FRACTION);
        match (bound.map(|share| &share.quantity), measured.link) {
            (Some(Quantity::Compute(_)), _) => Self::Compute,
            (Some(Quantity::CacheBandwidth), _) => Self::L2,
            (Some(Quantity::HostToDevice | Quantity::DeviceToHost), _) => Self::Pcie,
            (Some(Quantity::PeerToPeer), _) => Self::Peer,
            (Some(Quantity::MemoryBandwidth), _) => Self::from_traffic(&measured.counts, cache, info),
            // The benchmark names a link whose peak is not known.
            (None, Some(Link::P2p)) if fractions.is_empty() => Self::Peer,
            (None, Some(Link::L2)) if fractions.is_empty() => Self::L2,
            _ => Self::Latency,
        }
    }

    /// Returns the bottleneck of a case that reaches the peak of the memory, by the directions of its
    /// declared traffic. It is the cache if the case is hot and the last-level cache holds all of its data.
    fn from_traffic(counts: &Counts, cache: Cache, info: &DeviceInfo) -> Self {
        let fits = |size: Bytes| counts.without_intermediates().is_some_and(|bytes| Bytes(bytes) <= size);
        let each_way = counts.intermediates.unwrap_or(0) as f64 / 2.0;
        let [reads, writes] = [counts.reads, counts.writes].map(|bytes| bytes.unwrap_or(0) as f64 + each_way);
        if cache == Cache::Hot && info.last_level_cache.is_some_and(fits) {
            Self::L2
        } else if writes < NEGLIGIBLE_TRAFFIC * reads {
            Self::MemoryReads
        } else if reads < NEGLIGIBLE_TRAFFIC * writes {
            Self::MemoryWrites
        } else {
            Self::MemoryMixed
        }
    }
}
