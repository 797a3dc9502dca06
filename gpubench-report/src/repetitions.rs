//! Joins repetitions into one run with all measurements: runs in which the same build measured the same work on the same device.

use std::collections::HashMap;

use gpubench_records::baseline::{MeasuredRecord, differences};
use gpubench_records::{DeviceInfo, PlannedCase, Program, Record, Run, device_info::UUID, merge::merged};

use crate::{loading::add_devices, stored_runs::NamedRun};

/// Several runs, repetitions or shares, joined into one.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedRun {
    /// The run. Its notes include the remarks.
    pub run: Run,
    /// Sentences on differences between the runs that do not prevent joining them.
    pub remarks: Vec<String>,
    /// A sentence on missing cases of a split run, which is among the notes too.
    pub missing: Option<String>,
}

/// Joins runs that [`check_repetitions`] accepts; other runs are an error. The result is the first run with
/// the records of all, the earliest start and the sum of the wall times. Records of the same case and device
/// become one.
pub(crate) fn join_repetitions(runs: Vec<NamedRun>) -> Result<JoinedRun, String> {
    let remarks = check_repetitions(&runs)?;
    let mut runs: Vec<Run> = runs.into_iter().map(|named| named.run).collect();
    let mut whole = runs.remove(0);
    for run in runs {
        whole.started = whole.started.min(run.started);
        whole.wall_time += run.wall_time;
        add_devices(&mut whole, run.devices);
        whole.records.extend(run.records);
        extend_new(&mut whole.skipped, run.skipped);
        extend_new(&mut whole.notes, run.notes);
        whole.planned_cases = whole.planned_cases.max(run.planned_cases);
    }
    // These describe a single run.
    (whole.resumed, whole.regression_threshold, whole.baseline_comparison) = (None, None, None);
    whole.records = merged(whole.records);
    whole.planned_cases = whole.planned_cases.max(whole.records.len());
    whole.notes.extend_from_slice(&remarks);
    Ok(JoinedRun { run: whole, remarks, missing: None })
}

/// Appends to `known` the elements of `others` that it does not contain.
fn extend_new<T: PartialEq>(known: &mut Vec<T>, others: Vec<T>) {
    for other in others {
        if !known.contains(&other) {
            known.push(other);
        }
    }
}

/// Checks that `runs` are of the same benchmark binary and on the same devices, and that records of the same
/// case are repetitions. Returns a remark for each run of another build than the first run: its cases must be
/// different ones.
fn check_repetitions(runs: &[NamedRun]) -> Result<Vec<String>, String> {
    let mut cases: HashMap<PlannedCase, Vec<(&NamedRun, &Record)>> = HashMap::new();
    let mut remarks = Vec::new();
    check_same_binary(runs)?;
    check_same_devices(runs, |info| &info.device, |info| (&info.name, info.text(UUID)))?;
    for other in runs {
        for record in &other.run.records {
            let earlier = cases.entry(record.planned()).or_default();
            earlier.iter().try_for_each(|earlier| check_repetition(*earlier, (other, record)))?;
            earlier.push((other, record));
        }
        if is_other_build(&runs[0].run.program, &other.run.program) {
            let (one, other) = (&runs[0].name, &other.name);
            remarks.push(format!("merged: another build measured the cases of {other} than those of {one}"));
        }
    }
    Ok(remarks)
}

/// A record with its run.
type RecordOfRun<'a> = (&'a NamedRun, &'a Record);

/// Returns the first measurement of `record` with its run, as [`differences`] takes it; `None` if the record
/// has no measurement.
fn first_measurement<'a>(named: &'a NamedRun, record: &'a Record) -> Option<MeasuredRecord<'a>> {
    Some(MeasuredRecord { run: &named.run, record, measurement: record.measurements().next()? })
}

/// Checks that two records of a case are different measurements of the same work, by the same method and
/// build. A record that `--compare-with` interleaved is an error.
fn check_repetition((one, first): RecordOfRun<'_>, (other, second): RecordOfRun<'_>) -> Result<(), String> {
    let (case, one_name, other_name) = (&first.case, &one.name, &other.name);
    let refused = |why: String| Err(format!("`{case}` {why}"));
    if first.measurements().any(|first| second.measurements().any(|second| first == second)) {
        return refused(format!(
            "has the same measurement in {one_name} and in {other_name}: leave out one of the two"
        ));
    }
    if first.compared.is_some() || second.compared.is_some() {
        return refused(
            "was compared by --compare-with, whose rounds cannot be merged with another measurement of it"
                .to_owned(),
        );
    }
    if let (Some(then), Some(now)) = (first_measurement(one, first), first_measurement(other, second)) {
        let differences = differences(now, then).join("; ");
        if !differences.is_empty() {
            return refused(format!(
                "differs between {other_name} and {one_name}, so that they cannot be merged: {differences}"
            ));
        }
    }
    if is_other_build(&one.run.program, &other.run.program) {
        return refused(format!(
            "was measured by another build in {other_name} than in {one_name}: only runs of the same build can be merged. \
             `cargo gpubench compare {one_name} {other_name}` compares builds"
        ));
    }
    Ok(())
}

/// Returns true if the builds differ: by their fingerprints if both have one, else by all other properties.
fn is_other_build(one: &Program, other: &Program) -> bool {
    match (&one.fingerprint, &other.fingerprint) {
        (Some(one), Some(other)) => one != other,
        _ => Program { fingerprint: None, ..one.clone() } != Program { fingerprint: None, ..other.clone() },
    }
}

/// Checks that all runs are of the same benchmark binary.
fn check_same_binary(runs: &[NamedRun]) -> Result<(), String> {
    let suite = |named: &NamedRun| named.run.program.suite.clone();
    let Some(other) = runs.iter().find(|other| suite(other) != suite(&runs[0])) else { return Ok(()) };
    let (first, second, one, other) = (suite(&runs[0]), suite(other), &runs[0].name, &other.name);
    Err(format!(
        "{one} is a run of `{first}` and {other} one of `{second}`: only runs of the same benchmark binary can be merged. \
         `cargo gpubench report {one} {other}` shows both"
    ))
}

/// Checks that devices for which `key` returns the same text, in any of the runs, have the same `identity`,
/// and that all or none of them are fake.
pub(crate) fn check_same_devices<'a, T: PartialEq>(
    runs: &'a [NamedRun],
    key: impl Fn(&'a DeviceInfo) -> &'a str,
    identity: impl Fn(&'a DeviceInfo) -> T,
) -> Result<(), String> {
    let mut known: HashMap<&str, &DeviceInfo> = HashMap::new();
    for info in runs.iter().flat_map(|named| &named.run.devices) {
        let first = *known.entry(key(info)).or_insert(info);
        if identity(first) != identity(info) || first.fake != info.fake {
            let shown = |info: &DeviceInfo| {
                let uuid = info.text(UUID).map(|uuid| format!(" ({uuid})")).unwrap_or_default();
                format!("{} is {}{uuid}", info.device, info.name)
            };
            return Err(format!(
                "{} in one run and {} in another: only runs on the same device can be merged, and shares on GPUs of one model. \
                 `cargo gpubench fleet` compares GPUs",
                shown(first),
                shown(info)
            ));
        }
    }
    Ok(())
}
