//! The driver's library, opened once per process: `GPUBENCH_LIBCUDA`, or else the system's `libcuda.so.1`. Its
//! version, its functions by name, and errors that say what to do.

#![expect(unsafe_code, reason = "opens a shared library and calls into it")]

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::{env, error::Error, mem::MaybeUninit, os::unix::ffi::OsStrExt, path};

use libc::{Dl_info, dladdr};
use libloading::Library;

/// A pointer to a driver function. Callers cast it to the function's own type before a call.
pub(crate) type Function = unsafe extern "C" fn();

/// The name of the driver's library that the system's loader searches by default.
const SYSTEM_LIBRARY: &str = "libcuda.so.1";

/// The open library of the driver, the name by which it was opened, and what the driver reports about itself.
/// The library is never closed, since the driver runs threads, and since objects of cust may be dropped at
/// any time.
struct Opened {
    library: Library,
    name: PathBuf,
    driver: Result<Driver, LoadError>,
}

/// The result of [`open_once`], which the first call of it stores.
static OPENED: OnceLock<Result<Opened, LoadError>> = OnceLock::new();

/// Opens the driver's library on the first call; later calls return the same result.
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
/// [`interpose`](crate::interpose). `None` if this process has not opened the library, or if the loader does
/// not know its path.
pub fn library_path() -> Option<PathBuf> {
    let library = &OPENED.get()?.as_ref().ok()?.library;
    find_symbol(library, "cuInit").and_then(|function| library_path_of(function as *const c_void))
}

/// Returns the driver's function of this name. `None` if the driver's library cannot be opened, or lacks the
/// function. Opens the library if nothing has tried yet.
pub(crate) fn driver_function(name: &str) -> Option<Function> {
    find_symbol(&open_once().ok()?.library, name)
}

/// Returns the reason that the driver's library could not be opened; `None` if it is open, even if the driver
/// is too old. Opens the library if nothing has tried yet.
pub(crate) fn open_error() -> Option<&'static LoadError> {
    open_once().err()
}

/// Returns the reason that the function `symbol` cannot be called, as a sentence: the driver's library cannot
/// be opened, or it lacks the function.
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

/// Opens the library that `GPUBENCH_LIBCUDA` names, or else `libcuda.so.1`, and identifies the driver.
/// Returns an error only if the library cannot be opened.
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
/// no version, or is too old. `name` names the library in errors.
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
    // 11070 is 11.7.
    let number = u32::try_from(number).unwrap_or(0);
    let found = Version { major: number / 1000, minor: number % 1000 / 10 };
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
/// knows no such library. The library must never be closed.
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

    /// Returns the driver's function; `None` if there is no driver, or if the driver lacks the function. The
    /// first call looks the function up; later calls are an atomic load.
    #[inline]
    pub(crate) fn function(&self) -> Option<Function> {
        *self.function.get_or_init(|| driver_function(self.symbol))
    }

    /// Returns the driver's function as a pointer of the type `F`; `None` if there is no driver, or if the
    /// driver lacks the function. For [`unrecorded`].
    ///
    /// # Safety
    /// `F` is a pointer to a function of the C type that belongs to this name.
    pub(crate) unsafe fn typed<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<Function>(), "a pointer to a function") };
        // SAFETY: both are pointers to functions, and the caller vouches for the type.
        self.function().map(|function| unsafe { std::mem::transmute_copy::<Function, F>(&function) })
    }
}

/// Looks up a driver function by its name and the types of its arguments; evaluates to `None` if there is no
/// driver, or if the driver lacks the function. [`last_call`](crate::last_call) and watches do not see calls
/// of the returned function. The types must be those of the C function; enumerations are ints.
macro_rules! unrecorded {
    ($name:ident($($argument:ty),* $(,)?)) => {{
        static ENTRY: $crate::library::EntryPoint = $crate::library::EntryPoint::new(stringify!($name));
        // SAFETY: these are the types of the C function of this name.
        unsafe { ENTRY.typed::<unsafe extern "C" fn($($argument),*) -> u32>() }
    }};
}
pub(crate) use unrecorded;

/// The environment variable with the path of the driver's library. If it is set and not empty, that library
/// is opened instead of the system's `libcuda.so.1`, and no other is tried.
pub const LIBCUDA_VARIABLE: &str = "GPUBENCH_LIBCUDA";

/// The oldest supported driver: CUDA 11.7, driver 515. Older ones cannot load gpubench's own kernels, whose
/// PTX is ISA 7.7.
pub const MINIMUM_VERSION: Version = Version { major: 11, minor: 7 };

/// The driver's library, and what it reports about itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Driver {
    /// The library as requested: `libcuda.so.1`, or the value of `GPUBENCH_LIBCUDA`.
    pub library: PathBuf,
    /// The newest version of CUDA that the driver supports.
    pub version: Version,
    /// True for the fake driver of tests, which exports a symbol `gpubench_fake` and whose times are
    /// invented.
    pub fake: bool,
}

