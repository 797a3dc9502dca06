//! Writes whole files: neither a reader nor a crash nor a power cut ever leaves a part of one. Also checks whether two paths are the same file.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::{fs, io, os::unix::fs::MetadataExt};

use crate::files::disk;

/// A function that writes the contents of a file to the given writer.
pub type WriteContents<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// A file, pipe or device that results are written to, by the way of writing to it.
#[derive(Debug)]
pub enum Destination {
    /// Replaces the regular file at this path as a whole, or creates it.
    Replaced(PathBuf),
    /// Writes to a pipe, a device, or a descriptor of an open file. It is opened once, because a reader takes
    /// its close for the end.
    InPlace(File),
}

impl Destination {
    /// Checks that `path` can be written to. An existing file stays as it is; a temporary file beside it is created and removed.
    ///
    /// # Errors
    /// If it cannot; for a folder, and if the folder of the file is missing, with what to give instead.
    pub fn open(path: &Path) -> io::Result<Self> {
        let probe = |destination: Self| {
            if let Self::Replaced(path) = &destination {
                TemporaryFile::create_beside(path)?;
            }
            Ok(destination)
        };
        Self::for_path(path).and_then(probe).map_err(|error| {
            let instead = match error.kind() {
                ErrorKind::NotFound if parent_folder(&resolved(path)).is_dir() => {
                    "its folder takes no files: give another file"
                }
                ErrorKind::NotFound => "its folder does not exist: make the folder, or give another file",
                ErrorKind::IsADirectory => "it is a folder: give a file",
                _ => return error,
            };
            io::Error::new(error.kind(), instead)
        })
    }

    /// Returns true if the destination is a terminal.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::InPlace(file) if file.is_terminal())
    }

    /// Opens `path`. A regular file, also behind a link, is later replaced as a whole, and a missing file is
    /// created. A device, a pipe or a descriptor is written in place. Returns an error if an existing file
    /// cannot be written.
    fn for_path(path: &Path) -> io::Result<Self> {
        match OpenOptions::new().write(true).open(path) {
            Ok(file) if is_descriptor(path) || !file.metadata()?.is_file() => Ok(Self::InPlace(file)),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            // A link stays, and the file that it leads to is replaced.
            _ => Ok(Self::Replaced(resolved(path))),
        }
    }

    /// Replaces the file, or creates it: the new contents go into a temporary file beside it, reach the disk,
    /// and take its name. Pipes, devices and descriptors are written directly.
    ///
    /// # Errors
    /// If a part could not be written. The earlier file is then unchanged, and the temporary one removed. If
    /// only the sync of the folder failed, the file is replaced already. Pipes, devices and descriptors may
    /// have got a part.
    pub fn write(&self, contents: WriteContents<'_>) -> io::Result<()> {
        let path = match self {
            Self::InPlace(file) => return overwrite(file, contents),
            Self::Replaced(path) => path,
        };
        let mut new = TemporaryFile::create_beside(path)?;
        if let Ok(existing) = fs::metadata(path) {
            new.file.set_permissions(existing.permissions())?;
        }
        fill(&new.file, contents)?;
        disk::sync(&new.file)?;
        new.rename(path)
    }
}

/// Creates a file at the first of `paths` that is free, even if several processes do so at once. Returns its
/// path.
///
/// # Errors
/// If a part could not be written, or if no path is free. There is then no new file, unless only the sync of
/// its folder failed.
pub fn create(mut paths: impl Iterator<Item = PathBuf>, contents: WriteContents<'_>) -> io::Result<PathBuf> {
    let mut path = paths.next().ok_or(ErrorKind::NotFound)?;
    let mut new = TemporaryFile::create_beside(&path)?;
    fill(&new.file, contents)?;
    disk::sync(&new.file)?;
    loop {
        // A second name, unlike a new one, takes nothing's place.
        match disk::add_name(&new.path, &path) {
            Ok(()) => {
                disk::sync_folder(&File::open(parent_folder(&path))?)?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                path = paths.next().ok_or(ErrorKind::AlreadyExists)?;
            }
            // Some file systems give a file one name only.
            Err(_) if !path.try_exists()? => return new.rename(&path).map(|()| path),
            Err(error) => return Err(error),
        }
    }
}

