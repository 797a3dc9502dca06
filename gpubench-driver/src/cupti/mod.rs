//! CUPTI, NVIDIA's library for tracing, found and opened when first needed: the path that the user names,
//! else the folders where toolkits and Python packages install it. It records what the GPU did while it was
//! traced, each piece with its begin and its end, whichever stream or thread it came from.
//!
//! Nothing is linked. Tracing slows launches down, and some of it may stay after tracing has ended: a process
//! that has traced is of no more use for other measurements.

use std::path::{Path, PathBuf};
use std::{env, fs, sync::OnceLock};

use crate::cupti::functions::Functions;

pub use crate::cupti::functions::CuptiError;
pub use crate::cupti::records::{Activity, ActivityKind};

mod functions;
mod records;

/// The environment variable with the path of the CUPTI library to open. If it is set and not empty, no other
/// library is tried.
pub const CUPTI_VARIABLE: &str = "GPUBENCH_CUPTI";

/// The oldest supported version, as CUPTI numbers it: that of CUDA 11.0.
const MIN_VERSION: u32 = 13;
/// The first version number that CUPTI derives from the version of CUDA: 130000 is CUDA 13.0. Smaller numbers
/// count versions of CUPTI's interface.
const FIRST_CUDA_NUMBERED_VERSION: u32 = 100_000;

/// The result of [`load`], which the first call of it stores.
static OPENED: OnceLock<Result<Cupti, CuptiError>> = OnceLock::new();

/// The open CUPTI library. It is never closed, since its threads go on.
pub struct Cupti {
    version: u32,
    functions: Functions,
}

/// Opens the library on the first call; every later call returns the same result.
///
/// The library is the one that `GPUBENCH_CUPTI` names. If that variable is not set, or empty, it is the first
/// usable one in a CUDA toolkit, in Python packages, or in the loader's path.
///
/// # Errors
/// Returns an error if there is no such library, if it is not CUPTI, or if it is too old.
pub fn load() -> Result<&'static Cupti, &'static CuptiError> {
    OPENED.get_or_init(open).as_ref()
}

