//! Watches calls of libraries that open the driver by its name: makes a process in which
//! `dlopen("libcuda.so.1")` returns this crate's functions.
//!
//! The loader returns the first loaded object whose own name (`DT_SONAME`) is the requested one. So an object
//! of that name is made in memory and loaded before the driver, which it needs by its path. Its symbols are
//! the forwarders; any other symbol is the driver's.

#![expect(unsafe_code, reason = "loads a shared object and writes its table of symbols")]

use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::{env, fs::File, io, mem::ManuallyDrop, os::unix::ffi::OsStringExt, sync::OnceLock};

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

use crate::interpose::elf::{ELF_MACHINE, ElfSymbol, TABLE_SYMBOL, shared_object};
use crate::library::{self, Function, LIBCUDA_VARIABLE};
use crate::table::forwarders;

mod elf;

/// The result of [`interpose`], which the first call of it stores.
static INTERPOSED: OnceLock<Result<(), String>> = OnceLock::new();

/// The reason if [`interpose`] was not called.
const NOT_REQUESTED: &str = "this process did not take the driver's name before it ran other code";
/// The reason if `GPUBENCH_LIBCUDA` is not set, or is a name without a folder.
const UNKNOWN_PATH: &str = "GPUBENCH_LIBCUDA does not hold the path of the driver's library";
/// The reason if the system's loader does not support the objects that [`interpose`] loads.
const OTHER_LOADER: &str = "the system's loader is not that of glibc 2.28 or newer on x86-64 or aarch64";

/// Makes later calls of `dlopen` for `libcuda.so.1` and `libcuda.so` in this process return the functions of
/// this crate, so that [`watch`](crate::watch) and [`memory()`](crate::memory()) see the calls of libraries
/// that open the driver themselves, such as the CUDA runtime. Also opens the driver.
///
/// `GPUBENCH_LIBCUDA` must hold the path of the driver's library; a parent process finds it with
/// [`library_path`](crate::library_path). Call this before any code that may open the driver. Later calls
/// return the result of the first.
///
/// # Errors
/// Returns the reason if this is not possible. Calls of code that is linked with this crate are watched even
/// then.
pub fn interpose() -> Result<(), &'static str> {
    INTERPOSED.get_or_init(load_objects).as_ref().copied().map_err(String::as_str)
}

/// Returns the result of the earlier call of [`interpose`]; an error if there was none.
///
/// # Errors
/// Returns the reason why calls of libraries that open the driver themselves are not watched.
pub fn interposed() -> Result<(), &'static str> {
    INTERPOSED.get().map_or(Err(NOT_REQUESTED), |state| state.as_ref().copied().map_err(String::as_str))
}

/// The driver's own name (`DT_SONAME`), by which most libraries open the driver.
const DRIVER_NAME: &str = "libcuda.so.1";
/// The other name by which some libraries, such as cudarc, open the driver.
const LINK_NAME: &str = "libcuda.so";

/// Loads two objects that have the driver's names, and sets the forwarders as the addresses of their symbols.
/// Returns an error if a library with one of the names is loaded already. If the loader does not use the
/// addresses as they are, removes them and returns an error.
fn load_objects() -> Result<(), String> {
    let machine = ELF_MACHINE.filter(|_| cfg!(all(target_env = "gnu", target_pointer_width = "64")));
    let machine = machine.ok_or(OTHER_LOADER)?;
    // For a name without a folder, the loader would find the object itself.
    let driver = env::var_os(LIBCUDA_VARIABLE).map(OsStringExt::into_vec).filter(|path| path.contains(&b'/'));
    let driver = driver.ok_or(UNKNOWN_PATH)?;
    if let Some(name) = [DRIVER_NAME, LINK_NAME].into_iter().find(|name| is_loaded(name)) {
        return Err(format!(
            "{name} was loaded before: by a library that the program links with, or by a tool that watches the program"
        ));
    }
    let names: Vec<&str> = forwarders().map(|(name, _)| *name).collect();
    let named = LoadedObject::new(DRIVER_NAME, &shared_object(machine, DRIVER_NAME, &driver, &names))?;
    // The second object finds the first by its name, and all symbols in it.
    let linked =
        LoadedObject::new(LINK_NAME, &shared_object(machine, LINK_NAME, DRIVER_NAME.as_bytes(), &[]))?;
    // A program may ask which functions there are: only those of the driver are offered.
    set_addresses(&named, |name, forwarder| library::driver_function(name).map(|_| forwarder as usize))?;
    let are_ours = forwarders().all(|(name, forwarder)| {
        linked.symbol(name).is_none_or(|found| found as usize == *forwarder as usize)
    });
    if are_ours {
        return Ok(());
    }
    // A loader that adds an object's own address to every other. Without any, it finds the driver's functions.
    set_addresses(&named, |_, _| None)?;
    Err(OTHER_LOADER.to_owned())
}

