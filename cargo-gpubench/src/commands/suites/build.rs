//! The build of suites by cargo. In: bench targets; out: their programs, and the folders of the shared libraries that they were
//! linked against.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, iter};

use serde::Deserialize;

use super::cargo::Cargo;
use super::workspace::BenchTarget;
use crate::args::BuildArgs;
use crate::error::RunError;

/// The variable in which the system's loader looks for folders of shared libraries.
const LIBRARIES: &str = if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else if cfg!(windows) {
    "PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// A suite that was built.
#[derive(Debug)]
pub(in crate::commands) struct BuiltSuite {
    pub(in crate::commands) target: BenchTarget,
    pub(in crate::commands) program: PathBuf,
}

/// The suites that were built, and what they need to start.
#[derive(Debug)]
pub(in crate::commands) struct Built {
    pub(in crate::commands) suites: Vec<BuiltSuite>,
    folders: Vec<PathBuf>,
}

/// A line of cargo's report, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact {
        manifest_path: PathBuf,
        target: Artifact,
        executable: Option<PathBuf>,
    },
    BuildScriptExecuted {
        linked_paths: Vec<String>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    name: String,
    kind: Vec<String>,
}

/// Builds `suites` of the workspace that `cargo` is for.
pub(in crate::commands) fn build(
    suites: &[BenchTarget],
    cargo: &Cargo<'_>,
    args: &BuildArgs,
) -> Result<Built, RunError> {
    let mut command = cargo.command(&["bench", "--no-run", "--message-format=json-render-diagnostics"]);
    if let Some(target) = &cargo.target {
        command.arg("--target-dir").arg(target);
    }
    for suite in suites {
        command.args(["--package", &suite.package, "--bench", &suite.name]);
        let required = suite.required_features.iter().map(|feature| format!("{}/{feature}", suite.package));
        command.args(required.flat_map(|feature| ["--features".to_owned(), feature]));
    }
    command.args(args.features.iter().flat_map(|features| ["--features", features]));
    command.args(args.profile.iter().flat_map(|profile| ["--profile", profile]));
    command.args(args.locked.then_some("--locked")).args(args.offline.then_some("--offline"));
    let told = cargo.output(&mut command)?;
    if !told.status.success() {
        return Err(RunError::NotBuilt);
    }
    let report = String::from_utf8_lossy(&told.stdout);
    // Build scripts of the workspace may print lines of their own.
    let messages = report.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut built = Built { suites: Vec::new(), folders: Vec::new() };
    messages.for_each(|message| built.note(message, suites));
    built.suites.sort_by_key(|built| suites.iter().position(|suite| *suite == built.target));
    Ok(built)
}

impl Built {
    fn note(&mut self, message: Message, suites: &[BenchTarget]) {
        match message {
            Message::CompilerArtifact { manifest_path, target, executable: Some(program) } => {
                let is_wanted =
                    |suite: &&BenchTarget| suite.manifest == manifest_path && suite.name == target.name;
                let of_bench = target.kind.iter().any(|kind| kind == "bench");
                let suite = suites.iter().find(is_wanted).filter(|_| of_bench);
                self.suites.extend(suite.map(|suite| BuiltSuite { target: suite.clone(), program }));
            }
            // As cargo writes them: `native=FOLDER`, or the folder alone.
            Message::BuildScriptExecuted { linked_paths } => self.folders.extend(
                linked_paths.iter().map(|path| path.split_once('=').map_or(&**path, |(_, path)| path).into()),
            ),
            Message::CompilerArtifact { .. } | Message::Other => {}
        }
    }

    /// Returns the variable by which the loader finds shared libraries that build scripts have made, as `cargo bench` sets it.
    pub(in crate::commands) fn loader_path(&self) -> (&'static str, OsString) {
        let programs =
            self.suites.iter().filter_map(|suite| suite.program.parent()).map(Path::to_owned).take(1);
        let earlier = env::var_os(LIBRARIES);
        let earlier = earlier.iter().flat_map(env::split_paths);
        let folders = self.folders.iter().cloned().chain(programs).chain(earlier);
        let joined = env::join_paths(folders).or_else(|_| env::join_paths(iter::empty::<PathBuf>()));
        (LIBRARIES, joined.unwrap_or_default())
    }
}
