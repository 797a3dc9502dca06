//! A file that one process at a time has locked. It is locked by the way it is opened: nobody else may write to it, and everybody may
//! read who has it. (The system's locks on parts of files would keep readers out too.) The folder of temporary files is the user's own,
//! so that programs of other users do not see the lock.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_SHARING_VIOLATION;
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_SHARE_DELETE, FILE_SHARE_READ,
};

/// The result of a try to lock a file.
pub(crate) enum Tried {
    /// It is locked until this is dropped.
    Locked(File),
    /// Another has it locked: the file, for reading who.
    Held(Option<File>),
}

/// Returns true: a file that is open keeps its name here.
pub(crate) fn keep(_: &File, _: &Path) -> bool {
    true
}

/// Tries to lock the file at `path`, and makes it if it is missing. A link is not followed.
///
/// # Errors
/// If it is no file, or cannot be opened.
pub(crate) fn try_lock(path: &Path) -> io::Result<Tried> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_DELETE)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path);
    match opened {
        Ok(file) if !file.metadata()?.is_file() => Err(io::Error::other("it is no lock file: remove it")),
        Ok(file) => Ok(Tried::Locked(file)),
        Err(error) if error.raw_os_error() == Some(ERROR_SHARING_VIOLATION as i32) => {
            Ok(Tried::Held(File::open(path).ok()))
        }
        Err(error) => Err(error),
    }
}
