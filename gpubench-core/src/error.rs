use std::error::Error;
use std::fmt::{self, Display};

/// An error of a stream, of the user's `setup`, launch function, `reset` or `check`, of a count or of an argument, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError(String);

impl CaseError {
    /// Returns the error with this text.
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
