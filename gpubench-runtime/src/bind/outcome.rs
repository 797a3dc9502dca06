//! The return values of the user's functions: nothing, or a `Result` whose error can be displayed.

use std::fmt::Display;

use crate::registry::UserError;

/// A type that a launch function may return: nothing, or a `Result` whose error can be displayed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a launch function returns",
    label = "expected `()` or a `Result` whose error implements `Display`"
)]
pub trait Launched {
    /// Returns the error as text.
    fn launched(self) -> Result<(), UserError>;
}

impl Launched for () {
    fn launched(self) -> Result<(), UserError> {
        Ok(())
    }
}

impl<T, E: Display> Launched for Result<T, E> {
    fn launched(self) -> Result<(), UserError> {
        self.map(drop).map_err(UserError::new)
    }
}

/// A type that a check or a reset may return: nothing, or a `Result` of nothing, so that the type of a bare
/// `Err("…")` follows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a check or a reset returns",
    label = "expected `()` or a `Result<(), E>` whose error implements `Display`"
)]
pub trait Checked {
    /// Returns the error as text.
    fn checked(self) -> Result<(), UserError>;
}

impl Checked for () {
    fn checked(self) -> Result<(), UserError> {
        Ok(())
    }
}

impl<E: Display> Checked for Result<(), E> {
    fn checked(self) -> Result<(), UserError> {
        self.map_err(UserError::new)
    }
}

/// Returns the result of the user's `setup`, its error as text.
pub fn set_up<T, E: Display>(result: Result<T, E>) -> Result<T, UserError> {
    result.map_err(UserError::new)
}
