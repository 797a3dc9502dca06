//! The runner without a device: parsers, recorded runs.

mod parsing;
mod recorded;
