//! The system calls that make a file durable: sync, rename and link. Tests record their order, which cannot be observed otherwise.

use std::fs::{self, File};
use std::{io, path::Path};

/// Writes the contents of `file` through to the disk (`fsync`).
pub(super) fn sync(file: &File) -> io::Result<()> {
    #[cfg(test)]
    journal::note(journal::DiskStep::synced(file));
    file.sync_all()
}

/// Writes the names in `folder` through to the disk. Succeeds without effect on file systems that do not
/// support it.
pub(super) fn sync_folder(folder: &File) -> io::Result<()> {
    match sync(folder) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Renames the file at `from` to `to`, and replaces the file at `to` if there is one.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    journal::note(journal::DiskStep::Named(to.to_owned()));
    fs::rename(from, to)
}

/// Gives the file at `from` a second name (hard link). Fails if `to` exists.
pub(super) fn add_name(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    journal::may_link(to)?;
    fs::hard_link(from, to)?;
    #[cfg(test)]
    journal::note(journal::DiskStep::Named(to.to_owned()));
    Ok(())
}

/// The steps of a thread so far.
#[cfg(test)]
pub(super) mod journal {
    use std::cell::{Cell, RefCell};
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    /// A step.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(in crate::files) enum DiskStep {
        /// A file or a folder was synced. `length` is the length of the file at that time; `None` for a
        /// folder.
        Synced { inode: u64, length: Option<u64> },
        /// A file got this name.
        Named(PathBuf),
    }

    thread_local! {
        static STEPS: RefCell<Vec<DiskStep>> = const { RefCell::new(Vec::new()) };
        static ONE_NAME: Cell<bool> = const { Cell::new(false) };
    }

    impl DiskStep {
        pub(in crate::files) fn synced(file: &File) -> Self {
            let info = file.metadata().expect("it is open");
            Self::Synced { inode: info.ino(), length: info.is_file().then_some(info.len()) }
        }

        /// The sync of what `path` is now.
        pub(in crate::files) fn synced_at(path: &Path) -> Self {
            Self::synced(&File::open(path).expect("it is there"))
        }
    }

    /// Adds a step to those of this thread.
    pub(super) fn note(step: DiskStep) {
        STEPS.with_borrow_mut(|steps| steps.push(step));
    }

    /// Runs `work` and returns its steps.
    pub(in crate::files) fn of(work: impl FnOnce()) -> Vec<DiskStep> {
        STEPS.take();
        work();
        STEPS.take()
    }
    /// Runs `work` as on a file system that gives a file one name only, such as FAT.
    pub(in crate::files) fn with_one_name<T>(work: impl FnOnce() -> T) -> T {
        ONE_NAME.set(true);
        let done = work();
        ONE_NAME.set(false);
        done
    }

    /// Returns the error of a file system that gives a file one name only, if the test asks for one
    /// ([`with_one_name`]) and `to` does not exist. Linux looks for the name before it refuses the link.
    pub(super) fn may_link(to: &Path) -> io::Result<()> {
        let refused = ONE_NAME.get() && to.symlink_metadata().is_err();
        if refused { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some shared file systems take no sync of a folder, as `/dev/null` takes none. Other errors are told.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_takes_no_sync_needs_none() {
        use std::os::unix::fs::OpenOptionsExt;

        let null = || File::open("/dev/null").expect("it is open to all");
        assert_eq!(null().sync_all().expect_err("it takes none").kind(), io::ErrorKind::InvalidInput);
        assert!(sync_folder(&null()).is_ok());
        // Linux's `O_PATH`: it is open for nothing.
        let path_only = fs::OpenOptions::new().read(true).custom_flags(0o10_000_000).open("/dev/null");
        assert!(sync_folder(&path_only.expect("it is there")).is_err());
    }
}
