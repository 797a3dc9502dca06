//! The files of a fleet. In: files, folders and patterns; out: files in the order of their names, each once.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The endings of files of runs.
const ENDINGS: [&str; 2] = ["json", "jsonl"];

/// The files that `given` names, and the paths that cannot be read. A folder is all files in it and below whose names end as
/// those of runs do; `*` and `?` in a file's name stand for any characters and for one.
#[must_use]
pub fn fleet_files(given: &[PathBuf]) -> (Vec<PathBuf>, Vec<(PathBuf, io::Error)>) {
    let (mut files, mut faults) = (BTreeSet::new(), Vec::new());
    for path in given {
        if path.is_dir() {
            below(path, &mut files, &mut faults);
        } else if path.exists() {
            files.insert(path.clone());
        } else {
            match matching(path) {
                Ok(found) => files.extend(found),
                Err(error) => faults.push((path.clone(), error)),
            }
        }
    }
    (files.into_iter().collect(), faults)
}

/// Adds the files of runs below `folder`. A part of it that cannot be read is a fault, and the rest is read.
fn below(folder: &Path, files: &mut BTreeSet<PathBuf>, faults: &mut Vec<(PathBuf, io::Error)>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return faults.push((folder.to_owned(), error)),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return faults.push((folder.to_owned(), error)),
        };
        let path = entry.path();
        let is_run = path.extension().is_some_and(|it| ENDINGS.iter().any(|ending| it == *ending));
        // A link to a folder may lead back here.
        let is_linked_folder = path.is_dir() && entry.file_type().is_ok_and(|it| it.is_symlink());
        if entry.file_name().to_string_lossy().starts_with('.') || is_linked_folder {
            continue;
        }
        if path.is_dir() {
            below(&path, files, faults);
        } else if is_run && !is_endless(&path) {
            files.insert(path);
        }
    }
}

/// Returns true for a pipe, a socket or a device, whose end may never come: it is read only by its own name.
fn is_endless(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| !it.is_file())
}

/// The files whose names match the last part of `pattern`.
fn matching(pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let not_found = || io::Error::new(io::ErrorKind::NotFound, "there is no such file");
    let name = pattern.file_name().and_then(|name| name.to_str()).ok_or_else(not_found)?;
    if !name.contains(['*', '?']) {
        return Err(not_found());
    }
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
        let found = entry?.file_name();
        if found.to_str().is_some_and(|found| matches(name.as_bytes(), found.as_bytes())) {
            files.push(folder.map_or_else(|| PathBuf::from(&found), |folder| folder.join(&found)));
        }
    }
    let none = || io::Error::new(io::ErrorKind::NotFound, "no file has such a name");
    if files.is_empty() { Err(none()) } else { Ok(files) }
}

/// Returns true if `name` matches a pattern of `*`, `?` and other characters.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([b'*', rest @ ..], _) => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        ([b'?', rest @ ..], [_, name @ ..]) => matches(rest, name),
        ([one, rest @ ..], [other, name @ ..]) => one == other && matches(rest, name),
        (rest, name) => rest.is_empty() && name.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_patterns_are_their_files() {
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
        assert_eq!(names(&["a-?.json", "a-2.json"]), ["a-1.json", "a-2.json"]);
        assert_eq!(names(&["log.txt"]), ["log.txt"], "a file that is named is read");
        let (files, faults) = fleet_files(&[folder.join("c*.json"), folder.join("d.json")]);
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
