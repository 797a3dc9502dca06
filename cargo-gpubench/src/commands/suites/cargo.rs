//! Cargo as it is started for a workspace. In: the manifest, the folder and the toolchain of a build; out: what it prints, or the signal
//! that ended it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::de::DeserializeOwned;

use super::ended::killed;
use super::interruption::Interruption;
use super::toolchain::Toolchain;
use crate::error::RunError;

/// Cargo, for one workspace.
#[derive(Debug, Default)]
pub(in crate::commands) struct Cargo<'a> {
    /// The manifest, rather than the one of the folder.
    pub(in crate::commands) manifest: Option<PathBuf>,
    /// The folder that it starts in, by which it finds its settings; the current one without it.
    pub(in crate::commands) folder: Option<PathBuf>,
    /// The folder that it builds into, rather than its usual one.
    pub(in crate::commands) target: Option<PathBuf>,
    /// The toolchain that it is of.
    pub(in crate::commands) toolchain: Toolchain,
    /// The signals that are passed on to it. Without them a signal ends this program too.
    pub(in crate::commands) interruption: Option<&'a Interruption>,
}

impl Cargo<'_> {
    /// Cargo for the workspace of `manifest`, or for that of the current folder.
    pub(in crate::commands) fn of(manifest: Option<&Path>) -> Self {
        Self { manifest: manifest.map(Path::to_owned), ..Self::default() }
    }

    /// Returns what cargo tells of the workspace. `flags` are further words to it.
    pub(in crate::commands) fn metadata<T: DeserializeOwned>(&self, flags: &[&str]) -> Result<T, RunError> {
        let told = self.output(self.command(&["metadata", "--format-version", "1"]).args(flags))?;
        if !told.status.success() {
            return Err(RunError::NoWorkspace);
        }
        serde_json::from_slice(&told.stdout).map_err(RunError::Garbled)
    }

    /// Returns the command that begins with these words.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.toolchain.cargo();
        command.args(words);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        if let Some(manifest) = &self.manifest {
            command.arg("--manifest-path").arg(manifest);
        }
        command
    }

    /// Runs it. Its progress and its errors reach the user.
    pub(super) fn output(&self, command: &mut Command) -> Result<Output, RunError> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let child = command.spawn().map_err(RunError::NoCargo)?;
        let Some(interruption) = self.interruption else {
            return child.wait_with_output().map_err(RunError::NoCargo);
        };
        let told = interruption.output(child).map_err(RunError::NoCargo)?;
        // A terminal sends Ctrl-C to cargo too, whose end may be seen first.
        match interruption.exit().or_else(|| killed(told.status)) {
            Some(exit) => Err(RunError::Interrupted(exit)),
            None => Ok(told),
        }
    }
}
