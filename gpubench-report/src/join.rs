//! Joins several runs into one: repetitions of the same work, or the shares of a run that was split among tasks.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gpubench_records::{DeviceId, DeviceInfo, PlannedCase, Record, Run, ShareMode, Task, device_info::UUID};
use gpubench_stats::format::{counted, joined};

pub use crate::repetitions::JoinedRun;
use crate::repetitions::{check_same_devices, join_repetitions};
use crate::stored_runs::NamedRun;

/// Joins `runs` into one, with the earliest start and the sum of the wall times. If all are shares of a split
/// run, the result has the cases of all shares, and a sentence about missing ones.
///
/// # Errors
/// If there is no run, a single run that is no share, or runs that are neither repetitions nor shares of one
/// split run.
pub fn join(runs: Vec<NamedRun>) -> Result<JoinedRun, String> {
    match &runs[..] {
        [] => Err("there is no run to merge".to_owned()),
        all if all.iter().all(|named| is_split_share(&named.run)) => join_shares(runs),
        [one] => Err(format!("{} is one run: give a second one, or a file with several runs", one.name)),
        _ => join_repetitions(runs),
    }
}

/// Returns true if `run` is a share of a run that was split among tasks.
pub fn is_split_share(run: &Run) -> bool {
    split_task(run).is_some()
}

/// Returns the task that measured this share of a split run; `None` if the run is no share.
fn split_task(run: &Run) -> Option<&Task> {
    run.environment.task.as_ref().filter(|task| task.share == ShareMode::Split)
}

/// Joins shares of one split run. Each case is on the device that measured it. A case that several tasks or
/// devices measured keeps all of its measurements, and copies of a measurement are removed. Shares of
/// different splits, or on GPUs of different models, are an error.
fn join_shares(mut runs: Vec<NamedRun>) -> Result<JoinedRun, String> {
    // The run that measured a record is before the runs that resumed it.
    runs.sort_by_key(|NamedRun { run, .. }| {
        (split_task(run).map(|task| (task.number, task.restarts.unwrap_or(0))), run.records.len())
    });
    check_same_split(&runs)?;
    let (lost, missing) = missing_cases(&runs);
    rename_devices(&mut runs);
    check_same_devices(&runs, |info| DeviceId::parse(&info.device).kind, |info| &info.name)?;
    let remark = remove_duplicates(&mut runs);
    let is_one_host = runs.iter().all(|it| it.run.environment.host == runs[0].run.environment.host);
    let host = runs[0].run.environment.host.clone().filter(|_| is_one_host);
    let mut joined = join_repetitions(runs)?;
    let run = &mut joined.run;
    let used: HashSet<String> = run.records.iter().map(|record| record.device.clone()).collect();
    run.devices.retain(|info| used.contains(&info.device));
    (run.environment.task, run.environment.host) = (None, host);
    run.planned_cases = run.records.len() + lost;
    run.notes.extend(remark.iter().chain(&missing).cloned());
    joined.remarks.extend(remark);
    joined.missing = missing;
    Ok(joined)
}

/// Checks that all shares have the same numbers of cases and of tasks in their split. The error names two
/// shares that differ.
fn check_same_split(runs: &[NamedRun]) -> Result<(), String> {
    let division =
        |named: &NamedRun| split_task(&named.run).map(|task| (task.of, task.cases.unwrap_or_default()));
    let Some(other) = runs.iter().find(|other| division(other) != division(&runs[0])) else { return Ok(()) };
    let words = |named: &NamedRun| {
        let (of, cases) = division(named).unwrap_or_default();
        format!("{} for {}", counted(cases, "case"), counted(of, "task"))
    };
    let (first, one, another) = (&runs[0], words(&runs[0]), words(other));
    Err(format!(
        "{} is a share of {one}, and {} one of {another}: these are not shares of one run",
        first.name, other.name
    ))
}

/// Returns the case of a record as the same case on any device of its kind: with `cuda` in place of `cuda:0`.
fn case_on_any_device(record: &Record) -> PlannedCase {
    PlannedCase { device: DeviceId::parse(&record.device).kind.to_owned(), ..record.planned() }
}

