//! Leads a run of gpubench: what is selected, when it is measured, what is printed and stored. Data goes one way:
//!
//! `settings` → `plan` → `runner` → `suite`
//!
//! `gpubench-runtime` measures, in processes that `runner` starts; nothing here runs inside of a measurement. `settings` are what
//! the user asks for, `select` chooses the devices, and `peaks` adds the peaks that users give and that earlier measurements found.
//! `suite` is the edge: the command line, all printing, the exit code. `doctor`, a feature for `cargo gpubench`, says what a
//! machine has for measuring and what it lacks. Users of gpubench name what is public here through the `gpubench` crate.

#[cfg(feature = "doctor")]
mod doctor;
mod environment;
mod peaks;
mod plan;
mod runner;
mod select;
mod settings;
mod suite;
mod system;

pub use self::plan::Plan;
pub use self::runner::{RunEvent, RunEvents};
pub use self::settings::{
    ArgValues, CacheStates, FlushChoice, PathChoice, Percent, RunsDir, Settings, ShareChoice, StatedPeak,
    Verifier, WarmUp,
};
pub use self::suite::progress::Progress;
pub use self::suite::{Error, Suite};

/// Names for the expansion of `main!`, for the other crates of gpubench and for their tests. Not public: they change without
/// notice.
#[doc(hidden)]
pub mod __private;
