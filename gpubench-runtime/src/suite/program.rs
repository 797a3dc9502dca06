//! Programs of the user's own that measure: an experiment with its own tables and drawings, a tuner, a test. In: what to
//! measure, in the words of a suite's command line; out: [`Run`]s, for the program to read.

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

use crate::suite::cli::{self, Exit};
use crate::suite::{Results, complain, run_as_child, suite};
use gpubench_records::record::{Program, Run};

/// The benchmarks of this program, to be measured as often and in whatever order its code asks.
#[derive(Clone, Debug)]
pub struct Suite {
    build: Program,
}

impl Suite {
    /// Measures what `words` say, as a suite would that has them on its command line, and hands back what came of it in
    /// place of printing it. Flags that say how to print have no effect; the environment's twins of all others hold here too.
    ///
    /// Cases that fail are records of the run: its verdicts tell.
    ///
    /// # Errors
    /// Where the run could not be begun or was not ended: nothing matches, the device is not there, it was interrupted. What
    /// it was has then been said on standard error.
    pub fn measure<W: Into<OsString>>(&self, words: impl IntoIterator<Item = W>) -> Result<Run, Exit> {
        let words = words.into_iter().map(Into::into);
        let options =
            cli::parse(std::iter::once(OsString::from("suite")).chain(words), false).map_err(|message| {
                // Where even this cannot be printed, the exit code still tells.
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

/// The `main` of such a program: `body` is what it does. Where this process was started by another one of it, to measure for
/// instance, that is done instead.
///
/// An [`Exit`] that `body` returns as its error becomes the exit code; any other error is said on standard error.
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
