//! The runtime of gpubench: what measures, in the process that launches. Data goes one way:
//!
//! `registry` → `cases` → `worker` ([`device`] and `method`) → records
//!
//! `gpubench-runner` starts that process, sends it jobs, and prints and stores its records. `gpubench-core` has what annotated
//! functions link. `cases` has jobs, and runs the user's code that lists arguments; `measured_peaks` keeps the peaks of a device for later
//! runs. The crate `gpubench-records` defines, compares and stores records. Users of gpubench name what is public here through the
//! `gpubench` crate.

mod catch;
pub mod device;
pub mod devices;

pub use self::cases::{Job, JobStatus, SharedResource};

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

/// Names for the expansions of `#[gpu_bench]` and `main!`, for the other crates of gpubench and for their
/// tests. Not public: they change without notice.
#[doc(hidden)]
pub mod __private {
    use gpubench_records::{Package, Program};

    pub use crate::device::kind::{ClockControl, DefaultChoice};

    /// For `cargo gpubench`, which asks what a machine has.
    #[cfg(feature = "doctor")]
    pub mod finding {
        pub use crate::devices::doctor::{Finding, Level};
    }

    /// For tests of single steps.
    pub mod steps {
        pub use crate::method::{RoundLayout, Rounds, compare, measure};
    }

    /// Returns the package of a suite, from the values that cargo sets for the compiler; `None` if `name` is
    /// `None`. Leaves the commit unset: it is found when a run begins.
    pub fn package(name: Option<&str>, version: Option<&str>, folder: Option<&str>) -> Option<Package> {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let (version, folder) = (text(version), text(folder));
        name.map(|name| Package { name: name.to_owned(), version, folder, commit: None, dirty: None })
    }

    /// Returns true if `module_path` names the root of a crate: it contains no `::`.
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

    /// Returns the description of a suite's build: its package, if cargo builds it, its module, and the build
    /// of gpubench.
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
}
