//! Where results go: this process's standard output, kept apart from all that is printed meanwhile, and files. In: text and
//! runs; out: bytes, or why they could not be written. Called by the edge alone.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::RawFd;

use anstream::AutoStream;

use super::cli::{Export, ExportTo};
use gpubench_records::files::{Destination, fill};
use gpubench_records::record::Run;

/// The first descriptor that is none of the standard ones.
const FIRST_FREE: RawFd = 3;

/// What was this process's standard output when it started. Nobody else can write to it: what is printed from then on, by
/// whatever code of the user's runs here, goes to standard error.
#[derive(Debug)]
pub(crate) struct Results(File);

impl Results {
    /// Takes standard output away.
    pub(super) fn take_standard_output() -> io::Result<Self> {
        io::stdout().flush()?;
        let ours = Self::beside_others()?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(ours)
    }

    /// Leaves standard output to whoever else prints there: a program whose results are its own.
    pub(crate) fn beside_others() -> io::Result<Self> {
        Ok(Self(File::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), FIRST_FREE)?)))
    }

    /// Prints, coloured as the user and the terminal want it.
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

/// A reader who has seen enough and closed the pipe is no error.
fn no_error_if_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// A place for results, found before anything is measured and written to when all is done.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) export: Export,
    to: OutputTo,
}

#[derive(Debug)]
enum OutputTo {
    /// Standard output, which may be a file with somebody else's text in it.
    Standard(File),
    /// Any other file, pipe or terminal.
    Named(Destination),
}

impl Output {
    /// Makes sure that the place of `export` can be written to: the standard output that `results` has kept, or a file.
    pub(super) fn open(export: &Export, results: &Results) -> io::Result<Self> {
        let to = match &export.to {
            ExportTo::StandardOutput => OutputTo::Standard(results.0.try_clone()?),
            ExportTo::File(path) => OutputTo::Named(Destination::open(path)?),
        };
        Ok(Self { export: export.clone(), to })
    }

    /// Writes `run`, to a file in place of what was there.
    pub(super) fn write(&self, run: &Run) -> io::Result<()> {
        let contents = |out: &mut dyn Write| self.export.format.exporter().export(run, out);
        match &self.to {
            OutputTo::Standard(file) => no_error_if_closed(fill(file, &contents)),
            OutputTo::Named(destination) => destination.write(&contents),
        }
    }
}
