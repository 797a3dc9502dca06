//! The return values of the user's functions. In: nothing, or a `Result` whose error can be displayed. Out:
//! the error in words.

use std::fmt::Display;

/// A type that a launch function may return: nothing, or a `Result` whose error can be displayed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a launch function returns",
    label = "expected `()` or a `Result` whose error implements `Display`"
)]
pub trait Launched {
    /// Returns the error in words.
    fn launched(self) -> Result<(), String>;
}

impl Launched for () {
    fn launched(self) -> Result<(), String> {
        Ok(())
    }
}

impl<T, E: Display> Launched for Result<T, E> {
    fn launched(self) -> Result<(), String> {
        self.map(drop).map_err(|error| error.to_string())
    }
}

/// A type that a check or a reset may return: nothing, or a `Result` of nothing, so that the type of a bare
/// `Err("…")` follows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a check or a reset returns",
    label = "expected `()` or a `Result<(), E>` whose error implements `Display`"
)]
pub trait Checked {
    /// Returns the error in words.
    fn checked(self) -> Result<(), String>;
}

impl Checked for () {
    fn checked(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Display> Checked for Result<(), E> {
    fn checked(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// Returns the result of the user's `setup`, its error in words.
pub fn set_up<T, E: Display>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}
