//! Finds and opens the driver's library, once per process: `GPUBENCH_LIBCUDA`, else the system's
//! `libcuda.so.1`. Looks up its functions by name.

#![expect(unsafe_code, reason = "opens a shared library and calls into it")]

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::path::{Path, PathBuf};
use std::{env, error::Error, mem::MaybeUninit, os::unix::ffi::OsStrExt, path, sync::OnceLock};

use libc::{Dl_info, dladdr};
use libloading::Library;

use crate::driver::{Driver, LIBCUDA_VARIABLE, LoadError, MINIMUM_VERSION, Version};

/// A pointer to a driver function. Callers cast it to the function's own type before a call.
pub(crate) type Function = unsafe extern "C" fn();

/// The name of the driver's library that the system's loader searches by default.
const SYSTEM_LIBRARY: &str = "libcuda.so.1";

/// The open library of the driver, its name as requested, and what it reports about itself. It is never
/// closed, since the driver runs threads and objects of cust may be dropped at any time.
struct Opened {
    library: Library,
    name: PathBuf,
    driver: Result<Driver, LoadError>,
}

/// The library, or the reason that it could not be opened, once it was requested.
static OPENED: OnceLock<Result<Opened, LoadError>> = OnceLock::new();

/// Returns the library. The first call opens it; later calls return the same result.
fn open_once() -> Result<&'static Opened, &'static LoadError> {
    OPENED.get_or_init(open).as_ref()
}

/// Opens the driver's library on the first call, and queries its version. It does not initialise CUDA. Later
/// calls return the same result.
///
/// The library is `libcuda.so.1` as the system's loader finds it, or the one that `GPUBENCH_LIBCUDA` names.
///
/// # Errors
/// Returns an error if there is no such library, if it is not a CUDA driver, or if the driver is older than
/// [`MINIMUM_VERSION`]. Calls still reach an old driver: the caller decides if that will do.
pub fn load() -> Result<&'static Driver, &'static LoadError> {
    open_once()?.driver.as_ref()
}

/// Returns the path of the driver's library, for a child process that is to call
/// [`interpose`](crate::interpose). `None` if this process has not opened the library.
#[must_use]
pub fn library_path() -> Option<PathBuf> {
    let library = &OPENED.get()?.as_ref().ok()?.library;
    find_symbol(library, "cuInit").and_then(|function| library_path_of(function as *const c_void))
}

/// Returns the driver's function of this name; `None` without a driver, or if the driver lacks the function.
pub(crate) fn driver_function(name: &str) -> Option<Function> {
    find_symbol(&open_once().ok()?.library, name)
}

/// Returns true if the driver's library could be opened, of whatever version.
pub(crate) fn is_open() -> bool {
    open_once().is_ok()
}

/// Returns the reason that the driver's library could not be opened; `None` if it is open.
pub(crate) fn open_error() -> Option<&'static LoadError> {
    open_once().err()
}

/// Returns the reason that the function `symbol` cannot be called, as a sentence: there is no driver, or it
/// lacks the function.
pub(crate) fn describe_missing(symbol: &str) -> String {
    match open_once() {
        Err(error) => error.to_string(),
        Ok(Opened { name, driver, .. }) => {
            let name = name.display();
            let version = match driver {
                Ok(Driver { version, .. }) | Err(LoadError::TooOld { found: version, .. }) => {
                    format!("CUDA {version}")
                }
                Err(_) => "unknown version".to_owned(),
            };
            format!("{name} ({version}) has no {symbol}: a driver of another version may have it")
        }
    }
}

/// Opens the library that `GPUBENCH_LIBCUDA` names, or else `libcuda.so.1`, and identifies it.
fn open() -> Result<Opened, LoadError> {
    // Set but empty counts as unset: dlopen("") would open this program itself.
    let variable = env::var_os(LIBCUDA_VARIABLE).filter(|value| !value.is_empty());
    let from_variable = variable.is_some();
    let name = PathBuf::from(variable.unwrap_or_else(|| SYSTEM_LIBRARY.into()));
    // SAFETY: the library is the CUDA driver, or the user named it as one: its initialisers may run anywhere.
    let library = unsafe { Library::new(&*name) }.map_err(|error| LoadError::NotFound {
        library: name.clone(),
        reason: loader_message(&error),
        from_variable,
    })?;
    let driver = identify(&library, &name);
    Ok(Opened { library, name, driver })
}

