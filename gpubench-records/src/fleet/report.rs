//! The answer about a fleet. In: its runs; out: for each group of GPUs the slow ones, the effect of each GPU on each roof with
//! its interval and its verdict, what the sensors say, and what is missing.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::gap::Gap;
use super::roof::FleetRoof;
use crate::exit::Exit;
use gpubench_stats::fleet::{self, FleetVerdict, Lack, Standing};
use gpubench_stats::format::percent;

/// The answer about a fleet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetReport {
    /// [`FLEET_SCHEMA`](super::FLEET_SCHEMA).
    pub schema: &'static str,
    /// The least effect that counts as slow, as a fraction.
    pub least: f64,
    /// The share of GPUs called slow that may belong to the others, on average.
    pub false_discoveries: f64,
    /// The number of files.
    pub files: usize,
    /// The number of runs.
    pub runs: usize,
    /// The GPUs that may be held against each other, the largest group first.
    pub groups: Vec<FleetGroup>,
    /// The parts that are missing or were left out.
    pub missing: Vec<Gap>,
}

/// GPUs of one model, measured by one build.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetGroup {
    /// The model.
    pub model: String,
    /// True for stand-ins for tests.
    pub fake: bool,
    /// The build, in a few words.
    pub build: String,
    /// The hosts.
    pub hosts: Vec<String>,
    /// The number of cases.
    pub cases: usize,
    /// The roofs that bind them.
    pub roofs: Vec<RoofOfFleet>,
    /// The number of GPUs that are as far out on the fast side as slow ones on theirs.
    pub fast: usize,
    /// The GPUs: slow ones first, by their greatest effect, then by host and device.
    pub gpus: Vec<FleetGpu>,
}

/// A roof of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoofOfFleet {
    /// The roof.
    pub roof: FleetRoof,
    /// The cases that it binds.
    pub cases: Vec<String>,
    /// The standard deviation between GPUs, as a fraction.
    pub between_gpus: f64,
    /// The share of its square that GPUs of one host have in common.
    pub common_to_host: f64,
    /// The standard deviation between processes on one GPU, if some GPU has two.
    pub between_processes: Option<f64>,
}

/// A GPU of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetGpu {
    /// Its identity.
    pub uuid: String,
    /// Its host, if that is known.
    pub host: Option<String>,
    /// The device in the words of its first run, or the first part of its UUID if another GPU of its host is called the same.
    pub device: String,
    /// The verdict on the GPU: slow if it is on any roof.
    pub verdict: GpuVerdict,
    /// Its standing on each roof.
    pub roofs: Vec<GpuRoof>,
    /// The files of its runs.
    pub runs: Vec<String>,
    /// The differences from what is usual in the fleet.
    pub reasons: Vec<String>,
    /// The number of suspect rows, by the reason.
    pub suspect: BTreeMap<String, usize>,
}

/// The verdict on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuVerdict {
    /// It is slow on a roof.
    Slow,
    /// It is normal on some, and slow on none.
    Normal,
    /// Nothing can be said on any roof.
    NotEnoughData,
}

/// A GPU on a roof.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuRoof {
    /// The roof.
    pub roof: FleetRoof,
    /// The standing.
    #[serde(flatten, serialize_with = "standing")]
    pub standing: Standing,
}

impl FleetReport {
    /// The slow GPUs of all groups.
    pub fn slow(&self) -> impl Iterator<Item = &FleetGpu> {
        self.groups.iter().flat_map(FleetGroup::slow)
    }

    /// The exit code: 3 if a GPU is slow, 4 if none could be judged.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let verdicts = self.groups.iter().flat_map(|group| &group.gpus).map(|gpu| gpu.verdict);
        match verdicts.min() {
            Some(GpuVerdict::Slow) => Exit::Regression,
            Some(GpuVerdict::Normal) => Exit::Done,
            Some(GpuVerdict::NotEnoughData) | None => Exit::Nothing,
        }
    }
}

impl FleetGroup {
    /// The slow GPUs, the slowest first.
    pub fn slow(&self) -> impl Iterator<Item = &FleetGpu> {
        self.gpus.iter().filter(|gpu| gpu.verdict == GpuVerdict::Slow)
    }

    /// The number of GPUs of this verdict.
    #[must_use]
    pub fn count(&self, verdict: GpuVerdict) -> usize {
        self.gpus.iter().filter(|gpu| gpu.verdict == verdict).count()
    }
}

impl FleetGpu {
    /// The GPU as people know it: its host and its device there.
    #[must_use]
    pub fn place(&self) -> String {
        self.host.as_ref().map_or_else(|| self.device.clone(), |host| format!("{host} {}", self.device))
    }

    /// The standing on a roof.
    #[must_use]
    pub fn on(&self, roof: FleetRoof) -> Option<&Standing> {
        self.roofs.iter().find(|it| it.roof == roof).map(|it| &it.standing)
    }

    /// The roofs on which it is slow, the greatest effect first.
    #[must_use]
    pub fn findings(&self) -> Vec<&GpuRoof> {
        let is_slow = |on: &&GpuRoof| on.standing.verdict == FleetVerdict::Slow;
        let mut slow: Vec<&GpuRoof> = self.roofs.iter().filter(is_slow).collect();
        slow.sort_by(|a, b| b.standing.effect.total_cmp(&a.standing.effect));
        slow
    }
}

/// The data that a verdict lacks, in words.
#[must_use]
pub fn lack(lack: &Lack) -> String {
    match lack {
        Lack::Gpus { gpus } => {
            let are = if *gpus == 1 { "is" } else { "are" };
            format!("a verdict needs at least {} GPUs, and there {are} {gpus}", fleet::FEWEST_GPUS)
        }
        Lack::Processes => format!(
            "one process on each of fewer than {} GPUs: a second tells a slow GPU from a disturbed process",
            fleet::MANY_GPUS
        ),
        Lack::Precision { half_width } => format!("its effect is known to ± {} only", percent(*half_width)),
    }
}

/// A standing as it is stored.
#[derive(Serialize)]
struct Stored {
    effect: f64,
    interval: [f64; 2],
    p: Option<f64>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lack: Option<String>,
    cases: usize,
    processes: usize,
    between_processes: f64,
}

fn standing<S: Serializer>(it: &Standing, serializer: S) -> Result<S::Ok, S::Error> {
    let (verdict, lacks) = match &it.verdict {
        FleetVerdict::Slow => ("slow", None),
        FleetVerdict::Normal => ("normal", None),
        FleetVerdict::NotEnoughData(what) => ("not-enough-data", Some(lack(what))),
    };
    Stored {
        effect: it.effect,
        interval: [it.low, it.high],
        p: it.p,
        verdict,
        lack: lacks,
        cases: it.cases,
        processes: it.processes,
        between_processes: it.between_processes,
    }
    .serialize(serializer)
}
