//! A suite as a child process. In: its program and flags; out: the command that starts it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use super::build::BuiltSuite;

/// The time in which a program says that it is a suite. One that says nothing would go on to measure.
const PATIENCE: Duration = Duration::from_secs(10);
/// The words that a suite's `--version` has.
const VERSION: &str = "(gpubench ";

/// Returns true if the program is a suite: its version names gpubench.
pub(in crate::commands) fn is_suite(program: &Path, loader_path: &(&str, OsString)) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").env(loader_path.0, &loader_path.1).stdin(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else { return false };
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            let told = child.stdout.take().and_then(|out| io::read_to_string(out).ok());
            return told.is_some_and(|told| told.contains(VERSION));
        }
        thread::sleep(Duration::from_millis(5));
    }
    // It has a harness of another kind. If it cannot be ended, it ends by itself.
    drop(child.kill().and_then(|()| child.wait()));
    false
}

/// Returns the command that starts a suite as `cargo bench` does: in its package's folder, `--bench` last.
pub(in crate::commands) fn command(
    suite: &BuiltSuite,
    flags: &[String],
    loader_path: &(&str, OsString),
) -> Command {
    let target = &suite.target;
    let folder = target.manifest.parent().unwrap_or(Path::new("."));
    let mut command = Command::new(&suite.program);
    command
        .args(flags)
        .arg("--bench")
        .current_dir(folder)
        .env("CARGO_MANIFEST_DIR", folder)
        .env("CARGO_PKG_NAME", &target.package)
        .env("CARGO_PKG_VERSION", &target.version)
        .env(loader_path.0, &loader_path.1);
    command
}
