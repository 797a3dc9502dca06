//! Where results go: standard output, and files. In: text and runs; out: bytes, or why they could not be written. Called by
//! the edge alone.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use anstream::AutoStream;

use super::say::complain;
use crate::cli::{Exit, Options};
use crate::record::Run;

/// Prints to standard output, coloured as the user and the terminal want it. A reader who has seen enough and closed the
/// pipe is no error.
pub(super) fn print(text: &str, options: &Options) -> io::Result<()> {
    let choice = match options.color {
        clap::ColorChoice::Auto => AutoStream::choice(&io::stdout()),
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    };
    let mut stdout = AutoStream::new(io::stdout(), choice).lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// A file for results, opened before anything is measured and written when all is done.
pub(super) struct Output {
    path: PathBuf,
    file: File,
}

impl Output {
    /// Opens `path` without touching what an earlier run left there.
    pub(super) fn create(path: &Path) -> Result<Self, Exit> {
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let told = |error| complain(&format!("--json {}: {error}", path.display()), Exit::Usage);
        Ok(Self { path: path.to_owned(), file: opened.map_err(told)? })
    }

    pub(super) fn write(mut self, run: &Run) -> Result<(), Exit> {
        let mut write = || {
            // A pipe or a terminal has no earlier contents to remove.
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
                self.file.rewind()?;
            }
            let mut out = BufWriter::new(&self.file);
            serde_json::to_writer(&mut out, run)?;
            out.write_all(b"\n")?;
            out.flush()
        };
        write().map_err(|error: io::Error| {
            complain(&format!("--json {}: {error}", self.path.display()), Exit::Failed)
        })
    }
}
