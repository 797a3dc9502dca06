//! The identity of files, whatever their names.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::replace::resolved;

/// Returns true if the file that is open still is the one at `path`.
///
/// # Errors
/// If the system does not say.
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(there) => Ok(is_same(&file.metadata()?, &there)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns true if both paths are of one file, by a link or a second name too. Either may not exist yet.
pub fn is_one_file(one: &Path, other: &Path) -> bool {
    let found = || Some((fs::metadata(one).ok()?, fs::metadata(other).ok()?));
    resolved(one) == resolved(other) || found().is_some_and(|(one, other)| is_same(&one, &other))
}

fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(test)]
mod tests {
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
