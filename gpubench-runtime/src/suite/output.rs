//! Where results go: this process's standard output, kept apart from all that is printed meanwhile, and files. In: text and
//! runs; out: bytes, or why they could not be written. Called by the edge alone.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use anstream::AutoStream;

use super::cli::JsonTo;
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

/// A file for results, opened before anything is measured and written when all is done.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) path: PathBuf,
    file: File,
    /// Whether this is standard output, which may be a file with somebody else's text in it.
    standard: bool,
}

impl Output {
    /// Opens what `to` names: the standard output that `results` has kept, or a file.
    pub(super) fn open(to: &JsonTo, results: &Results) -> io::Result<Self> {
        match to {
            JsonTo::StandardOutput => {
                Ok(Self { path: to.path().to_owned(), file: results.0.try_clone()?, standard: true })
            }
            JsonTo::File(path) => Self::create(path),
        }
    }

    /// Opens `path` without touching what an earlier run left there.
    fn create(path: &Path) -> io::Result<Self> {
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        Ok(Self { path: path.to_owned(), file: opened?, standard: false })
    }

    /// Writes `run`, to a file in place of what was there.
    pub(super) fn write(&self, run: &Run) -> io::Result<()> {
        if self.standard {
            return no_error_if_closed(run.write(&self.file));
        }
        // A pipe or a terminal has no earlier contents to remove.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
            (&self.file).rewind()?;
        }
        run.write(&self.file)
    }
}
