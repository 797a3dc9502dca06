//! The errors of commands that build and measure revisions.

use std::io;
use std::path::PathBuf;

use gpubench_records::exit::Exit;
use gpubench_records::files::LoadRunError;
use gpubench_report::join::JoinError;

use super::RunError;

/// Revisions that cannot be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RevisionError {
    #[error("git does not start: {0}")]
    NoGit(io::Error),
    #[error("{} is in no git repository, whose revisions could be compared", .0.display())]
    NoRepository(PathBuf),
    #[error(
        "{0}: the repository has no such commit, tag or branch; `.` is the working tree, and clones of CI often have a branch as \
         origin/NAME alone"
    )]
    Unknown(String),
    #[error("both are the same revision, {0}: a repetition shows nothing but noise")]
    Same(String),
    #[error("{name} cannot be checked out: git's words are above")]
    NotCheckedOut { name: String },
    #[error("{}: {error}", path.display())]
    NoPlace { path: PathBuf, error: io::Error },
    #[error("all work trees in {} are in use by other comparisons: wait until one of them ends", .0.display())]
    AllInUse(PathBuf),
    #[error("{name}: {error}")]
    NotBuilt { name: String, error: Box<RunError> },
    #[error("a signal ended the command while it had nothing measured to show")]
    Interrupted(Exit),
    #[error("{then} and {now} have no suite in common{}", listed(others))]
    NoSuiteInCommon { then: String, now: String, others: Vec<String> },
    #[error("the suite {0} is no bench target of both commits here")]
    NoSuchSuite(String),
    #[error("{name}: the suite ended with {exit}: its words are above")]
    Ended { name: String, exit: Exit },
    #[error(
        "{name}: the suite stored no run in {}: leave --runs-dir and --resume to this command", folder.display()
    )]
    NoRun { name: String, folder: PathBuf },
    #[error("{name}: the suite stored a run that cannot be read: {error}")]
    NotRead { name: String, error: Box<LoadRunError> },
    #[error("the processes of {name} cannot be joined: {error}")]
    NotJoined { name: String, error: Box<JoinError> },
    #[error(
        "--{format} is written of one suite, and both revisions have {suites}: name one by --bench, or write --markdown, which has a \
         section for each"
    )]
    SeveralSuites { format: &'static str, suites: usize },
}

impl RevisionError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Interrupted(exit) => *exit,
            // The workspace here was read before: only the revision's own manifests are left to blame.
            Self::NotBuilt { error, .. } if matches!(**error, RunError::NoWorkspace) => Exit::Failed,
            Self::NotBuilt { error, .. } => error.exit(),
            Self::Ended { exit, .. } => *exit,
            Self::NoSuiteInCommon { .. } => Exit::Nothing,
            Self::NotCheckedOut { .. }
            | Self::NoPlace { .. }
            | Self::NoRun { .. }
            | Self::NotRead { .. }
            | Self::NotJoined { .. } => Exit::Failed,
            _ => Exit::Usage,
        }
    }
}

/// Returns a line for each of these sentences.
pub(super) fn listed(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| format!("\n  {sentence}")).collect()
}
