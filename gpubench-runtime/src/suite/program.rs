//! Measurement in the user's own programs: an experiment with its own tables and drawings, a tuner, a test.

use std::error::Error as StdError;
use std::process::ExitCode;

use super::cli::{self, Exit};
use super::measure::Prepared;
use super::messages::{conclude, print_problems, say};
use super::prepare::Task;
use super::{SuiteError, run_as_child};
use crate::runner::RunEvents;
use crate::settings::Settings;
use gpubench_records::record::{Program, Run};

/// Anything that keeps [`Suite::measure`] from its task, as a sentence.
///
/// ```
/// # fn measure(suite: &gpubench_runtime::Suite) -> Result<(), Box<dyn std::error::Error>> {
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
#[error(transparent)]
pub struct Error(Box<SuiteError>);

impl Error {
    /// Returns the exit code of a program that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.0.exit()
    }

    /// Returns everything that was measured, if the run began.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        match &*self.0 {
            SuiteError::Incomplete { run, .. } => Some(run),
            _ => None,
        }
    }

    /// Returns everything that was measured, if the run began.
    ///
    /// # Errors
    /// Returns the error itself if it did not begin.
    pub fn into_run(self) -> Result<Box<Run>, Self> {
        match *self.0 {
            SuiteError::Incomplete { run, .. } => Ok(run),
            other => Err(other.into()),
        }
    }
}

impl From<SuiteError> for Error {
    fn from(error: SuiteError) -> Self {
        Self(Box::new(error))
    }
}

/// The benchmarks of this program, which its code can measure repeatedly and in any order.
#[derive(Clone, Debug)]
pub struct Suite {
    build: Program,
}

impl Suite {
    /// Measures the selected cases and returns the run. Prints nothing.
    ///
    /// Failed cases are records of the run, marked by their verdicts. Ctrl-C, SIGTERM and SIGHUP end the run.
    ///
    /// # Errors
    /// Returns an [`Error`] if the run could not begin: nothing matches, for instance, or the device is missing. If it
    /// began and did not finish, or could not be stored as a baseline, [`Error::run`] is everything that was measured.
    pub fn measure(&self, options: &Settings) -> Result<Run, Error> {
        self.measure_with(options, &mut ())
    }

    /// Measures as [`measure`](Self::measure) does while `events` observes the run.
    /// [`Progress`](crate::Progress) shows it on standard error.
    ///
    /// # Errors
    /// Returns an [`Error`] in the same cases.
    pub fn measure_with(&self, options: &Settings, events: &mut dyn RunEvents) -> Result<Run, Error> {
        let mut measured = || {
            options.validate().map_err(SuiteError::usage)?;
            let prepared = Prepared::new(Task::Measure, self.build.clone(), options, events)?;
            prepared.measure(events)?.into_result()
        };
        Ok(measured()?)
    }
}

impl Settings {
    /// Reads the settings from the `GPUBENCH_…` variables and from the user's `gpubench.toml`.
    ///
    /// # Errors
    /// Returns an error if a variable or the file has a wrong setting.
    pub fn from_env() -> Result<Self, Error> {
        Ok(cli::from_env()?)
    }
}

/// Runs such a program: its `main` calls this with its code as `body`. If another process of the program
/// started this one, to measure for instance, it does that work instead.
///
/// An error of `body` is printed on standard error. An [`Error`], or one that was caused by it, has its own exit code;
/// any other ends with 1. An [`Exit`] is the exit code, and prints nothing.
pub fn program(build: Program, body: impl FnOnce(&Suite) -> Result<(), Box<dyn StdError>>) -> ExitCode {
    let exit = match run_as_child() {
        Some(ended) => conclude(ended),
        None => body(&Suite { build }).map_or_else(conclude_any, |()| Exit::Done),
    };
    exit.into()
}

/// Prints the error of a program, and returns its exit code.
fn conclude_any(error: Box<dyn StdError>) -> Exit {
    if let Some(exit) = error.downcast_ref::<Exit>() {
        return *exit;
    }
    match error.downcast_ref::<Error>() {
        Some(error) => print_problems(&error.0, false),
        None => say(&format!("error: {error}")),
    }
    let mut cause = Some(&*error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<Error>() {
            return error.exit();
        }
        cause = error.source();
    }
    Exit::Failed
}
