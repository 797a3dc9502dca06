//! Runs a test in a process of its own, since a process opens the driver once.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const CHILD: &str = "GPUBENCH_DRIVER_TEST_CHILD";

/// Returns true in the process that a test started.
pub(crate) fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// Runs the calling test `test` of `module` alone in a copy of this executable, with `GPUBENCH_LIBCUDA` set to
/// `library` or unset.
#[expect(clippy::print_stdout, reason = "shown only if it is asked for, as that of any test")]
pub(crate) fn run_alone(module: &str, test: &str, library: Option<&OsStr>) {
    // The crate's name is no part of a test's.
    let module = module.split_once("::").map_or("", |(_, module)| module);
    let test = &format!("{module}::{test}");
    let mut child = Command::new(env::current_exe().expect("a test knows its executable"));
    child
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .env(CHILD, "1")
        .env_remove(gpubench_driver::LIBCUDA_VARIABLE);
    if let Some(library) = library {
        child.env(gpubench_driver::LIBCUDA_VARIABLE, library);
    }
    let output = child.output().expect("this executable starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    // A misspelt name would run nothing and succeed.
    if !output.status.success() || !stdout.contains("1 passed") {
        let stderr = String::from_utf8_lossy(&output.stderr);
        panic!("{test} in its own process: {}\n{stdout}\n{stderr}", output.status);
    }
    println!("{stdout}");
}

/// Builds the fake driver of this kind and runs `body` in a process that finds it.
pub(crate) fn with_fake(module: &str, test: &str, kind: &str, body: impl FnOnce(&Path)) {
    if is_child() {
        let library = env::var_os(gpubench_driver::LIBCUDA_VARIABLE).expect("the parent names the library");
        return body(Path::new(&library));
    }
    let folder = tempfile::tempdir().expect("a folder for the library");
    run_alone(module, test, Some(build(folder.path(), kind).as_os_str()));
}

fn build(folder: &Path, kind: &str) -> PathBuf {
    let library = folder.join("libcuda.so.1");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/libcuda.rs");
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition=2024", "--crate-type=cdylib", "--crate-name=cuda", "--cfg", kind])
        // A driver's own name.
        .arg("-Clink-arg=-Wl,-soname,libcuda.so.1")
        .arg("-o")
        .args([&library, &source])
        .output()
        .expect("rustc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}
