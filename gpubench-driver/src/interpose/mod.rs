//! Watches calls of libraries that open the driver by its name. In: the path of the driver's library, before anything
//! has opened it. Out: a process in which `dlopen("libcuda.so.1")` returns this crate's functions.
//!
//! The loader returns the first loaded object whose own name (`DT_SONAME`) is the requested one. So an object of that
//! name is made in memory and loaded before the driver, which it needs by its path. Its symbols are the forwarders;
//! any other symbol is the driver's.

mod elf;
mod load;
mod names;

use std::sync::OnceLock;

use self::names::take_names;
use crate::driver::VARIABLE;

static STATE: OnceLock<Result<(), NotInterposed>> = OnceLock::new();

/// The reason why calls of libraries that open the driver themselves pass this crate by.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotInterposed {
    /// This process has not called [`interpose`].
    #[error("this process did not take the driver's name before it ran other code")]
    NotRequested,
    /// The path of the driver's library is not known.
    #[error("{VARIABLE} does not hold the path of the driver's library")]
    UnknownPath,
    /// Something has loaded the driver before.
    #[error(
        "{0} was loaded before: by a library that the program links with, or by a tool that watches the program"
    )]
    AlreadyLoaded(&'static str),
    /// The loader does not work as needed.
    #[error("the system's loader is not that of glibc 2.28 or newer on x86-64 or aarch64")]
    OtherLoader,
    /// There is no memory that can be loaded as a library.
    #[error("memory for a library cannot be made ({0})")]
    NoMemoryFile(String),
    /// The loader cannot load the object, or the driver that it needs.
    #[error("the object with the driver's name cannot be loaded ({0})")]
    NotLoaded(String),
}

/// Makes this process's later `dlopen` of `libcuda.so.1` and `libcuda.so` return the functions of this crate, so that
/// [`watch`](crate::watch) and [`memory()`](crate::memory()) see the calls of libraries that open the driver
/// themselves, such as the CUDA runtime. Also opens the driver.
///
/// `GPUBENCH_LIBCUDA` must hold the path of the driver's library; a parent process finds it with
/// [`library_path`](crate::library_path). Call this before any code that may open the driver. Later calls return the
/// first result.
///
/// # Errors
/// Returns the reason if this is not possible. Calls that are linked with the program are watched all the same.
pub fn interpose() -> Result<(), &'static NotInterposed> {
    STATE.get_or_init(take_names).as_ref().copied()
}

/// Returns the result of [`interpose`] without calling it.
///
/// # Errors
/// Returns the reason why calls of libraries that open the driver themselves are not watched.
pub fn interposed() -> Result<(), &'static NotInterposed> {
    STATE.get().map_or(Err(&NotInterposed::NotRequested), |state| state.as_ref().copied())
}
