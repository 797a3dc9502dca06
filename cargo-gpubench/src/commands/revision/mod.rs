//! Revisions of a repository as programs. In: a commit, a tag, a branch, or `.` for the working tree; out: the suites that cargo built
//! of it. Commits are built in work trees of their own below the target folder, which keep what was built.

mod repository;
mod trees;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gpubench_records::history::CommitOrder;

use self::repository::{Commit, Repository};
use self::trees::{Tree, Trees};
use super::suites::{Built, Workspace, build, metadata, metadata_flags};
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
    /// The folder that cargo builds the working tree into.
    target: PathBuf,
}

/// A revision that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Revision {
    WorkingTree,
    Commit(Commit),
}

/// A revision that was built. Its work tree is in use until this is dropped.
#[derive(Debug)]
pub(super) struct BuiltRevision {
    /// The name, as in `main (1a2b3c4d)`.
    pub(super) name: String,
    pub(super) built: Built,
    _tree: Option<Tree>,
}

/// Returns the places of these commits in the history of the current folder's repository; nothing where there is none.
pub(super) fn commit_order(commits: &BTreeSet<&str>) -> Option<CommitOrder> {
    Repository::of(Path::new(".")).and_then(|repository| repository.order(commits)).ok()
}

impl Revisions {
    /// Finds the workspace of the current folder.
    pub(super) fn here(args: &BuildArgs) -> Result<Self, CommandError> {
        let workspace: Workspace = metadata(None, &metadata_flags(args))?;
        let repository = Repository::of(&workspace.workspace_root)?;
        let root = workspace.workspace_root.canonicalize().unwrap_or(workspace.workspace_root);
        let inside = root.strip_prefix(repository.root()).unwrap_or(&root).to_owned();
        Ok(Self { repository, workspace: inside, target: workspace.target_directory })
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

    /// Returns the commits between two, the later one with them, in their order. Of merges the first parent is followed.
    pub(super) fn between(&self, good: &str, bad: &str) -> Result<Vec<Revision>, RevisionError> {
        if let Some(name) = [good, bad].into_iter().find(|name| *name == WORKING_TREE) {
            return Err(RevisionError::NoCommit(name.to_owned()));
        }
        let [good, bad] = [self.repository.commit(good)?, self.repository.commit(bad)?];
        let between = self.repository.between(&good, &bad)?;
        Ok(between.into_iter().map(Revision::Commit).collect())
    }

    /// Returns the hash of a commit, its day, its author and its subject.
    pub(super) fn describe(&self, revision: &Revision) -> Result<String, RevisionError> {
        match revision {
            Revision::WorkingTree => Ok(revision.to_string()),
            Revision::Commit(commit) => self.repository.describe(commit),
        }
    }

    /// Builds the suites of a revision that `args` name.
    pub(super) fn build(
        &self,
        revision: &Revision,
        args: &BuildArgs,
    ) -> Result<BuiltRevision, RevisionError> {
        self.build_in_place_of(&Revision::WorkingTree, revision, args)
    }

    /// Builds the suites of a revision, in the work tree of an `earlier` one if that is free: what both have in common is built there.
    pub(super) fn build_in_place_of(
        &self,
        earlier: &Revision,
        revision: &Revision,
        args: &BuildArgs,
    ) -> Result<BuiltRevision, RevisionError> {
        let name = revision.to_string();
        let tree = match revision {
            Revision::WorkingTree => None,
            Revision::Commit(commit) => {
                let earlier = if let Revision::Commit(earlier) = earlier { Some(earlier) } else { None };
                Some(Trees::below(&self.home()).check_out(&self.repository, commit, &name, earlier)?)
            }
        };
        let manifest = tree.as_ref().map(|tree| tree.sources().join(&self.workspace).join("Cargo.toml"));
        let target = tree.as_ref().map(Tree::target);
        let all = || {
            let workspace: Workspace = metadata(manifest.as_deref(), &metadata_flags(args))?;
            let mut built = build(&workspace.suites(args)?, manifest.as_deref(), target.as_deref(), args)?;
            built.keep_suites();
            if built.suites.is_empty() { Err(RunError::NoSuites) } else { Ok(built) }
        };
        match all() {
            Ok(built) => Ok(BuiltRevision { name, built, _tree: tree }),
            Err(error) => Err(RevisionError::NotBuilt { name, error: Box::new(error) }),
        }
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
