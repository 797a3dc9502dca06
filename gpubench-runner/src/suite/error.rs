//! The errors of a benchmark binary, each with its sentence and its exit code, and messages on standard error.

use std::io::{self, Write};

use crate::{plan::PlanError, runner::RunError, settings::value_origin, system::stopping};
use gpubench_records::exit::Exit;
use gpubench_records::{Run, text::printable_lines};
use gpubench_runtime::system::RetryOnWouldBlock;
use gpubench_stats::format;

/// Anything that keeps a benchmark binary from its task.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A sentence for the user.
    #[error("{message}")]
    Message {
        /// The sentence: what happened, where, and what to do.
        message: String,
        /// The exit code.
        exit: Exit,
    },
    /// The environment or the user's file has a wrong setting.
    #[error(transparent)]
    Environment(clap::Error),
    /// Peaks of a GPU are requested, but no GPU was found.
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

impl SuiteError {
    /// Returns an error with this sentence and exit code.
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

    /// Returns the error of a run that ended before its plan did, with a `hint` behind the cause.
    pub(super) fn ended(cause: &RunError, hint: &str) -> Self {
        let exit = match cause {
            RunError::Device(_) => Exit::NoDevice,
            RunError::Interrupted => {
                Exit::Interrupted(stopping::signal().unwrap_or(signal_hook::consts::SIGINT as u8))
            }
            RunError::NoWorker(_) | RunError::OtherRecords(_) => Exit::Failed,
        };
        Self::new(format_args!("{cause}{hint}"), exit)
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
impl From<RunError> for SuiteError {
    fn from(cause: RunError) -> Self {
        Self::ended(&cause, "")
    }
}

impl From<PlanError> for SuiteError {
    fn from(error: PlanError) -> Self {
        let exit = match error {
            PlanError::Empty | PlanError::Nothing { .. } => Exit::Nothing,
            PlanError::Usage(_) => Exit::Usage,
        };
        Self::new(error, exit)
    }
}

/// Returns the exit code of a benchmark binary. Prints the error, if it ended with one.
pub(super) fn conclude(ended: Result<Exit, SuiteError>) -> Exit {
    ended.unwrap_or_else(|error| {
        print_problems(&error);
        error.exit()
    })
}

/// Prints a line for each problem of an error.
pub(super) fn print_problems(error: &SuiteError) {
    match error {
        SuiteError::Incomplete { problems, .. } => problems.iter().for_each(print_problems),
        // It brings its own words before the message.
        SuiteError::Environment(error) => drop(error.print()),
        SuiteError::Message { message, exit: Exit::Usage | Exit::NoDevice | Exit::Nothing } => {
            say(&format!("error: {message}{}", value_origin(message)));
        }
        error => say(&format!("error: {error}")),
    }
}

/// Prints a warning.
pub fn warn(warning: &str) {
    say(&format!("warning: {warning}"));
}

/// Prints a message. Names, paths and driver messages in it cannot control a terminal.
pub fn say(message: &str) {
    // A closed standard error has no reader, and the exit code still reports errors.
    _ = writeln!(RetryOnWouldBlock(io::stderr()), "{}", printable_lines(message));
}
