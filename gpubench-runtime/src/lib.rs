//! The runtime of gpubench: what measures, in the process that launches. Data goes one way:
//!
//! `registry` → `job` → `worker` ([`device`] and `method`) → records
//!
//! `gpubench-runner` starts that process, sends it jobs, and prints and stores its records. `gpubench-core` has what annotated
//! functions link. `cases` runs the user's code that lists arguments, and `measured_peaks` keeps the peaks of a device for later
//! runs. The crate `gpubench-records` defines, compares and stores records. Users of gpubench name what is public here through the
//! `gpubench` crate.

mod catch;
pub mod device;
pub mod devices;
mod job;

pub use self::job::{Job, JobStatus, SharedResource};

// For `gpubench-runner`. Not public: they change without notice.
#[doc(hidden)]
pub mod cases;
#[doc(hidden)]
pub mod measured_peaks;
#[doc(hidden)]
pub mod method;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod system;
#[doc(hidden)]
pub mod worker;

/// Names for the expansions of `#[gpu_bench]` and `main!`, for the other crates of gpubench and for their tests. Not public: they
/// change without notice.
#[doc(hidden)]
pub mod __private;
