//! The formats that a run is written in for other programs, a file each. In: a run, live or stored; out: bytes. A new format is
//! one file here, one line in [`Format`] and one flag.

mod csv;
mod json;
mod markdown;

use std::io::{self, Write};

use gpubench_records::record::Run;

/// Writes runs in one format.
pub trait Exporter {
    /// Writes `run` to `out`.
    ///
    /// # Errors
    /// If `out` takes no more.
    fn export(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;
}

/// The formats that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Everything, raw samples too, as it is read again.
    Json,
    /// A row for each case, with every number in full.
    Csv,
    /// The table, for a pull request.
    Markdown,
}

impl Format {
    /// The name of its flag.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
        }
    }

    /// The exporter that writes it.
    #[must_use]
    pub fn exporter(self) -> &'static dyn Exporter {
        match self {
            Self::Json => &json::Json,
            Self::Csv => &csv::Csv,
            Self::Markdown => &markdown::Markdown,
        }
    }
}
