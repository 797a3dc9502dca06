//! Prints results and writes files for all commands, and defines their errors. Results go to standard output or
//! to files, messages to standard error. Files are replaced as a whole, and never if a run is read from them.

use std::error::Error;
use std::fmt::Display;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, builder::ValueParser};
use gpubench_records::files::{LoadRunError, WriteContents, is_one_file};
use gpubench_records::{Destination, Exit, Run};
use gpubench_report::{export::FORMATS, stored_runs::StoredRuns};
use gpubench_runner::__private::{self as runner, whole_number};
pub(crate) use gpubench_runner::__private::{say as note, warn};
use gpubench_table::export::{Export, Format, exports};
use gpubench_table::{Page, explain, no_records, paragraph, render};
use serde::Serialize;

/// The flags that say how text is printed.
#[derive(Clone, Copy, Args)]
pub(crate) struct PrintOptions {
    /// Colour the results
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: clap::ColorChoice,

    /// Break lines at this width, 40 or more [default: `COLUMNS`, else the width of the terminal; no limit for files and pipes]
    #[arg(
        long,
        value_name = "COLUMNS",
        value_parser = whole_number(Page::LEAST_WIDTH..=1000),
        global = true
    )]
    width: Option<usize>,
}

impl PrintOptions {
    /// Returns the page of standard output: lines as wide as the user wants, else as the variable `COLUMNS`,
    /// else as the terminal.
    pub(crate) fn page(self) -> Page {
        Page::of(&io::stdout(), self.width)
    }

    /// Prints text, broken at the width of the page.
    pub(crate) fn print_paragraph(self, text: &str) -> Result<()> {
        print(&paragraph(text, self.page()), self)
    }
}

/// The files that the user names with the flags of export formats, such as `--csv FILE`, each with its
/// format.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExportArgs(pub Vec<(Format, PathBuf)>);

