//! The runtime of gpubench. A measurement goes one way through it, each step knowing only those before:
//!
//! [`registry`] → [`plan`] → [`worker`] (with [`device`] and [`mod@measure`]) → samples → [`stats`] → [`metrics`] →
//! [`verdict`] (by [`limits`]) → [`record`] → [`report`]
//!
//! Two cases that take turns are one [`comparison`], and records are held against those of a [`baseline`].
//!
//! [`store`] keeps each record on disk as it is made. [`cli`] reads what the user wants, [`peaks`] what is known beside that,
//! [`run`] leads a run from plan to report, [`trial`] launches each benchmark once, [`ceilings`] are benchmarks of a device's
//! limits, and [`bind`] is what the expansion of `#[gpu_bench]` is written with. `keeper` keeps clocks locked for as long as a
//! run lasts, from a process of its own; `lock` keeps other suites from the same GPU, and `merge` makes one record of those of
//! several processes; `checkout` finds the commit of the user's package. A [`mod@program`] of the user's own has runs handed back, and [`drawing`] draws what it makes of them.
//! Users of gpubench meet all of it through the `gpubench` crate.

pub mod baseline;
pub mod bind;
pub mod ceilings;
pub mod cli;
pub mod comparison;
pub mod device;
pub mod drawing;
pub mod failure;
pub mod format;
pub mod limits;
pub mod measure;
pub mod metrics;
pub mod peaks;
pub mod plan;
pub mod program;
pub mod record;
pub mod registry;
pub mod report;
pub mod run;
pub mod stats;
pub mod store;
pub mod trial;
pub mod units;
pub mod verdict;
pub mod worker;

mod checkout;
mod entry_point;
mod keeper;
mod lock;
mod merge;
mod supervisor;

pub use entry_point::main;