/// Returns the number of cases without a record in any run. If there are any, also returns a sentence that
/// names the shares without a run and those whose run ended early.
fn missing_cases(runs: &[NamedRun]) -> (usize, Option<String>) {
    let mut found: BTreeMap<usize, (BTreeSet<PlannedCase>, bool)> = BTreeMap::new();
    let (mut of, mut cases) = (0, 0);
    for run in runs.iter().map(|named| &named.run) {
        let Some(task) = split_task(run) else { continue };
        (of, cases) = (task.of, task.cases.unwrap_or_default());
        let (has, is_done) = found.entry(task.number).or_default();
        has.extend(run.records.iter().map(case_on_any_device));
        *is_done |= run.records.len() >= run.planned_cases;
    }
    let has: BTreeSet<&PlannedCase> = found.values().flat_map(|(has, _)| has).collect();
    let lost = cases.saturating_sub(has.len());
    let ending = |number: usize| match found.get(&number) {
        None => Some("left no run"),
        Some((_, is_done)) => (!is_done).then_some("ended early"),
    };
    let shares = (1..=of).filter_map(|number| Some(format!("share {number}/{of} {}", ending(number)?)));
    let sentence = || format!("{lost} of {} are missing: {}", counted(cases, "case"), joined(shares, ", "));
    // A share that is empty leaves no run.
    (lost, (lost > 0).then(sentence))
}

/// Renames each device to `HOST/KIND:NUMBER`, such as `n1/cuda:0`. Tasks on one host may each call their own
/// GPU `cuda:0`. So the GPUs of a host are distinguished by their UUIDs, and numbered from 0 in the order in
/// which they occur. A device without a number keeps none, as in `n1/cpu`.
fn rename_devices(runs: &mut [NamedRun]) {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs.iter_mut().map(|named| &mut named.run) {
        let environment = &run.environment;
        let node = environment.task.as_ref().and_then(|task| task.node.clone());
        let host = node.or_else(|| environment.host.clone()).unwrap_or_else(|| "host".to_owned());
        let mut new = |info: &DeviceInfo| {
            let identity = info.text(UUID).map_or_else(|| format!("{host} {}", info.device), str::to_owned);
            let kind = DeviceId::parse(&info.device).kind;
            let is_numbered = info.device.contains(':');
            let name = names.entry(identity).or_insert_with(|| {
                let kind = format!("{host}/{kind}");
                let number = numbers.entry(kind.clone()).or_default();
                *number += 1;
                if is_numbered { format!("{kind}:{}", *number - 1) } else { kind }
            });
            (info.device.clone(), name.clone())
        };
        let renamed: BTreeMap<String, String> = run.devices.iter().map(&mut new).collect();
        let rename = |device: &mut String| {
            *device = renamed.get(device).cloned().unwrap_or_else(|| format!("{host}/{device}"));
        };
        run.devices.iter_mut().for_each(|info| rename(&mut info.device));
        run.records.iter_mut().for_each(|record| rename(&mut record.device));
        run.skipped.iter_mut().for_each(|skipped| rename(&mut skipped.device));
    }
}

/// Removes copies of records, since a task that is started again begins with the records of its earlier run.
/// Also removes failures of cases that any run has measured. Returns a remark if several runs have different
/// records of a case.
fn remove_duplicates(runs: &mut [NamedRun]) -> Option<String> {
    let measured: HashSet<PlannedCase> = runs
        .iter()
        .flat_map(|named| &named.run.records)
        .filter(|record| record.measurement.is_some())
        .map(case_on_any_device)
        .collect();
    let mut seen: BTreeMap<PlannedCase, Vec<(usize, Record)>> = BTreeMap::new();
    for (number, run) in runs.iter_mut().map(|named| &mut named.run).enumerate() {
        run.records.retain(|record| {
            let case = case_on_any_device(record);
            if record.measurement.is_none() && measured.contains(&case) {
                return false;
            }
            let earlier = seen.entry(case).or_default();
            let is_new = !earlier.iter().any(|(_, earlier)| is_copy(earlier, record));
            if is_new {
                earlier.push((number, record.clone()));
            }
            is_new
        });
    }
    // A task with several GPUs measures each of its cases on all of them.
    let several =
        seen.values().filter(|records| records.iter().any(|(number, _)| *number != records[0].0)).count();
    (several > 0).then(|| {
        format!("{} measured more than once, by tasks that were started again", counted(several, "case"))
    })
}

