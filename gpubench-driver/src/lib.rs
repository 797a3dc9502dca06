//! libcuda, opened on the first call. Each call of a `cu…` function that a CUDA binding makes goes to the driver,
//! or returns an error if there is none.
//!
//! A program that links libcuda normally needs a CUDA toolkit to build, and on a machine without
//! `libcuda.so.1` it dies in the loader: before `main`, so it cannot even print its help. This crate defines
//! the functions of that library itself, and each opens the driver's on its first call. With it
//!
//! - a program of [cust] or [cudarc] links without libcuda, whatever the linker, and starts everywhere;
//! - without a driver, each call returns `CUDA_ERROR_NO_DEVICE`, and [`load`] returns the reason;
//! - [`watch`] reports the work that a launch function enqueues, with its streams, and [`memory()`] the
//!   allocations;
//! - the code that the driver returned is kept ([`last_call`], [`take_failure`]): bindings fold many into
//!   one, and a code newer than a binding's enum would be undefined behaviour;
//! - after [`interpose`], libraries that open libcuda themselves get these functions too, such as the CUDA
//!   runtime;
//! - [`sys`] has the same functions for Rust code without any binding.
//!
//! Name the crate once in the program or in a library that it uses, so that it is linked, and use the binding
//! as before:
//!
//! ```
//! use cust::error::CudaError;
//! use gpubench_driver as _;
//!
//! match cust::quick_init() {
//!     Ok(_context) => println!("there is a GPU"),
//!     Err(CudaError::NoDevice) => println!("there is none"),
//!     Err(error) => println!("{error}"),
//! }
//! ```
//!
//! # Requirements
//!
//! To run: an NVIDIA driver, if the machine has a GPU to use. To build: nothing. (cust's own build script
//! insists on a folder that has a `lib64`, but uses nothing from it: `CUDA_LIBRARY_PATH=/usr` will do.)
//!
//! # Which library
//!
//! `libcuda.so.1`, as the system's loader finds it; or only the one whose path `GPUBENCH_LIBCUDA` holds. It
//! is opened once and never closed.
//!
//! [cust]: https://docs.rs/cust
//! [cudarc]: https://docs.rs/cudarc

#[cfg(not(unix))]
compile_error!("gpubench measures on Linux; other systems are not supported");

mod calls;
#[cfg(feature = "verify")]
pub mod cupti;
mod forward;
mod graphs;
mod interpose;
mod launches;
mod library;
mod memory;
mod modules;
pub mod nvml;
mod result;
mod table;
mod types;

pub use calls::{
    DriverCall, Enqueued, KernelInfo, KernelLaunch, Shape, StreamOp, StreamOps, stream_ops, watch,
};
pub use graphs::{capture_graphs, instantiate_without_clone, new_executables};
pub use interpose::{interpose, interposed};
pub use library::{Driver, LIBCUDA_VARIABLE, LoadError, MINIMUM_VERSION, Version, library_path, load};
pub use library::{IS_FORKED_COPY, detect_forks};
pub use memory::{MemoryKind, MemoryRange, first_unlisted_call, memory, memory_growth};
pub use result::{Call, error_name, error_text, last_call, take_failure};

/// The driver's functions, types and constants under the names of CUDA's header `cuda.h`. Each call is
/// watched as a user's own is. Functions that the installed driver lacks return `CUDA_ERROR_NOT_FOUND`, and
/// without a driver every one returns `CUDA_ERROR_NO_DEVICE`.
pub mod sys {
    pub use crate::{table::*, types::*};
}
