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
pub mod __private {
    pub use crate::suite::main;
    pub use crate::suite::program;

    // For `cargo gpubench`, which reads its command line as benchmark binaries do, prints as they do, and starts them.
    pub use crate::settings::{parse_positive_time, whole_number};
    pub use crate::suite::cli::{Caller, with_conventions};
    pub use crate::suite::flag_hints::with_hint;
    pub use crate::suite::output::{print, say, warn, write_to};
    pub use crate::suite::run_as_child;
    pub use crate::system::{ProcessGroup, keep_exit_statuses, stop_signals};
    pub use gpubench_runtime::system::RetryOnWouldBlock;
    pub use gpubench_runtime::worker::{PROFILED_FLAG, ProfiledCases};

    // For `cargo gpubench doctor`, which asks what a machine has.
    #[cfg(feature = "doctor")]
    pub use crate::doctor::{clocked_devices, examine, reset_clocks};
    #[cfg(feature = "doctor")]
    pub use gpubench_runtime::__private::finding::{Finding, Level};
    pub use gpubench_runtime::device::Available;

    // For crates that add an action to benchmark binaries.
    pub use crate::runner::{RunError, single_cases::CaseResult};
    pub use crate::suite::measure::{Extension, Session};
    pub use crate::system::environment;

    // For tests of single steps.
    pub use crate::plan::{Ignored, Selection};
    pub use crate::runner::resume::ResumedRecords;
    pub use crate::select::may_name_kind;
    pub use crate::suite::cli::parse;

    /// Returns the plan of this program's benchmarks on these devices: their names and kinds.
    ///
    /// # Errors
    /// Returns a sentence that says why nothing can be planned.
    pub fn plan(selection: &Selection, devices: &[Available]) -> Result<crate::Plan, String> {
        let supervisor =
            crate::runner::supervisor::Supervisor::new(true, Default::default(), &|| false, Box::new(drop));
        let mut lister = crate::runner::lister::WorkerLister::new(supervisor, std::time::Duration::MAX);
        crate::Plan::new(&gpubench_runtime::registry::entries(), selection, devices, &[], &mut lister)
            .map_err(|error| error.to_string())
    }
}
