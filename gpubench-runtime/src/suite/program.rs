//! Measurement in the user's own programs: an experiment with its own tables and drawings, a tuner, a test.
//! In: the words of a suite's command line. Out: [`Run`]s, for the program to read.

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::suite::cli::{self, Exit};
use crate::suite::{Results, complain, run_as_child, suite};
use gpubench_records::record::{Program, Run};

/// The benchmarks of this program, which its code can measure repeatedly and in any order.
#[derive(Clone, Debug)]
pub struct Suite {
    build: Program,
}

impl Suite {
    /// Measures as a suite with `words` on its command line would, and returns the run instead of printing
    /// it. Flags for printing have no effect. The environment twins of all other flags apply here too.
    ///
    /// Failed cases are records of the run, marked by their verdicts.
    ///
    /// # Errors
    /// Returns an error if the run could not begin or did not finish: nothing matches, the device is missing,
    /// or it was interrupted. The reason has then been printed on standard error.
    pub fn measure<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Result<Run, Exit> {
        let words = words.into_iter().map(Into::into);
        let options =
            cli::parse(std::iter::once(OsString::from("suite")).chain(words), false).map_err(|message| {
                // If even this cannot be printed, the exit code still reports it.
                drop(message.print());
                Exit::Usage
            })?;
        let results = Results::beside_others().map_err(|error| complain(&error, Exit::Failed))?;
        let mut delivered = None;
        let exit = suite(&options, self.build.clone(), &results, &mut |run| {
            delivered = Some(run.clone());
            Exit::Done
        })?;
        match (exit, delivered) {
            (Exit::Done | Exit::Failed | Exit::Regression, Some(run)) => Ok(run),
            (Exit::Done, None) => {
                Err(complain(&"these words measure nothing: they list or test", Exit::Usage))
            }
            (exit, _) => Err(exit),
        }
    }
}

/// Runs such a program: its `main` calls this with its code as `body`. If another process of the program
/// started this one, to measure for instance, it does that work instead.
///
/// If `body` returns an [`Exit`] as its error, that becomes the exit code. Any other error is printed on
/// standard error.
pub fn program(build: Program, body: impl FnOnce(&Suite) -> Result<(), Box<dyn Error>>) -> ExitCode {
    if let Some(code) = run_as_child() {
        return code;
    }
    match body(&Suite { build }) {
        Ok(()) => Exit::Done.into(),
        Err(error) => match error.downcast_ref::<Exit>() {
            Some(exit) => (*exit).into(),
            None => complain(&error, Exit::Failed).into(),
        },
    }
}