/// Returns true if both records are equal except for the names of their devices.
fn is_copy(record: &Record, other: &Record) -> bool {
    let mut other = other.clone();
    other.device.clone_from(&record.device);
    *record == other
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::Environment;
    use gpubench_records::device_info::{Property, Value};
    use gpubench_records::failure::{Failure, Stage};
    use gpubench_records::files;
    use gpubench_stats::units::Nanoseconds;

    /// Six cases in three shares of two: what task `number` measured on a GPU of `node`.
    fn share(number: usize, node: &str, uuid: &str, restarts: u32) -> Run {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/gpu.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        let case = run.records.swap_remove(0);
        run.records = ["a", "b"]
            .map(|name| {
                let mut record = case.clone();
                record.case.benchmark = format!("k::{name}{number}");
                let samples = &mut record.measurement.as_mut().expect("it was measured").samples;
                let bytes = uuid.bytes().map(f64::from).sum::<f64>();
                samples.time.median = Nanoseconds(bytes + number as f64);
                record
            })
            .to_vec();
        run.planned_cases = 2;
        run.devices[0].properties.retain(|property| property.name != UUID);
        run.devices[0].properties.push(Property::new(UUID, Value::Text(uuid.to_owned())));
        let task = Task {
            share: ShareMode::Split,
            number,
            of: 3,
            cases: Some(6),
            scheduler: Some("slurm".to_owned()),
            job: Some("4711".to_owned()),
            node: Some(node.to_owned()),
            restarts: Some(restarts),
        };
        run.environment =
            Environment { host: Some(node.to_owned()), task: Some(task), ..Environment::default() };
        run
    }

    fn joined(runs: &[Run]) -> Result<JoinedRun, String> {
        let named = runs.iter().enumerate();
        join(named.map(|(n, run)| NamedRun { name: format!("run{n}"), run: run.clone() }).collect())
    }

    /// The device and the benchmark of each record.
    fn rows(joined: &JoinedRun) -> Vec<String> {
        let row = |record: &Record| format!("{} {}", record.device, &record.case.benchmark[3..]);
        joined.run.records.iter().map(row).collect()
    }

    #[test]
    fn shares_become_one_run_whose_devices_have_their_hosts() {
        // Two tasks of one host each call their GPU `cuda:0`.
        let runs = [share(3, "n2", "GPU-c", 0), share(1, "n1", "GPU-a", 0), share(2, "n1", "GPU-b", 0)];
        let joined = joined(&runs).expect("three shares");
        let expected =
            ["n1/cuda:0 a1", "n1/cuda:0 b1", "n1/cuda:1 a2", "n1/cuda:1 b2", "n2/cuda:0 a3", "n2/cuda:0 b3"];
        assert_eq!(rows(&joined), expected);
        assert!(joined.missing.is_none() && joined.remarks.is_empty());
        assert_eq!((joined.run.planned_cases, joined.run.environment.task.is_none()), (6, true));
        assert_eq!(joined.run.environment.host, None, "there are several");
        let uuids: Vec<_> = joined.run.devices.iter().map(|info| info.text(UUID)).collect();
        assert_eq!(uuids, [Some("GPU-a"), Some("GPU-b"), Some("GPU-c")]);
    }

    /// A task with two GPUs measures each case on both, and was not started again.
    #[test]
    fn several_gpus_of_a_task_are_no_repetition() {
        let mut runs = [1, 2, 3].map(|number| share(number, "n1", "GPU-a", 0));
        for run in &mut runs {
            let mut second = share(1, "n1", "GPU-b", 0).devices.remove(0);
            second.device = "cuda:1".to_owned();
            run.devices.push(second);
            let on_second = run.records.iter().cloned().map(|mut record| {
                record.device = "cuda:1".to_owned();
                record
            });
            let on_second: Vec<Record> = on_second.collect();
            run.records.extend(on_second);
        }
        for record in runs.iter_mut().flat_map(|run| &mut run.records).filter(|it| it.device == "cuda:1") {
            record.measurement.as_mut().expect("it was measured").samples.wall_time += Nanoseconds(1.0);
        }
        let both = joined(&runs).expect("three shares");
        assert_eq!((both.run.records.len(), both.remarks.len()), (12, 0), "{:?}", both.remarks);
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut early = share(3, "n2", "GPU-c", 0);
        early.records.pop();
        let sentences = |runs: &[Run]| joined(runs).expect("shares").missing;
        let all = [share(1, "n1", "GPU-a", 0), early.clone()];
        let told = "3 of 6 cases are missing: share 2/3 left no run, share 3/3 ended early";
        assert_eq!(sentences(&all).as_deref(), Some(told));
        let joined = joined(&all).expect("shares");
        assert_eq!((joined.run.planned_cases, joined.run.records.len()), (6, 3));
        assert!(joined.run.notes.iter().any(|note| note == told));
        let one = sentences(&[share(2, "n1", "GPU-a", 0)]);
        let told = "4 of 6 cases are missing: share 1/3 left no run, share 3/3 left no run";
        assert_eq!(one.as_deref(), Some(told));
        // With more tasks than benchmarks, some measure nothing and leave no run.
        let with_empty = [1, 2].map(|number| {
            let mut run = share(number, "n1", "GPU-a", 0);
            run.environment.task.as_mut().expect("a task").cases = Some(4);
            run
        });
        assert_eq!(sentences(&with_empty), None);
    }

    /// A task that is started again begins with the records of its earlier run, and that stays in the folder.
    #[test]
    fn a_record_that_was_carried_over_counts_once() {
        let whole = [share(2, "n1", "GPU-b", 0), share(3, "n2", "GPU-c", 0)];
        let mut killed = share(1, "n1", "GPU-a", 0);
        let again = share(1, "n1", "GPU-a", 1);
        killed.records.pop();
        let runs = [&[again, killed.clone()][..], &whole].concat();
        let once = joined(&runs).expect("shares");
        assert_eq!((once.run.records.len(), once.missing.is_none(), once.remarks.len()), (6, true, 0));
        assert!(once.run.records.iter().all(|record| record.other_processes.is_empty()));
        // On another node it measures all of its cases on another GPU: both are kept, and told.
        let moved = share(1, "n3", "GPU-d", 1);
        let both = joined(&[&[moved, killed][..], &whole].concat()).expect("shares");
        assert_eq!(rows(&both)[..3], ["n1/cuda:0 a1", "n3/cuda:0 a1", "n3/cuda:0 b1"]);
        assert_eq!(both.remarks, ["1 case measured more than once, by tasks that were started again"]);
    }

    /// A case that failed with its GPU was measured by the same task later.
    #[test]
    fn a_failure_that_was_mended_is_left_out_and_another_is_kept() {
        let mut lost = share(1, "n1", "GPU-a", 0);
        lost.records = lost
            .records
            .iter()
            .map(|record| Record::failed(record.planned(), Failure::new(Stage::Device, "it is gone")))
            .collect();
        let again = share(1, "n2", "GPU-b", 1);
        let others = [share(2, "n1", "GPU-a", 0), share(3, "n1", "GPU-a", 0)];
        let mended = joined(&[&[lost.clone(), again][..], &others].concat()).expect("shares");
        assert!(mended.run.records.iter().all(|record| record.measurement.is_some()));
        assert_eq!(mended.run.records.len(), 6);
        let failed = joined(&[&[lost][..], &others].concat()).expect("shares");
        let failures = failed.run.records.iter().filter(|record| record.measurement.is_none()).count();
        assert_eq!((failures, failed.run.records.len(), failed.missing.is_none()), (2, 6, true));
    }

    #[test]
    fn shares_of_other_runs_and_models_are_refused() {
        let first = share(1, "n1", "GPU-a", 0);
        let mut other = share(2, "n2", "GPU-b", 0);
        other.devices[0].name = "NVIDIA A100".to_owned();
        let told = joined(&[first.clone(), other]).expect_err("two models").to_string();
        assert!(
            told.contains(" and n2/cuda:0 is NVIDIA A100 (GPU-b) in another: ")
                && told.contains("shares on GPUs of one model"),
            "{told}"
        );
        let mut other = share(2, "n2", "GPU-b", 0);
        other.environment.task.as_mut().expect("a task").of = 4;
        let told = joined(&[first, other]).expect_err("another split").to_string();
        let words = "run0 is a share of 6 cases for 3 tasks, and run1 one of 6 cases for 4 tasks: these are not shares of one run";
        assert_eq!(told, words);
    }
}
