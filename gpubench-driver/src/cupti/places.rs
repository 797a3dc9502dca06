//! The places where CUPTI is looked for. In: the environment and the file system; out: paths to try, the likeliest first.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The names in the loader's path.
const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];

/// Returns the libraries in CUDA toolkits, then those in Python packages, then the names that the loader may know. Of the first two
/// those come before that are no newer than the driver: a newer one may refuse to trace.
pub(super) fn candidates() -> Vec<PathBuf> {
    let folders = toolkits().into_iter().chain(packages());
    let mut found: Vec<PathBuf> = folders.filter_map(|folder| library_in(&folder)).collect();
    if let Ok(driver) = crate::load() {
        found.sort_by_key(|library| major(library).is_some_and(|major| major > driver.version.major));
    }
    found.into_iter().chain(NAMES.map(PathBuf::from)).collect()
}

/// The folders of toolkits that may hold it.
fn toolkits() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os);
    let named = named.filter(|root| !root.is_empty()).map(PathBuf::from);
    let usual = fitting(Path::new("/usr/local"), "cuda");
    named
        .chain(usual)
        .flat_map(|root| {
            let targets = fitting(&root.join("targets"), "").into_iter().map(|target| target.join("lib"));
            [root.join("extras/CUPTI/lib64")].into_iter().chain(targets).collect::<Vec<_>>()
        })
        .collect()
}

/// The folders of Python packages that may hold it, in environments and for the user.
fn packages() -> Vec<PathBuf> {
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let user = env::var_os("HOME").map(|home| Path::new(&home).join(".local"));
    let roots = environments.chain(user).chain(["/usr/local", "/usr"].map(PathBuf::from));
    let pythons = roots.flat_map(|root| fitting(&root.join("lib"), "python3"));
    let sites = pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)));
    sites
        .flat_map(|site| ["cu13/lib", "cuda_cupti/lib"].map(|place| site.join("nvidia").join(place)))
        .collect()
}

/// The library in a folder: the one whose name has its major version, if there is one.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let found = fitting(folder, "libcupti.so");
    found.iter().find(|library| major(library).is_some()).or(found.first()).cloned()
}

/// The version in a name such as `libcupti.so.13`. Names of files have years, as in `libcupti.so.2025.3.1`.
fn major(library: &Path) -> Option<u32> {
    library.file_name()?.to_str()?.strip_prefix("libcupti.so.")?.parse().ok()
}

/// What a folder holds whose names begin so, the last name first.
fn fitting(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning))
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
        assert_eq!((library.file_name(), major(&library)), (Some("libcupti.so.12".as_ref()), Some(12)));
        assert_eq!(major(Path::new("libcupti.so.2025.3.1")), None);
    }
}
