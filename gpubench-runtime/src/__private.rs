use gpubench_records::{Package, Program};

/// For `cargo gpubench`, which reads its command line as benchmark binaries do.
pub use crate::settings::{parse_positive_time, whole_number};
pub use crate::suite::cli::{with_conventions, with_hint};
pub use crate::suite::main;
pub use crate::suite::program;

/// For `cargo gpubench`, which asks what a machine has.
pub mod machine {
    #[cfg(feature = "doctor")]
    pub use crate::device::finding::{Finding, Level};
    #[cfg(feature = "doctor")]
    pub use crate::doctor::examine;
    pub use crate::runner::clock_lock::{clocked_devices, reset_clocks};
    pub use crate::suite::run_as_child;
}

/// For `cargo gpubench`, which prints as suites do and starts them.
pub mod system {
    pub use crate::suite::error::{say, warn};
    pub use crate::suite::printer::{print, write_to};
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
    pub use crate::measure::{Placement, Rounds, compare, measure};
    pub use crate::plan::{Ignored, Selection};
    pub use crate::registry::entries;
    pub use crate::runner::resume::ResumedRecords;
    pub use crate::suite::cli::{Caller, parse};
    pub use crate::worker::{FLAG, Reply, Request, serve};

    /// Returns the plan of this program's benchmarks on these devices: their names and kinds.
    ///
    /// # Errors
    /// Returns the reason that there is none, in words.
    pub fn plan(selection: &Selection, devices: &[crate::device::Available]) -> Result<crate::Plan, String> {
        let supervisor = crate::runner::supervisor::Supervisor::new(true, None, &|| false, Box::new(drop));
        let mut lister = crate::runner::lister::WorkerLister::new(supervisor, std::time::Duration::MAX);
        crate::Plan::new(&entries(), selection, devices, &[], &mut lister).map_err(|error| error.to_string())
    }
}

/// Returns the package of a suite, as cargo describes it to its compiler. Its commit is found when a run begins.
pub fn package(name: Option<&str>, version: Option<&str>, folder: Option<&str>) -> Option<Package> {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let (version, folder) = (text(version), text(folder));
    name.map(|name| Package { name: name.to_owned(), version, folder, commit: None, dirty: None })
}

/// Returns true if the module of this path is the crate itself.
pub const fn is_crate_root(module_path: &str) -> bool {
    let (path, mut at) = (module_path.as_bytes(), 0);
    while at < path.len() {
        if path[at] == b':' {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns the build of a suite: its package, where cargo builds it, its module, and gpubench.
pub fn build(package: Option<Package>, module: &str) -> Program {
    let suite = package.as_ref().map(|package| format!("{}/{module}", package.name));
    Program {
        suite: suite.unwrap_or_else(|| module.to_owned()),
        package,
        fingerprint: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("GPUBENCH_COMMIT").map(str::to_owned),
        dirty: option_env!("GPUBENCH_DIRTY").map(|dirty| dirty == "true"),
        opt_level: env!("GPUBENCH_OPT_LEVEL").to_owned(),
        target: env!("GPUBENCH_TARGET").to_owned(),
    }
}
