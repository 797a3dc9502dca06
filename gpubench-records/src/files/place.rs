//! The folders that gpubench keeps between runs. In: the program that runs, and the user's home; out: a folder, and the names of
//! runs in it.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use super::names;

/// The file of a run, in the folder that has its name.
pub(super) const RECORDS: &str = "records.jsonl";

/// The folder of files that outlive a run of this program: `gpubench` in the target folder that cargo built it into, else in
/// the user's state folder. `None` if it has neither.
pub fn home() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let target = program.ancestors().skip(1).find(|folder| is_of_cargo(folder));
    Some(target.map_or_else(state, |target| Some(target.to_owned()))?.join("gpubench"))
}

/// The folder of all that outlives a run: in the target folder that cargo was told to build into, else where this program was
/// built or installed.
pub fn kept() -> PathBuf {
    cargo_target().or_else(home).unwrap_or_else(|| "target/gpubench".into())
}

/// The folder of gpubench in the target folder that the user has set for cargo.
pub(super) fn cargo_target() -> Option<PathBuf> {
    Some(PathBuf::from(env::var_os("CARGO_TARGET_DIR")?).join("gpubench"))
}

/// The folder of runs, unless the user names another.
pub fn runs() -> Option<PathBuf> {
    Some(home()?.join("runs"))
}

/// The user's cache folder for gpubench. `None` if the user has none.
pub fn cache() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("gpubench"))
}

/// Returns true if cargo builds into `folder`: it has cargo's tag, unless another tool made the folder, or cargo's cache of
/// facts about the compiler.
fn is_of_cargo(folder: &Path) -> bool {
    let tagged =
        || fs::read_to_string(folder.join("CACHEDIR.TAG")).is_ok_and(|tag| tag.contains("created by cargo"));
    folder.join(".rustc_info.json").is_file() || tagged()
}

/// The user's state folder, or that of data on systems that have none of state.
pub(super) fn state() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    folders.state_dir().or_else(|| Some(folders.data_dir()))
}

/// The names of the runs in `folder`, the latest last.
pub(super) fn run_names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        names.extend(name.ok().filter(|_| entry.path().join(RECORDS).is_file()));
    }
    names::sort(&mut names);
    Ok(names)
}

/// Opens the file of this program: where the system can tell, the very one that runs, though another may have its name by now.
///
/// # Errors
/// If the system has no file of it.
#[doc(hidden)]
pub fn program() -> io::Result<File> {
    File::open("/proc/self/exe").or_else(|_| File::open(env::current_exe()?))
}

/// Returns the fingerprint of this build of the program: a hash of its file. The same build stores and reads it, so that the
/// hash may differ between versions of Rust.
pub fn fingerprint() -> Option<String> {
    let mut file = program().ok()?;
    let mut hasher = DefaultHasher::new();
    let mut part = vec![0; 1 << 20];
    loop {
        match file.read(&mut part).ok()? {
            0 => return Some(format!("{:016x}", hasher.finish())),
            length => hasher.write(&part[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_records_is_no_run() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["2026-08-01T12-33-10Z-2", "2026-08-01T12-33-10Z"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
            fs::write(folder.path().join(name).join(RECORDS), "").expect("a file");
        }
        fs::create_dir(folder.path().join("2027-01-01T00-00-00Z")).expect("a folder");
        let names = run_names(folder.path()).expect("it is there");
        assert_eq!(names, ["2026-08-01T12-33-10Z", "2026-08-01T12-33-10Z-2"]);
    }

    /// A hash, as long as any, and of the file alone.
    #[test]
    fn a_program_has_one_fingerprint() {
        let of_this = fingerprint().expect("a program can read its own file");
        assert!(of_this.len() == 16 && of_this.bytes().all(|byte| byte.is_ascii_hexdigit()), "{of_this}");
        assert_eq!(fingerprint(), Some(of_this));
    }

    #[test]
    fn tests_are_built_into_a_target_folder() {
        let home = home().expect("cargo built this");
        assert!(env::current_exe().expect("a test has a path").starts_with(home.parent().expect("a folder")));
    }

    #[test]
    fn a_target_folder_has_the_tag_of_cargo_or_its_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let with = |name: &str, text: &str| {
            let place = folder.path().join(name);
            fs::write(&place, text).expect("it can be written");
            let found = is_of_cargo(folder.path());
            fs::remove_file(place).expect("it is there");
            found
        };
        assert!(!is_of_cargo(folder.path()) && !with("CACHEDIR.TAG", "created by another"));
        assert!(with("CACHEDIR.TAG", "# This file is a cache directory tag created by cargo."));
        assert!(with(".rustc_info.json", "{}"));
        assert!(runs().is_some_and(|runs| home().is_some_and(|home| runs == home.join("runs"))));
    }

    #[test]
    fn folders_that_outlive_a_run_are_of_ours_and_never_where_a_user_happens_to_be() {
        assert!(kept().ends_with("gpubench"), "{:?}", kept());
        assert!(state().is_none_or(|folder| folder.is_absolute()), "{:?}", state());
        let is_ours = |folder: PathBuf| folder.is_absolute() && folder.ends_with("gpubench");
        assert!(cache().is_none_or(is_ours), "{:?}", cache());
    }
}
