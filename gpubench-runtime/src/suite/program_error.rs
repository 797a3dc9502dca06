//! The error that a program of the user's gets. In: the [`SuiteError`] of a step. Out: its sentence, its exit code, and what was
//! measured before it.

use super::SuiteError;
use gpubench_records::exit::Exit;
use gpubench_records::record::Run;

/// Anything that keeps [`Suite::measure`](crate::Suite::measure) from doing what was asked of it, as a sentence.
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

    pub(super) fn reason(&self) -> &SuiteError {
        &self.0
    }
}

impl From<SuiteError> for Error {
    fn from(error: SuiteError) -> Self {
        Self(Box::new(error))
    }
}
