//! The formats that a benchmark binary writes, and the destinations of any format.

mod csv;
mod markdown;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gpubench_records::Run;
use gpubench_records::files::{WriteContents, is_one_file};

use crate::text::plain_lines;

pub use self::markdown::escaped;

/// An output format of runs.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name, which is that of its flag.
    pub name: &'static str,
    /// Writes a run. Fails if the destination takes no more.
    pub write: fn(&Run, &mut dyn Write) -> io::Result<()>,
}

impl Format {
    /// JSON, which [`Run::parse`] reads again.
    pub const JSON: Self = Self { name: "json", write: |run, out| run.write(out) };
    /// CSV with a line for each result.
    pub const CSV: Self = Self { name: "csv", write: csv::write };
    /// Markdown for a pull request.
    pub const MARKDOWN: Self = Self { name: "markdown", write: markdown::write_run };
}

/// A request to export the results of a run: a format and a destination. Its text is the flag as the user gave it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("--{} {}", format.name, file.as_deref().unwrap_or(Path::new("-")).display())]
pub struct Export {
    /// The format.
    pub format: Format,
    /// The file, pipe or device that it is written to. `None` is standard output, which then carries nothing else.
    pub file: Option<PathBuf>,
}

/// Returns the formats with their destinations, in the order of `given`. The path `-` is standard output.
///
/// # Errors
/// Returns an error if two have the same destination: standard output takes one format, and so does each
/// file.
pub fn exports(given: impl IntoIterator<Item = (Format, PathBuf)>) -> Result<Vec<Export>, String> {
    let mut exports: Vec<Export> = Vec::new();
    for (format, path) in given {
        let export = Export { format, file: Some(path).filter(|path| path.as_os_str() != "-") };
        let is_same = |other: &&Export| match (&other.file, &export.file) {
            (Some(one), Some(other)) => is_one_file(one, other),
            (one, other) => one == other,
        };
        if let Some(first) = exports.iter().find(is_same) {
            return Err(format!("{first} and {export}: give each a file of its own"));
        }
        exports.push(export);
    }
    Ok(exports)
}

/// Writes `contents` to `out`, a terminal, with control characters other than line breaks as their codes: no
/// name of a benchmark can move the cursor or change colours. Makes all contents before it writes.
///
/// # Errors
/// Returns an error if the contents cannot be made, or if `out` takes no more.
pub fn write_visibly(out: &mut dyn Write, contents: WriteContents<'_>) -> io::Result<()> {
    let mut bytes = Vec::new();
    contents(&mut bytes)?;
    out.write_all(plain_lines(&String::from_utf8_lossy(&bytes)).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[(Format, &str)]) -> Result<Vec<String>, String> {
        let given = given.iter().map(|(format, path)| (*format, PathBuf::from(path)));
        let read = exports(given)?;
        Ok(read.iter().map(Export::to_string).collect())
    }

    #[test]
    fn each_format_has_a_place_of_its_own() {
        let two = read(&[(Format::JSON, "-"), (Format::MARKDOWN, "run.md")]);
        assert_eq!(two, Ok(vec!["--json -".to_owned(), "--markdown run.md".to_owned()]));
        let spelt_otherwise = read(&[(Format::JSON, "x"), (Format::CSV, "./x")]);
        assert_eq!(spelt_otherwise, Err("--json x and --csv ./x: give each a file of its own".to_owned()));
        // Through links, be they to a file that is there or to one that is still to be written.
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        std::os::unix::fs::symlink("run", path("link")).expect("it can be made");
        std::os::unix::fs::symlink(folder.path(), path("here")).expect("it can be made");
        for _ in ["dangling", "there"] {
            for other in ["link", "here/run", "here/link"].map(path) {
                let refused = read(&[(Format::JSON, &path("run")), (Format::CSV, &other)]);
                assert!(refused.is_err_and(|told| told.contains("give each a file of its own")), "{other}");
            }
            std::fs::write(path("run"), "").expect("it can be written");
        }
        for same in ["-", "a file"] {
            let expected = format!("--json {same} and --csv {same}: give each a file of its own");
            assert_eq!(read(&[(Format::JSON, same), (Format::CSV, same)]), Err(expected));
        }
    }
}
