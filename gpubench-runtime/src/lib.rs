//! The runtime of gpubench. A measurement goes one way through it, each step knowing only those before:
//!
//! [`registry`] → [`plan`] → [`runner`] → [`worker`] ([`device`] and [`mod@measure`]) → records
//!
//! What records mean, how they are compared and stored is `gpubench-records`; what people read of them is
//! `gpubench-report`. [`bind`] is what the expansion of `#[gpu_bench]` is written with, [`peaks`] adds what users and earlier measurements know of them. [`suite`] is the edge: the command
//! line, everything that is printed, the exit code. Users of gpubench meet all of it through the `gpubench` crate.

pub mod bind;
pub mod device;
pub mod measure;
pub mod peaks;
pub mod plan;
pub mod registry;
pub mod runner;
pub mod suite;
pub mod worker;

mod catch;

pub use suite::main;
