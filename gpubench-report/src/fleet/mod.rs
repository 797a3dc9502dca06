//! Finds slow GPUs among the runs of many: `runs` reads files, `groups` determines what can be compared, `judge`
//! compares, and `table` formats the report.
//!
//! A GPU is identified by its UUID, and shown by its host and device. Clocks of hosts are not used.

mod effects;
mod groups;
mod judge;
mod runs;
mod table;

use gpubench_records::Exit;
use serde::Serialize;

pub use self::effects::{Fleet, FleetObservation};
pub use self::judge::{FleetRules, GpuComparison, GpuVerdict, InsufficientData, judge};
pub use self::runs::{Bottleneck, FleetRuns};
pub use self::table::render;

/// The name and version of the JSON format of a [`FleetReport`].
pub const FLEET_SCHEMA: &str = "gpubench-fleet/2";

/// The report on a fleet, which `cargo gpubench fleet` prints and writes as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct FleetReport {
    /// [`FLEET_SCHEMA`].
    pub schema: &'static str,
    /// The least effect that counts as slow, as a fraction.
    pub least: f64,
    /// The fraction of GPUs reported as slow that may be wrong, on average.
    pub false_discoveries: f64,
    /// The number of files that were found, also those that cannot be read.
    pub files: usize,
    /// The number of runs.
    pub runs: usize,
    /// The groups of comparable GPUs, the largest first.
    pub groups: Vec<FleetGroup>,
    /// A sentence for each part that is missing or was left out.
    pub missing: Vec<String>,
}

/// The GPUs of one model that one build measured.
#[derive(Clone, Debug, Serialize)]
pub struct FleetGroup {
    /// The model.
    pub model: String,
    /// True if the GPUs are those of the fake driver for tests.
    pub fake: bool,
    /// A description of the build.
    pub build: String,
    /// The hosts.
    pub hosts: Vec<String>,
    /// The bottlenecks of its cases.
    pub roofs: Vec<BottleneckCases>,
    /// The GPUs: slow ones first, by their greatest effect, then by host and device.
    pub gpus: Vec<FleetGpu>,
}

/// A bottleneck with the cases that it limits.
#[derive(Clone, Debug, Serialize)]
pub struct BottleneckCases {
    /// The bottleneck.
    pub roof: Bottleneck,
    /// The names of the cases.
    pub cases: Vec<String>,
}

/// A GPU of a [`FleetGroup`], with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct FleetGpu {
    /// Its UUID.
    pub uuid: String,
    /// The host of its first run; empty if it is not known.
    pub host: String,
    /// The device as its first run names it, or the first part of its UUID if another GPU of its host has the
    /// same name.
    pub device: String,
    /// The verdict for all bottlenecks: slow if the GPU is slow on any of them.
    pub verdict: GpuVerdict,
    /// Its comparison with the other GPUs, for each bottleneck.
    pub roofs: Vec<GpuComparison>,
    /// The files of its runs.
    pub runs: Vec<String>,
    /// Its properties and causes of slowdown that most GPUs of its group do not share.
    pub reasons: Vec<String>,
}

impl FleetReport {
    /// Judges the GPUs of `fleet` in groups of one model and build.
    pub fn new(fleet: FleetRuns, rules: FleetRules) -> Self {
        let (files, runs, mut missing) = (fleet.files, fleet.runs.len(), fleet.unread);
        let (groups, others) = groups::judged_groups(fleet.runs, rules);
        missing.extend(others);
        Self {
            schema: FLEET_SCHEMA,
            least: rules.least,
            false_discoveries: rules.false_discoveries,
            files,
            runs,
            groups,
            missing,
        }
    }

    /// Returns the exit code: [`Exit::Regression`] if a GPU is slow, [`Exit::Nothing`] if none could be
    /// judged, else [`Exit::Done`].
    pub fn exit(&self) -> Exit {
        match self.groups.iter().flat_map(|group| &group.gpus).map(|gpu| gpu.verdict).min() {
            Some(GpuVerdict::Slow) => Exit::Regression,
            Some(GpuVerdict::Normal) => Exit::Done,
            Some(GpuVerdict::NotEnoughData) | None => Exit::Nothing,
        }
    }
}

impl FleetGroup {
    /// Returns the slow GPUs, the slowest first.
    pub fn slow_gpus(&self) -> impl Iterator<Item = &FleetGpu> {
        self.gpus.iter().filter(|gpu| gpu.verdict == GpuVerdict::Slow)
    }
}

impl FleetGpu {
    /// Returns a GPU without a verdict or runs. `reasons` has all that is known about it;
    /// [`FleetReport::new`] removes the reasons that most GPUs share.
    fn new(uuid: String, host: String, device: String, reasons: Vec<String>) -> Self {
        let verdict = GpuVerdict::NotEnoughData;
        Self { uuid, host, device, verdict, roofs: Vec::new(), runs: Vec::new(), reasons }
    }

    /// Returns the host and the device, such as `node1 cuda:0`; the device alone if the host is not known.
    pub fn host_and_device(&self) -> String {
        format!("{} {}", self.host, self.device).trim_start().to_owned()
    }

    /// Returns the host, the device and the UUID.
    fn full_name(&self) -> String {
        format!("{} ({})", self.host_and_device(), self.uuid)
    }

    /// Returns the comparisons in which it is slow.
    fn slow_comparisons(&self) -> impl Iterator<Item = &GpuComparison> {
        self.roofs.iter().filter(|on| on.verdict == GpuVerdict::Slow)
    }

    /// Returns its greatest effect among the bottlenecks on which it is slow; 0 if there is none.
    fn greatest_slowdown(&self) -> f64 {
        self.slow_comparisons().map(|on| on.effect).fold(0.0, f64::max)
    }
}
