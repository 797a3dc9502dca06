//! What was stored, and when first.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use end_to_end::running::cases;
use gpubench_records::files;
use gpubench_records::record::{Record, Run};

/// All records that were stored, and all files.
#[derive(Default)]
pub(super) struct Ledger {
    /// The text of each case's record, as it was first stored.
    first: BTreeMap<String, String>,
    /// The contents of each run's file when its process had ended.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Ledger {
    /// Returns true if all of these cases are stored.
    pub(super) fn has(&self, cases: &[String]) -> bool {
        let all = cases.iter().all(|case| self.first.contains_key(case));
        assert!(self.first.len() <= cases.len(), "a case that nobody planned is stored");
        all
    }

    /// Returns true if there is a run to resume.
    pub(super) fn has_runs(&self) -> bool {
        !self.files.is_empty()
    }

    /// Looks at all files once their process has ended, as `told`. Earlier ones must be as they were, and the new one, if there
    /// is one, must begin with everything that was stored before.
    #[track_caller]
    pub(super) fn look(&mut self, folder: &Path, told: &str) {
        let now = read_all(folder);
        for (path, before) in &self.files {
            match now.get(path) {
                Some(bytes) => assert!(bytes == before, "{} was altered: {told}", path.display()),
                // Of a suite's runs the oldest go, if they have nothing to resume.
                None => assert!(records(before).is_empty(), "{} was removed: {told}", path.display()),
            }
        }
        for (path, bytes) in &now {
            if self.files.get(path) != Some(bytes) {
                self.add(bytes, told);
            }
        }
        self.files = now;
    }

    /// Adds the file of a new run.
    #[track_caller]
    fn add(&mut self, bytes: &[u8], told: &str) {
        let stored = files::read(bytes).unwrap_or_else(|error| panic!("it {error}: {told}"));
        assert_eq!(stored.remarks, [""; 0], "{told}");
        let stored_cases = cases(&stored.run);
        for case in self.first.keys() {
            assert!(stored_cases.contains(case), "{case} was lost: {told}");
        }
        let texts = records(bytes);
        assert_eq!(texts.len(), stored_cases.len(), "{told}");
        let mut seen = Vec::new();
        for ((case, text), record) in stored_cases.into_iter().zip(texts).zip(&stored.run.records) {
            assert!(!seen.contains(&case), "{case} was doubled: {told}");
            assert_eq!(record.failure(), None, "{case} is blamed: {told}");
            let first = self.first.entry(case.clone()).or_insert_with(|| text.clone());
            assert_eq!(*first, text, "{case} was altered: {told}");
            seen.push(case);
        }
    }

    /// Asserts that the report of the run has each record once, as it was first stored.
    #[track_caller]
    pub(super) fn assert_reported(&self, run: &Run) {
        assert_eq!(run.records.len(), self.first.len());
        assert_eq!(run.planned_cases, self.first.len());
        let text = |record: &Record| serde_json::to_string(record).expect("it is one");
        let reported: BTreeMap<String, String> =
            cases(run).into_iter().zip(run.records.iter().map(text)).collect();
        assert_eq!(reported, self.first);
    }
}

/// The files of all runs in a folder.
fn read_all(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let runs = fs::read_dir(folder).expect("it is there").flatten();
    let files = runs.map(|run| run.path().join("records.jsonl"));
    files.filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
}

/// The text of each record in a file, without the time and the checksum of its line.
fn records(file: &[u8]) -> Vec<String> {
    let whole = file.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let lines = whole.map(|line| str::from_utf8(line).expect("UTF-8"));
    let record = |line: &str| {
        let (_, record) = line.strip_prefix("{\"record\":{\"at\":")?.split_once(",\"record\":")?;
        Some(record.rsplit_once(",\"crc32\":\"")?.0.to_owned())
    };
    lines.filter_map(record).collect()
}
