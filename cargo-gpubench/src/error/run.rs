//! The errors of `run`.

use std::io;
use std::path::PathBuf;

use gpubench_records::exit::Exit;

use super::ManifestError;

/// Suites that cannot be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("cargo does not start: {0}")]
    NoCargo(io::Error),
    #[error("cargo finds no workspace that could be measured: its words are above")]
    NoWorkspace,
    #[error("cargo's answer cannot be read: {0}")]
    Garbled(serde_json::Error),
    #[error("--package {0}: the workspace has no package of this name")]
    NoPackage(String),
    #[error("--bench {name}: no package that depends on gpubench has such a bench target{}", among(known))]
    NoBench { name: String, known: Vec<String> },
    #[error(
        "no package with a bench target depends on gpubench: `cargo gpubench init` adds both to a package"
    )]
    NoSuites,
    #[error("the suites could not be built: cargo's words are above")]
    NotBuilt,
    #[error("--crate {0}: give the name of a published crate, or NAME@VERSION")]
    BadCrate(String),
    #[error("there is no cache folder: give one by --cache-dir")]
    NoCache,
    #[error("{}: {error}", path.display())]
    NoPlace { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    NotThere { path: PathBuf, error: io::Error },
    #[error("{0} could not be fetched: git's words are above")]
    NotFetched(String),
    #[error("git does not start: {0}")]
    NoGit(io::Error),
    #[error(
        "--{format}: {suites} suites would write the same results: name one by --bench, or write each stored run by `cargo gpubench report`"
    )]
    SharedResults { format: &'static str, suites: usize },
    #[error("{program} does not start: {error}")]
    NotStarted { program: String, error: io::Error },
    #[error("a signal ended the build")]
    Interrupted(Exit),
    #[error("signals cannot be heard: {0}")]
    NoSignals(io::Error),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl RunError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoSuites => Exit::Nothing,
            Self::Interrupted(exit) => *exit,
            Self::NotBuilt | Self::NotFetched(_) | Self::NotStarted { .. } | Self::NoPlace { .. } => {
                Exit::Failed
            }
            _ => Exit::Usage,
        }
    }
}

fn among(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there is {}", known.join(", ")) }
}
