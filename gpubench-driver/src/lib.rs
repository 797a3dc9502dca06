//! libcuda, found when first needed. In: every call of a `cu…` function that [cust] makes. Out: the same call
//! to the driver, or an error where there is none.
//!
//! A program that uses cust, the CUDA driver binding, normally needs a CUDA toolkit to build, and on a machine
//! without `libcuda.so.1` it dies in the loader: before `main`, so it cannot even print its help. This crate
//! defines the functions of that library itself, and each opens the driver's on its first call. With it
//!
//! - the program links without libcuda, whatever the linker, and starts everywhere;
//! - without a driver, a call of cust returns [`CudaError::NoDevice`][nodevice], and [`load`] says why;
//! - what a launch function puts on which stream ([`watch`]) and the memory that there is ([`memory()`]) can be told;
//! - the code that the driver returned is kept ([`last_call`], [`take_failure`]): cust folds many into
//!   `UnknownError`, and a code newer than its enum would be undefined behaviour.
//!
//! Name the crate once in the program or in a library that it uses, so that it is linked, and use cust as
//! before:
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
//! To run: an NVIDIA driver, where there is a GPU to use. To build: cust's build script insists on a folder
//! that has a `lib64`, from which nothing is used. Where no CUDA toolkit is installed, any will do:
//!
//! ```text
//! CUDA_LIBRARY_PATH=/usr cargo build
//! ```
//!
//! # Which library
//!
//! `libcuda.so.1`, as the system's loader finds it; or the one whose path `GPUBENCH_LIBCUDA` holds, and then
//! no other. It is opened once and never closed.
//!
//! [cust]: https://docs.rs/cust
//! [nodevice]: https://docs.rs/cust/0.3.2/cust/error/enum.CudaError.html#variant.NoDevice

mod capture;
mod codes;
mod driver;
mod entry;
mod forward;
mod launches;
mod library;
mod memory;
mod result;
mod table;
mod text;
mod watch;

pub use driver::{Driver, LoadError, MINIMUM_VERSION, VARIABLE, Version};
pub use launches::{Enqueued, KernelFacts, KernelLaunch, Step, watch};
pub use library::load;
pub use memory::{Memory, MemoryKind, memory, unlisted};
pub use result::{Call, Origin, last_call, take_failure};
pub use text::{error_name, error_text};
