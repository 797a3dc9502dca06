//! GPU kernel benchmarks for Rust.

pub use gpubench_macros::gpu_bench;
pub use gpubench_runtime::device::{Device, DeviceError, DeviceType, LaunchStream, host};

/// Writes the `main` of a suite: an example, a binary or a bench target with `harness = false`.
///
/// Each crate whose benchmarks the suite runs is named, so that it is linked; those of the suite's own file come along.
///
/// ```
/// # mod my_kernels {}
/// # mod suite {
/// # use super::*;
/// gpubench::main!(my_kernels);
/// # }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! main {
    ($($kernels:ident),* $(,)?) => {
        $(#[allow(unused_imports, clippy::single_component_path_imports)] use $kernels as _;)*

        fn main() -> ::std::process::ExitCode {
            $crate::__private::main($crate::__private::build())
        }
    };
}

/// What the expansions of `#[gpu_bench]` and `main!` name. Not public: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use gpubench_runtime::bind::{Bound, Outcome, Values, count, set_up, show_axis};
    pub use gpubench_runtime::main;
    pub use gpubench_runtime::record::Program;
    pub use gpubench_runtime::registry::{Counts, Entry, Options, Variant, Visitor, inventory};

    /// The build of gpubench that a suite runs on.
    #[must_use]
    pub fn build() -> Program {
        Program {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("GPUBENCH_COMMIT").map(str::to_owned),
            dirty: option_env!("GPUBENCH_DIRTY").map(|dirty| dirty == "true"),
            opt_level: env!("GPUBENCH_OPT_LEVEL").to_owned(),
            target: env!("GPUBENCH_TARGET").to_owned(),
        }
    }
}
