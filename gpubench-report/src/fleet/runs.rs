//! The runs of a fleet, read from their files without samples, so that thousands fit into memory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use gpubench_records::device_info::DeviceInfo;
use gpubench_records::files::{FormatError, LoadRunError, ReadError, Stored, load_all};
use gpubench_records::history::Circumstances;
use gpubench_records::record::{Measurement, Program, Record, Run};
use gpubench_records::selection::CaseSelection;
use gpubench_records::verdict::State;
use rayon::prelude::*;

use super::FLEET_SCHEMA;
use super::roof::FleetRoof;

/// The runs of a fleet.
#[derive(Debug, Default)]
pub struct FleetRuns {
    /// The number of files.
    pub files: usize,
    /// The runs.
    pub(super) runs: Vec<FleetRun>,
    /// A sentence for each file that cannot be read.
    pub unread: Vec<String>,
}

/// A run of a fleet.
#[derive(Debug)]
pub(super) struct FleetRun {
    /// The file, with the number of the run there if it has several.
    pub(super) name: String,
    /// The run without its records.
    pub(super) head: Run,
    pub(super) rows: Vec<Row>,
    /// A sentence for each damaged part of the file.
    pub(super) faults: Vec<String>,
    /// A sentence about the cases that were planned and not measured.
    pub(super) unfinished: Option<String>,
}

/// A record without its samples.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) case: String,
    pub(super) device: String,
    /// Why its numbers do not count.
    pub(super) invalid: Option<String>,
    /// One for each process, the fastest first: a record does not tell which process measured what.
    pub(super) readings: Vec<Reading>,
}

/// A measurement without its samples, in nanoseconds, hertz, watts and degrees Celsius.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) median: f64,
    pub(super) roof: FleetRoof,
    /// The work and the method. Medians of others are not comparable.
    pub(super) method: Circumstances,
    /// The bits of its median and of the time that it took, which no other measurement of the GPU has.
    pub(super) identity: [u64; 2],
    pub(super) clock: Option<f64>,
    pub(super) power: Option<f64>,
    pub(super) temperature: Option<f64>,
    pub(super) throttle_reasons: Vec<String>,
    pub(super) other_processes: u32,
}

impl FleetRuns {
    /// Reads the selected cases of the runs in `given`: files, folders, and names with `*` and `?`.
    #[must_use]
    pub fn read(given: &[PathBuf], selection: &CaseSelection) -> Self {
        let (files, faults) = fleet_files(given);
        let mut fleet = Self { files: files.len(), runs: Vec::new(), unread: Vec::new() };
        let mut add_fault =
            |path: &Path, why: &str| fleet.unread.push(format!("{}: not read: {why}", path.display()));
        faults.iter().for_each(|(path, why)| add_fault(path, &why.to_string()));
        let read: Vec<_> = files.into_par_iter().map(|path| (read_file(&path, selection), path)).collect();
        for (runs, path) in read {
            match runs {
                Ok(runs) => fleet.runs.extend(runs),
                Err(why) => add_fault(&path, &why),
            }
        }
        fleet
    }

