//! The flags that write a run in another format: `--json`, `--csv`, `--markdown`. In: the files that the user
//! names. Out: a destination for each format.

use std::fmt::{self, Display};
use std::path::PathBuf;

use gpubench_report::export::Format;

/// A format with its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The format.
    pub format: Format,
    /// The destination.
    pub to: ExportTo,
}

/// The destination of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportTo {
    /// Standard output, which then carries nothing else.
    StandardOutput,
    /// A file, a pipe or a device.
    File(PathBuf),
}

impl ExportTo {
    /// Returns true if `other` is the same place, whatever its spelling.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => {
                let place = |path: &PathBuf| {
                    path.canonicalize()
                        .or_else(|_| std::path::absolute(path))
                        .unwrap_or_else(|_| path.clone())
                };
                place(one) == place(other)
            }
            (one, other) => one == other,
        }
    }
}

/// Formats the flag as the user gave it.
impl Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = self.format.name();
        match &self.to {
            ExportTo::StandardOutput => write!(f, "--{flag} -"),
            ExportTo::File(path) => write!(f, "--{flag} {}", path.display()),
        }
    }
}

/// Returns the formats for which a file is given. Standard output takes one of them, and so does each file.
pub(super) fn exports<const N: usize>(given: [(Format, Option<PathBuf>); N]) -> Result<Vec<Export>, String> {
    let mut exports: Vec<Export> = Vec::new();
    for (format, path) in given {
        let Some(path) = path else { continue };
        let to = if path.as_os_str() == "-" { ExportTo::StandardOutput } else { ExportTo::File(path) };
        let export = Export { format, to };
        if let Some(other) = exports.iter().find(|other| other.to.is(&export.to)) {
            return Err(format!("{other} and {export}: give each a file of its own"));
        }
        exports.push(export);
    }
    Ok(exports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_a_place_of_its_own() {
        let path = |path: &str| Some(PathBuf::from(path));
        let two =
            exports([(Format::Json, path("-")), (Format::Csv, None), (Format::Markdown, path("run.md"))]);
        let told: Vec<String> = two.expect("they differ").iter().map(Export::to_string).collect();
        assert_eq!(told, ["--json -", "--markdown run.md"]);
        let spelt_otherwise = exports([(Format::Json, path("x")), (Format::Csv, path("./x"))]);
        assert_eq!(spelt_otherwise, Err("--json x and --csv ./x: give each a file of its own".to_owned()));
        for same in ["-", "a file"] {
            let told = exports([(Format::Json, path(same)), (Format::Csv, path(same))]);
            let expected = format!("--json {same} and --csv {same}: give each a file of its own");
            assert_eq!(told, Err(expected));
        }
    }
}
