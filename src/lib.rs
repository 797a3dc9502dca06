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
//! `cust`) or of `cudarc` (feature `cudarc`), or [`cuda::RawStream`] with any other binding and with C; a GPU of any vendor `wgpu::Encoder` (feature `wgpu`); and any
//! type that implements [`LaunchStream`] a device of your own. [`gpu_bench`](macro@gpu_bench) tells what the
//! attribute takes, [`main!`] what makes a suite, and [`program`] is for experiments of your own.

pub use gpubench_core::{
    CaseError, Group, LaunchStream, Peer, Restore, StreamSource, host, listed_ordinal, pow2,
};
pub use gpubench_macros::gpu_bench;
#[cfg(feature = "wgpu")]
pub use gpubench_wgpu as wgpu;

#[cfg(feature = "runtime")]
mod runtime;
#[cfg(feature = "runtime")]
pub use self::runtime::*;

/// Streams of NVIDIA GPUs, of any binding.
pub mod cuda {
    pub use gpubench_core::cuda::{CudaStream, Gpu, Handle, RawStream, Recorded};
    #[cfg(feature = "unstable-device")]
    pub use gpubench_runtime::devices::cuda::{Cuda, Replay};
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
#[cfg(feature = "runtime")]
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
    ($($other:tt)*) => {
        ::core::compile_error!(
            "gpubench::main! takes the names of the crates whose benchmarks it runs: `gpubench::main!(my_kernels);`"
        );

        fn main() {}
    };
}

/// Says that a benchmark binary needs the feature `runtime`.
#[cfg(not(feature = "runtime"))]
#[macro_export]
macro_rules! main {
    ($($kernels:tt)*) => {
        ::core::compile_error!(
            "gpubench::main! needs gpubench's feature `runtime`: add gpubench with `features = [\"runtime\"]` to [dev-dependencies]"
        );

        fn main() {}
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
/// `timeout`, `ignore`, `tags`, `link`, `energy`, `host_work` and `accumulates`. An option of a benchmark replaces that of its group; `tags`
/// add up.
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
#[doc = include_str!("../docs/book/attribute.md")]
#[doc = include_str!("../docs/book/bindings.md")]
#[doc = include_str!("../docs/book/devices.md")]
mod pages {}

/// The attribute's own page. Its examples need gpubench, which `gpubench-macros` is built before: as its dev-dependency,
/// everything would be compiled once more, for the compiler's machine.
#[cfg(doctest)]
#[doc = include_str!("../gpubench-macros/src/gpu_bench.md")]
mod attribute {}

/// Names for the expansions of `#[gpu_bench]` and `main!`. Not public: they change without notice.
#[doc(hidden)]
pub mod __private {
    #[cfg(feature = "runtime")]
    pub use super::runtime::main;
    pub use gpubench_core::bind::{
        Checked, Exact, Launched, Values, axis, count, exact, exact_count, exact_metric, memory, metric,
        pow2, set_up,
    };
    #[cfg(feature = "runtime")]
    pub use gpubench_core::inventory;
    pub use gpubench_core::{BenchmarkOptions, Bound, Counts, Entry, Generic, Group, Link, Variant, submit};
    pub use gpubench_macros::group;
    #[cfg(feature = "runtime")]
    pub use gpubench_runtime::__private::{build, is_crate_root, package};
}
