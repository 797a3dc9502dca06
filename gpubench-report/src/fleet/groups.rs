//! Groups the GPUs that can be compared with each other, judges each group, and lists the parts of runs that are
//! missing or left out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gpubench_stats::format::{counted, joined};

use super::effects::{Fleet, FleetObservation};
use super::judge::{FleetRules, judge};
use super::runs::{Bottleneck, FleetMeasurement, FleetRun, ModelAndBuild};
use super::{BottleneckCases, FleetGpu, FleetGroup, GpuVerdict};

/// The parts of runs that are missing or left out. The key is a file, GPU or model, and the reason; the value
/// has the names of the cases. No names mean that the reason is about the file, GPU or model as a whole.
#[derive(Default)]
struct LeftOutParts(BTreeMap<(String, String), BTreeSet<String>>);

impl LeftOutParts {
    /// Adds `case` of the file, GPU or model `of`, with the reason `why`. If `case` is `None`, the reason is
    /// about `of` as a whole.
    fn add(&mut self, of: &str, why: &str, case: Option<&str>) {
        self.0.entry((of.to_owned(), why.to_owned())).or_default().extend(case.map(str::to_owned));
    }

    /// Returns a sentence for each file, GPU or model and each reason. A sentence about cases names the first
    /// case, and the number of all.
    fn sentences(self) -> Vec<String> {
        self.0
            .into_iter()
            .map(|((of, why), cases)| match cases.first() {
                None => format!("{of}: {why}"),
                Some(case) => format!("{of}: `{case}` ({}): {why}", counted(cases.len(), "case")),
            })
            .collect()
    }
}

/// A model and build, and by UUID the GPUs that belong to it, each with its measurements.
type ModelGpus = (ModelAndBuild, BTreeMap<String, (FleetGpu, Vec<FleetMeasurement>)>);

/// Judges the GPUs of `runs` in groups of one model and build, the largest group first. A measurement that
/// several runs contain counts once. Also returns a sentence for each part that is missing or left out.
pub(super) fn judged_groups(mut runs: Vec<FleetRun>, rules: FleetRules) -> (Vec<FleetGroup>, Vec<String>) {
    // A run that resumed others has their measurements too, and replaces them.
    runs.sort_by_key(|run| Reverse(run.resumed));
    let (mut groups, mut missing, mut processes) = (Vec::<ModelGpus>::new(), LeftOutParts::default(), 0);
    let mut seen: HashSet<(String, [u64; 2])> = HashSet::new();
    for run in runs {
        run.missing.iter().for_each(|(why, case)| missing.add(&run.name, why, case.as_deref()));
        let is_repeated = run.gpus.iter().any(|(_, gpu, readings)| {
            !readings.is_empty() && readings.iter().all(|it| seen.contains(&(gpu.uuid.clone(), it.identity)))
        });
        // Another run finished it.
        if let Some(unfinished) = run.unfinished.filter(|_| !is_repeated) {
            missing.add(&run.name, &unfinished, None);
        }
        for (model, gpu, mut readings) in run.gpus {
            readings.retain(|reading| seen.insert((gpu.uuid.clone(), reading.identity)));
            let place = groups.iter().position(|(known, _)| *known == model).unwrap_or(groups.len());
            if place == groups.len() {
                groups.push((model, BTreeMap::new()));
            }
            let (known, all) = groups[place].1.entry(gpu.uuid.clone()).or_insert((gpu, Vec::new()));
            known.runs.extend((!readings.is_empty()).then(|| run.name.clone()));
            let first = processes;
            for reading in readings {
                let process = first + reading.process;
                processes = processes.max(process + 1);
                all.push(FleetMeasurement { process, ..reading });
            }
        }
    }
    groups.retain(|(_, gpus)| gpus.values().any(|(_, readings)| !readings.is_empty()));
    groups.sort_by_key(|(_, gpus)| Reverse(gpus.len()));
    let groups = groups.into_iter().map(|group| judged_group(group, rules, &mut missing)).collect();
    (groups, missing.sentences())
}

