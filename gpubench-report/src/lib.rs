//! What programs other than a benchmark binary make of stored runs: a page, drawings, formats of other programs, and the findings
//! of many runs. Nothing here measures or prints.

use std::path::{Path, PathBuf};
use std::{fs, io};

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

/// Returns the paths in `folder` whose names do not begin with a dot, shorter names first: of runs of one second, the later ones have
/// longer names.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        paths.extend((!entry.file_name().to_string_lossy().starts_with('.')).then(|| entry.path()));
    }
    paths.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(paths)
}

/// Returns the same paths. If the folder cannot be read, there are none, and a sentence says so in `faults`.
fn entries_or_fault(folder: &Path, faults: &mut Vec<String>) -> Vec<PathBuf> {
    entries(folder).unwrap_or_else(|error| {
        faults.push(format!("{}: {error}", folder.display()));
        Vec::new()
    })
}

/// Returns text as XML can hold it: control characters by their codes, since XML has no way to write them.
fn xml_text(text: &str) -> String {
    plain_lines(text).replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

/// Returns text of an element or an attribute of XML.
fn escaped(text: &str) -> String {
    html! { (xml_text(text)) }.into_string()
}
