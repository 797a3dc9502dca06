//! Slow GPUs among the runs of many: `runs` reads files, `groups` finds what may be compared and what is missing, `judge` decides, and
//! `table` prints the answer.
//!
//! A GPU is known by its UUID, and shown by its host and device. Nothing depends on the clocks of hosts.

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

/// The name of the format of a [`FleetReport`].
pub const FLEET_SCHEMA: &str = "gpubench-fleet/2";

/// The answer about a fleet.
#[derive(Clone, Debug, Serialize)]
pub struct FleetReport {
    /// [`FLEET_SCHEMA`].
    pub schema: &'static str,
    /// The least effect that counts as slow, as a fraction.
    pub least: f64,
    /// The share of GPUs called slow that may belong to the others, on average.
    pub false_discoveries: f64,
    /// The number of files.
    pub files: usize,
    /// The number of runs.
    pub runs: usize,
    /// The GPUs that may be compared, the largest group first.
    pub groups: Vec<FleetGroup>,
    /// A sentence for each part that is missing or was left out.
    pub missing: Vec<String>,
}

/// The GPUs of one model, measured by one build.
#[derive(Clone, Debug, Serialize)]
pub struct FleetGroup {
    /// The model.
    pub model: String,
    /// True for the fake driver.
    pub fake: bool,
    /// The build, in a few words.
    pub build: String,
    /// The hosts.
    pub hosts: Vec<String>,
    /// The roofs that bind cases.
    pub roofs: Vec<BottleneckCases>,
    /// The GPUs: slow ones first, by their greatest effect, then by host and device.
    pub gpus: Vec<FleetGpu>,
}

/// A roof of a group.
#[derive(Clone, Debug, Serialize)]
pub struct BottleneckCases {
    /// The roof.
    pub roof: Bottleneck,
    /// The cases that it binds.
    pub cases: Vec<String>,
}

/// A GPU.
#[derive(Clone, Debug, Serialize)]
pub struct FleetGpu {
    /// Its UUID.
    pub uuid: String,
    /// The host of its first run; empty if it is not known.
    pub host: String,
    /// The device in the words of its first run, or the first part of its UUID if another GPU of its host is called the same.
    pub device: String,
    /// The verdict: slow if it is slow on any roof.
    pub verdict: GpuVerdict,
    /// Its standing on each roof.
    pub roofs: Vec<GpuComparison>,
    /// The files of its runs.
    pub runs: Vec<String>,
    /// The facts that most GPUs of its group do not share.
    pub reasons: Vec<String>,
}

impl FleetReport {
    /// Judges the GPUs of `fleet`.
    pub fn new(fleet: FleetRuns, rules: FleetRules) -> Self {
        let (files, runs, mut missing) = (fleet.files, fleet.runs.len(), fleet.unread);
        let (groups, others) = groups::judged(fleet.runs, rules);
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

    /// Returns the exit code: 3 if a GPU is slow, 4 if none could be judged.
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
    pub fn slow(&self) -> impl Iterator<Item = &FleetGpu> {
        self.gpus.iter().filter(|gpu| gpu.verdict == GpuVerdict::Slow)
    }
}

impl FleetGpu {
    /// Returns a GPU that is not judged yet, with all facts that are known of it.
    fn new(uuid: String, host: String, device: String, reasons: Vec<String>) -> Self {
        let verdict = GpuVerdict::NotEnoughData;
        Self { uuid, host, device, verdict, roofs: Vec::new(), runs: Vec::new(), reasons }
    }

    /// Returns the host and the device there.
    pub fn place(&self) -> String {
        format!("{} {}", self.host, self.device).trim_start().to_owned()
    }

    /// Returns the host, the device and the UUID.
    fn name(&self) -> String {
        format!("{} ({})", self.place(), self.uuid)
    }

    /// Returns the standings on roofs on which it is slow.
    fn findings(&self) -> impl Iterator<Item = &GpuComparison> {
        self.roofs.iter().filter(|on| on.verdict == GpuVerdict::Slow)
    }

    /// Returns its greatest effect on a roof on which it is slow; 0 if there is none.
    fn slowest(&self) -> f64 {
        self.findings().map(|on| on.effect).fold(0.0, f64::max)
    }
}
