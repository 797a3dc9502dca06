//! Calls of the CUDA driver, with a driver, without one, and with a wrong one.

mod common;
mod executable;
mod fake_driver;
mod interposed;
mod no_driver;
mod table;