/// Sets the address of each forwarder's symbol in `object`, which must have all of these symbols. `address`
/// computes the address from the symbol's name and the forwarder; `None` makes the symbol undefined. Returns
/// an error if the object has no symbol table.
fn set_addresses(
    object: &LoadedObject,
    address: impl Fn(&str, Function) -> Option<usize>,
) -> Result<(), String> {
    let table = object.symbol(TABLE_SYMBOL).ok_or(OTHER_LOADER)?.cast::<ElfSymbol>();
    for (index, (name, forwarder)) in forwarders().enumerate() {
        // SAFETY: the object has a symbol for each forwarder behind the unused first, in memory that stays and may be
        // written; the loader reads it only to look a name up, and no other code runs yet.
        unsafe { (*table.add(1 + index)).set_address(address(name, *forwarder)) };
    }
    Ok(())
}

/// `RTLD_NOLOAD`: return a library only if it is loaded already.
const RTLD_NOLOAD: c_int = 4;

/// Returns true if a library of this name is loaded.
fn is_loaded(name: &str) -> bool {
    // SAFETY: nothing is loaded, so no initialiser runs.
    unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_NOLOAD) }.is_ok()
}

/// A loaded shared object. It is never closed.
struct LoadedObject(ManuallyDrop<Library>);

impl LoadedObject {
    /// Loads the shared object with these bytes from a file in memory, which stays open. `name` is the name
    /// of this file.
    fn new(name: &str, bytes: &[u8]) -> Result<Self, String> {
        let file = memory_file(name, bytes)
            .map_err(|error| format!("memory for a library cannot be made ({error})"))?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // The loader remembers this path as the object's. Another file with this number would be taken for the object,
        // so this one stays open.
        let _ = file.into_raw_fd();
        // SAFETY: the object has no initialiser. The library that it needs is the CUDA driver, or the user named it as
        // one: its initialisers may run anywhere.
        match unsafe { Library::open(Some(&*path), RTLD_LAZY | RTLD_LOCAL) } {
            Ok(library) => Ok(Self(ManuallyDrop::new(library))),
            Err(error) => {
                let error = library::loader_message(&error);
                Err(format!("the object with the driver's name cannot be loaded ({error})"))
            }
        }
    }

    /// Returns the address of a symbol of the object or of a library that it needs; `None` if none of them
    /// has the symbol.
    fn symbol(&self, name: &str) -> Option<*mut c_void> {
        // SAFETY: the symbol is not used as anything but an address here.
        let address = unsafe { self.0.get::<*mut c_void>(name) }.ok()?;
        Some(address.as_raw_ptr()).filter(|address| !address.is_null())
    }
}

/// Creates a file in memory with these bytes, called `name`. The file is not executable.
#[cfg(target_os = "linux")]
fn memory_file(name: &str, bytes: &[u8]) -> io::Result<File> {
    use std::io::Write;

    use rustix::fs::{MemfdFlags, memfd_create};

    let create = |flags| memfd_create(name, MemfdFlags::CLOEXEC | flags);
    // The second flag says what the system's policy may insist on; before Linux 6.3 it is unknown.
    let file = create(MemfdFlags::NOEXEC_SEAL).or_else(|_| create(MemfdFlags::empty()))?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    Ok(file)
}

/// Returns an error: only Linux has files in memory that the loader accepts.
#[cfg(not(target_os = "linux"))]
fn memory_file(_name: &str, _bytes: &[u8]) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
