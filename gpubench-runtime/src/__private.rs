pub use crate::registry::{BenchmarkOptions, Bound, Entry, Generic, Variant, Visitor, inventory};
/// For `cargo gpubench`, which reads times as benchmark binaries do.
pub use crate::settings::parse_positive_time;
pub use crate::suite::cli::without_empty_variables;
pub use crate::suite::main;
pub use crate::suite::program;

/// For `cargo gpubench`, which asks what a machine has.
pub mod machine {
    pub use crate::device::finding::{Finding, Level};
    pub use crate::doctor::examine;
    pub use crate::runner::clock_lock::{ClockedDevice, clocked_devices};
    pub use crate::suite::run_as_child;
}

/// For `cargo gpubench`, which prints as suites do and starts them.
pub mod system {
    pub use crate::system::children::{Family, remember_ends};
    pub use crate::system::stdio::Patient;
}

/// For `cargo gpubench verify`, which has Nsight Compute profile a benchmark binary.
pub mod profiled {
    pub use crate::worker::{PROFILED_FLAG as FLAG, ProfiledCases};
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
    pub use crate::devices::select::asks_for;
    pub use crate::measure::{Placement, Rounds, StepObserver, compare, measure};
    pub use crate::plan::{Ignored, Selection};
    pub use crate::registry::{ArgAxis, Case, entries};
    pub use crate::runner::resume::ResumedRecords;
    pub use crate::suite::cli::{Caller, parse};
    pub use crate::worker::{FLAG, Reply, Request, serve};

    /// Returns the plan of this program's benchmarks on these devices: their names and kinds.
    ///
    /// # Errors
    /// Returns the reason that there is none, in words.
    pub fn plan(selection: &Selection, devices: &[(String, &str)]) -> Result<crate::Plan, String> {
        let supervisor = crate::runner::supervisor::Supervisor::new(true, None, &|| false, Box::new(drop));
        let mut lister = crate::runner::lister::WorkerLister::new(supervisor, std::time::Duration::MAX);
        crate::Plan::new(&entries(), selection, devices, &[], &mut lister).map_err(|error| error.to_string())
    }

    /// Returns a plan in which just these cases are measured.
    pub fn plan_of(cases: impl Iterator<Item = gpubench_records::id::PlannedCase>) -> crate::Plan {
        let jobs = cases.map(|case| (case.into(), crate::JobStatus::Measured)).collect();
        crate::Plan { jobs, ..crate::Plan::default() }
    }
}
