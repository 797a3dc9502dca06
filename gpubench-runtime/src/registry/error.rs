//! Errors of what the attribute gives: the user's functions, their counts and their arguments. An error that a function
//! returns is kept as text, since its type is not known here and cannot cross to another process.

use std::fmt::Display;

/// An error that the user's `setup`, launch function, `reset` or `check` returned, as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UserError(String);

impl UserError {
    /// Returns the error with this text.
    pub fn new(error: impl Display) -> Self {
        Self(error.to_string())
    }
}

/// A value that an argument does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{shown}` is not a value of `{argument}` (it has {})", listed.join(", "))]
pub struct UnknownValue {
    /// The value as the user gave it.
    pub shown: String,
    /// The argument's name.
    pub argument: &'static str,
    /// The values that the argument lists, as they are shown.
    pub listed: Vec<String>,
}

/// A `bytes`, `reads`, `writes`, `flops` or `items` that is no count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountError {
    /// It is less than 1, or does not fit 64 bits.
    #[error("`{option}` is {value}: it must be at least 1 and fit 64 bits")]
    OutOfRange {
        /// The option's name.
        option: &'static str,
        /// The value.
        value: String,
    },
    /// Its type does not hold it.
    #[error(
        "`{option}` is {exact}, and came out as {wrapped}: `{number}` does not hold it. Count in `usize` or `u64`"
    )]
    Wrapped {
        /// The option's name.
        option: &'static str,
        /// The value by exact arithmetic.
        exact: i128,
        /// The value in its own type.
        wrapped: i128,
        /// The name of that type.
        number: &'static str,
    },
}
