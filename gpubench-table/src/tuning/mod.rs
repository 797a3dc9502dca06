//! The answer of races as text for a terminal.

mod text;
mod words;

pub use self::text::tuning;
