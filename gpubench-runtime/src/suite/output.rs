//! The destinations of results: files, and this process's standard output, which is kept apart from all other
//! output. In: text and runs. Out: bytes, or the reason that they could not be written. Only the edge calls
//! this.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::RawFd;

use anstream::AutoStream;

use gpubench_records::files::{Destination, fill};
use gpubench_records::record::Run;
use gpubench_report::Page;
use gpubench_report::export::{Export, ExportTo, write_visibly};

/// The first descriptor after the standard ones.
const FIRST_FREE: RawFd = 3;

/// The original standard output of this process. Nobody else can write to it: all other output of the user's
/// code goes to standard error.
#[derive(Debug)]
pub(super) struct StandardOutput(File);

impl StandardOutput {
    /// Takes standard output away from all other code.
    pub(super) fn take_standard_output() -> io::Result<Self> {
        io::stdout().flush()?;
        let ours = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(Self(File::from(ours)))
    }

    /// The page that standard output is: as wide as `width` says, else as its terminal.
    pub(super) fn page(&self, width: Option<usize>) -> Page {
        Page::of(&self.0, width)
    }

    /// Returns true if people see it.
    pub(super) fn is_terminal(&self) -> bool {
        self.0.is_terminal()
    }

    /// Prints `text`, coloured as the user and the terminal want it.
    pub(super) fn print(&self, text: &str, color: clap::ColorChoice) -> io::Result<()> {
        let choice = match color {
            clap::ColorChoice::Auto => AutoStream::choice(&self.0),
            clap::ColorChoice::Always => anstream::ColorChoice::Always,
            clap::ColorChoice::Never => anstream::ColorChoice::Never,
        };
        let mut out = AutoStream::new(self.0.try_clone()?, choice);
        no_error_if_closed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }
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
    Standard(File),
    /// Any other file, pipe or terminal.
    Named(Destination),
}

impl Output {
    /// Opens the destination of `export`, the standard output that `results` holds or a file, and makes sure
    /// that it is writable.
    pub(super) fn open(export: &Export, results: &StandardOutput) -> io::Result<Self> {
        let to = match &export.to {
            ExportTo::StandardOutput => OutputTo::Standard(results.0.try_clone()?),
            ExportTo::File(path) => OutputTo::Named(Destination::open(path)?),
        };
        Ok(Self { export: export.clone(), to })
    }

    /// Writes `run`. In a file, it replaces the former content.
    pub(super) fn write(&self, run: &Run) -> io::Result<()> {
        let exported = |out: &mut dyn Write| self.export.format.exporter().export(run, out);
        let is_seen = match &self.to {
            OutputTo::Standard(file) => file.is_terminal(),
            OutputTo::Named(destination) => destination.is_terminal(),
        };
        let contents = |out: &mut dyn Write| match is_seen {
            true => write_visibly(out, &exported),
            false => exported(out),
        };
        match &self.to {
            OutputTo::Standard(file) => no_error_if_closed(fill(file, &contents)),
            OutputTo::Named(destination) => destination.write(&contents),
        }
    }
}
