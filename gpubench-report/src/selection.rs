//! The selected cases of a stored run.

use std::collections::HashSet;

use gpubench_records::{
    Cache, CaseSelection, DeviceInfo, Record, Run, device_info::UUID, selection::names_device,
};

/// Keeps the cases of `run` that `selection` takes. A device without a selected case is removed too.
pub fn narrow(selection: &CaseSelection, run: &mut Run) {
    let named = run.devices.iter().filter(|info| takes_device(selection, info));
    let named: Vec<String> = named.map(|info| info.device.clone()).collect();
    let on_one = |device: &String| selection.device.is_none() || named.contains(device);
    let (had, before) = (devices_with_cases(run), run.records.len());
    run.records.retain(|Record { case, device, .. }| {
        on_one(device)
            && selection.takes_cache(case.cache)
            && selection.takes_benchmark(&case.benchmark, &case.args)
    });
    run.planned_cases = run.planned_cases.saturating_sub(before - run.records.len());
    run.skipped.retain(|skipped| {
        on_one(&skipped.device) && selection.takes_benchmark(&skipped.benchmark, &skipped.args)
    });
    let have = devices_with_cases(run);
    run.devices.retain(|DeviceInfo { device, .. }| {
        on_one(device) && (have.contains(device) || !had.contains(device))
    });
    let Some(check) = &mut run.baseline_comparison else { return };
    let cases = run.records.iter().map(|it| (it.case.name(), &it.device, it.case.cache));
    let cases: HashSet<_> = cases.collect();
    check.findings.retain(|line| cases.contains(&(line.name.clone(), &line.device, line.cache)));
    // Cases of the baseline that the run lacks are known by their names alone.
    check.missing.retain(|missing| match missing.rsplit_once(' ') {
        Some((name, cache)) => {
            let takes_cache = |taken: &Vec<Cache>| taken.iter().any(|taken| taken.to_string() == cache);
            selection.matches(name) && selection.caches.as_ref().is_none_or(takes_cache)
        }
        None => selection.matches(missing),
    });
}

fn takes_device(selection: &CaseSelection, info: &DeviceInfo) -> bool {
    selection
        .device
        .as_deref()
        .is_none_or(|wanted| wanted == "all" || names_device(wanted, &info.device, info.text(UUID)))
}

fn devices_with_cases(run: &Run) -> HashSet<String> {
    let measured = run.records.iter().map(|record| &record.device);
    measured.chain(run.skipped.iter().map(|skipped| &skipped.device)).cloned().collect()
}

/// Returns the name of a given argument that no case of `run` has, if there is one.
pub fn unknown_arg<'a>(selection: &'a CaseSelection, run: &Run) -> Option<&'a str> {
    let measured = run.records.iter().flat_map(|record| &record.case.args);
    let all = || measured.clone().chain(run.skipped.iter().flat_map(|skipped| &skipped.args));
    selection.args.iter().map(|given| &*given.name).find(|name| !all().any(|arg| arg.name == *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::baseline::{Baseline, check};
    use gpubench_records::{NameFilter, files};
    use gpubench_stats::DECISION_ERROR;

    fn selection(filters: &[&str], skip: &[&str]) -> CaseSelection {
        let owned = |names: &[&str]| names.iter().map(|name| NameFilter::Text((*name).to_owned())).collect();
        CaseSelection { filters: owned(filters), skip: owned(skip), ..CaseSelection::default() }
    }

    /// A comparison of cases that are left out is left out with them.
    #[test]
    fn the_comparison_with_a_baseline_is_narrowed_too() {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        let baseline = Baseline::of("main".to_owned(), run.clone());
        run.baseline_comparison = Some(check(&run, &baseline, &|_| true, DECISION_ERROR));
        let missing = ["gone[n=1] hot", "gone[n=1] cold", "other hot"].map(str::to_owned);
        run.baseline_comparison.as_mut().expect("it was compared").missing = missing.to_vec();
        let first = run.records[0].case.clone();
        let mut hot = run.clone();
        let selection = selection(&[&first.name(), "gone"], &[]);
        narrow(&CaseSelection { caches: Some(vec![first.cache]), ..selection }, &mut hot);
        let check = hot.baseline_comparison.expect("it was compared");
        let lines: Vec<_> = check.findings.iter().map(|line| (line.name.clone(), line.cache)).collect();
        let records: Vec<_> = hot.records.iter().map(|it| (it.case.name(), it.case.cache)).collect();
        assert!(!records.is_empty() && records.len() < run.records.len());
        assert_eq!((lines, check.missing), (records, vec![format!("gone[n=1] {}", first.cache)]));
    }
}
