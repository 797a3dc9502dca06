//! Suites on the fake libcuda. In: a suite and what is asked of it and of the fake; out: how it ended, the run that it stored,
//! the log of all that the fake did; and the engine alone.

pub mod engine;
pub mod fake;
pub mod log;
