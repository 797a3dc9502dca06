//! The GPUs that may be compared with each other: of one model, measured by one build.

use std::collections::{BTreeMap, HashMap};

use gpubench_records::device_info::{DeviceInfo, UUID};
use gpubench_records::record::Program;
use gpubench_stats::format::counted;

use super::runs::{FleetRun, Reading, Row};
use super::{FleetGpu, Verdict};
use crate::join::other_build;

/// The GPUs of one model, measured by one build.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) program: Program,
    pub(super) gpus: Vec<FleetGpu>,
    pub(super) cases: Vec<String>,
    pub(super) entries: Vec<Entry>,
}

/// A measurement of a case on a GPU in a process. The numbers are those of the group.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) case: usize,
    pub(super) gpu: usize,
    pub(super) process: usize,
    pub(super) reading: Reading,
}

/// Returns the groups of `runs`, the largest first, and a sentence for each part that is missing or left out.
pub(super) fn groups(mut runs: Vec<FleetRun>) -> (Vec<Group>, Vec<String>) {
    // A run that resumed another comes after it.
    runs.sort_by_key(|run| run.head.resumed.is_some());
    let (mut groups, mut missing, mut unfinished) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut seen: HashMap<(String, [u64; 2]), String> = HashMap::new();
    let mut processes = 0;
    for FleetRun { name, head, rows, faults, unfinished: cut_off } in runs {
        missing.extend(faults);
        unfinished.extend(cut_off.map(|sentence| (name.clone(), sentence)));
        let mut repeated: BTreeMap<String, usize> = BTreeMap::new();
        let mut by_device: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        rows.into_iter().for_each(|row| by_device.entry(row.device.clone()).or_default().push(row));
        for (device, rows) in by_device {
            let host = head.environment.host.as_deref();
            let Some(info) = head.devices.iter().find(|info| info.device == device) else {
                // It failed before its GPU was known.
                let place = format!("{} {device}", host.unwrap_or_default());
                let (place, why) = (place.trim_start(), rows[0].invalid.as_deref().unwrap_or_default());
                missing.push(format!("{name}: {place} was not opened, and is not judged: {why}"));
                continue;
            };
            if info.runs_program_code {
                continue;
            }
            let Some(uuid) = info.text(UUID) else {
                missing.push(format!("{name}: {device} has no UUID, which tells GPUs apart: left out"));
                continue;
            };
            let group = group_of(&mut groups, info, &head.program);
            let gpu = group.gpu(uuid, info, host);
            let mut counts: HashMap<usize, usize> = HashMap::new();
            for Row { case, invalid, readings, .. } in rows {
                if let Some(why) = invalid {
                    let gpu = group.gpus[gpu].name();
                    missing.push(format!("{name}: `{case}` is invalid on {gpu} and left out: {why}"));
                    continue;
                }
                let case = number_of(&mut group.cases, |known| *known == case, || case.clone());
                for reading in readings {
                    let first =
                        seen.entry((uuid.to_owned(), reading.identity)).or_insert_with(|| name.clone());
                    if *first != name {
                        *repeated.entry(first.clone()).or_default() += 1;
                        continue;
                    }
                    // `--runs 3` stores a record for each process.
                    let count = counts.entry(case).or_default();
                    group.entries.push(Entry { case, gpu, process: processes + *count, reading });
                    *count += 1;
                }
            }
            processes += counts.values().max().unwrap_or(&0);
            if !counts.is_empty() {
                group.gpus[gpu].runs.push(name.clone());
            }
        }
        for (also, count) in repeated {
            if head.resumed.is_some() {
                // The run finishes the earlier one, and has its measurements on purpose.
                unfinished.remove(&also);
            } else {
                let are = if count == 1 { "is" } else { "are" };
                let measurements = counted(count, "measurement");
                missing.push(format!(
                    "{name}: {measurements} {are} in {also} too: left out, so that each counts once"
                ));
            }
        }
    }
    missing.extend(unfinished.into_values());
    groups.retain(|group: &Group| !group.entries.is_empty());
    groups.sort_by_key(|group| std::cmp::Reverse(group.gpus.len()));
    missing.extend(groups.iter_mut().flat_map(Group::settle));
    (groups, missing)
}

/// Returns the group of a device that a build measured.
fn group_of<'a>(groups: &'a mut Vec<Group>, info: &DeviceInfo, program: &Program) -> &'a mut Group {
    // Instances of a partitioned GPU have its name, and fewer multiprocessors.
    let model = |info: &DeviceInfo| (info.name.clone(), info.count("multiprocessors"), info.fake);
    let fits =
        |group: &Group| model(&group.gpus[0].info) == model(info) && is_same_build(&group.program, program);
    let new = || Group { program: program.clone(), gpus: Vec::new(), cases: Vec::new(), entries: Vec::new() };
    let place = number_of(groups, fits, new);
    &mut groups[place]
}

/// Returns the number of the item for which `is_it` is true, which it adds if needed.
fn number_of<T>(items: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    items.iter().position(is_it).unwrap_or_else(|| {
        items.push(new());
        items.len() - 1
    })
}

