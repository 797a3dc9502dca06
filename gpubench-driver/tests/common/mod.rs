//! Runs a test in a process of its own, since a process opens the driver once. In: the test's module and
//! name, and the library. Out: the outcome of that process.

use std::env;
use std::ffi::OsStr;
use std::process::Command;

const CHILD: &str = "GPUBENCH_DRIVER_TEST_CHILD";

/// Returns true in the process that a test started.
pub(crate) fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// Runs the calling test `test` of `module` alone in a copy of this executable, with `GPUBENCH_LIBCUDA` set to
/// `library` or unset.
pub(crate) fn run_alone(module: &str, test: &str, library: Option<&OsStr>) {
    // The crate's name is no part of a test's.
    let module = module.split_once("::").map_or("", |(_, module)| module);
    let test = &format!("{module}::{test}");
    let mut child = Command::new(env::current_exe().expect("a test knows its executable"));
    child.args([test, "--exact", "--nocapture"]).env(CHILD, "1").env_remove(gpubench_driver::VARIABLE);
    if let Some(library) = library {
        child.env(gpubench_driver::VARIABLE, library);
    }
    let output = child.output().expect("this executable starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    // A misspelt name would run nothing and succeed.
    if !output.status.success() || !stdout.contains("1 passed") {
        let stderr = String::from_utf8_lossy(&output.stderr);
        panic!("{test} in its own process: {}\n{stdout}\n{stderr}", output.status);
    }
}
