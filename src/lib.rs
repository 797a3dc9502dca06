//! GPU kernel benchmarks for Rust: annotate a launch function, and a suite finds it, times it hot and cold, and says how
//! close to the hardware it runs.
//!
//! ```
//! use gpubench::{gpu_bench, host};
//! use rayon::prelude::*;
//!
//! /// y ← a·x + y
//! #[gpu_bench(
//!     args(n = [1 << 12, 1 << 16]),
//!     setup = |n| Ok((2.0, vec![1.0; n], vec![0.0; n])),
//!     reads = 4 * (x.len() + y.len()),
//!     writes = 4 * y.len(),
//!     flops = 2 * n,
//!     cold,
//! )]
//! fn saxpy(a: f32, x: &[f32], y: &mut [f32], stream: &host::Stream) {
//!     let block = stream.block_of::<f32>(y.len());
//!     stream.run(|| {
//!         y.par_chunks_mut(block).zip(x.par_chunks(block)).for_each(|(y, x)| {
//!             y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
//!         });
//!     });
//! }
//!
//! # mod suite {
//! gpubench::main!();
//! # }
//! # fn main() {}
//! ```
//!
//! The stream's type says which device measures: [`host::Stream`] this machine's CPU; an NVIDIA GPU a stream of `cust` (feature
//! `cust`, on by default) or of `cudarc` (feature `cudarc`), or [`cuda::RawStream`] with any other binding and with C; a GPU of any vendor `wgpu::Encoder` (feature `wgpu`); and any
//! type that implements [`LaunchStream`] a device of your own. [`gpu_bench`](macro@gpu_bench) tells what the
//! attribute takes, [`main!`] what makes a suite, and [`program`] is for experiments of your own.

use std::process::ExitCode;

pub use gpubench_macros::gpu_bench;
pub use gpubench_records::exit::Exit;
pub use gpubench_records::peer::Peer;
pub use gpubench_records::{conditions, device_info, failure, id, launch, method};
pub use gpubench_runtime::device::{self, LaunchStream};
pub use gpubench_runtime::devices::{cuda, host};
pub use gpubench_runtime::{Error, Group, Progress, RunEvent, RunEvents, Settings, Suite, pow2};
pub use gpubench_stats::{format, units};
#[cfg(feature = "tune")]
pub use gpubench_tune as tuning;
#[cfg(feature = "wgpu")]
pub use gpubench_wgpu as wgpu;

/// What other clocks and the hardware's counters say of a row.
pub mod verification {
    pub use gpubench_records::verification::{
        CountedFlops, Counters, CuptiPass, CuptiTimes, Difference, NcuPass, PipeInstructions, Slowdown,
        StallReason, TracedActivity, Verification,
    };
}

/// Comparisons of two benchmarks, and with a baseline.
pub mod comparison {
    pub use gpubench_records::comparison::{
        Answer, AssumedSpread, BaselineComparison, CaseFinding, Comparison, Finding, InvalidThreshold, Round,
        Threshold,
    };
}

/// The values of [`Settings`].
pub mod settings {
    pub use gpubench_records::comparison::Threshold;
    pub use gpubench_records::id::BenchmarkId;
    pub use gpubench_records::task::{InvalidPart, Part, ShareMode};
    pub use gpubench_runtime::device::ClockTarget;
    pub use gpubench_runtime::{
        ArgValues, CacheStates, FlushChoice, PathChoice, Percent, RunsDir, ShareChoice, Verifier, WarmUp,
    };
}

/// The jobs of a run, as [`RunEvents`] are told them.
pub mod plan {
    pub use gpubench_runtime::{Job, JobStatus, Plan, SharedResource};
}

/// A run and its records.
pub mod record {
    pub use gpubench_records::record::{
        Compared, Environment, Measurement, Package, Program, Record, Run, Skipped,
    };
}

/// The texts of a run: its table, its explanations, and the formats that other programs read.
pub mod report {
    pub use gpubench_table::export::Format;
    pub use gpubench_table::{Page, explain, render};
}

/// The samples of a case.
pub mod samples {
    pub use gpubench_records::samples::{Energy, EnergyMeasurement, GroupOverhead, Samples, WarmUp};
}

/// The statistics of samples.
pub mod stats {
    pub use gpubench_stats::{CONFIDENCE, Drift, Interval, Modes, Summary, median, quantile};
}

/// Verdicts and their reasons.
pub mod verdict {
    pub use gpubench_records::verdict::{Reason, State, Verdict};
}

