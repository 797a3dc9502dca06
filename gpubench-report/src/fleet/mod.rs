//! Slow GPUs among the runs of many: `runs` reads files, `groups` finds what may be compared, `judge` decides, and `sensors` says what
//! else is unusual about a GPU.
//!
//! A GPU is known by its UUID, and shown by its host and device. Nothing depends on the clocks of hosts.

mod effects;
mod groups;
mod judge;
mod roof;
mod runs;
mod sensors;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use gpubench_records::device_info::DeviceInfo;
use gpubench_records::exit::Exit;
use serde::Serialize;

use self::groups::{Entry, Group};
pub use self::judge::{
    FEWEST_GPUS, Fleet, FleetRules, Lack, MANY_GPUS, Observation, RoofResult, Spread, Standing, Verdict,
    judge,
};
pub use self::roof::FleetRoof;
pub use self::runs::{FleetRuns, fleet_files};
pub use self::table::render;

/// The name of the format of a [`FleetReport`].
pub const FLEET_SCHEMA: &str = "gpubench-fleet/1";

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
    pub roofs: Vec<RoofOfFleet>,
    /// The GPUs: slow ones first, by their greatest effect, then by host and device.
    pub gpus: Vec<FleetGpu>,
}

/// A roof of a group.
#[derive(Clone, Debug, Serialize)]
pub struct RoofOfFleet {
    /// The roof.
    pub roof: FleetRoof,
    /// The cases that it binds.
    pub cases: Vec<String>,
    /// The spreads.
    #[serde(flatten)]
    pub spread: Spread,
}

/// A GPU.
#[derive(Clone, Debug, Serialize)]
pub struct FleetGpu {
    /// Its UUID.
    pub uuid: String,
    /// The hosts that measured it, the first first.
    pub hosts: Vec<String>,
    /// The device in the words of its first run, or the first part of its UUID if another GPU of its host is called the same.
    pub device: String,
    /// The verdict: slow if it is slow on any roof.
    pub verdict: Verdict,
    /// Its standing on each roof.
    pub roofs: Vec<GpuRoof>,
    /// The files of its runs.
    pub runs: Vec<String>,
    /// The differences from what is usual in its group, a sentence each.
    pub reasons: Vec<String>,
    /// The facts of its first run.
    #[serde(skip)]
    info: DeviceInfo,
}

/// A GPU on a roof.
#[derive(Clone, Debug, Serialize)]
pub struct GpuRoof {
    /// The roof.
    pub roof: FleetRoof,
    /// The standing.
    #[serde(flatten)]
    pub standing: Standing,
}

impl FleetReport {
    /// Judges the GPUs of `fleet`.
    #[must_use]
    pub fn new(fleet: FleetRuns, rules: FleetRules) -> Self {
        let (files, runs, mut missing) = (fleet.files, fleet.runs.len(), fleet.unread);
        let (groups, others) = groups::groups(fleet.runs);
        missing.extend(others);
        Self {
            schema: FLEET_SCHEMA,
            least: rules.least,
            false_discoveries: rules.false_discoveries,
            files,
            runs,
            groups: groups.into_iter().map(|group| FleetGroup::new(group, rules)).collect(),
            missing,
        }
    }

    /// Returns the slow GPUs of all groups.
    pub fn slow(&self) -> impl Iterator<Item = &FleetGpu> {
        self.groups.iter().flat_map(FleetGroup::slow)
    }

    /// Returns the exit code: 3 if a GPU is slow, 4 if none could be judged.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self.groups.iter().flat_map(|group| &group.gpus).map(|gpu| gpu.verdict).min() {
            Some(Verdict::Slow) => Exit::Regression,
            Some(Verdict::Normal) => Exit::Done,
            Some(Verdict::NotEnoughData) | None => Exit::Nothing,
        }
    }
}