    /// Returns true if there is no run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

fn read_file(path: &Path, selection: &CaseSelection) -> Result<Vec<FleetRun>, String> {
    let file = path.display().to_string();
    let stored = match load_all(path) {
        Ok(stored) => stored,
        // The answer about a fleet, which users may write next to its runs.
        Err(LoadRunError::Unreadable {
            error: ReadError::Format(FormatError::OtherSchema { schema, .. }),
            ..
        }) if schema == FLEET_SCHEMA => {
            return Ok(Vec::new());
        }
        Err(error) => {
            let why = error.to_string();
            return Err(why.strip_prefix(&file).unwrap_or(&why).trim_start_matches([':', ' ']).to_owned());
        }
    };
    let is_one = stored.len() == 1;
    let name = |number| if is_one { file.clone() } else { format!("{file}#{number}") };
    Ok((1..).zip(stored).map(|(number, stored)| FleetRun::new(name(number), stored, selection)).collect())
}

impl FleetRun {
    fn new(name: String, stored: Stored, selection: &CaseSelection) -> Self {
        let faults = stored.faults().into_iter().map(|fault| format!("{name}: {fault}")).collect();
        let mut head = stored.run;
        let (measured, planned) = (head.records.len(), head.planned_cases);
        let unfinished = (planned > measured)
            .then(|| format!("{name}: unfinished: {measured} of {planned} cases are there"));
        selection.narrow(&mut head);
        let records = std::mem::take(&mut head.records);
        let rows = records.iter().map(|record| Row::new(record, &head)).collect();
        Self { name, head, rows, faults, unfinished }
    }
}

impl Row {
    fn new(record: &Record, head: &Run) -> Self {
        let info = head.device_of(record);
        let all = record.measurement.iter().chain(&record.other_processes);
        let mut readings: Vec<Reading> =
            all.filter_map(|measured| Some(Reading::new(measured, record, info?, &head.program))).collect();
        readings.sort_by(|a, b| a.median.total_cmp(&b.median));
        let invalid = if record.verdict.state == State::Invalid {
            let reasons: Vec<String> = record.verdict.reasons.iter().map(ToString::to_string).collect();
            Some(reasons.join("; "))
        } else {
            let is_timed = readings.iter().all(|reading| reading.median > 0.0);
            (!is_timed).then(|| "its median is not above zero".to_owned())
        };
        Self { case: record.case.to_string(), device: record.device.clone(), invalid, readings }
    }
}

impl Reading {
    fn new(measured: &Measurement, record: &Record, info: &DeviceInfo, program: &Program) -> Self {
        let samples = &measured.samples;
        let during = samples.conditions.as_ref().map(|conditions| &conditions.during);
        let own_clock = samples.device_clock.as_ref().map(|clock| clock.mean);
        let clock = own_clock.or_else(|| Some(during?.sm_clock?.low));
        Self {
            median: measured.median().as_f64(),
            roof: FleetRoof::new(measured, record.case.cache, info),
            method: Circumstances::new(measured, None, program),
            identity: [measured.median(), samples.wall_time].map(|time| time.as_f64().to_bits()),
            clock: clock.map(|clock| clock.0 as f64),
            power: during.and_then(|during| during.power).map(|power| power.high.as_f64()),
            temperature: during.and_then(|during| during.temperature).map(|range| f64::from(range.high)),
            throttle_reasons: during.map(|during| during.throttle_reasons.clone()).unwrap_or_default(),
            other_processes: during.and_then(|during| during.other_processes).unwrap_or_default(),
        }
    }
}

/// Returns the files that `given` names, in the order of their names, and the paths that cannot be read. A folder means all
/// `.json` and `.jsonl` files in it and below.
#[must_use]
pub fn fleet_files(given: &[PathBuf]) -> (Vec<PathBuf>, Vec<(PathBuf, io::Error)>) {
    let (mut files, mut faults) = (BTreeSet::new(), Vec::new());
    for path in given {
        match path.metadata() {
            Ok(found) if found.is_dir() => below(path, &mut files, &mut faults),
            Ok(_) => _ = files.insert(path.clone()),
            Err(error) => faults.push((path.clone(), error)),
        }
    }
    (files.into_iter().collect(), faults)
}

/// Adds the files of runs below `folder`. A part of it that cannot be read is a fault, and the rest is read.
fn below(folder: &Path, files: &mut BTreeSet<PathBuf>, faults: &mut Vec<(PathBuf, io::Error)>) {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.unwrap_or_else(|error| {
        faults.push((folder.to_owned(), error));
        Vec::new()
    });
    for entry in entries.into_iter().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')) {
        let path = entry.path();
        let is_run = path.extension().is_some_and(|it| it == "json" || it == "jsonl");
        if path.is_dir() {
            // A link to a folder may lead back here.
            if !path.is_symlink() {
                below(&path, files, faults);
            }
        } else if is_run && path.is_file() {
            // The end of a pipe or a socket may never come.
            files.insert(path);
        }
    }
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
            let (files, _) = fleet_files(&given);
            files.iter().map(|path| path.strip_prefix(folder).expect("below").display().to_string()).collect()
        };
        assert_eq!(names(&[""]), ["a-1.json", "a-2.json", "b.json", "node1/records.jsonl"]);
        assert_eq!(names(&["log.txt"]), ["log.txt"], "a file that is named is read");
        let (files, faults) = fleet_files(&[folder.join("c.json"), folder.join("d.json")]);
        assert_eq!((files.len(), faults.len()), (0, 2));
    }

    #[test]
    fn the_rest_of_a_folder_is_read_beside_what_cannot_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join("a.json"), "").expect("a file");
        // A pipe or a socket is never read, since its end may never come.
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("b.json")).expect("a socket");
        let (mut files, mut faults) = (BTreeSet::new(), Vec::new());
        below(&folder.join("gone"), &mut files, &mut faults);
        below(folder, &mut files, &mut faults);
        assert_eq!(files.into_iter().collect::<Vec<_>>(), [folder.join("a.json")]);
        assert_eq!(faults.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&folder.join("gone")]);
    }
}
