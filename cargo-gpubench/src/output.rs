//! The destinations of results. In: text and runs; out: bytes on standard output and in files. A file is replaced whole, and
//! never one that a run is read from.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anstream::AutoStream;
use gpubench_records::files::{Contents, Destination, StoredRuns, fill};
use gpubench_records::record::Run;
use gpubench_runtime::__private::system::Patient;
use gpubench_table::export::{Export, ExportTo, write_visibly};
use gpubench_table::{Page, no_records};

use crate::error::CommandError;
use gpubench_records::text::printable_lines;

/// The look of printed text, as the user wants it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrintOptions {
    /// When to colour it.
    pub(crate) color: clap::ColorChoice,
    /// The columns of a line, whatever the terminal has.
    pub(crate) width: Option<u16>,
}

impl PrintOptions {
    /// The page that standard output is.
    pub(crate) fn page(self) -> Page {
        Page::of(&io::stdout(), self.width.map(usize::from))
    }
}

/// Prints `text`, coloured as the user and the terminal want it.
pub(crate) fn print(text: &str, options: PrintOptions) -> Result<(), CommandError> {
    let choice = match options.color {
        clap::ColorChoice::Auto => AutoStream::choice(&io::stdout()),
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    };
    // A console of Windows is written to as what it is.
    #[cfg(windows)]
    let out = io::stdout();
    #[cfg(not(windows))]
    let out: Box<dyn Write> = Box::new(Patient(io::stdout()));
    let mut out = AutoStream::new(out, choice);
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    no_error_if_closed(printed).map_err(CommandError::Unprintable)
}

/// Has writes beyond a limit on the size of files return an error, where the system would end the process.
pub(crate) fn outlive_file_limits() {
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGXFSZ;
        // Fails only for signals that cannot be caught, and this one can. The flag is nobody's: the write says what happened.
        _ = signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default());
    }
}

/// Prints a warning on standard error.
pub(crate) fn warn(what: &str) {
    // If standard error is closed, nobody reads it.
    _ = writeln!(Patient(io::stderr()), "warning: {}", printable_lines(what));
}

/// Prints an error on standard error.
pub(crate) fn error(error: &dyn std::error::Error) {
    // If standard error is closed, the exit code still reports the error.
    _ = writeln!(Patient(io::stderr()), "error: {}", printable_lines(&error.to_string()));
}

/// Prints a note on standard error.
pub(crate) fn note(what: &str) {
    // If standard error is closed, nobody reads it.
    _ = writeln!(Patient(io::stderr()), "{}", printable_lines(what));
}

/// Makes sure that each of `exports` can be written, and that none is a file that one of `runs` is read from.
pub(crate) fn check(exports: &[Export], runs: &[String], stored: &StoredRuns) -> Result<(), CommandError> {
    let sources: Vec<ExportTo> =
        runs.iter().filter_map(|run| stored.file(run).ok()?).map(ExportTo::File).collect();
    exports.iter().try_for_each(|export| check_destination(&export.to, &sources))
}

/// Makes sure that `to` can be written, and that it is none of the files that are read.
pub(crate) fn check_destination(to: &ExportTo, sources: &[ExportTo]) -> Result<(), CommandError> {
    let ExportTo::File(path) = to else { return Ok(()) };
    if sources.iter().any(|source| source.is(to)) {
        return Err(CommandError::WrittenOver(path.clone()));
    }
    // A pipe that is opened and closed again has ended for whoever reads it.
    if is_pipe(path) {
        return Ok(());
    }
    let opened = Destination::open(path);
    opened.map(|_| ()).map_err(|error| CommandError::NotOpened { path: path.clone(), error })
}

fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        path.metadata().is_ok_and(|file| file.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        _ = path;
        false
    }
}

/// Writes `run` as each of `exports`. Warns of a run without records, which formats with a row for each case cannot tell.
pub(crate) fn write(exports: &[Export], run: &Run) -> Result<(), CommandError> {
    if let Some(none) = no_records(run).filter(|_| !exports.is_empty()) {
        warn(&none);
    }
    for export in exports {
        write_to(&export.to, &|out: &mut dyn Write| (export.format.write)(run, out))?;
    }
    Ok(())
}

/// Writes `contents` to a destination: visibly, if that is a terminal.
pub(crate) fn write_to(
    to: &ExportTo,
    contents: &dyn Fn(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CommandError> {
    let exported = |out: &mut dyn Write| contents(out);
    let visibly = |out: &mut dyn Write| write_visibly(out, &exported);
    let contents = |is_terminal| -> Contents<'_> { if is_terminal { &visibly } else { &exported } };
    let written = match to {
        ExportTo::StandardOutput => {
            let out = io::stdout().lock();
            let contents = contents(out.is_terminal());
            no_error_if_closed(fill(Patient(out), contents))
        }
        ExportTo::File(path) => Destination::open(path)
            .and_then(|destination| destination.write(contents(destination.is_terminal()))),
    };
    written.map_err(|error| CommandError::NotWritten { to: to.clone(), error })
}

/// Ignores the error of a closed pipe: its reader has seen enough.
fn no_error_if_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
