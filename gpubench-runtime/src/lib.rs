//! The runtime of gpubench. A measurement passes through it in one direction, and each step knows only those before:
//!
//! [`registry`] → [`plan`] → [`runner`] → [`worker`] ([`device`] and [`mod@measure`]) → records
//!
//! [`doctor`] says what a machine has for that and what it lacks. [`bind`] holds the building blocks of an expansion of `#[gpu_bench]`. [`config`] reads the user's file of
//! settings, and [`peaks`] adds the peaks that users give and that earlier measurements found. [`suite`] is the edge: the command line, all printing, the exit code. The crate
//! `gpubench-records` defines, compares and stores records; `gpubench-report` writes them for people. Users of gpubench
//! reach all of it through the `gpubench` crate.

pub mod bind;
pub mod config;
pub mod device;
pub mod doctor;
pub mod measure;
pub mod peaks;
pub mod plan;
pub mod registry;
pub mod runner;
pub mod suite;
pub mod worker;

mod catch;
mod environment;

pub use suite::main;