impl FleetGroup {
    fn new(group: Group, rules: FleetRules) -> Self {
        let reasons = sensors::differences(&group);
        let Group { program, mut gpus, cases, entries, .. } = group;
        let mut by_roof: BTreeMap<FleetRoof, BTreeSet<usize>> = BTreeMap::new();
        let mut roof_of = vec![0; cases.len()];
        for Entry { case, reading, .. } in &entries {
            by_roof.entry(reading.roof).or_default().insert(*case);
            roof_of[*case] = reading.roof as usize;
        }
        let hosts: Vec<String> =
            gpus.iter().map(FleetGpu::host).collect::<BTreeSet<_>>().into_iter().collect();
        let host_of: Vec<usize> =
            gpus.iter().map(|gpu| hosts.binary_search(&gpu.host()).unwrap_or_default()).collect();
        let observation = |Entry { case, gpu, process, reading }: &Entry| Observation {
            case: *case,
            gpu: *gpu,
            process: *process,
            log_time: reading.median.ln(),
        };
        let result = judge(
            Fleet {
                observations: &entries.iter().map(observation).collect::<Vec<_>>(),
                roofs: &roof_of,
                hosts: &host_of,
            },
            rules,
        );
        for (number, (gpu, reasons)) in gpus.iter_mut().zip(reasons).enumerate() {
            let on = |roof: &FleetRoof| {
                Some(GpuRoof { roof: *roof, standing: result[*roof as usize].gpus[number]? })
            };
            gpu.roofs = by_roof.keys().filter_map(on).collect();
            gpu.verdict =
                gpu.roofs.iter().map(|on| on.standing.verdict).min().unwrap_or(Verdict::NotEnoughData);
            gpu.reasons = reasons;
        }
        tell_apart(&mut gpus);
        let slowest = |gpu: &FleetGpu| gpu.findings().first().map_or(0.0, |on| -on.standing.effect);
        gpus.sort_by(|a, b| {
            slowest(a).total_cmp(&slowest(b)).then_with(|| (&a.hosts, &a.device).cmp(&(&b.hosts, &b.device)))
        });
        let of_roof = |(roof, numbers): (FleetRoof, BTreeSet<usize>)| RoofOfFleet {
            roof,
            cases: numbers.iter().map(|case| cases[*case].clone()).collect(),
            spread: result[roof as usize].spread,
        };
        Self {
            model: gpus[0].info.name.clone(),
            fake: gpus[0].info.fake,
            build: build(&program),
            hosts,
            roofs: by_roof.into_iter().map(of_roof).collect(),
            gpus,
        }
    }

    /// Returns the slow GPUs, the slowest first.
    pub fn slow(&self) -> impl Iterator<Item = &FleetGpu> {
        self.gpus.iter().filter(|gpu| gpu.verdict == Verdict::Slow)
    }
}

fn build(program: &gpubench_records::record::Program) -> String {
    let suite = if program.suite.is_empty() { String::new() } else { format!("{}, ", program.suite) };
    let built = match (program.whole_commit(), &program.fingerprint) {
        (Some(commit), _) => format!("commit {}", commit.get(..12).unwrap_or(commit)),
        (None, Some(fingerprint)) => format!("build {fingerprint}"),
        (None, None) => "a build without a fingerprint".to_owned(),
    };
    format!("{suite}{built}, gpubench {}", program.version)
}

/// Names GPUs by the first part of their UUIDs if others of their host have the same name: a scheduler may give each task one
/// GPU, and then each calls its own `cuda:0`.
fn tell_apart(gpus: &mut [FleetGpu]) {
    let mut places = BTreeMap::<String, usize>::new();
    gpus.iter().for_each(|gpu| *places.entry(gpu.place()).or_default() += 1);
    for gpu in gpus.iter_mut().filter(|gpu| places[&gpu.place()] > 1) {
        gpu.device = gpu.uuid.splitn(3, '-').take(2).collect::<Vec<_>>().join("-");
    }
}

impl FleetGpu {
    fn host(&self) -> String {
        self.hosts.first().cloned().unwrap_or_default()
    }

    /// Returns the host and the device there.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{} {}", self.host(), self.device).trim_start().to_owned()
    }

    /// Returns the host, the device and the UUID.
    fn name(&self) -> String {
        format!("{} ({})", self.place(), self.uuid)
    }

    /// Returns the standing on a roof.
    #[must_use]
    pub fn on(&self, roof: FleetRoof) -> Option<&Standing> {
        self.roofs.iter().find(|it| it.roof == roof).map(|it| &it.standing)
    }

    /// Returns the roofs on which it is slow, the greatest effect first.
    #[must_use]
    pub fn findings(&self) -> Vec<&GpuRoof> {
        let mut slow: Vec<&GpuRoof> =
            self.roofs.iter().filter(|on| on.standing.verdict == Verdict::Slow).collect();
        slow.sort_by(|a, b| b.standing.effect.total_cmp(&a.standing.effect));
        slow
    }
}
