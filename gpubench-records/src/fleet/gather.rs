//! The runs of a fleet, from their files. In: paths; out: what a fleet keeps of each run, and the files that could not be read.
//! Files are read side by side, and each is forgotten as soon as its medians are known.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::format_name::FLEET_SCHEMA;
use super::gap::Gap;
use super::kept::KeptRun;
use super::paths::fleet_files;
use crate::files::{FormatError, LoadRunError, load_all};
use crate::selection::CaseSelection;

/// The runs of a fleet, without their samples.
#[derive(Debug, Default)]
pub struct FleetRuns {
    /// The number of files that were found.
    pub files: usize,
    pub(super) runs: Vec<KeptRun>,
    pub(super) gaps: Vec<Gap>,
}

impl FleetRuns {
    /// Reads the runs in `given`: files, folders, and names with `*` and `?`. Of each run the selected cases are kept.
    #[must_use]
    pub fn read(given: &[PathBuf], selection: &CaseSelection) -> Self {
        let (files, missing) = fleet_files(given);
        let unreadable = |(path, error): (PathBuf, _)| Gap::Unreadable {
            file: path.display().to_string(),
            why: format!("{error}"),
        };
        let mut fleet = Self {
            files: files.len(),
            gaps: missing.into_iter().map(unreadable).collect(),
            runs: Vec::new(),
        };
        for (path, read) in files.iter().zip(read_all(&files, selection)) {
            match read {
                Ok(runs) => fleet.runs.extend(runs),
                Err(why) => fleet.gaps.push(Gap::Unreadable { file: path.display().to_string(), why }),
            }
        }
        fleet
    }

    /// The number of runs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// The parts that could not be read.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }
}

/// The runs of a file, or the reason that it cannot be read.
type Read = Result<Vec<KeptRun>, String>;

/// Reads `files`, each on any thread, and returns them in their order.
fn read_all(files: &[PathBuf], selection: &CaseSelection) -> Vec<Read> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Read>>> = files.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(number) else { return };
            let read = read_file(path, selection);
            if let Ok(mut done) = done[number].lock() {
                *done = Some(read);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(files.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let ended = |done: Mutex<Option<Read>>| done.into_inner().ok().flatten();
    done.into_iter()
        .map(|done| ended(done).unwrap_or_else(|| Err("its reader ended early".to_owned())))
        .collect()
}

fn read_file(path: &Path, selection: &CaseSelection) -> Read {
    let file = path.display().to_string();
    let stored = match load_all(path) {
        Ok(stored) => stored,
        Err(error) if is_answer(&error) => return Ok(Vec::new()),
        Err(error) => {
            let why = error.to_string();
            return Err(why.strip_prefix(&file).unwrap_or(&why).trim_start_matches([':', ' ']).to_owned());
        }
    };
    let count = stored.len();
    let kept = |(number, mut stored): (usize, crate::files::Stored)| {
        let name = if count == 1 { file.clone() } else { format!("{file}#{number}") };
        let measured = stored.run.records.len();
        let unfinished = stored.run.planned > measured;
        let planned = stored.run.planned;
        selection.narrow(&mut stored.run);
        let mut kept = KeptRun::of(name, stored);
        kept.unfinished = unfinished.then_some((measured, planned));
        kept
    };
    Ok((1..).zip(stored).map(kept).collect())
}

/// Returns true for the answer about a fleet, which users may write beside its runs.
fn is_answer(error: &LoadRunError) -> bool {
    let LoadRunError::Damaged { why: FormatError::OtherSchema { schema, .. }, .. } = error else {
        return false;
    };
    schema == FLEET_SCHEMA
}
