//! The runtime without a device: comparisons, parsers, recorded runs.

mod decisions;
mod parsing;
mod recorded;
