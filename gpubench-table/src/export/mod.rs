//! The formats that a benchmark binary writes, and the destinations of any format.

mod csv;
mod destination;
mod markdown;

use std::io::{self, Write};

use gpubench_records::Run;

pub use self::destination::{Export, ExportTo, exports, write_visibly};
pub use self::markdown::escaped;

/// An output format of runs.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name, which is that of its flag.
    pub name: &'static str,
    /// The purpose, as a sentence that begins with a verb and has no full stop.
    pub description: &'static str,
    /// Writes a run. Fails if the destination takes no more.
    pub write: fn(&Run, &mut dyn Write) -> io::Result<()>,
}

impl Format {
    /// JSON, which [`Run::parse`] reads again.
    pub const JSON: Self = Self {
        name: "json",
        description: "Write everything, raw samples too, as JSON, which can be given as a RUN",
        write: |run, out| run.write(out),
    };
    /// CSV with a line for each result.
    pub const CSV: Self = Self {
        name: "csv",
        description: "Write a line per result as CSV, with all digits",
        write: csv::write,
    };
    /// Markdown for a pull request.
    pub const MARKDOWN: Self = Self {
        name: "markdown",
        description: "Write the table as Markdown, for a pull request",
        write: markdown::write_run,
    };
}
