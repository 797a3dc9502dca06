//! Prints results on standard output, and writes them to the files that the user names.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use anstream::{AutoStream, stream::RawStream};

use super::{SuiteError, error::warn};
use crate::{runner::RunFile, settings::Settings};
use gpubench_records::exit::Exit;
use gpubench_records::files::{WriteContents, fill};
use gpubench_records::{Destination, Run};
use gpubench_runtime::system::{self, RetryOnWouldBlock};
use gpubench_table::export::{Export, ExportTo, Format, exports, write_visibly};
use gpubench_table::{self as report, Page, TableWriter};

/// A run that has ended.
pub(super) struct MeasuredRun {
    /// Everything that was measured.
    pub run: Run,
    /// The problems, in the order in which they happened.
    pub problems: Vec<SuiteError>,
    /// The file of the run.
    pub file: RunFile,
}

impl MeasuredRun {
    /// Returns the run, or an error that holds it if there was a problem.
    pub(super) fn into_result(self) -> Result<Run, SuiteError> {
        match self.problems.is_empty() {
            true => Ok(self.run),
            false => Err(SuiteError::Incomplete { run: Box::new(self.run), problems: self.problems }),
        }
    }
}

/// The part of a run that is printed while it is measured.
#[derive(Debug, Default)]
pub(super) struct LiveOutput {
    /// The table with all rows, if they are printed.
    pub table: Option<TableWriter>,
    /// The first error of printing.
    pub problem: Option<SuiteError>,
}

/// Standard output and the exports of a benchmark binary.
#[derive(Debug)]
pub(super) struct Printer<'a> {
    /// Standard output. All other output of this process goes to standard error.
    stdout: File,
    options: &'a Settings,
    exports: Vec<Export>,
}

impl<'a> Printer<'a> {
    /// Takes standard output away from all other code: output of the user's benchmarks is no result.
    pub(super) fn new(options: &'a Settings) -> Result<Self, SuiteError> {
        let files = [
            (Format::JSON, &options.json),
            (Format::CSV, &options.csv),
            (Format::MARKDOWN, &options.markdown),
        ];
        let given = files.into_iter().filter_map(|(format, file)| Some((format, file.clone()?)));
        let exports = exports(given).map_err(SuiteError::usage)?;
        let taken = io::stdout().flush().and_then(|()| system::take_output());
        Ok(Self { stdout: taken.map_err(SuiteError::not_printed)?, options, exports })
    }

    /// Prints `text`, coloured as the user and the terminal want it.
    pub(super) fn print(&self, text: &str) -> Result<(), SuiteError> {
        let color = self.options.color.unwrap_or_default();
        let printed = self.stdout.try_clone().and_then(|stdout| print(stdout, text, color));
        printed.map_err(SuiteError::not_printed)
    }

    /// Opens the file of each export, before anything is measured; `None` for standard output.
    pub(super) fn open_outputs(&self) -> Result<Vec<Option<Destination>>, SuiteError> {
        let open = |export: &Export| match &export.to {
            ExportTo::StandardOutput => Ok(None),
            ExportTo::File(path) => Destination::open(path)
                .map(Some)
                .map_err(|error| SuiteError::usage(format_args!("{export}: {error}"))),
        };
        self.exports.iter().map(open).collect()
    }

    /// Returns the page that results are printed on.
    pub(super) fn page(&self) -> Page {
        Page::of(&self.stdout, None)
    }

    /// Returns true unless another format uses standard output.
    pub(super) fn prints_rows(&self) -> bool {
        self.exports.iter().all(|export| export.to != ExportTo::StandardOutput)
    }

    /// Returns true if rows are all that is shown of a run.
    pub(super) fn prints_rows_alone(&self) -> bool {
        self.exports.is_empty() && !self.options.explain
    }

    /// Prints and writes a run, of which `shown` is printed already.
    ///
    /// # Errors
    /// Returns the problems of the run and those of its output.
    pub(super) fn show(
        &self,
        measured: MeasuredRun,
        mut shown: LiveOutput,
        outputs: &[Option<Destination>],
    ) -> Result<Exit, SuiteError> {
        let MeasuredRun { run, mut problems, file } = measured;
        // A device that failed before any measurement leaves nothing to print, and gives no reason to overwrite an earlier file.
        if problems.is_empty() || !run.devices.is_empty() {
            let printed = shown.problem.map_or_else(|| self.print_run(&run, shown.table.as_mut()), Err);
            problems.extend(printed.err());
            if let Some(none) = report::no_records(&run).filter(|_| !outputs.is_empty()) {
                warn(&none);
            }
            for (export, destination) in self.exports.iter().zip(outputs) {
                // In a file, it replaces the former content.
                let written =
                    write_to(destination.as_ref(), &self.stdout, &|out| (export.format.write)(&run, out));
                problems
                    .extend(written.err().map(|error| SuiteError::failed(format_args!("{export}: {error}"))));
            }
        } else {
            problems.extend(shown.problem);
        }
        let exit = if file == RunFile::Failed { Exit::Failed } else { Exit::Done };
        let run = MeasuredRun { run, problems, file }.into_result()?;
        Ok(Exit::of(&run).min(exit))
    }

    /// Prints what is left to print below `table`, or all.
    fn print_run(&self, run: &Run, table: Option<&mut TableWriter>) -> Result<(), SuiteError> {
        if !self.prints_rows() {
            return Ok(());
        }
        let page = self.page();
        let mut text = match table {
            Some(table) => report::end(run, table, page),
            None => report::render(run, page),
        };
        if self.options.explain {
            text += &report::explain(run, page);
        }
        self.print(&text)
    }
}

/// Prints `text` on `out`, coloured as the user and the terminal want it.
pub fn print(out: impl RawStream + AsFd + 'static, text: &str, color: clap::ColorChoice) -> io::Result<()> {
    let choice = match color {
        clap::ColorChoice::Auto => AutoStream::choice(&out),
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    };
    let out: Box<dyn Write> = Box::new(RetryOnWouldBlock(out));
    let mut out = AutoStream::new(out, choice);
    ignore_closed_pipe(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes `contents` to a file, or to `stdout` if there is none. A terminal gets control characters by their codes.
pub fn write_to(
    file: Option<&Destination>,
    stdout: impl Write + AsFd,
    contents: WriteContents<'_>,
) -> io::Result<()> {
    let is_terminal = file.map_or_else(|| stdout.as_fd().is_terminal(), Destination::is_terminal);
    let shown = |out: &mut dyn Write| if is_terminal { write_visibly(out, contents) } else { contents(out) };
    match file {
        Some(file) => file.write(&shown),
        None => ignore_closed_pipe(fill(RetryOnWouldBlock(stdout), &shown)),
    }
}

/// Ignores the error of a closed pipe: its reader has seen enough.
fn ignore_closed_pipe(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