/// Judges the GPUs of a model and build. Leaves out measurements whose method or declared work differs from
/// that of most, and cases that fewer than half of the GPUs have. Adds to `missing` what it leaves out, and
/// the cases that only some GPUs lack.
fn judged_group((model, gpus): ModelGpus, rules: FleetRules, missing: &mut LeftOutParts) -> FleetGroup {
    let (mut gpus, readings): (Vec<FleetGpu>, Vec<Vec<FleetMeasurement>>) = gpus.into_values().unzip();
    name_by_uuid(&mut gpus);
    set_unusual_reasons(&mut gpus, &readings);
    let mut cases: BTreeMap<&str, Vec<(usize, &FleetMeasurement)>> = BTreeMap::new();
    for (gpu, reading) in readings.iter().enumerate().flat_map(|(gpu, of)| of.iter().map(move |it| (gpu, it)))
    {
        cases.entry(&reading.case).or_default().push((gpu, reading));
    }
    let (mut observations, mut roof_of) = (Vec::new(), Vec::new());
    let mut roofs: BTreeMap<Bottleneck, Vec<String>> = BTreeMap::new();
    for (case, mut of_case) in cases {
        let method = most_frequent(of_case.iter().map(|(_, reading)| &reading.method));
        of_case.retain(|(gpu, reading)| {
            let differences = method.map(|usual| reading.method.differences(usual)).unwrap_or_default();
            if !differences.is_empty() {
                let why = format!("not comparable with most GPUs and left out: {}", differences.join(", "));
                missing.add(&gpus[*gpu].full_name(), &why, Some(case));
            }
            differences.is_empty()
        });
        let have: BTreeSet<usize> = of_case.iter().map(|(gpu, _)| *gpu).collect();
        if 2 * have.len() < gpus.len() {
            missing.add(&model.name, "on fewer than half of the GPUs, and not judged", Some(case));
            continue;
        }
        for lacks in (0..gpus.len()).filter(|gpu| !have.contains(gpu)) {
            missing.add(&gpus[lacks].full_name(), "missing, which most GPUs have", Some(case));
        }
        // GPUs close to a limit of `Bottleneck` may have different bottlenecks.
        let Some(roof) = most_frequent(of_case.iter().map(|(_, reading)| reading.roof)) else { continue };
        observations.extend(of_case.iter().map(|(gpu, reading)| FleetObservation {
            case: roof_of.len(),
            gpu: *gpu,
            process: reading.process,
            log_time: reading.log_time,
        }));
        roof_of.push(roof);
        roofs.entry(roof).or_default().push(case.to_owned());
    }
    let hosts = Vec::from_iter(gpus.iter().map(|gpu| gpu.host.clone()).collect::<BTreeSet<_>>());
    let host_of: Vec<usize> =
        gpus.iter().map(|gpu| hosts.binary_search(&gpu.host).unwrap_or_default()).collect();
    let fleet = Fleet { observations: &observations, roofs: &roof_of, hosts: &host_of };
    for (gpu, standings) in gpus.iter_mut().zip(judge(fleet, rules)) {
        let verdicts = standings.iter().map(|on| on.verdict);
        gpu.verdict = verdicts.min().unwrap_or(GpuVerdict::NotEnoughData);
        gpu.roofs = standings;
    }
    gpus.sort_by(|a, b| (&a.host, &a.device).cmp(&(&b.host, &b.device)));
    gpus.sort_by(|a, b| b.greatest_slowdown().total_cmp(&a.greatest_slowdown()));
    let roofs = roofs.into_iter().map(|(roof, cases)| BottleneckCases { roof, cases }).collect();
    FleetGroup { build: model.describe_build(), model: model.name, fake: model.fake, hosts, roofs, gpus }
}

/// Returns the most frequent of `values`, any of them if several are equally frequent; `None` without values.
fn most_frequent<T: PartialEq>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: Vec<(T, usize)> = Vec::new();
    for value in values {
        match counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

/// Adds to each GPU's `reasons` the causes that slowed more than half of its measurements. Then removes from
/// all GPUs the reasons that more than half of them have.
fn set_unusual_reasons(gpus: &mut [FleetGpu], readings: &[Vec<FleetMeasurement>]) {
    for (gpu, readings) in gpus.iter_mut().zip(readings) {
        let causes: BTreeSet<&String> = readings.iter().flat_map(|reading| &reading.causes).collect();
        let count = |cause| readings.iter().filter(|reading| reading.causes.contains(cause)).count();
        let most = causes.into_iter().filter(|cause| 2 * count(*cause) > readings.len());
        gpu.reasons.extend(most.cloned());
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    gpus.iter().flat_map(|gpu| &gpu.reasons).for_each(|it| *counts.entry(it.clone()).or_default() += 1);
    let all = gpus.len();
    gpus.iter_mut().for_each(|gpu| gpu.reasons.retain(|fact| 2 * counts[fact] <= all));
}

/// Replaces the names of devices by the first part of their UUIDs, such as `GPU-1a2b3c4d`, where several GPUs
/// of a host have the same name. A scheduler may give each task one GPU, and each task then calls its own
/// `cuda:0`.
fn name_by_uuid(gpus: &mut [FleetGpu]) {
    let mut places = BTreeMap::<String, usize>::new();
    gpus.iter().for_each(|gpu| *places.entry(gpu.host_and_device()).or_default() += 1);
    for gpu in gpus.iter_mut().filter(|gpu| places[&gpu.host_and_device()] > 1) {
        gpu.device = joined(gpu.uuid.splitn(3, '-').take(2), "-");
    }
}