/// Returns the command-line flag of an export format, such as `--csv FILE`.
fn format_flag((format, purpose): (Format, &'static str)) -> Arg {
    let name = format.name;
    Arg::new(name)
        .long(name)
        .value_name("FILE")
        .value_parser(ValueParser::path_buf())
        .help(purpose)
        .help_heading("Results")
}

impl Args for ExportArgs {
    fn augment_args(command: Command) -> Command {
        command.args(FORMATS.into_iter().map(format_flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ExportArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let file =
            |(format, _): (Format, &str)| Some((format, matches.get_one::<PathBuf>(format.name)?.clone()));
        Ok(Self(FORMATS.into_iter().filter_map(file).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The files to which a command writes its results, and the options for printing.
pub(crate) struct ResultDestinations {
    pub exports: Vec<Export>,
    pub options: PrintOptions,
}

impl ResultDestinations {
    /// Checks that every file can be written and is not one of `sources`, the files that the command reads.
    pub(crate) fn new(files: &ExportArgs, sources: &[PathBuf], options: PrintOptions) -> Result<Self> {
        let exports = exports(files.0.clone()).map_err(CommandError::usage)?;
        exports.iter().try_for_each(|export| check_destination(export, sources))?;
        Ok(Self { exports, options })
    }

    /// Checks the JSON file as [`Self::new`] does, and returns it as the only destination. Without a file,
    /// results are only printed.
    pub(crate) fn for_json(
        file: &Option<PathBuf>,
        sources: &[PathBuf],
        options: PrintOptions,
    ) -> Result<Self> {
        let files = file.iter().map(|file| (Format::JSON, file.clone())).collect();
        Self::new(&ExportArgs(files), sources, options)
    }

    /// Prints `text`, unless results are exported to standard output. Writes `answer` as JSON to all
    /// destinations.
    pub(crate) fn print_and_write(&self, text: &str, answer: &impl Serialize) -> Result<()> {
        self.print_unless_exported(text)?;
        let write = |out: &mut dyn Write| {
            serde_json::to_writer(&mut *out, answer)?;
            out.write_all(b"\n")
        };
        self.exports.iter().try_for_each(|export| write_to(export, &write))
    }

    /// Prints text, unless results are exported to standard output.
    pub(crate) fn print_unless_exported(&self, text: &str) -> Result<()> {
        if self.exports.iter().any(|export| export.file.is_none()) {
            return Ok(());
        }
        print(text, self.options)
    }

    /// Prints the table of a run below `title`, with explanations if `explained` is true. Prints nothing if
    /// results are exported to standard output.
    pub(crate) fn print_run(&self, title: &str, run: &Run, explained: bool) -> Result<()> {
        let page = self.options.page();
        let explanation = if explained { explain(run, page) } else { String::new() };
        self.print_unless_exported(&format!("{title}{}{explanation}", render(run, page)))
    }

    /// Writes a run to all destinations. Warns if it is written and has no records, which most formats cannot
    /// show.
    pub(crate) fn write_run(&self, run: &Run) -> Result<()> {
        if let Some(none) = no_records(run).filter(|_| !self.exports.is_empty()) {
            warn(&none);
        }
        self.exports.iter().try_for_each(|export| export_run(export, run))
    }

    /// Prints the names of the written files on standard error.
    pub(crate) fn print_file_names(&self) {
        for export in &self.exports {
            if let Some(path) = &export.file {
                note(&format!("wrote {}", path.display()));
            }
        }
    }
}

/// Writes a run to one destination.
pub(crate) fn export_run(export: &Export, run: &Run) -> Result<()> {
    write_to(export, &|out| (export.format.write)(run, out))
}

/// Prints `text`, coloured as the user and the terminal want it.
pub(crate) fn print(text: &str, options: PrintOptions) -> Result<()> {
    runner::print(io::stdout(), text, options.color)
        .map_err(|error| CommandError::failed(format!("the results cannot be printed: {error}")))
}

/// Prints an error on standard error.
pub(crate) fn error(error: &CommandError) {
    note(&format!("error: {error}"));
}

/// Returns the files from which these runs are read. Leaves out standard input, baselines and unknown names.
pub(crate) fn run_files(runs: &[String], stored: &StoredRuns) -> Vec<PathBuf> {
    runs.iter().filter_map(|run| stored.file(run).ok()?).collect()
}

/// Checks that the file of `export` can be written and is not one of `sources`. Does not open a pipe, since its reader
/// would take the closing for the end of the results.
fn check_destination(export: &Export, sources: &[PathBuf]) -> Result<()> {
    let Some(path) = &export.file else { return Ok(()) };
    if sources.iter().any(|source| is_one_file(source, path)) {
        bail!(
            Usage,
            "{} is one of the runs to read, and would be overwritten: write to another file",
            path.display()
        );
    }
    // The reader of a pipe sees its end when the pipe is opened and closed.
    if path.metadata().is_ok_and(|file| file.file_type().is_fifo()) {
        return Ok(());
    }
    Destination::open(path).map(drop).map_err(|error| CommandError::usage(path_message(path, error)))
}

/// Writes `contents` to a destination. A regular file is replaced as a whole.
pub(crate) fn write_to(export: &Export, contents: WriteContents<'_>) -> Result<()> {
    let to = export.file.as_ref().map_or("standard output".to_owned(), |file| file.display().to_string());
    let file = export.file.as_deref().map(Destination::open).transpose();
    file.and_then(|file| runner::write_to(file.as_ref(), io::stdout().lock(), contents))
        .map_err(|error| CommandError::failed(format!("{to}: {error}")))
}

/// The result of a step of a command.
pub(crate) type Result<T, E = CommandError> = std::result::Result<T, E>;

/// Returns an error with the named exit code and a formatted message.
macro_rules! bail {
    ($exit:ident, $($message:tt)+) => {
        return Err($crate::output::CommandError::new(gpubench_records::Exit::$exit, format_args!($($message)+)))
    };
}
pub(crate) use bail;

/// An error of a command: its message, and the exit code of the process.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub exit: Exit,
    message: String,
}

impl CommandError {
    /// Returns an error with this exit code and message.
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    /// Returns an error about a wrong command line, with the exit code [`Exit::Usage`].
    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Returns an error about a failed operation, with the exit code [`Exit::Failed`].
    pub(crate) fn failed(message: impl Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// Returns a function that makes an error about a failed operation on `path`.
    pub(crate) fn at<E: Display>(path: &Path) -> impl Fn(E) -> Self {
        |error| Self::failed(path_message(path, error))
    }

    /// Puts `what` and a colon before the message.
    pub(crate) fn with_context(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }
}

impl Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Converts any error to one with the exit code [`Exit::Usage`], as if the user names what does not exist. The
/// exit code of [`LoadRunError::Missing`], for `last` and defaults, is [`Exit::Nothing`].
impl<E: Error + 'static> From<E> for CommandError {
    fn from(error: E) -> Self {
        let is_missing = matches!((&error as &dyn Error).downcast_ref(), Some(LoadRunError::Missing(_)));
        Self::new(if is_missing { Exit::Nothing } else { Exit::Usage }, error)
    }
}

/// Returns the message about an error on `path`, which begins with the path.
pub(crate) fn path_message(path: &Path, error: impl Display) -> String {
    format!("{}: {error}", path.display())
}
