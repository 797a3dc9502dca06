//! Suites on the fake libcuda.

pub mod engine;
pub mod fake;
pub mod log;
