//! GPU kernel benchmarks for Rust. Annotate a launch function: a benchmark binary times it with hot and cold caches, and prints
//! the share of the hardware's peak that it reaches.
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
//! The type of the stream parameter selects the device:
//!
//! | type | device | feature |
//! |---|---|---|
//! | [`host::Stream`] | the CPU of this machine | |
//! | a stream of `cust` | NVIDIA GPU | `cust` |
//! | a stream of `cudarc` | NVIDIA GPU | `cudarc` |
//! | [`cuda::RawStream`] | NVIDIA GPU, with any other binding or with C | |
//! | `wgpu::Encoder` | GPU of any vendor | `wgpu` |
//! | a type that implements [`LaunchStream`] | a device of your own | |
//!
//! - [`gpu_bench`](macro@gpu_bench) documents the options of the attribute.
//! - [`main!`] makes a benchmark binary, and [`group!`] sets defaults for several benchmarks. Benchmark binaries need the feature
//!   `runtime`.
//! - [`program`] measures without a benchmark binary, for experiments of your own.

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

/// Defines `main` of a benchmark binary: a bench target with `harness = false`, an example or a binary.
///
/// The benchmark binary measures all benchmarks that it links: those of its own crate, and of library crates. The arguments name
/// crates that would not be linked otherwise.
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
                     harness cargo runs no benchmark, and rejects the flags of a benchmark binary"
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

/// Fails to compile: a benchmark binary needs the feature `runtime`.
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

/// Defines a group: a constant with defaults for several benchmarks, which select it by `group = NAME`.
///
/// ```
/// use gpubench::{gpu_bench, group, host};
///
/// group!(TRANSFERS = "transfers", cold, max_time = 0.5, tags = ["bus"]);
///
/// #[gpu_bench(group = TRANSFERS)] // its name is `…::transfers::up`; also measured cold
/// fn up(_stream: &host::Stream) {}
///
/// #[gpu_bench(group = TRANSFERS, cold = false, tags = ["slow"])] // only hot; tags `bus` and `slow`
/// fn down(_stream: &host::Stream) {}
/// # fn main() {}
/// ```
///
/// Attributes and a visibility can precede the constant: `group!(#[doc = "…"] pub(crate) TRANSFERS, …)`. The group's name in the
/// names of benchmarks is the text after `=`, or else the constant's name in lower case.
///
/// A group accepts `cold`, `data_type`, `max_time`, `timeout`, `ignore`, `tags`, `link`, `energy`, `host_work` and `accumulates`.
/// A benchmark's own options replace those of its group, but tags of both count.
///
/// If the dependency is renamed, `group!` needs no `crate = …`, unlike `#[gpu_bench]`.
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
        Checked, Launched, Values, axis, count, exact, exact_count, exact_metric, memory, metric, pow2,
        set_up,
    };
    #[cfg(feature = "runtime")]
    pub use gpubench_core::inventory;
    pub use gpubench_core::{
        BenchmarkOptions, Bound, Counts, Entry, Generic, Group, Link, StreamParameter, Variant, submit,
    };
    pub use gpubench_macros::group;
    #[cfg(feature = "runtime")]
    pub use gpubench_runtime::__private::{build, is_crate_root, package};
}
