//! GPUs that may be held against each other: of one model, measured by one build. In: the runs of a fleet; out: groups with
//! their GPUs and the medians that count, and what was left out.

use std::collections::{BTreeMap, HashMap};

use super::gap::Gap;
use super::kept::{FleetCase, KeptMeasurement, KeptRecord, KeptRun};
use super::roof::FleetRoof;
use crate::facts::{Facts, UUID, Value};
use crate::join::other_build;
use crate::program::Program;
use crate::verdict::State;
use gpubench_stats::units::Nanoseconds;

/// GPUs of one model, measured by one build.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) model: Model,
    pub(super) program: Program,
    pub(super) members: Vec<Member>,
    pub(super) cases: Vec<FleetCase>,
    /// By GPU, once it is [settled](Self::settle).
    pub(super) entries: Vec<Entry>,
    numbers: HashMap<FleetCase, usize>,
    processes: HashMap<(usize, usize, usize), usize>,
    /// By run, GPU and case: the number of its measurements so far. A run of several processes has a record of each.
    measured: HashMap<(usize, usize, usize), usize>,
}

/// The model of GPUs that may be held against each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Model {
    pub(super) name: String,
    /// GPUs of one name may have more or fewer, as instances of a partitioned GPU do.
    multiprocessors: Option<Value>,
    pub(super) fake: bool,
}

/// A GPU.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) uuid: String,
    pub(super) hosts: Vec<String>,
    /// The device in the words of its first run.
    pub(super) device: String,
    pub(super) facts: Facts,
    /// The names of its runs.
    pub(super) runs: Vec<String>,
    /// The number of suspect rows, by the first words of their reasons.
    pub(super) suspect: BTreeMap<String, usize>,
}

/// A measurement of a case on a GPU.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) case: usize,
    pub(super) gpu: usize,
    pub(super) process: usize,
    pub(super) roof: FleetRoof,
    pub(super) measured: KeptMeasurement,
    /// The number of its run.
    pub(super) run: usize,
}

impl Model {
    fn of(facts: &Facts) -> Self {
        let multiprocessors = facts.properties.iter().find(|property| property.name == "multiprocessors");
        Self {
            name: facts.name.clone(),
            multiprocessors: multiprocessors.map(|property| property.value.clone()),
            fake: facts.fake,
        }
    }
}

impl Member {
    /// The GPU as people know it: its host and device there, and its UUID.
    pub(super) fn name(&self) -> String {
        match self.hosts.first() {
            Some(host) => format!("{host} {} ({})", self.device, self.uuid),
            None => format!("{} ({})", self.device, self.uuid),
        }
    }
}

/// The groups of `runs`, the largest first, and what was left out.
pub(super) fn groups(mut runs: Vec<KeptRun>) -> (Vec<Builder>, Vec<Gap>) {
    // Behind those that they resumed.
    runs.sort_by_key(|run| run.is_resumed);
    let (mut groups, mut gaps) = (Vec::new(), Vec::new());
    let mut seen: HashMap<(String, u64), String> = HashMap::new();
    for (number, run) in runs.into_iter().enumerate() {
        let KeptRun { name, program, host, devices, records, faults, unfinished, is_resumed } = run;
        gaps.extend(faults.into_iter().map(|what| Gap::Damaged { file: name.clone(), what }));
        gaps.extend(unfinished.map(|(measured, planned)| Gap::Unfinished {
            file: name.clone(),
            measured,
            planned,
        }));
        gaps.extend(not_opened(&name, host.as_deref(), &devices, &records));
        let mut repeated: BTreeMap<String, usize> = BTreeMap::new();
        for facts in devices.iter().filter(|facts| !facts.runs_program_code) {
            let own: Vec<&KeptRecord> =
                records.iter().filter(|record| record.device == facts.device).collect();
            if own.is_empty() {
                continue;
            }
            let Some(uuid) = facts.text(UUID) else {
                gaps.push(Gap::NoUuid { file: name.clone(), device: facts.device.clone() });
                continue;
            };
            let group = group_of(&mut groups, facts, &program);
            let gpu = group.member(uuid, facts, host.as_deref());
            let before = group.entries.len();
            for record in own {
                let fresh = |measured: &&KeptMeasurement| {
                    let key = (uuid.to_owned(), measured.hash);
                    let first = seen.entry(key).or_insert_with(|| name.clone());
                    if *first != name {
                        *repeated.entry(first.clone()).or_default() += 1;
                    }
                    *first == name
                };
                let fresh: Vec<KeptMeasurement> = record.measured.iter().filter(fresh).cloned().collect();
                gaps.extend(group.add(record, fresh, gpu, number, &name));
            }
            if group.entries.len() > before {
                group.members[gpu].runs.push(name.clone());
            }
        }
        if is_resumed {
            // It finishes the earlier run, and what both have is no mistake.
            gaps.retain(|gap| !matches!(gap, Gap::Unfinished { file, .. } if repeated.contains_key(file)));
            continue;
        }
        gaps.extend(repeated.into_iter().map(|(also, measurements)| Gap::Repeated {
            file: name.clone(),
            also,
            measurements,
        }));
    }
    groups.retain(|group: &Builder| !group.entries.is_empty());
    groups.sort_by_key(|group| std::cmp::Reverse(group.members.len()));
    for group in &mut groups {
        gaps.extend(group.settle());
    }
    (groups, gaps)
}

