//! Errors of what the attribute gives: the user's functions, their counts and their arguments. They are kept as text, since their types are
//! not known here and cannot cross to another process.

use std::fmt::Display;

/// An error of the user's `setup`, launch function, `reset` or `check`, or of a count or an argument, as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UserError(String);

impl UserError {
    /// Returns the error with this text.
    pub fn new(error: impl Display) -> Self {
        Self(error.to_string())
    }
}
