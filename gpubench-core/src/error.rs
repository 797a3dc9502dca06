use std::error::Error;
use std::fmt::{self, Display};

/// The text of an error of a case: of a stream, of the user's `setup`, launch function, `reset` or `check`,
/// of a count or of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError(String);

impl CaseError {
    /// Returns an error with the text of `error`.
    pub fn new(error: impl Display) -> Self {
        Self(error.to_string())
    }
}

impl Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for CaseError {}
