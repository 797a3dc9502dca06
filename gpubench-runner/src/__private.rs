/// For `cargo gpubench`, which reads its command line as benchmark binaries do.
pub use crate::settings::{parse_positive_time, whole_number};
pub use crate::suite::cli::{with_conventions, with_hint};
pub use crate::suite::main;
pub use crate::suite::program;

/// For `cargo gpubench`, which asks what a machine has.
pub mod machine {
    #[cfg(feature = "doctor")]
    pub use crate::doctor::{clocked_devices, examine, reset_clocks};
    pub use crate::suite::run_as_child;
    #[cfg(feature = "doctor")]
    pub use gpubench_runtime::{
        __private::finding::{Finding, Level},
        device::Available,
    };
}

/// For `cargo gpubench`, which prints as suites do and starts them.
pub mod system {
    pub use crate::suite::error::{say, warn};
    pub use crate::suite::printer::{print, write_to};
    pub use crate::system::children::{ProcessGroup, keep_exit_statuses};
    pub use gpubench_runtime::system::RetryOnWouldBlock;
}

/// For `cargo gpubench verify`, which has Nsight Compute profile a benchmark binary.
pub mod profiled {
    pub use gpubench_runtime::worker::{PROFILED_FLAG as FLAG, ProfiledCases};
}

/// For crates that add an action to benchmark binaries.
pub mod extension {
    pub use crate::environment::environment;
    pub use crate::runner::RunError;
    pub use crate::runner::single_cases::Answer;
    pub use crate::suite::SuiteError;
    pub use crate::suite::measure::{Extension, Session};
}

/// For tests of single steps.
pub mod steps {
    pub use crate::plan::{Ignored, Selection};
    pub use crate::runner::resume::ResumedRecords;
    pub use crate::select::may_name_kind;
    pub use crate::suite::cli::{Caller, parse};
    use gpubench_runtime::{device::Available, registry::entries};

    /// Returns the plan of this program's benchmarks on these devices: their names and kinds.
    ///
    /// # Errors
    /// Returns a sentence that says why nothing can be planned.
    pub fn plan(selection: &Selection, devices: &[Available]) -> Result<crate::Plan, String> {
        let supervisor = crate::runner::supervisor::Supervisor::new(true, None, &|| false, Box::new(drop));
        let mut lister = crate::runner::lister::WorkerLister::new(supervisor, std::time::Duration::MAX);
        crate::Plan::new(&entries(), selection, devices, &[], &mut lister).map_err(|error| error.to_string())
    }
}