/// Replaces the file at `path`, or creates it: see [`Destination::write`].
///
/// # Errors
/// As for [`Destination::write`], and if the file cannot be opened for writing.
pub fn replace(path: &Path, contents: WriteContents<'_>) -> io::Result<()> {
    Destination::for_path(path)?.write(contents)
}

/// The most symbolic links that are followed in a path, as on Linux. The rest of a longer chain is not followed.
const MAX_LINKS: usize = 40;

/// Returns the absolute path of the file that `path` leads to through links. The file need not exist:
/// dangling links are followed too, since writing through one creates its target.
pub fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(there) = path.canonicalize() {
            return there;
        }
        match fs::read_link(&path) {
            Ok(target) => path = parent_folder(&path).join(target),
            Err(_) => break,
        }
    }
    match (parent_folder(&path).canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => std::path::absolute(&path).unwrap_or(path),
    }
}

/// Returns true if `path` names an open file of a process, such as `/dev/stdout` or any path in `/proc`.
fn is_descriptor(path: &Path) -> bool {
    ["/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/proc"].iter().any(|root| path.starts_with(root))
}

/// A new file with a random name. `Drop` removes it, unless it was renamed.
struct TemporaryFile {
    path: PathBuf,
    file: File,
    /// True after the rename: `Drop` must not delete this path.
    is_renamed: bool,
}

