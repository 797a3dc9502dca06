//! The driver that was opened, with its name and version; or an error that says what happened, where, and
//! what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// The environment variable with the path of the driver's library, to open instead of the system's
/// `libcuda.so.1`.
pub const LIBCUDA_VARIABLE: &str = "GPUBENCH_LIBCUDA";

/// The oldest supported driver: CUDA 11.7, driver 515. Older ones cannot load the suite's own kernels, whose
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

/// A version of CUDA; its `Display` is `11.7`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Version {
    /// 11 in 11.7.
    pub major: u32,
    /// 7 in 11.7.
    pub minor: u32,
}

impl Version {
    /// Converts CUDA's own number of a version: 11070 is 11.7. A negative number becomes 0.0.
    pub(crate) fn from_number(number: i32) -> Self {
        let number = u32::try_from(number).unwrap_or(0);
        Self { major: number / 1000, minor: number % 1000 / 10 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
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
    /// The library does not report its version. The stub of a CUDA toolkit does not: it returns 34.
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
    #[must_use]
    pub fn short(&self) -> String {
        match self {
            Self::NotFound { library, reason, .. } if is_absent(library, reason) => {
                format!("{} not found", library.display())
            }
            Self::NotFound { library, reason, .. } => {
                format!("{} cannot be opened: {reason}", library.display())
            }
            Self::TooOld { found, .. } => {
                format!("the driver supports CUDA {found}, {MINIMUM_VERSION} is needed")
            }
            Self::MissingSymbol { library, .. } => format!("{} is not a CUDA driver", library.display()),
            Self::NoVersion { library, code } => {
                format!("{}: {}", library.display(), describe_version_failure(*code))
            }
        }
    }
}

/// Returns true if the loader's message `reason` says that `library` itself does not exist, rather than a
/// library that it needs.
fn is_absent(library: &Path, reason: &str) -> bool {
    reason.contains("No such file") && reason.contains(&*library.to_string_lossy())
}

/// Returns the message that `library` cannot be opened, with advice. `from_variable` is true if
/// `GPUBENCH_LIBCUDA` named it.
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

/// Returns a phrase for a failed `cuDriverGetVersion`, such as `cuDriverGetVersion returned 3`.
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
