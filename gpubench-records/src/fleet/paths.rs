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
        let found = if path.exists() { below(path, true) } else { matching(path) };
        match found {
            Ok(found) => files.extend(found),
            Err(error) => faults.push((path.clone(), error)),
        }
    }
    (files.into_iter().collect(), faults)
}

/// The file at `path`, or those below it.
fn below(path: &Path, named: bool) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        let is_run = path.extension().is_some_and(|it| ENDINGS.iter().any(|ending| it == *ending));
        return Ok(if named || is_run { vec![path.to_owned()] } else { Vec::new() });
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        // A link to a folder may lead back here.
        let is_linked_folder = entry.file_type()?.is_symlink() && entry.path().is_dir();
        if !is_hidden && !is_linked_folder {
            files.extend(below(&entry.path(), false)?);
        }
    }
    Ok(files)
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
}
