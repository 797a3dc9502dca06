//! All output of a benchmark binary: errors with their exit codes and messages on standard error, results on standard output and in the files
//! that the user names.

use std::io::{self, IsTerminal, Write};
use std::{fs::File, os::fd::AsFd};

use anstream::{AutoStream, stream::RawStream};

use crate::runner::{RunError, RunFileStatus};
use crate::settings::{Settings, value_origin};
use crate::{plan::PlanError, system};
use gpubench_records::files::{WriteContents, fill};
use gpubench_records::{Destination, Exit, Run, text::printable_lines};
use gpubench_runtime::system::{RetryOnWouldBlock, take_output};
use gpubench_stats::format;
use gpubench_table::export::{Export, Format, exports, write_visibly};
use gpubench_table::{self as report, Page, TableWriter};

/// Anything that keeps a benchmark binary, or [`Suite::measure`](crate::Suite::measure), from its task, as a sentence.
///
/// ```
/// # fn measure(suite: &gpubench_runner::Suite) -> Result<(), Box<dyn std::error::Error>> {
/// let run = match suite.measure(&Default::default()) {
///     Ok(run) => run,
///     Err(error) => match error.into_run() {
///         Ok(interrupted) => *interrupted,
///         Err(error) => return Err(error.into()), // nothing was measured
///     },
/// };
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A sentence for the user.
    #[error("{message}")]
    Message {
        /// The sentence: what happened, where, and what to do.
        message: String,
        /// The exit code.
        exit: Exit,
    },
    /// The environment or the user's file has a wrong setting.
    #[error("{0}")]
    Environment(String),
    /// Peaks are to be measured, and no GPU was found. The user sees it only if no benchmark runs on the CPU:
    /// otherwise the peaks of the CPU are measured instead.
    #[error(
        "--measure-peaks is for GPUs, and there is none: no benchmark of this program runs on the CPU either"
    )]
    NoGpu,
    /// The run has ended with problems. Nothing that was measured is lost.
    #[error("{}", format::joined(problems, "; "))]
    Incomplete {
        /// Everything that was measured.
        run: Box<Run>,
        /// The problems, in the order in which they happened.
        problems: Vec<Self>,
    },
}

impl Error {
    /// Returns an error with this sentence and exit code.
    #[doc(hidden)]
    pub fn new(message: impl ToString, exit: Exit) -> Self {
        Self::Message { message: message.to_string(), exit }
    }

    /// Returns the error of settings that cannot be used. Nothing is measured then.
    pub(super) fn usage(message: impl ToString) -> Self {
        Self::new(message, Exit::Usage)
    }

    /// Returns the error of something that failed.
    pub(super) fn failed(message: impl ToString) -> Self {
        Self::new(message, Exit::Failed)
    }

    /// Returns the error of results that cannot be printed.
    pub(super) fn not_printed(error: io::Error) -> Self {
        Self::failed(format_args!("the results cannot be printed: {error}"))
    }

    /// Returns the error of a run that ended before its plan was done, with a `hint` after the cause.
    pub(super) fn ended(cause: &RunError, hint: &str) -> Self {
        let exit = match cause {
            RunError::Device(_) => Exit::NoDevice,
            RunError::Interrupted => {
                Exit::Interrupted(system::stop_signal().unwrap_or(signal_hook::consts::SIGINT as u8))
            }
            RunError::NoWorker(_) | RunError::OtherRecords(_) => Exit::Failed,
        };
        Self::new(format_args!("{cause}{hint}"), exit)
    }

    /// Returns everything that was measured, if the run began.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::Incomplete { run, .. } => Some(run),
            _ => None,
        }
    }

    /// Returns everything that was measured, if the run began.
    ///
    /// # Errors
    /// Returns the error itself if it did not begin.
    pub fn into_run(self) -> Result<Box<Run>, Self> {
        match self {
            Self::Incomplete { run, .. } => Ok(run),
            other => Err(other),
        }
    }

    /// Returns the exit code of a program that ends with this error.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Message { exit, .. } => *exit,
            Self::Environment(_) => Exit::Usage,
            Self::NoGpu => Exit::NoDevice,
            Self::Incomplete { run, problems } => {
                // A problem explains why a run has no records.
                let of_run = Some(Exit::of(run)).filter(|exit| *exit != Exit::Nothing);
                problems.iter().map(Self::exit).chain(of_run).min().unwrap_or(Exit::Failed)
            }
        }
    }
}

/// The error of a run that nothing can resume.
impl From<RunError> for Error {
    fn from(cause: RunError) -> Self {
        Self::ended(&cause, "")
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        let exit = match error {
            PlanError::Empty | PlanError::Nothing { .. } => Exit::Nothing,
            PlanError::Usage(_) => Exit::Usage,
        };
        Self::new(error, exit)
    }
}

/// Returns the exit code of a benchmark binary. Prints the error, if it ended with one.
pub(super) fn conclude(ended: Result<Exit, Error>) -> Exit {
    ended.unwrap_or_else(|error| {
        print_problems(&error);
        error.exit()
    })
}

