//! The mark of a run in progress: a lock on its file, which other processes of this host see.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// Makes a new file, which is marked until it is closed, if the file system has locks.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create_new(true).open(path)?;
    _ = file.try_lock();
    Ok(file)
}

/// Returns true if a file is marked. No writer can mark it until it is closed here.
pub(super) fn is_marked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Returns true if a file is known not to be marked; false on file systems without locks.
pub(super) fn is_unmarked(file: &File) -> bool {
    file.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_marked_until_it_is_closed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("records.jsonl");
        let ours = create(&path).expect("it can be made");
        let seen = || File::open(&path).expect("it is there");
        assert!(is_marked(&seen()) && !is_unmarked(&seen()));
        drop(ours);
        assert!(!is_marked(&seen()) && is_unmarked(&seen()));
    }
}