/// Opens the library that [`CUPTI_VARIABLE`] names, if it is set and not empty, and else the first usable
/// candidate.
fn open() -> Result<Cupti, CuptiError> {
    let named = env::var_os(CUPTI_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    match named {
        Some(library) => Cupti::open(&library),
        None => open_first(candidate_libraries()),
    }
}

/// Opens the first candidate that can be opened, is CUPTI and is new enough. If there is none, returns the
/// error of the first candidate that is a file, or [`CuptiError::NotFound`] if none is a file.
fn open_first(candidates: Vec<PathBuf>) -> Result<Cupti, CuptiError> {
    let mut first = None;
    for library in candidates {
        match Cupti::open(&library) {
            Ok(cupti) => return Ok(cupti),
            Err(error) if library.is_file() => first = first.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(first.unwrap_or(CuptiError::NotFound))
}

impl Cupti {
    /// Opens the library at this path. Returns an error if it is not CUPTI, or older than [`MIN_VERSION`].
    fn open(library: &Path) -> Result<Self, CuptiError> {
        let functions = Functions::open(library)?;
        let version = functions.version()?;
        if version < MIN_VERSION {
            return Err(CuptiError::TooOld { library: library.to_owned(), version });
        }
        Ok(Self { version, functions })
    }

    /// Returns the path from which the library was opened.
    pub fn library(&self) -> &Path {
        &self.functions.library
    }

    /// Returns the library's version as text, such as `13.5`. Before CUDA 13 that is the number of the
    /// interface, such as `28`.
    pub fn version(&self) -> String {
        match self.version {
            FIRST_CUDA_NUMBERED_VERSION.. => {
                format!("{}.{}", self.version / 10_000, self.version / 100 % 100)
            }
            version => version.to_string(),
        }
    }

    /// Starts to trace all GPU work of this process, until the returned [`Tracing`] is dropped. Discards the
    /// activities of earlier traces that were not taken.
    ///
    /// # Errors
    /// Returns CUPTI's error.
    pub fn trace(&'static self) -> Result<Tracing, CuptiError> {
        records::clear();
        self.functions.register(records::provide_buffer, records::read_buffer)?;
        let tracing = Tracing { cupti: self };
        for kind in ActivityKind::ALL {
            self.functions.enable(kind.cupti_kind())?;
        }
        Ok(tracing)
    }
}

/// A trace in progress. Dropping it ends the trace.
pub struct Tracing {
    cupti: &'static Cupti,
}

impl Tracing {
    /// Returns the GPU work since the trace began or since the last call of this method, in the order in
    /// which the host enqueued it. The caller must have waited for all of it.
    ///
    /// # Errors
    /// Returns an error if CUPTI does not return its buffers, has dropped records, or returned one that
    /// cannot be read.
    pub fn take(&self) -> Result<Vec<Activity>, CuptiError> {
        let functions = &self.cupti.functions;
        functions.flush()?;
        let (mut found, garbled) = records::take_activities();
        if garbled {
            return Err(CuptiError::Garbled);
        }
        match functions.take_dropped_count()? {
            0 => {}
            records => return Err(CuptiError::Dropped { records }),
        }
        found.sort_by_key(|activity| (activity.correlation, activity.begin));
        Ok(found)
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        for kind in ActivityKind::ALL {
            // One that was never enabled cannot be disabled.
            _ = self.cupti.functions.disable(kind.cupti_kind());
        }
    }
}

/// The file names of CUPTI to search in the loader's path, newest first.
const LIBRARY_NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];

/// First the folders of CUDA toolkits, then the folders within a toolkit that may contain CUPTI.
const TOOLKIT_FOLDERS: ([&str; 3], [&str; 2]) =
    (["$CUDA_HOME", "$CUDA_PATH", "/usr/local/cuda*"], ["extras/CUPTI/lib64", "targets/*/lib"]);
/// The folders in which NVIDIA's Python packages install CUPTI: first the roots of active environments, of
/// the user and of the system, then the folders within each root. [`matching`] expands `$` and `*`.
const PYTHON_FOLDERS: ([&str; 5], [&str; 2]) = (
    ["$VIRTUAL_ENV", "$CONDA_PREFIX", "$HOME/.local", "/usr/local", "/usr"],
    ["lib/python3*/*-packages/nvidia/cu13/lib", "lib/python3*/*-packages/nvidia/cuda_cupti/lib"],
);

/// Returns the libraries to try, in this order: those in CUDA toolkits and those in Python packages; of both,
/// those with a newer major version than the driver's, which may refuse to trace; the names in
/// [`LIBRARY_NAMES`].
fn candidate_libraries() -> Vec<PathBuf> {
    let toolkits = TOOLKIT_FOLDERS.0.iter().flat_map(|root| TOOLKIT_FOLDERS.1.map(|folder| (root, folder)));
    let packages = PYTHON_FOLDERS.0.iter().flat_map(|root| PYTHON_FOLDERS.1.map(|folder| (root, folder)));
    let folders = toolkits.chain(packages).flat_map(|(root, folder)| matching(&format!("{root}/{folder}")));
    let mut found: Vec<PathBuf> = folders.filter_map(|folder| library_in(&folder)).collect();
    if let Ok(driver) = crate::load() {
        found.sort_by_key(|library| major_version(library).is_some_and(|major| major > driver.version.major));
    }
    found.into_iter().chain(LIBRARY_NAMES.map(PathBuf::from)).collect()
}

/// Returns the paths that match `pattern`. The pattern's first part may be `$` and the name of an environment
/// variable; if that variable is not set, or empty, no path matches. Each other part may contain one `*`.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let (root, parts) = pattern.split_once('/').unwrap_or((pattern, ""));
    let root = match root.strip_prefix('$') {
        Some(name) => env::var_os(name).filter(|value| !value.is_empty()),
        None => Some("/".into()),
    };
    parts.split('/').fold(root.into_iter().map(PathBuf::from).collect(), |above: Vec<PathBuf>, part| {
        above.iter().flat_map(|folder| entries_like(folder, part)).collect()
    })
}

/// Returns a CUPTI library in `folder`, preferably one with its major version in the name. `None` if the
/// folder contains none.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let found = entries_like(folder, "libcupti.so*");
    found.iter().find(|library| major_version(library).is_some()).or(found.first()).cloned()
}

/// Returns the major version in a file name such as `libcupti.so.13`. `None` for other names, such as
/// `libcupti.so` and `libcupti.so.2025.3.1`.
fn major_version(library: &Path) -> Option<u32> {
    library.file_name()?.to_str()?.strip_prefix("libcupti.so.")?.parse().ok()
}

/// Returns the paths of the entries of `folder` whose names match `part`, in descending order. If `part` has
/// no `*`, returns the path of the entry with this name, whether it exists or not.
fn entries_like(folder: &Path, part: &str) -> Vec<PathBuf> {
    let Some((beginning, end)) = part.split_once('*') else { return vec![folder.join(part)] };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_like = |name: &str| name.starts_with(beginning) && name.ends_with(end);
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| is_like(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_library() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(library_in(folder.path()), None);
        for name in ["libcupti.so", "libcupti.so.2025.3.1", "libcupti.so.12", "libnvperf_host.so"] {
            fs::write(folder.path().join(name), "").expect("it can be written");
        }
        let library = library_in(folder.path()).expect("it is there");
        assert_eq!(
            (library.file_name(), major_version(&library)),
            (Some("libcupti.so.12".as_ref()), Some(12))
        );
        assert_eq!(major_version(Path::new("libcupti.so.2025.3.1")), None);
    }

    #[test]
    fn patterns_match_the_newest_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let [old, new] = ["3.9", "3.10"].map(|version| {
            let path = folder.path().join(format!("lib/python{version}/site-packages/nvidia"));
            fs::create_dir_all(&path).expect("it can be made");
            path
        });
        let pattern = format!("{}/lib/python3*/*-packages/nvidia", folder.path().display());
        assert_eq!(matching(&pattern), [old, new], "descending order of names");
        assert_eq!(matching("$GPUBENCH_NOT_SET/lib"), [] as [PathBuf; 0]);
    }
}
