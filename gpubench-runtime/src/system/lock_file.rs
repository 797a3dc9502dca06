//! A file that one process at a time has locked, in a folder that every user can write to.

use std::fs::{File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{OFlags, Timespec, Timestamps, UTIME_NOW, futimens};

/// The time at which the system reads it.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };

/// Every user who measures on the machine must be able to lock the same file, and to write a name into it.
pub(crate) const EVERYBODY: u32 = 0o666;

/// The result of a try to lock a file.
pub(crate) enum Tried {
    /// It is locked until this is dropped.
    Locked(File),
    /// Another has it locked: the file, for reading who.
    Held(File),
}

/// Tries to lock the file at `path`, and makes it if it is missing.
///
/// # Errors
/// If it is no lock file, or cannot be opened or locked.
pub(crate) fn try_lock(path: &Path) -> io::Result<Tried> {
    loop {
        let file = open(path)?;
        match file.try_lock() {
            // Another process may have removed the file meanwhile. The lock is then on a file that others do
            // not see.
            Ok(()) if !is_at(&file, path) => {}
            Ok(()) => return Ok(Tried::Locked(file)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => return Ok(Tried::Held(file)),
        }
    }
}

/// Returns true if others still find the locked `file` at `path`, where cleaners of old files may remove it. Makes it a new file to them.
pub(crate) fn keep(file: &File, path: &Path) -> bool {
    let now = Timestamps { last_access: NOW, last_modification: NOW };
    // A file of another user's may have to grow old.
    _ = futimens(file, &now);
    is_at(file, path)
}

/// Opens the file, and creates it if it is missing. Every user can write to the folder: links are not followed, a pipe is not
/// waited for, and what has another name elsewhere is left alone.
fn open(path: &Path) -> io::Result<File> {
    let file = opened(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.nlink() > 1 {
        return Err(io::Error::other("it is no lock file: remove it"));
    }
    Ok(file)
}

fn opened(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Read access is enough for a lock.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return OpenOptions::new().read(true).custom_flags(flags).open(path);
        }
        opened => return opened,
    }
    match options.create_new(true).open(path) {
        Ok(file) => {
            file.set_permissions(Permissions::from_mode(EVERYBODY))?;
            Ok(file)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => opened(path),
        Err(error) => Err(error),
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let of = |metadata: io::Result<Metadata>| metadata.map(|found| (found.dev(), found.ino())).ok();
    of(file.metadata()).is_some_and(|ours| of(path.symlink_metadata()) == Some(ours))
}