/// Returns true if both builds measure the same: one file, or the same committed sources built on another host.
fn is_same_build(one: &Program, other: &Program) -> bool {
    let rebuilt = Program { fingerprint: None, ..one.clone() };
    let are_committed = one.whole_commit().is_some() && other.whole_commit().is_some();
    one.suite == other.suite
        && (other_build(one, other).is_none() || are_committed && other_build(&rebuilt, other).is_none())
}

impl Group {
    /// Returns the number of a GPU, which is new or measured before.
    fn gpu(&mut self, uuid: &str, info: &DeviceInfo, host: Option<&str>) -> usize {
        // A run that was merged of several hosts names the host with the device.
        let (host, device) = match info.device.rsplit_once('/') {
            Some((host, device)) => (Some(host), device),
            None => (host, &*info.device),
        };
        let new = || FleetGpu {
            uuid: uuid.to_owned(),
            device: device.to_owned(),
            info: info.clone(),
            hosts: Vec::new(),
            verdict: Verdict::NotEnoughData,
            roofs: Vec::new(),
            runs: Vec::new(),
            reasons: Vec::new(),
        };
        let number = number_of(&mut self.gpus, |gpu| gpu.uuid == uuid, new);
        let hosts = &mut self.gpus[number].hosts;
        hosts.extend(host.filter(|host| hosts.iter().all(|known| known != host)).map(str::to_owned));
        number
    }

    /// Leaves out everything that cannot be compared, and gives each case one roof. Returns a sentence for each part.
    fn settle(&mut self) -> Vec<String> {
        let mut missing = self.leave_out_other_methods();
        let roofs = self.most_frequent(|reading| reading.roof);
        for entry in &mut self.entries {
            entry.reading.roof = roofs[entry.case].unwrap_or(entry.reading.roof);
        }
        missing.extend(self.leave_out_rare_cases());
        let has = self.has();
        let there: Vec<usize> =
            (0..self.cases.len()).filter(|case| has.iter().any(|has| has[*case])).collect();
        for (gpu, has) in self.gpus.iter().zip(&has) {
            let lacks: Vec<usize> = there.iter().copied().filter(|case| !has[*case]).collect();
            let lacks = self
                .first_of(&lacks)
                .map(|cases| format!("{}: {cases} missing, which most GPUs have", gpu.name()));
            missing.extend(lacks);
        }
        missing
    }

    /// Returns the most frequent value of each case.
    fn most_frequent<T: PartialEq>(&self, value: impl Fn(&Reading) -> T) -> Vec<Option<T>> {
        let mut counts: Vec<Vec<(T, usize)>> = self.cases.iter().map(|_| Vec::new()).collect();
        for entry in &self.entries {
            let value = value(&entry.reading);
            match counts[entry.case].iter_mut().find(|(known, _)| *known == value) {
                Some((_, count)) => *count += 1,
                None => counts[entry.case].push((value, 1)),
            }
        }
        let most = |counts: Vec<(T, usize)>| Some(counts.into_iter().max_by_key(|(_, count)| *count)?.0);
        counts.into_iter().map(most).collect()
    }

    fn leave_out_other_methods(&mut self) -> Vec<String> {
        let usual = self.most_frequent(|reading| reading.method.clone());
        let mut others: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
        let mut entries = std::mem::take(&mut self.entries);
        entries.retain(|Entry { case, gpu, reading, .. }| {
            let differences = usual[*case].as_ref().map(|usual| reading.method.differences(usual));
            let differences = differences.unwrap_or_default().join(", ");
            if !differences.is_empty() {
                others.entry((*gpu, differences.clone())).or_default().push(*case);
            }
            differences.is_empty()
        });
        self.entries = entries;
        let sentence = |((gpu, differences), mut cases): ((usize, String), Vec<usize>)| {
            cases.dedup();
            let cases = self.first_of(&cases).unwrap_or_default();
            let gpu = self.gpus[gpu].name();
            format!("{gpu}: {cases} not comparable with most GPUs and left out: {differences}")
        };
        others.into_iter().map(sentence).collect()
    }

    /// Leaves out cases that fewer than half of the GPUs have.
    fn leave_out_rare_cases(&mut self) -> Option<String> {
        let has = self.has();
        let count = |case: usize| has.iter().filter(|has| has[case]).count();
        let is_rare = |case: usize| count(case) > 0 && 2 * count(case) < has.len();
        let rare: Vec<usize> = (0..self.cases.len()).filter(|case| is_rare(*case)).collect();
        self.entries.retain(|entry| !rare.contains(&entry.case));
        let (model, cases) = (&self.gpus[0].info.name, self.first_of(&rare)?);
        Some(format!("{model}: {cases} on fewer than half of the GPUs, and not judged"))
    }

    /// Returns the cases that each GPU has.
    fn has(&self) -> Vec<Vec<bool>> {
        let mut has = vec![vec![false; self.cases.len()]; self.gpus.len()];
        self.entries.iter().for_each(|entry| has[entry.gpu][entry.case] = true);
        has
    }

    /// Returns words such as "`copy hot` and 3 other cases are"; `None` for no case.
    fn first_of(&self, cases: &[usize]) -> Option<String> {
        let first = &self.cases[*cases.first()?];
        Some(match cases.len() {
            1 => format!("`{first}` is"),
            all => format!("`{first}` and {} are", counted(all - 1, "other case")),
        })
    }
}
