//! Measurement in the user's own programs: an experiment with its own tables and drawings, a tuner, a test.
//! In: [`Settings`]. Out: [`Run`]s, for the program to read.

use std::error::Error as StdError;
use std::process::ExitCode;

use super::SuiteError;
use super::child::run_as_child;
use super::cli::{self, Exit};
use super::measure::Prepared;
use super::messages::{conclude, print_error, print_problems};
use super::prepare::Task;
use super::program_error::Error;
use crate::runner::RunEvents;
use crate::settings::Settings;
use gpubench_records::record::{Program, Run};

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
        Ok(self.measured(options, events)?)
    }

    fn measured(&self, options: &Settings, events: &mut dyn RunEvents) -> Result<Run, SuiteError> {
        options.validate()?;
        Prepared::of(Task::Measure, self.build.clone(), options, events)?.measure(events)?.into_result()
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
    if let Some(error) = error.downcast_ref::<Error>() {
        print_problems(error.reason(), SuiteError::to_string);
        return error.exit();
    }
    if let Some(exit) = error.downcast_ref::<Exit>() {
        return *exit;
    }
    print_error(&error);
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<Error>() {
            return error.exit();
        }
        cause = error.source();
    }
    Exit::Failed
}
