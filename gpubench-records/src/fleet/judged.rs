//! The answer about one group of GPUs. In: its medians; out: the standing of each GPU on each roof, and the differences of its
//! sensors and properties from what is usual.

use std::collections::BTreeMap;

use super::group::{Builder, of_gpu};
use super::report::{FleetGpu, FleetGroup, GpuRoof, GpuVerdict, RoofOfFleet};
use super::roof::FleetRoof;
use super::usual::Usual;
use gpubench_stats::fleet::{self, FleetRules, FleetVerdict, Observation};

/// Judges the GPUs of a group.
pub(super) fn group(builder: &Builder, rules: FleetRules) -> FleetGroup {
    let mut roofs: Vec<FleetRoof> = builder.entries.iter().map(|entry| entry.roof).collect();
    roofs.sort_unstable();
    roofs.dedup();
    let number = |roof: FleetRoof| roofs.binary_search(&roof).unwrap_or_default();
    let mut roof_of_case: Vec<Option<FleetRoof>> = vec![None; builder.cases.len()];
    for entry in &builder.entries {
        roof_of_case[entry.case] = Some(entry.roof);
    }
    let (hosts, host_of) = hosts(builder);
    let observations: Vec<Observation> = builder
        .entries
        .iter()
        .map(|entry| {
            let log_time = entry.measured.median.as_f64().ln();
            Observation { case: entry.case, gpu: entry.gpu, process: entry.process, log_time }
        })
        .collect();
    // Cases that were left out have no observations, and any roof.
    let numbers: Vec<usize> = roof_of_case.iter().map(|roof| roof.map_or(0, number)).collect();
    let result =
        fleet::judge(fleet::Fleet { observations: &observations, roofs: &numbers, hosts: &host_of }, rules);
    let usual = Usual::of(&builder.entries, &builder.members, builder.cases.len());
    let gpu = |place: usize| {
        let standings = roofs.iter().zip(&result.roofs);
        let standings: Vec<GpuRoof> = standings
            .filter_map(|(roof, of)| Some(GpuRoof { roof: *roof, standing: of.gpus[place]? }))
            .collect();
        of_member(builder, &usual, place, standings)
    };
    let mut gpus: Vec<FleetGpu> = (0..builder.members.len()).map(gpu).collect();
    add_hosts(&mut gpus);
    tell_apart(&mut gpus);
    gpus.sort_by(|a, b| {
        let slowest = |gpu: &FleetGpu| gpu.findings().first().map_or(0.0, |on| -on.standing.effect);
        slowest(a).total_cmp(&slowest(b)).then_with(|| (&a.host, &a.device).cmp(&(&b.host, &b.device)))
    });
    let of_roof = |(roof, of): (&FleetRoof, &fleet::RoofResult)| {
        let cases = roof_of_case.iter().zip(&builder.cases);
        RoofOfFleet {
            roof: *roof,
            cases: cases.filter(|(it, _)| **it == Some(*roof)).map(|(_, case)| case.to_string()).collect(),
            between_gpus: of.spread.gpus,
            common_to_host: of.spread.common_to_host,
            between_processes: of.spread.processes,
        }
    };
    FleetGroup {
        model: builder.model.name.clone(),
        fake: builder.model.fake,
        build: build(builder),
        hosts,
        cases: roof_of_case.iter().flatten().count(),
        roofs: roofs.iter().zip(&result.roofs).map(of_roof).collect(),
        fast: result.fast,
        gpus,
    }
}

/// The hosts in the order of their names, and the number of each GPU's host.
fn hosts(builder: &Builder) -> (Vec<String>, Vec<usize>) {
    let host = |place: usize| builder.members[place].hosts.first().cloned().unwrap_or_default();
    let mut hosts: Vec<String> = (0..builder.members.len()).map(host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let numbers =
        (0..builder.members.len()).map(|place| hosts.binary_search(&host(place)).unwrap_or_default());
    let numbers = numbers.collect();
    (hosts, numbers)
}

fn build(builder: &Builder) -> String {
    let program = &builder.program;
    let built = match (program.whole_commit(), &program.fingerprint) {
        (Some(commit), _) => format!("commit {}", commit.get(..12).unwrap_or(commit)),
        (None, Some(fingerprint)) => format!("build {fingerprint}"),
        (None, None) => "a build without a fingerprint".to_owned(),
    };
    match &*program.suite {
        "" => format!("{built}, gpubench {}", program.version),
        suite => format!("{suite}, {built}, gpubench {}", program.version),
    }
}

fn of_member(builder: &Builder, usual: &Usual, place: usize, roofs: Vec<GpuRoof>) -> FleetGpu {
    let member = &builder.members[place];
    let verdicts = || roofs.iter().map(|it| it.standing.verdict);
    let verdict = match () {
        () if verdicts().any(|it| it == FleetVerdict::Slow) => GpuVerdict::Slow,
        () if verdicts().any(|it| it == FleetVerdict::Normal) => GpuVerdict::Normal,
        () => GpuVerdict::NotEnoughData,
    };
    FleetGpu {
        uuid: member.uuid.clone(),
        host: member.hosts.first().cloned(),
        device: member.device.clone(),
        verdict,
        roofs,
        runs: member.runs.clone(),
        reasons: usual.differences(of_gpu(&builder.entries, place), &member.facts),
        suspect: member.suspect.clone(),
    }
}

/// Tells slow GPUs of a host on which most others are slow too.
fn add_hosts(gpus: &mut [FleetGpu]) {
    let mut of_hosts: BTreeMap<Option<String>, (usize, usize)> = BTreeMap::new();
    for gpu in gpus.iter() {
        let (slow, all) = of_hosts.entry(gpu.host.clone()).or_default();
        *slow += usize::from(gpu.verdict == GpuVerdict::Slow);
        *all += 1;
    }
    if of_hosts.len() < 2 {
        return;
    }
    for gpu in gpus.iter_mut().filter(|gpu| gpu.verdict == GpuVerdict::Slow) {
        let (slow, all) = of_hosts[&gpu.host];
        if slow > 1 && 2 * slow > all {
            gpu.reasons.insert(0, format!("{slow} of the {all} GPUs of this host are slow"));
        }
    }
}

/// Names GPUs by the first part of their UUIDs if others of their host have the same name: a scheduler may give each task one
/// GPU, and then each calls its own `cuda:0`.
fn tell_apart(gpus: &mut [FleetGpu]) {
    let first_part = |uuid: &str| uuid.split('-').take(2).collect::<Vec<_>>().join("-");
    let (mut named, mut parts) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    for gpu in gpus.iter() {
        *named.entry(gpu.place()).or_default() += 1;
        *parts.entry(first_part(&gpu.uuid)).or_default() += 1;
    }
    for gpu in gpus.iter_mut().filter(|gpu| named[&gpu.place()] > 1) {
        let part = first_part(&gpu.uuid);
        gpu.device = if parts[&part] > 1 { gpu.uuid.clone() } else { part };
    }
}