/// A gap for each device that has records and no facts: it failed before it told who it is.
fn not_opened(file: &str, host: Option<&str>, devices: &[Facts], records: &[KeptRecord]) -> Vec<Gap> {
    let mut reasons: BTreeMap<&str, String> = BTreeMap::new();
    for record in records.iter().filter(|record| devices.iter().all(|facts| facts.device != record.device)) {
        reasons.entry(&record.device).or_insert_with(|| record.reasons.join("; "));
    }
    let named = |device: &str| host.map_or_else(|| device.to_owned(), |host| format!("{host} {device}"));
    let gap = |(device, why)| Gap::NotOpened { file: file.to_owned(), device: named(device), why };
    reasons.into_iter().map(gap).collect()
}

/// The group of a device that a build measured.
fn group_of<'a>(groups: &'a mut Vec<Builder>, facts: &Facts, program: &Program) -> &'a mut Builder {
    let model = Model::of(facts);
    let fits = |group: &Builder| group.model == model && is_same_build(&group.program, program);
    let place = groups.iter().position(fits).unwrap_or_else(|| {
        groups.push(Builder {
            model,
            program: program.clone(),
            members: Vec::new(),
            cases: Vec::new(),
            entries: Vec::new(),
            numbers: HashMap::new(),
            processes: HashMap::new(),
            measured: HashMap::new(),
        });
        groups.len() - 1
    });
    &mut groups[place]
}

/// Returns true if both builds measure the same: one file, or the same committed sources built on another host.
fn is_same_build(one: &Program, other: &Program) -> bool {
    let anew = Program { fingerprint: None, ..one.clone() };
    one.suite == other.suite
        && (other_build(one, other).is_none()
            || one.whole_commit().is_some()
                && other.whole_commit().is_some()
                && other_build(&anew, other).is_none())
}

impl Builder {
    fn member(&mut self, uuid: &str, facts: &Facts, host: Option<&str>) -> usize {
        // A run that was merged of several hosts names the host with the device.
        let (host, device) = match facts.device.rsplit_once('/') {
            Some((host, device)) => (Some(host), device),
            None => (host, &*facts.device),
        };
        let place = self.members.iter().position(|member| member.uuid == uuid).unwrap_or_else(|| {
            self.members.push(Member {
                uuid: uuid.to_owned(),
                hosts: Vec::new(),
                device: device.to_owned(),
                facts: facts.clone(),
                runs: Vec::new(),
                suspect: BTreeMap::new(),
            });
            self.members.len() - 1
        });
        let hosts = &mut self.members[place].hosts;
        hosts.extend(host.filter(|host| !hosts.iter().any(|known| known == host)).map(str::to_owned));
        place
    }

    /// Adds the measurements of a record that no other run has.
    fn add(
        &mut self,
        record: &KeptRecord,
        measured: Vec<KeptMeasurement>,
        gpu: usize,
        run: usize,
        file: &str,
    ) -> Option<Gap> {
        let name = self.members[gpu].name();
        let invalid = |why: String| {
            Some(Gap::Invalid {
                file: file.to_owned(),
                gpu: name.clone(),
                case: record.case.to_string(),
                why,
            })
        };
        if record.state == State::Invalid {
            return invalid(record.reasons.join("; "));
        }
        if record.measured.iter().any(|measured| measured.median <= Nanoseconds::ZERO) {
            return invalid("its median is not above zero".to_owned());
        }
        if measured.is_empty() {
            return None;
        }
        for reason in &record.reasons {
            let words = reason.split(':').next().unwrap_or_default().to_owned();
            *self.members[gpu].suspect.entry(words).or_default() += 1;
        }
        let next = self.cases.len();
        let case = *self.numbers.entry(record.case.clone()).or_insert(next);
        if case == next {
            self.cases.push(record.case.clone());
        }
        let before = self.measured.entry((run, gpu, case)).or_default();
        for measured in measured {
            let next = self.processes.len();
            let process = *self.processes.entry((run, gpu, *before)).or_insert(next);
            *before += 1;
            self.entries.push(Entry { case, gpu, process, roof: measured.roof, measured, run });
        }
        None
    }
}

/// The entries of a GPU among those of all, which are sorted by GPU.
pub(super) fn of_gpu(entries: &[Entry], gpu: usize) -> &[Entry] {
    let from = entries.partition_point(|entry| entry.gpu < gpu);
    let to = entries.partition_point(|entry| entry.gpu <= gpu);
    &entries[from..to]
}
