//! Revisions of a repository as programs. In: a commit, a tag, a branch, or `.` for the working tree; out: the suites that cargo built
//! of it. Commits are built in work trees of their own below the target folder, which keep what was built.

mod built;
mod repository;
mod trees;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gpubench_report::history::CommitOrder;

pub(super) use self::built::{BuiltRevision, CheckedOut};
use self::repository::{Commit, Repository};
use self::trees::Trees;
use super::suites::{Cargo, Interruption, Toolchain, Workspace, metadata_flags};
use crate::args::BuildArgs;
use crate::error::{CommandError, RevisionError, RunError};

/// The name of the working tree among revisions.
const WORKING_TREE: &str = ".";

/// The place that revisions are of: the workspace of the current folder, and its repository.
#[derive(Debug)]
pub(super) struct Revisions {
    repository: Repository,
    /// The workspace's folder, relative to the repository's.
    workspace: PathBuf,
    /// The current folder, relative to the repository's.
    folder: PathBuf,
    /// The folder that cargo builds the working tree into.
    target: PathBuf,
    /// The toolchain that commits are built with.
    toolchain: Toolchain,
    interruption: Interruption,
}

/// A revision that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Revision {
    WorkingTree,
    Commit(Commit),
}

/// Returns the places of these commits in the history of the current folder's repository; nothing where there is none.
pub(super) fn commit_order(commits: &BTreeSet<&str>) -> Option<CommitOrder> {
    Repository::of(Path::new(".")).and_then(|repository| repository.order(commits)).ok()
}

/// Returns the whole hash of the commit that begins with these digits in the current folder's repository; nothing if it has none.
pub(super) fn whole_hash(digits: &str) -> Option<String> {
    let commit = Repository::of(Path::new(".")).and_then(|repository| repository.commit(digits)).ok()?;
    // A branch may have such a name, and another commit.
    let hash = commit.hash();
    hash.starts_with(&digits.to_ascii_lowercase()).then(|| hash.to_owned())
}

impl Revisions {
    /// Finds the workspace of the current folder. From now on signals end what is done with its revisions, and not this program.
    pub(super) fn here(args: &BuildArgs) -> Result<Self, CommandError> {
        let workspace: Workspace = Cargo::default().metadata(&metadata_flags(args))?;
        let repository = Repository::of(&workspace.workspace_root)?;
        let inside = |folder: &Path| {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
            folder.strip_prefix(repository.root()).map(Path::to_owned).unwrap_or(folder)
        };
        let current = inside(Path::new("."));
        Ok(Self {
            workspace: inside(&workspace.workspace_root),
            folder: if current.is_relative() { current } else { inside(&workspace.workspace_root) },
            target: workspace.target_directory,
            toolchain: Toolchain::of_folders(),
            interruption: Interruption::listen().map_err(RunError::NoSignals)?,
            repository,
        })
    }

    /// Returns the folder of what outlives a run here.
    pub(super) fn home(&self) -> PathBuf {
        self.target.join("gpubench")
    }

    /// Returns the folder that cargo builds into, by which suites of all revisions share what they measure of the machine.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Returns the revision that is called `name`.
    pub(super) fn named(&self, name: &str) -> Result<Revision, RevisionError> {
        if name == WORKING_TREE {
            return Ok(Revision::WorkingTree);
        }
        self.repository.commit(name).map(Revision::Commit)
    }

    /// Checks a revision out: the working tree where it is, a commit in a work tree of its own.
    pub(super) fn check_out(
        &self,
        revision: &Revision,
        args: &BuildArgs,
    ) -> Result<CheckedOut<'_>, RevisionError> {
        let name = revision.to_string();
        let cargo = Cargo { interruption: Some(&self.interruption), ..Cargo::default() };
        let Revision::Commit(commit) = revision else {
            return CheckedOut::of(name, cargo, None, args);
        };
        let tree = Trees::below(&self.home()).check_out(&self.repository, commit, &name)?;
        let workspace = tree.sources().join(&self.workspace);
        // In the folder that the user is in, if the commit has it: settings of cargo and toolchains are those of folders.
        let folder = Some(tree.sources().join(&self.folder)).filter(|folder| folder.is_dir());
        let cargo = Cargo {
            manifest: Some(workspace.join("Cargo.toml")),
            folder: folder.or_else(|| Some(workspace.clone()).filter(|folder| folder.is_dir())),
            target: Some(tree.target()),
            toolchain: self.toolchain,
            ..cargo
        };
        CheckedOut::of(name, cargo, Some(tree), args)
    }

    /// Returns the signals that end what is done with revisions.
    pub(super) fn interruption(&self) -> &Interruption {
        &self.interruption
    }
}

impl std::fmt::Display for Revision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::WorkingTree => f.write_str("the working tree"),
            Self::Commit(commit) => write!(f, "{commit}"),
        }
    }
}
