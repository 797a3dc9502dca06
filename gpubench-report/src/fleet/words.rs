//! Sentences about a fleet that the terminal and the page share. In: parts of a [`FleetReport`]; out: words.

use std::collections::{BTreeMap, BTreeSet};

use gpubench_records::fleet::{
    FleetGpu, FleetGroup, FleetRoof, FleetVerdict, GpuRoof, GpuVerdict, Standing, lack,
};
use gpubench_stats::format::{self, counted, percent};

use gpubench_table::text::plain;

/// The answer in a sentence, such as "1 of 4 NVIDIA H200 is slow".
pub(super) fn answer(group: &FleetGroup) -> String {
    let [slow, normal] = [GpuVerdict::Slow, GpuVerdict::Normal].map(|verdict| group.count(verdict));
    let model = plain(&group.model);
    let all = group.gpus.len();
    let fake = if group.fake { " (FAKE: stand-ins for tests, whose times are made up)" } else { "" };
    let sentence = match (slow, normal) {
        (0, 0) => format!("not enough data about {all} {model}"),
        (0, _) => format!("none of {all} {model} is slow"),
        (1, _) => format!("1 of {all} {model} is slow"),
        _ => format!("{slow} of {all} {model} are slow"),
    };
    sentence + fake
}

/// The size of the group, such as "2 hosts, 120 cases, build 3f2a".
pub(super) fn size(group: &FleetGroup) -> String {
    let hosts = counted(group.hosts.len(), "host");
    format!("{hosts}, {}, {}", counted(group.cases, "case"), plain(&group.build))
}

/// The GPU as people know it: its host, without the domain if that is not needed to tell hosts apart, and its device there.
pub(super) fn place(group: &FleetGroup, gpu: &FleetGpu) -> String {
    let label = |host: &String| {
        let label = host.split('.').next().unwrap_or_default().to_owned();
        // That of an address is a number.
        label.contains(char::is_alphabetic).then_some(label)
    };
    let labels: Option<BTreeSet<String>> = group.hosts.iter().map(label).collect();
    let short = labels.is_some_and(|labels| labels.len() == group.hosts.len());
    match &gpu.host {
        Some(host) if short => plain(&format!("{} {}", label(host).unwrap_or_default(), gpu.device)),
        _ => plain(&gpu.place()),
    }
}

/// The interval of an effect, such as `(+4.38 to +4.66 %)`.
pub(super) fn interval(standing: &Standing) -> String {
    format::changes(1.0 + standing.low, 1.0 + standing.high)
}

/// An effect as a change, such as `+4.53 %`.
pub(super) fn effect(standing: &Standing) -> String {
    format::change(1.0 + standing.effect)
}

/// The first finding about a slow GPU in a sentence, such as "4.53 % slower on memory reads".
pub(super) fn finding(gpu: &FleetGpu) -> Option<String> {
    let findings = gpu.findings();
    let first = findings.first()?;
    let more = match findings.len() - 1 {
        0 => String::new(),
        more => format!(", and slow on {}", counted(more, "other roof")),
    };
    Some(format!("{} slower on {}{more}", percent(first.standing.effect), first.roof))
}

/// The data behind a standing, such as "5 cases, 3 processes that differ by 0.12 %".
pub(super) fn data(finding: &GpuRoof) -> String {
    let Standing { cases, processes, between_processes, .. } = finding.standing;
    let cases = counted(cases, "case");
    match processes {
        1 => format!("{cases}, 1 process"),
        more => format!("{cases}, {more} processes that differ by {}", percent(between_processes)),
    }
}

/// The differences of a GPU from what is usual.
pub(super) fn sensors(gpu: &FleetGpu) -> String {
    if gpu.reasons.is_empty() {
        return "its sensors and properties show nothing unusual".to_owned();
    }
    gpu.reasons.iter().map(|reason| plain(reason)).collect::<Vec<_>>().join("; ")
}

/// The suspect rows of a GPU, if it has some.
pub(super) fn suspect(gpu: &FleetGpu) -> Option<String> {
    let reasons = gpu.suspect.iter().map(|(reason, rows)| format!("{rows} {}", plain(reason)));
    let reasons = reasons.collect::<Vec<_>>().join(", ");
    (!reasons.is_empty()).then(|| format!("suspect rows, which count: {reasons}"))
}

/// A warning if GPUs are as far out on the fast side as on the slow one.
pub(super) fn tails(group: &FleetGroup) -> Option<String> {
    let fast = match group.fast {
        0 => return None,
        1 => "1 GPU is".to_owned(),
        more => format!("{more} GPUs are"),
    };
    Some(format!(
        "{fast} as far out on the fast side: these GPUs differ by nature more than a normal distribution has it, and a slow one \
         that is not far out may be one of them"
    ))
}

/// The verdicts that lack data, a sentence for each reason, with the roofs.
pub(super) fn lacks(group: &FleetGroup) -> Vec<String> {
    let mut lacks: BTreeMap<String, BTreeMap<FleetRoof, usize>> = BTreeMap::new();
    for on in group.gpus.iter().flat_map(|gpu| &gpu.roofs) {
        if let FleetVerdict::NotEnoughData(what) = &on.standing.verdict {
            let what = if group.gpus.len() > SHOWN { general(what) } else { lack(what) };
            *lacks.entry(what).or_default().entry(on.roof).or_default() += 1;
        }
    }
    let sentence = |(what, roofs): (String, BTreeMap<FleetRoof, usize>)| {
        let all = roofs.len() == group.roofs.len();
        let gpus = roofs.values().max().copied().unwrap_or_default();
        let roofs: Vec<String> = roofs.keys().map(ToString::to_string).collect();
        let on = if all { "all roofs".to_owned() } else { roofs.join(", ") };
        format!("{on}, {}: {what}", counted(gpus, "GPU"))
    };
    lacks.into_iter().map(sentence).collect()
}

/// The number of GPUs of which each has a line of its own.
pub(super) const SHOWN: usize = 16;

/// The reason without a figure that each GPU has for itself.
fn general(what: &gpubench_stats::fleet::Lack) -> String {
    match what {
        gpubench_stats::fleet::Lack::Precision { .. } => {
            "their processes or cases differ too much for a verdict".to_owned()
        }
        other => lack(other),
    }
}