/// A version of CUDA, displayed as in `11.7`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, thiserror::Error)]
#[error("{major}.{minor}")]
pub struct Version {
    /// The major version: 11 in 11.7.
    pub major: u32,
    /// The minor version: 7 in 11.7.
    pub minor: u32,
}

/// The reason that no usable driver was found.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The library could not be opened.
    #[error("{}", not_found(library, reason, *from_variable))]
    NotFound {
        /// The library as requested.
        library: PathBuf,
        /// The message of the system's loader.
        reason: String,
        /// True if `GPUBENCH_LIBCUDA` named the library.
        from_variable: bool,
    },
    /// The driver is older than [`MINIMUM_VERSION`].
    #[error(
        "{} supports CUDA {found} and {MINIMUM_VERSION} is needed: update the NVIDIA driver to 515 or newer",
        library.display()
    )]
    TooOld {
        /// The library as requested.
        library: PathBuf,
        /// The version of CUDA that it supports.
        found: Version,
    },
    /// The library is not a CUDA driver: it lacks a function that every driver has.
    #[error("{} has no {symbol}, so it is not the library of a CUDA driver: {}", library.display(), remedy())]
    MissingSymbol {
        /// The library as requested.
        library: PathBuf,
        /// The missing function.
        symbol: &'static str,
    },
    /// `cuDriverGetVersion` failed. The stub library of a CUDA toolkit returns 34 from it.
    #[error("{} does not tell its version ({}): {}", library.display(), describe_version_failure(*code), remedy())]
    NoVersion {
        /// The library as requested.
        library: PathBuf,
        /// The code that `cuDriverGetVersion` returned.
        code: u32,
    },
}

impl LoadError {
    /// Returns the error as a few words to use within a line, such as `libcuda.so.1 not found`.
    pub fn short(&self) -> String {
        match self {
            Self::NotFound { library, reason, .. } if is_absent(library, reason) => {
                format!("{} not found", library.display())
            }
            Self::NotFound { library, reason, .. } => {
                format!("{} cannot be opened: {reason}", library.display())
            }
            Self::TooOld { found, .. } => {
                format!("the driver supports CUDA up to {found}, and {MINIMUM_VERSION} is needed")
            }
            Self::MissingSymbol { library, .. } => format!("{} is not a CUDA driver", library.display()),
            Self::NoVersion { library, code } => {
                format!("{}: {}", library.display(), describe_version_failure(*code))
            }
        }
    }
}

/// Returns true if the loader's message `reason` says that the file `library` does not exist. Returns false
/// if the file needs another library that does not exist.
fn is_absent(library: &Path, reason: &str) -> bool {
    reason.contains("No such file") && reason.contains(&*library.to_string_lossy())
}

/// Returns a message that `library` cannot be opened, with advice. `from_variable` is true if
/// `GPUBENCH_LIBCUDA` named the library.
fn not_found(library: &Path, reason: &str, from_variable: bool) -> String {
    let library = library.display();
    if from_variable {
        format!(
            "{LIBCUDA_VARIABLE} names {library}, which cannot be opened ({reason}): correct the path or unset it"
        )
    } else {
        format!(
            "{library} cannot be opened ({reason}): install an NVIDIA driver, 515 or newer, or {}",
            remedy()
        )
    }
}

/// Returns a phrase for the code of a failed `cuDriverGetVersion`, such as `cuDriverGetVersion returned 3`.
fn describe_version_failure(code: u32) -> String {
    match code {
        34 => "a CUDA toolkit's stub, not a driver".to_owned(),
        _ => format!("cuDriverGetVersion returned {code}"),
    }
}

/// Returns the advice to set `GPUBENCH_LIBCUDA`, as a phrase without a full stop.
fn remedy() -> String {
    format!("set {LIBCUDA_VARIABLE} to the path of the driver's libcuda.so.1")
}

/// True if `fork` created this process from one that had called [`detect_forks`].
pub static IS_FORKED_COPY: AtomicBool = AtomicBool::new(false);

/// Makes [`IS_FORKED_COPY`] true in each copy of this process that `fork` creates from now on. Copies
/// that the bare system call creates are not detected, nor are copies that have called `exec`. Later calls do
/// nothing.
pub fn detect_forks() {
    static REGISTERED: Once = Once::new();

    unsafe extern "C" fn mark() {
        IS_FORKED_COPY.store(true, Ordering::Relaxed);
    }

    REGISTERED.call_once(|| {
        // SAFETY: the function stores one atomic value, which is allowed in a copy of a process with several threads, and lives as
        // long as the process. Without memory for one more function the call fails, and copies are not marked.
        unsafe { libc::pthread_atfork(None, None, Some(mark)) };
    });
}
