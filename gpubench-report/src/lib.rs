//! What programs other than a benchmark binary make of stored runs: a page, drawings, formats of other programs, and the findings
//! of many runs. Nothing here measures or prints.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::path::PathBuf;

use gpubench_table::text::plain_lines;
use maud::html;

pub mod counters;
pub mod drawing;
pub mod export;
pub mod fleet;
pub mod history;
pub mod join;
pub mod selection;
pub mod stored_runs;

mod html;

/// Returns the files of runs that `given` names, and a sentence for each path that cannot be read. A folder means all `.json` and `.jsonl`
/// files in it and below, without those whose names begin with a dot.
pub fn run_files(given: &[PathBuf]) -> (BTreeSet<PathBuf>, Vec<String>) {
    let (mut files, mut faults) = (BTreeSet::new(), Vec::new());
    let mut left = given.to_vec();
    while let Some(path) = left.pop() {
        let entries = match path.metadata() {
            Ok(found) if !found.is_dir() => {
                files.insert(path);
                continue;
            }
            found => found.and_then(|_| fs::read_dir(&path)),
        };
        match entries {
            Ok(entries) => {
                left.extend(entries.flatten().filter(is_run_file_or_folder).map(|entry| entry.path()));
            }
            Err(error) => faults.push(format!("{}: {error}", path.display())),
        }
    }
    (files, faults)
}

/// Returns true for a folder and for what may be the file of a run. A link to a folder may lead back, and the end of a pipe may never come.
fn is_run_file_or_folder(entry: &DirEntry) -> bool {
    let path = entry.path();
    let is_run = path.extension().is_some_and(|it| it == "json" || it == "jsonl") && path.is_file();
    (is_run || entry.file_type().is_ok_and(|found| found.is_dir()))
        && !entry.file_name().as_encoded_bytes().starts_with(b".")
}

/// Returns text as XML can hold it: control characters by their codes, since XML has no way to write them.
fn xml_text(text: &str) -> String {
    plain_lines(text).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

/// Returns text of an element or an attribute of XML.
fn escaped(text: &str) -> String {
    html! { (xml_text(text)) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_their_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::create_dir(folder.join("node1")).expect("a folder");
        for name in ["node1/records.jsonl", "a-2.json", "a-1.json", "b.json", ".part.json", "log.txt"] {
            fs::write(folder.join(name), "").expect("a file");
        }
        let names = |given: &[&str]| -> Vec<String> {
            let given: Vec<PathBuf> = given.iter().map(|name| folder.join(name)).collect();
            let (files, _) = run_files(&given);
            files.iter().map(|path| path.strip_prefix(folder).expect("below").display().to_string()).collect()
        };
        assert_eq!(names(&[""]), ["a-1.json", "a-2.json", "b.json", "node1/records.jsonl"]);
        assert_eq!(names(&["log.txt"]), ["log.txt"], "a file that is named is read");
        let (files, faults) = run_files(&[folder.join("c.json"), folder.join("d.json")]);
        assert_eq!((files.len(), faults.len()), (0, 2));
    }

    #[test]
    fn the_rest_of_a_folder_is_read_beside_what_cannot_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::write(folder.join("a.json"), "").expect("a file");
        // A pipe or a socket is never read, since its end may never come.
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("b.json")).expect("a socket");
        let (files, faults) = run_files(&[folder.join("gone"), folder.to_owned()]);
        assert_eq!(files.into_iter().collect::<Vec<_>>(), [folder.join("a.json")]);
        let gone = folder.join("gone").display().to_string();
        assert!(faults.len() == 1 && faults[0].starts_with(&format!("{gone}: ")), "{faults:?}");
    }
}