/// Returns the system loader's own message for an error.
pub(crate) fn loader_message(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Queries the version of the driver in `library`. Returns an error if the library is not a driver, reports
/// no version, or is too old. `name` is its name in errors.
fn identify(library: &Library, name: &Path) -> Result<Driver, LoadError> {
    let need = |symbol| {
        find_symbol(library, symbol)
            .ok_or_else(|| LoadError::MissingSymbol { library: name.to_owned(), symbol })
    };
    need("cuInit")?;
    let version = need("cuDriverGetVersion")?;
    // SAFETY: this is the C type of the function of that name.
    let version =
        unsafe { std::mem::transmute::<Function, unsafe extern "C" fn(*mut c_int) -> u32>(version) };
    let mut number: c_int = 0;
    // SAFETY: `number` is a place for an int, and this function needs no cuInit.
    let code = unsafe { version(&raw mut number) };
    if code != 0 {
        return Err(LoadError::NoVersion { library: name.to_owned(), code });
    }
    let found = Version::from_number(number);
    if found < MINIMUM_VERSION {
        return Err(LoadError::TooOld { library: name.to_owned(), found });
    }
    let fake = find_symbol(library, "gpubench_fake").is_some();
    Ok(Driver { library: name.to_owned(), version: found, fake })
}

/// Returns the function `symbol` of `library`; `None` if there is none.
fn find_symbol(library: &Library, symbol: &str) -> Option<Function> {
    // SAFETY: nobody calls this function pointer before giving it the type that belongs to its name.
    unsafe { library.get::<Function>(symbol) }.ok().map(|function| *function)
}

/// Returns the absolute path of the library that contains the function at `address`; `None` if the loader
/// knows none. The library must never be closed.
fn library_path_of(address: *const c_void) -> Option<PathBuf> {
    let mut place = MaybeUninit::<Dl_info>::zeroed();
    // SAFETY: `place` has room for the result, and a `Dl_info` of zeros is valid if `dladdr` fails and leaves it as it is.
    let place = unsafe { (dladdr(address, place.as_mut_ptr()) != 0).then(|| place.assume_init()) }?;
    // SAFETY: the path belongs to the library, which is never closed.
    let path = (!place.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(place.dli_fname) })?;
    path::absolute(OsStr::from_bytes(path.to_bytes())).ok()
}

/// A driver function that a forwarder calls: its name, and its address once it was looked up (`None` if the
/// driver lacks it).
pub(crate) struct EntryPoint {
    pub symbol: &'static str,
    function: OnceLock<Option<Function>>,
}

impl EntryPoint {
    /// Returns the function of this name, not looked up yet.
    pub(crate) const fn new(symbol: &'static str) -> Self {
        Self { symbol, function: OnceLock::new() }
    }

    /// Returns the driver's function; `None` if the driver lacks it. The first call looks it up; later calls
    /// are an atomic load.
    #[inline]
    pub(crate) fn function(&self) -> Option<Function> {
        *self.function.get_or_init(|| driver_function(self.symbol))
    }

    /// Returns the driver's function as a pointer of the type `F`; `None` if the driver lacks it. Used by
    /// [`unrecorded`].
    ///
    /// # Safety
    /// `F` is a pointer to a function of the C type that belongs to this name.
    pub(crate) unsafe fn typed<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<Function>(), "a pointer to a function") };
        // SAFETY: both are pointers to functions, and the caller vouches for the type.
        self.function().map(|function| unsafe { std::mem::transmute_copy::<Function, F>(&function) })
    }
}

/// Looks up a driver function by its name and the types of its arguments, for calls that
/// [`last_call`](crate::last_call) and watchers do not see; `None` if the driver lacks it. The types must be
/// those of the C function; enumerations are ints.
macro_rules! unrecorded {
    ($name:ident($($argument:ty),* $(,)?)) => {{
        static ENTRY: $crate::library::EntryPoint = $crate::library::EntryPoint::new(stringify!($name));
        // SAFETY: these are the types of the C function of this name.
        unsafe { ENTRY.typed::<unsafe extern "C" fn($($argument),*) -> u32>() }
    }};
}
pub(crate) use unrecorded;
