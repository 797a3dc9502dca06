//! The mark of a run in progress. In: its file; out: true while its writer lives, which others of this host see. On Unix it is a lock.
//! A lock of Windows would keep readers out, so there the mark is how the file is open: nobody else may write to it.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a new file, which is marked until it is closed, if the file system has locks.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, windows::READ_AND_DELETE);
    let file = options.open(path)?;
    #[cfg(not(windows))]
    {
        _ = file.try_lock();
    }
    Ok(file)
}

/// Returns true if the file at this path, which is open, is marked. On Unix no writer can mark it until it is closed here.
pub(super) fn is_marked(file: &File, path: &Path) -> bool {
    #[cfg(windows)]
    {
        _ = file;
        windows::is_refused(path)
    }
    #[cfg(not(windows))]
    {
        _ = path;
        matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
    }
}

/// Returns true if the file at this path, which is open, is known not to be marked. Where a file system has no locks, nobody knows.
pub(super) fn is_unmarked(file: &File, path: &Path) -> bool {
    #[cfg(windows)]
    {
        !is_marked(file, path)
    }
    #[cfg(not(windows))]
    {
        _ = path;
        file.try_lock().is_ok()
    }
}

#[cfg(windows)]
mod windows {
    use std::fs::OpenOptions;
    use std::path::Path;

    /// `FILE_SHARE_READ | FILE_SHARE_DELETE`: others may read the file, and give it another name.
    pub(super) const READ_AND_DELETE: u32 = 1 | 4;
    /// `ERROR_SHARING_VIOLATION`: another has the file open in a way that does not go with this.
    const REFUSED: i32 = 32;

    /// Returns true if nobody may write to the file, since another has it open so.
    pub(super) fn is_refused(path: &Path) -> bool {
        let opened = OpenOptions::new().append(true).open(path);
        opened.is_err_and(|error| error.raw_os_error() == Some(REFUSED))
    }
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
        assert!(is_marked(&seen(), &path) && !is_unmarked(&seen(), &path));
        drop(ours);
        assert!(!is_marked(&seen(), &path) && is_unmarked(&seen(), &path));
    }
}
