//! The folder of one comparison's runs. In: the folder of all; out: one that no other comparison uses, while few earlier ones are kept.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use gpubench_records::files::time_of_day;

use crate::error::RevisionError;

/// The number of comparisons whose runs are kept, beside those that go on.
const KEPT: usize = 10;

/// The file in a folder that is locked while the comparison goes on.
const LOCK: &str = "lock";

/// A folder in use, until this is dropped.
#[derive(Debug)]
pub(in crate::commands) struct RunFolder {
    path: PathBuf,
    _lock: File,
}

impl RunFolder {
    /// Makes a folder below `above`, called by the time, and removes the oldest that are not in use.
    pub(in crate::commands) fn below(above: &Path) -> Result<Self, RevisionError> {
        let failed = |error| RevisionError::NoPlace { path: above.to_owned(), error };
        fs::create_dir_all(above).map_err(failed)?;
        let this = Self::new(above).map_err(failed)?;
        remove_oldest(above);
        Ok(this)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn new(above: &Path) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = time_of_day(now.as_secs()).replace(':', "-");
        for number in 1.. {
            let name = if number == 1 { time.clone() } else { format!("{time}-{number}") };
            let path = above.join(name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let lock = File::create_new(path.join(LOCK))?;
                    // Where a file system has no locks, nobody removes a folder either.
                    _ = lock.try_lock();
                    return Ok(Self { path, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("there is a number that no folder has")
    }
}

/// Removes the oldest folders in `above` that no comparison uses, but for the last ones.
fn remove_oldest(above: &Path) {
    let folders = fs::read_dir(above).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut ours: Vec<PathBuf> = folders.filter(|folder| folder.join(LOCK).is_file()).collect();
    ours.sort();
    let old = ours.len().saturating_sub(KEPT + 1);
    for folder in &ours[..old] {
        let lock = File::open(folder.join(LOCK));
        // One that cannot be removed is old next time too.
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            _ = fs::remove_dir_all(folder);
        }
    }
}
