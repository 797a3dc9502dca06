//! Loads stored runs: finds their files, reads them, and keeps the cases that a user selects.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, DirEntry};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use gpubench_records::files::{self, Header, LoadRunError, RUN, ReadError, validated};
use gpubench_records::{
    Cache, CaseSelection, DeviceInfo, Record, Run, StoredRun, device_info::UUID, selection::names_device,
};

/// The file name by which a user asks for standard input.
pub(crate) const STANDARD_INPUT: &str = "-";

/// Returns the files that `given` names, and an error message for each path that cannot be read. A given file
/// may have any name. A folder adds all `.json` and `.jsonl` files in it and in its subfolders, unless their
/// names begin with a dot.
pub fn find_run_files(given: &[PathBuf]) -> (BTreeSet<PathBuf>, Vec<String>) {
    let (mut files, mut faults) = (BTreeSet::new(), Vec::new());
    let mut left = given.to_vec();
    while let Some(path) = left.pop() {
        let entries = match path.metadata() {
            Ok(found) if !found.is_dir() => {
                files.insert(path);
                continue;
            }
            found => found.and_then(|_| fs::read_dir(&path)),
        };
        match entries {
            Ok(entries) => {
                left.extend(entries.flatten().filter(is_run_file_or_folder).map(|entry| entry.path()));
            }
            Err(error) => faults.push(format!("{}: {error}", path.display())),
        }
    }
    (files, faults)
}