/// Prints a line on standard error for each problem of an error.
pub(super) fn print_problems(error: &Error) {
    match error {
        Error::Incomplete { problems, .. } => problems.iter().for_each(print_problems),
        // It brings its own words before the message.
        Error::Message { message, exit: Exit::Usage | Exit::NoDevice | Exit::Nothing } => {
            say(&format!("error: {message}{}", value_origin(message)));
        }
        error => say(&format!("error: {error}")),
    }
}

/// Prints a warning on standard error.
pub fn warn(warning: &str) {
    say(&format!("warning: {warning}"));
}

/// Prints a message on standard error, with control characters as codes: names, paths and driver messages in
/// it cannot control a terminal. Ignores errors.
pub fn say(message: &str) {
    // A closed standard error has no reader, and the exit code still reports errors.
    _ = writeln!(RetryOnWouldBlock(io::stderr()), "{}", printable_lines(message));
}

/// A run that has ended.
pub(super) struct MeasuredRun {
    /// Everything that was measured.
    pub run: Run,
    /// The problems, in the order in which they happened.
    pub problems: Vec<Error>,
    /// The state of the file of the run.
    pub file: RunFileStatus,
}

impl MeasuredRun {
    /// Returns the run, or an error that holds it if there was a problem.
    pub(super) fn into_result(self) -> Result<Run, Error> {
        match self.problems.is_empty() {
            true => Ok(self.run),
            false => Err(Error::Incomplete { run: Box::new(self.run), problems: self.problems }),
        }
    }
}

/// The part of a run that is printed while it is measured.
#[derive(Debug, Default)]
pub(super) struct LiveOutput {
    /// The table with the rows so far; `None` if no rows are printed during the run.
    pub table: Option<TableWriter>,
    /// The first error of printing.
    pub problem: Option<Error>,
}

/// Standard output and the exports of a benchmark binary.
#[derive(Debug)]
pub struct Printer<'a> {
    /// Standard output. All other output of this process goes to standard error.
    stdout: File,
    options: &'a Settings,
    exports: Vec<Export>,
}

impl<'a> Printer<'a> {
    /// Takes standard output away from all other code, whose output then goes to standard error: output of
    /// the user's benchmarks is no result. Returns an error if two exports have the same destination.
    pub(super) fn new(options: &'a Settings) -> Result<Self, Error> {
        let files = [
            (Format::JSON, &options.json),
            (Format::CSV, &options.csv),
            (Format::MARKDOWN, &options.markdown),
        ];
        let given = files.into_iter().filter_map(|(format, file)| Some((format, file.clone()?)));
        let exports = exports(given).map_err(Error::usage)?;
        let taken = io::stdout().flush().and_then(|()| take_output());
        Ok(Self { stdout: taken.map_err(Error::not_printed)?, options, exports })
    }

    /// Prints `text`, coloured as the user and the terminal want it.
    pub fn print(&self, text: &str) -> Result<(), Error> {
        let color = self.options.color.unwrap_or_default();
        let printed = self.stdout.try_clone().and_then(|stdout| print(stdout, text, color));
        printed.map_err(Error::not_printed)
    }

    /// Opens the file of each export, before anything is measured; `None` for standard output.
    pub(super) fn open_outputs(&self) -> Result<Vec<Option<Destination>>, Error> {
        let open = |export: &Export| {
            let opened = export.file.as_deref().map(Destination::open).transpose();
            opened.map_err(|error| Error::usage(format_args!("{export}: {error}")))
        };
        self.exports.iter().map(open).collect()
    }

    /// Returns the page that results are printed on: as wide as `COLUMNS` or the terminal. In a file or a
    /// pipe without `COLUMNS`, lines have no end.
    pub fn page(&self) -> Page {
        Page::of(&self.stdout, None)
    }

    /// Returns true unless another format uses standard output.
    pub(super) fn prints_rows(&self) -> bool {
        self.exports.iter().all(|export| export.file.is_some())
    }

    /// Returns true if rows are all that is shown of a run: there are no exports and no `--explain`, which
    /// need samples.
    pub(super) fn prints_rows_alone(&self) -> bool {
        self.exports.is_empty() && !self.options.explain
    }

    /// Prints a run, except for the part that is `shown` already, and writes its exports. Returns the exit
    /// code.
    ///
    /// # Errors
    /// Returns the problems of the run and those of its output.
    pub(super) fn show(
        &self,
        measured: MeasuredRun,
        mut shown: LiveOutput,
        outputs: &[Option<Destination>],
    ) -> Result<Exit, Error> {
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
                problems.extend(written.err().map(|error| Error::failed(format_args!("{export}: {error}"))));
            }
        } else {
            problems.extend(shown.problem);
        }
        let exit = if file == RunFileStatus::Failed { Exit::Failed } else { Exit::Done };
        let run = MeasuredRun { run, problems, file }.into_result()?;
        Ok(Exit::of(&run).min(exit))
    }

    /// Prints the lines below `table`, whose rows are printed already; without a table, the whole run. Prints
    /// nothing if an export uses standard output.
    fn print_run(&self, run: &Run, table: Option<&mut TableWriter>) -> Result<(), Error> {
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

/// Prints `text` on `out`, and removes its colours unless the user or the terminal wants them. A closed pipe
/// is no error.
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

/// Writes `contents` to `file`, or to `stdout` without a file. If that is a terminal, control characters are
/// written as codes. A closed pipe as `stdout` is no error.
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
pub(super) fn ignore_closed_pipe(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
