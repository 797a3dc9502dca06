//! A run and its meaning, live or stored: records, their metrics and verdicts, comparisons, and the files that keep
//! them. Nothing here measures or prints.
//!
//! [`samples`] → [`metrics`] → [`limits`] → [`verdict`] → [`record`] → [`merge`], [`comparison`] and [`baseline`], and
//! [`files`] keeps them on disk.

pub mod baseline;
pub mod clock_faults;
pub mod comparison;
pub mod conditions;
pub mod counts;
pub mod device_info;
mod display;
pub mod exit;
pub mod failure;
pub mod files;
pub mod gate;
pub mod history;
pub mod id;
pub mod launch;
pub mod limits;
pub mod merge;
pub mod method;
pub mod metrics;
pub mod observation;
pub mod peer;
pub mod record;
pub mod relaunch;
pub mod samples;
pub mod sampling;
pub mod selection;
mod slowdown;
pub mod task;
pub mod text;
pub mod threads;
pub mod verdict;
pub mod verification;
pub mod work;
