//! The destinations of results: files, and this process's standard output, which is kept apart from all other
//! output. In: text and runs. Out: bytes, or the reason that they could not be written. Only the edge calls
//! this.

use std::fs::File;
use std::io::{self, IsTerminal, Write};

use anstream::AutoStream;
use anstream::stream::{AsLockedWrite, RawStream};

use crate::system::stdio::{self, Patient};
use gpubench_records::files::{Contents, Destination, fill};
use gpubench_records::record::Run;
use gpubench_table::Page;
use gpubench_table::export::{Export, ExportTo, write_visibly};

/// The original standard output of this process.
#[derive(Debug)]
pub(super) enum StandardOutput {
    /// Taken away from all other code: nobody else can write to it, and all other output of the user's code goes to standard error.
    Own(File),
    /// A console of Windows, on which other code may write too.
    Shared,
}

impl StandardOutput {
    /// Takes standard output away from all other code.
    pub(super) fn take_standard_output() -> io::Result<Self> {
        io::stdout().flush()?;
        Ok(stdio::take_output()?.map_or(Self::Shared, Self::Own))
    }

    /// Returns the page of standard output.
    pub(super) fn page(&self) -> Page {
        match self {
            Self::Own(file) => Page::of(file, None),
            Self::Shared => Page::of(&io::stdout(), None),
        }
    }

    /// Returns true if people see it.
    pub(super) fn is_terminal(&self) -> bool {
        match self {
            Self::Own(file) => file.is_terminal(),
            Self::Shared => io::stdout().is_terminal(),
        }
    }

    /// Prints `text`, coloured as the user and the terminal want it.
    pub(super) fn print(&self, text: &str, color: clap::ColorChoice) -> io::Result<()> {
        match self {
            Self::Own(file) => {
                let out: Box<dyn Write> = Box::new(Patient(file.try_clone()?));
                print(text, colors(color, file), out)
            }
            Self::Shared => print(text, colors(color, &io::stdout()), io::stdout()),
        }
    }

    /// Writes all of the contents.
    fn fill(&self, contents: Contents<'_>) -> io::Result<()> {
        no_error_if_closed(match self {
            Self::Own(file) => fill(Patient(file), contents),
            Self::Shared => fill(io::stdout(), contents),
        })
    }

    fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Own(file) => Self::Own(file.try_clone()?),
            Self::Shared => Self::Shared,
        })
    }
}

/// Returns the colours of `out`, as the user and the terminal want it.
fn colors(color: clap::ColorChoice, out: &impl RawStream) -> anstream::ColorChoice {
    match color {
        clap::ColorChoice::Auto => AutoStream::choice(out),
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
}

/// Prints `text` to `out`.
fn print(text: &str, colors: anstream::ColorChoice, out: impl RawStream + AsLockedWrite) -> io::Result<()> {
    let mut out = AutoStream::new(out, colors);
    no_error_if_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Ignores the error of a closed pipe: its reader has seen enough.
fn no_error_if_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// A destination of results. It is opened before anything is measured, and written at the end.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) export: Export,
    to: OutputTo,
}

#[derive(Debug)]
enum OutputTo {
    /// Standard output, which may be a file that already holds other text.
    Standard(StandardOutput),
    /// Any other file, pipe or terminal.
    Named(Destination),
}

impl Output {
    /// Opens the destination of `export`, the standard output that `results` holds or a file, and makes sure
    /// that it is writable.
    pub(super) fn open(export: &Export, results: &StandardOutput) -> io::Result<Self> {
        let to = match &export.to {
            ExportTo::StandardOutput => OutputTo::Standard(results.try_clone()?),
            ExportTo::File(path) => OutputTo::Named(Destination::open(path)?),
        };
        Ok(Self { export: export.clone(), to })
    }

    /// Writes `run`. In a file, it replaces the former content.
    pub(super) fn write(&self, run: &Run) -> io::Result<()> {
        let exported = |out: &mut dyn Write| (self.export.format.write)(run, out);
        let is_seen = match &self.to {
            OutputTo::Standard(out) => out.is_terminal(),
            OutputTo::Named(destination) => destination.is_terminal(),
        };
        let contents = |out: &mut dyn Write| match is_seen {
            true => write_visibly(out, &exported),
            false => exported(out),
        };
        match &self.to {
            OutputTo::Standard(out) => out.fill(&contents),
            OutputTo::Named(destination) => destination.write(&contents),
        }
    }
}