impl TemporaryFile {
    /// Creates a file in the folder of `path`, with a random name that no other file has.
    fn create_beside(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(ErrorKind::IsADirectory)?.to_string_lossy().into_owned();
        loop {
            let random = RandomState::new().hash_one(0);
            let path = parent_folder(path).join(format!(".{name}.{random:016x}.part"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                file => return Ok(Self { file: file?, path, is_renamed: false }),
            }
        }
    }

    /// Renames the file to `path`, and syncs the folder.
    fn rename(&mut self, path: &Path) -> io::Result<()> {
        disk::rename(&self.path, path)?;
        self.is_renamed = true;
        disk::sync_folder(&File::open(parent_folder(path))?)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_renamed {
            _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the folder that `path` is in; `.` for a bare file name.
pub(super) fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Replaces the contents of an open regular file; writes to the end of a pipe or a device.
fn overwrite(mut file: &File, contents: WriteContents<'_>) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
        io::Seek::rewind(&mut file)?;
    }
    fill(file, contents)
}

/// Writes all of the contents to `out` through a buffer, and flushes it. Does not sync a file.
///
/// # Errors
/// If `out` takes no more.
pub fn fill(out: impl Write, contents: WriteContents<'_>) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    contents(&mut out)?;
    out.flush()
}

/// Returns true if the open `file` is the one at `path`; false if another file is there, or none.
///
/// # Errors
/// If the system cannot tell.
pub(super) fn is_file_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(there) => Ok(is_same_inode(&file.metadata()?, &there)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns true if both paths lead to one file, also by a symbolic link or a second name (hard link). A file
/// that does not exist yet is compared by its path.
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    let found = || Some((fs::metadata(one).ok()?, fs::metadata(other).ok()?));
    resolved(one) == resolved(other) || found().is_some_and(|(one, other)| is_same_inode(&one, &other))
}

/// Returns true if both are of one file: the same device and inode.
fn is_same_inode(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(test)]
mod replace_tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::thread;

    use super::disk::journal::{self, DiskStep};
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("it is there").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn text(text: &str) -> impl Fn(&mut dyn Write) -> io::Result<()> {
        move |out| out.write_all(text.as_bytes())
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.json");
        _ = Destination::open(&path).expect("it can be made");
        assert_eq!(names(folder.path()), [""; 0], "the check leaves nothing");
        replace(&path, &text("a long first text")).expect("it can be made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("they can be set");
        _ = Destination::open(&path).expect("it can be replaced");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "a long first text");
        replace(&path, &text("second")).expect("it can be replaced");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "second");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    /// A power cut between any two steps leaves the earlier file or the whole new one: its contents are on the disk before it gets
    /// the name, and its name before the call returns.
    #[test]
    fn what_is_written_is_on_the_disk_before_it_has_its_name() {
        let place = tempfile::tempdir().expect("a folder");
        let path = resolved(&place.path().join("run.json"));
        let steps = |path: &Path| {
            [
                DiskStep::synced_at(path),
                DiskStep::Named(path.to_owned()),
                DiskStep::synced_at(parent_folder(path)),
            ]
        };
        for text_now in ["first", "the second, which is longer"] {
            let done = journal::of(|| replace(&path, &text(text_now)).expect("it can be written"));
            assert_eq!(done, steps(&path), "{text_now}");
        }
        let paths = || ["run.json", "other.json"].map(|name| place.path().join(name)).into_iter();
        let done = journal::of(|| _ = create(paths(), &text("third")).expect("it can be made"));
        assert_eq!(done, steps(&place.path().join("other.json")), "a new file");
    }

    #[test]
    fn a_failure_leaves_the_earlier_file_and_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.json");
        fs::write(&path, "earlier").expect("it can be written");
        let failed = replace(&path, &|out| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.expect_err("it fails").to_string(), "no more");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "earlier");
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "earlier").expect("it can be written");
        symlink("file", &link).expect("it can be made");
        replace(&link, &text("new")).expect("it can be replaced");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "new");
    }

    #[test]
    fn a_link_to_nothing_stays_and_what_it_leads_to_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link, second) =
            (folder.path().join("file"), folder.path().join("link"), folder.path().join("second"));
        symlink("file", &link).expect("it can be made");
        symlink(&link, &second).expect("it can be made");
        assert_eq!([&link, &second].map(|path| resolved(path)), [resolved(&file), resolved(&file)]);
        _ = Destination::open(&second).expect("it can be made");
        replace(&second, &text("new")).expect("it can be made");
        assert!(link.is_symlink() && second.is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "new");
        assert_eq!(names(folder.path()), ["file", "link", "second"]);
        // One that leads to itself is an error, and no end.
        symlink("round", folder.path().join("round")).expect("it can be made");
        assert!(replace(&folder.path().join("round"), &text("x")).is_err());
    }

    #[test]
    fn a_bare_name_is_in_the_folder_where_the_user_is() {
        let folders = ["run.json", "a/run.json", "/run.json"].map(|path| parent_folder(Path::new(path)));
        assert_eq!(folders, [".", "a", "/"].map(Path::new));
    }

    #[test]
    fn readers_and_writers_at_once_see_whole_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run.json");
        let long = |letter: &str| letter.repeat(200_000);
        fs::write(&path, long("a")).expect("it can be written");
        thread::scope(|scope| {
            for letter in ["b", "c"] {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        replace(path, &text(&long(letter))).expect("it can be replaced");
                    }
                });
            }
            for _ in 0..200 {
                let read = fs::read_to_string(&path).expect("it is always there");
                let first = read.chars().next().expect("it is never empty");
                assert!(read.len() == 200_000 && read.chars().all(|letter| letter == first));
            }
        });
        assert_eq!(names(folder.path()), ["run.json"]);
    }

    #[test]
    fn new_files_take_nothing_s_place_and_no_two_one_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = || (0..).map(|number| folder.path().join(format!("{number}.json")));
        fs::write(folder.path().join("0.json"), "theirs").expect("it can be written");
        symlink("nowhere", folder.path().join("1.json")).expect("it can be made");
        thread::scope(|scope| {
            for letter in ["a", "b", "c", "d"] {
                scope.spawn(move || {
                    for _ in 0..5 {
                        _ = create(paths(), &text(letter)).expect("it can be made");
                    }
                });
            }
        });
        let contents = |number: usize| fs::read_to_string(paths().nth(number).expect("it is one of them"));
        assert_eq!(contents(0).expect("it is there"), "theirs");
        let mut written: Vec<_> = (2..22).map(|number| contents(number).expect("it is there")).collect();
        written.sort();
        assert_eq!(written.concat(), ["a", "b", "c", "d"].map(|letter| letter.repeat(5)).concat());
        assert_eq!(names(folder.path()).len(), 22, "and nothing else lies about");
    }

    #[test]
    fn a_new_file_needs_no_second_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = || (0..).map(|number| folder.path().join(format!("{number}.json")));
        fs::write(folder.path().join("0.json"), "theirs").expect("it can be written");
        let made = journal::with_one_name(|| create(paths(), &text("ours"))).expect("it can be made");
        assert_eq!(made, folder.path().join("1.json"));
        let contents = ["0.json", "1.json"].map(|name| fs::read_to_string(folder.path().join(name)).ok());
        assert_eq!(contents, ["theirs", "ours"].map(|text| Some(text.to_owned())));
        assert_eq!(names(folder.path()), ["0.json", "1.json"]);
    }

    /// Standard output may be a file, which its owner goes on to write: it is written to, and no other takes its name.
    #[test]
    fn an_open_file_of_a_process_is_written_in_place() {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.txt");
        let mut file = File::create(&path).expect("it can be made");
        file.write_all(b"earlier, and longer").expect("it can be written");
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        replace(Path::new(&name), &text("new")).expect("it can be written");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "new");
        let inode = |info: io::Result<fs::Metadata>| info.expect("it is there").ino();
        assert_eq!(inode(fs::metadata(&path)), inode(file.metadata()));
        assert_eq!(names(folder.path()), ["out.txt"]);
    }

    #[test]
    fn what_cannot_be_written_is_told_before() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("file"), "").expect("it can be written");
        for (path, kind) in [
            (folder.path().join("no/such/folder.json"), ErrorKind::NotFound),
            (folder.path().to_owned(), ErrorKind::IsADirectory),
            (folder.path().join("file/run.json"), ErrorKind::NotADirectory),
        ] {
            assert_eq!(Destination::open(&path).expect_err("it cannot be").kind(), kind, "{path:?}");
            assert_eq!(replace(&path, &text("")).expect_err("it cannot be").kind(), kind, "{path:?}");
        }
    }

    /// What people look at is shown as to people, also by its name. `/dev/ptmx` is a new terminal each time that it is opened.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_terminal_is_one_and_files_and_other_devices_are_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let is_terminal = |path: &Path| Destination::open(path).expect("it can be written").is_terminal();
        assert!(!is_terminal(&folder.path().join("file")) && !is_terminal(Path::new("/dev/null")));
        let terminal = Path::new("/dev/ptmx");
        assert!(!terminal.exists() || is_terminal(terminal));
    }

    #[test]
    fn a_device_is_written_to_and_stays() {
        _ = Destination::open(Path::new("/dev/full")).expect("it is open to all");
        let told = replace(Path::new("/dev/full"), &text("x")).expect_err("it is full");
        assert_eq!(told.kind(), ErrorKind::StorageFull);
        replace(Path::new("/dev/null"), &text("x")).expect("it takes everything");
    }
}

#[cfg(test)]
mod identity_tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_one_by_each_of_its_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "").expect("it can be written");
        fs::write(path("other"), "").expect("it can be written");
        symlink("file", path("link")).expect("it can be made");
        symlink("nothing", path("dangling")).expect("it can be made");
        fs::hard_link(path("file"), path("second")).expect("it can be made");
        for (one, other, is_one) in [
            ("file", "file", true),
            ("file", "link", true),
            ("link", "second", true),
            ("nothing", "dangling", true),
            ("file", "other", false),
            ("file", "nothing", false),
        ] {
            assert_eq!(is_one_file(&path(one), &path(other)), is_one, "{one} and {other}");
        }
    }
}
