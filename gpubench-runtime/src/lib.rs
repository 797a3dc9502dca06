//! The runtime of gpubench. A measurement passes through it in one direction, and each step knows only those before:
//!
//! `registry` → `plan` → `runner` → `worker` ([`device`] and `measure`) → records
//!
//! `doctor`, a feature for `cargo gpubench`, says what a machine has for that and what it lacks. `gpubench-core` has what annotated functions link. `settings` are what the user asks for, and `peaks` adds the peaks that users give and that earlier measurements found. `suite` is the edge: the command line, all printing, the exit code. The crate
//! `gpubench-records` defines, compares and stores records; `gpubench-table` prints them. Users of gpubench
//! name what is public here through the `gpubench` crate.

mod catch;
pub mod device;
pub mod devices;
#[cfg(feature = "doctor")]
mod doctor;
mod environment;
mod measure;
mod peaks;
mod plan;
mod registry;
mod runner;
mod settings;
mod suite;
mod system;
mod worker;

pub use self::plan::{Job, JobStatus, Plan, SharedResource};
pub use self::runner::{RunEvent, RunEvents};
pub use self::settings::{
    ArgValues, CacheStates, FlushChoice, PathChoice, Percent, RunsDir, Settings, ShareChoice, StatedPeak,
    Verifier, WarmUp,
};
pub use self::suite::progress::Progress;
pub use self::suite::{Error, Suite};

/// Names for the expansions of `#[gpu_bench]` and `main!`, for the other crates of gpubench and for their tests. Not public: they
/// change without notice.
#[doc(hidden)]
pub mod __private;