/// Returns true for a folder, and for a regular file whose extension is `json` or `jsonl`. Returns false for
/// names that begin with a dot, for links to folders, which may form a cycle, and for pipes, which may never
/// end.
fn is_run_file_or_folder(entry: &DirEntry) -> bool {
    let path = entry.path();
    let is_run = path.extension().is_some_and(|it| it == "json" || it == "jsonl") && path.is_file();
    (is_run || entry.file_type().is_ok_and(|found| found.is_dir()))
        && !entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// Loads the only run of the file at `path`: one JSON document, or the records of a run in progress. The path
/// `-` is standard input.
///
/// # Errors
/// If the file cannot be read, or does not have exactly one run.
pub fn load(path: &Path) -> Result<StoredRun, LoadRunError> {
    only_run(load_all(path)?, path)
}

/// Returns the only element of `runs`, which were read from `path`. Returns an error that tells how to choose
/// a run if there is no element, or more than one.
pub(crate) fn only_run<T>(mut runs: Vec<T>, path: &Path) -> Result<T, LoadRunError> {
    match (runs.pop(), runs.len()) {
        (Some(run), 0) => Ok(run),
        (_, others) => Err(LoadRunError::Unusable(format!(
            "{0} has {1} runs: name one of them, such as {0}#1, or merge them by `cargo gpubench merge {0} -o FILE`",
            path.display(),
            others + 1
        ))),
    }
}

/// Loads all runs of the file at `path`: one run, or a JSON list of runs. The path `-` is standard input.
///
/// # Errors
/// If the file cannot be read, or has something other than runs.
pub fn load_all(path: &Path) -> Result<Vec<StoredRun>, LoadRunError> {
    let is_input = path.as_os_str() == STANDARD_INPUT;
    let read = || {
        let mut contents = Vec::new();
        match is_input {
            true => _ = io::stdin().lock().read_to_end(&mut contents)?,
            false => contents = fs::read(path)?,
        }
        parse_runs(&contents)
    };
    let shown = if is_input { Path::new("standard input") } else { path };
    read().map_err(|error| LoadRunError::Unreadable { path: shown.to_owned(), error })
}

/// Parses the contents of a file: the lines of one run, its JSON document, or a JSON list of runs.
fn parse_runs(contents: &[u8]) -> Result<Vec<StoredRun>, ReadError> {
    if contents.starts_with(b"{\"run\":") {
        return Ok(vec![files::read(contents)?]);
    }
    if !contents.trim_ascii_start().starts_with(b"[") {
        return Ok(vec![whole_run(Run::parse(contents)?)]);
    }
    let headers: Vec<Header> = RUN.parse(contents)?;
    if headers.is_empty() {
        return Err(RUN.foreign_error("it is a list of no runs"));
    }
    headers.into_iter().try_for_each(|header| RUN.check_header(header))?;
    let runs: Vec<Run> = RUN.parse(contents)?;
    runs.into_iter().map(|run| validated(run).map(whole_run)).collect()
}

/// Returns `run` as that of a file without faults.
pub(crate) fn whole_run(run: Run) -> StoredRun {
    StoredRun { run, remarks: Vec::new(), is_cut_off: false, has_ended: true }
}

/// Returns the faults of the run's file in words, a line that is cut off included.
pub fn faults(stored: &StoredRun) -> Vec<String> {
    let cut_off =
        stored.is_cut_off.then(|| "its last line is cut off: the case in it is left out".to_owned());
    stored.remarks.iter().cloned().chain(cut_off).collect()
}

/// Adds to `run` those of `devices` whose command-line names it does not have yet.
pub(crate) fn add_devices(run: &mut Run, devices: Vec<DeviceInfo>) {
    for info in devices {
        if run.device(&info.device).is_none() {
            run.devices.push(info);
        }
    }
}

/// Removes from `run` the cases and skipped benchmarks that `selection` does not take, and their comparisons
/// with a baseline. The removed cases no longer count as planned. Also removes devices that are not selected,
/// and devices that lose all of their cases.
pub fn retain_selected(selection: &CaseSelection, run: &mut Run) {
    let named = run.devices.iter().filter(|info| is_device_selected(selection, info));
    let named: Vec<String> = named.map(|info| info.device.clone()).collect();
    let is_selected = |device: &String| selection.device.is_none() || named.contains(device);
    let (devices_before, count_before) = (devices_with_cases(run), run.records.len());
    run.records.retain(|Record { case, device, .. }| {
        is_selected(device)
            && selection.takes_cache(case.cache)
            && selection.takes_benchmark(&case.benchmark, &case.args)
    });
    run.planned_cases = run.planned_cases.saturating_sub(count_before - run.records.len());
    run.skipped.retain(|skipped| {
        is_selected(&skipped.device) && selection.takes_benchmark(&skipped.benchmark, &skipped.args)
    });
    let devices_after = devices_with_cases(run);
    run.devices.retain(|DeviceInfo { device, .. }| {
        is_selected(device) && (devices_after.contains(device) || !devices_before.contains(device))
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

/// Returns true if `selection` names the device by its name, number, kind or UUID, or takes all devices.
fn is_device_selected(selection: &CaseSelection, info: &DeviceInfo) -> bool {
    selection
        .device
        .as_deref()
        .is_none_or(|wanted| wanted == "all" || names_device(wanted, &info.device, info.text(UUID)))
}

/// Returns the names of the devices of all results and skipped benchmarks.
fn devices_with_cases(run: &Run) -> HashSet<String> {
    let measured = run.records.iter().map(|record| &record.device);
    measured.chain(run.skipped.iter().map(|skipped| &skipped.device)).cloned().collect()
}

/// Returns the first name of an argument in `selection` that no case or skipped benchmark of `run` has;
/// `None` if all are known.
pub fn unknown_arg<'a>(selection: &'a CaseSelection, run: &Run) -> Option<&'a str> {
    let measured = run.records.iter().flat_map(|record| &record.case.args);
    let all = || measured.clone().chain(run.skipped.iter().flat_map(|skipped| &skipped.args));
    selection.args.iter().map(|given| &*given.name).find(|name| !all().any(|arg| arg.name == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_their_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::create_dir(folder.join("node1")).expect("a folder");
        for name in ["node1/records.jsonl", "a-2.json", "a-1.json", "b.json", ".part.json", "log.txt"] {
            fs::write(folder.join(name), "").expect("a file");
        }
        let names = |given: &[&str]| -> Vec<String> {
            let given: Vec<PathBuf> = given.iter().map(|name| folder.join(name)).collect();
            let (files, _) = find_run_files(&given);
            files.iter().map(|path| path.strip_prefix(folder).expect("below").display().to_string()).collect()
        };
        assert_eq!(names(&[""]), ["a-1.json", "a-2.json", "b.json", "node1/records.jsonl"]);
        assert_eq!(names(&["log.txt"]), ["log.txt"], "a file that is named is read");
        let (files, faults) = find_run_files(&[folder.join("c.json"), folder.join("d.json")]);
        assert_eq!((files.len(), faults.len()), (0, 2));
    }

    #[test]
    fn the_rest_of_a_folder_is_read_beside_what_cannot_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join("a.json"), "").expect("a file");
        // A pipe or a socket is never read, since its end may never come.
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("b.json")).expect("a socket");
        let (files, faults) = find_run_files(&[folder.join("gone"), folder.to_owned()]);
        assert_eq!(files.into_iter().collect::<Vec<_>>(), [folder.join("a.json")]);
        let gone = folder.join("gone").display().to_string();
        assert!(faults.len() == 1 && faults[0].starts_with(&format!("{gone}: ")), "{faults:?}");
    }

    /// The error about a foreign file says what to give instead; that about a run of another version does not.
    #[test]
    fn a_file_of_something_else_is_told_with_what_to_give() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = |text: &str| {
            let path = folder.path().join("file.json");
            fs::write(&path, text).expect("it can be written");
            load(&path).expect_err("it is no run").to_string()
        };
        let advice = ". Give a file that --json wrote, or measure anew";
        assert!(told(r#"{"answer": 42}"#).ends_with(advice), "{}", told(r#"{"answer": 42}"#));
        let newer = told(r#"{"schema": "gpubench/999"}"#);
        assert!(newer.ends_with("read it with the gpubench that wrote it, or measure anew"), "{newer}");
    }
    #[test]
    fn an_error_names_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.json");
        let told = || load(&path).expect_err("it is no run").to_string();
        assert!(told().starts_with(&format!("{}: ", path.display())), "{}", told());
        for text in ["{", r#"{"run":{}}"#] {
            fs::write(&path, text).expect("it can be written");
            assert!(told().starts_with(&path.display().to_string()), "{}", told());
            assert!(told().ends_with(". Give a file that --json wrote, or measure anew"), "{}", told());
        }
    }

    /// A list has a place for each fault, and is no run.
    #[test]
    fn a_list_of_runs_is_none_and_a_fault_in_it_has_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("runs.json");
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        let run =
            serde_json::to_string(&files::read(&lines[..]).expect("a run").run).expect("it can be written");
        let write = |runs: &[&str]| {
            fs::write(&path, format!("[{}]", runs.join(",\n"))).expect("it can be written");
        };
        write(&[&*run; 3]);
        assert!(load(&path).is_err_and(|told| told.to_string().contains(" has 3 runs: ")));
        assert_eq!(load_all(&path).expect("runs").len(), 3);
        write(&[&run, &run, &run.replacen("\"records\":", "\"record\":", 1)]);
        let told = load_all(&path).expect_err("it has no records").to_string();
        assert!(told.contains("line 3"), "{told}");
    }

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
        let baseline = Baseline::new("main".to_owned(), run.clone());
        run.baseline_comparison = Some(check(&run, &baseline, &|_| true, DECISION_ERROR));
        let missing = ["gone[n=1] hot", "gone[n=1] cold", "other hot"].map(str::to_owned);
        run.baseline_comparison.as_mut().expect("it was compared").missing = missing.to_vec();
        let first = run.records[0].case.clone();
        let mut hot = run.clone();
        let selection = selection(&[&first.name(), "gone"], &[]);
        retain_selected(&CaseSelection { caches: Some(vec![first.cache]), ..selection }, &mut hot);
        let check = hot.baseline_comparison.expect("it was compared");
        let lines: Vec<_> = check.findings.iter().map(|line| (line.name.clone(), line.cache)).collect();
        let records: Vec<_> = hot.records.iter().map(|it| (it.case.name(), it.case.cache)).collect();
        assert!(!records.is_empty() && records.len() < run.records.len());
        assert_eq!((lines, check.missing), (records, vec![format!("gone[n=1] {}", first.cache)]));
    }
}