/// The `main` of a program of your own that measures: it is handed the [`Suite`] of the benchmarks that are linked, and
/// reads the runs that come of it.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use gpubench::settings::{ArgValues, Percent};
/// use gpubench::{Settings, gpu_bench, host};
///
/// #[gpu_bench(args(n = [1 << 20]), setup = |n| Ok(vec![1_u8; n]), bytes = 2 * x.len())]
/// fn reverse(x: &mut [u8], stream: &host::Stream) {
///     stream.run(|| x.reverse());
/// }
///
/// fn main() -> ExitCode {
///     gpubench::program(|suite| {
///         for n in [1 << 12, 1 << 16, 1 << 20] {
///             let settings = Settings {
///                 filter: vec!["reverse".into()],
///                 arg: vec![ArgValues::new("n", [n])],
///                 precision: Some(Percent(1.0)),
///                 ..Settings::default()
///             };
///             let run = suite.measure(&settings)?;
///             let measured = run.records[0].measurement.as_ref().ok_or("it failed")?;
///             println!("{n}: {}", gpubench::format::time(measured.median()));
///         }
///         Ok(())
///     })
/// }
/// ```
///
/// Measuring prints nothing; [`Suite::measure_with`] and [`Progress`] show how far it is. An error that `body` returns is
/// printed on standard error. An [`Error`] has its own exit code, as it has in a suite; any other ends with 1.
///
/// A worker process of this program comes here too, and measures instead of calling `body`.
pub fn program(body: impl FnOnce(&Suite) -> Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    let this = std::env::current_exe().unwrap_or_default();
    let name = this.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    gpubench_runtime::__private::program(__private::build(None, &name), body)
}

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
            let package = $crate::__private::package(
                ::core::option_env!("CARGO_PKG_NAME"),
                ::core::option_env!("CARGO_PKG_VERSION"),
                ::core::option_env!("CARGO_MANIFEST_DIR"),
            );
            // Cargo sets this variable while it compiles a bench target, and for no example or binary.
            let bench_target = ::core::option_env!("CARGO_TARGET_TMPDIR").is_some();
            $crate::__private::main($crate::__private::build(package, ::core::module_path!()), bench_target)
        }

        // With the harness of `#[test]`, that harness has the target's `main`, and the one above never runs. Only with it does the
        // compiler keep a `#[test]`; inside of a constant no test is listed.
        #[allow(dead_code, unnameable_test_items)]
        const _: () = {
            #[test]
            fn harness() {
                const _: () = ::core::assert!(
                    ::core::option_env!("CARGO_TARGET_TMPDIR").is_none()
                        || !$crate::__private::is_crate_root(::core::module_path!()),
                    "gpubench::main! needs `harness = false` below this target's [[bench]] or [[test]] in Cargo.toml: with its own \
                     harness cargo runs no benchmark and knows no flag of a suite"
                );
            }
        };
    };
}

/// Defaults for benchmarks that have something in common, as a constant that `group = NAME` refers to.
///
/// ```
/// use gpubench::{gpu_bench, group, host};
///
/// group!(TRANSFERS = "transfers", cold, max_time = 0.5, tags = ["bus"]);
///
/// #[gpu_bench(group = TRANSFERS)] // shown as `…::transfers::up`, measured cold too
/// fn up(_stream: &host::Stream) {}
///
/// #[gpu_bench(group = TRANSFERS, cold = false, tags = ["slow"])] // tagged `bus` and `slow`
/// fn down(_stream: &host::Stream) {}
/// # fn main() {}
/// ```
///
/// The name may have attributes and a visibility before it: `group!(#[doc = "…"] pub(crate) TRANSFERS, …)`. What the group
/// is shown as is its name in small letters unless `= "…"` says otherwise. It takes `cold`, `data_type`, `max_time`,
/// `timeout`, `ignore`, `tags` and `link`; what a benchmark says itself goes before that, but for `tags`, which add up.
///
/// It works under any name that the dependency has; only `#[gpu_bench]` needs `crate = …` where gpubench is renamed.
#[macro_export]
macro_rules! group {
    ($($tokens:tt)*) => {
        $crate::__private::group!(($crate) $($tokens)*);
    };
}

/// The pages whose examples must compile.
#[cfg(doctest)]
#[doc = include_str!("../docs/annotating.md")]
#[doc = include_str!("../docs/coming-from.md")]
#[doc = include_str!("../docs/cookbook.md")]
mod pages {}

/// The attribute's own page. Its examples need gpubench, which `gpubench-macros` is built before: as its dev-dependency,
/// everything would be compiled once more, for the compiler's machine.
#[cfg(doctest)]
#[doc = include_str!("../gpubench-macros/src/gpu_bench.md")]
mod attribute {}

/// Names for the expansions of `#[gpu_bench]` and `main!`. Not public: they change without notice.
#[doc(hidden)]
pub mod __private {
    pub use gpubench_macros::group;
    pub use gpubench_records::record::{Package, Program};
    pub use gpubench_records::work::{Counts, Link};
    pub use gpubench_runtime::__private::{
        BenchmarkOptions, Bound, Entry, Generic, Variant, Visitor, inventory,
    };
    pub use gpubench_runtime::Group;
    pub use gpubench_runtime::bind::{
        Checked, Exact, Launched, Values, axis, count, count_exact, exact, memory, pow2, set_up,
    };

    /// Runs a benchmark binary, with the races of feature `tune`.
    #[must_use]
    pub fn main(program: Program, bench_target: bool) -> std::process::ExitCode {
        #[cfg(feature = "tune")]
        let extension = Some(gpubench_tune::extension());
        #[cfg(not(feature = "tune"))]
        let extension = None;
        gpubench_runtime::__private::main(program, bench_target, extension)
    }

    /// The package of a suite, as cargo tells its compiler. Its commit is found when a run begins.
    #[must_use]
    pub fn package(name: Option<&str>, version: Option<&str>, folder: Option<&str>) -> Option<Package> {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let (version, folder) = (text(version), text(folder));
        name.map(|name| Package { name: name.to_owned(), version, folder, commit: None, dirty: None })
    }

    /// Returns true if the module of this path is the crate itself.
    #[must_use]
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

    /// The build of a suite: its package, where cargo builds it, its module, and gpubench.
    #[must_use]
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
