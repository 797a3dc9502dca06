//! Revisions of a repository as benchmark binaries. The working tree is built where it is, a commit in a work tree of its own below the
//! target folder.

use std::path::{Path, PathBuf};

use gpubench_records::exit::Exit;

use super::git::{self, Tree};
pub(super) use super::git::{commit_order, whole_hash};
use super::signals;
use super::suites::{BenchTarget, Built, Cargo};
use crate::args::BuildArgs;
use crate::error::{CommandError, RevisionError};

/// The workspace of the current folder, and its repository.
pub(super) struct Revisions {
    /// The folder of the repository.
    root: PathBuf,
    /// The workspace's folder, relative to the repository's.
    workspace: PathBuf,
    /// The current folder, relative to the repository's.
    folder: PathBuf,
    /// The target folder of the working tree. Benchmark binaries of all revisions share it for what they measure of the machine.
    pub(super) target: PathBuf,
}

/// A revision that the user named.
pub(super) struct Revision {
    /// Its name in messages, such as `main (1a2b3c4d)`.
    pub(super) name: String,
    /// `None` for the working tree.
    pub(super) hash: Option<String>,
}

/// A revision whose sources are there. No other process uses its work tree until this is dropped.
pub(super) struct CheckedOut {
    name: String,
    /// The bench targets to build.
    targets: Vec<BenchTarget>,
    cargo: Cargo,
    tree: Option<Tree>,
}

/// A revision that was built. No other process uses its work tree until this is dropped.
pub(super) struct BuiltRevision {
    /// The name, as in `main (1a2b3c4d)`.
    pub(super) name: String,
    pub(super) built: Built,
    _tree: Option<Tree>,
}

impl Revisions {
    /// Finds the workspace of the current folder. From now on signals end what is done with its revisions, and not this program.
    pub(super) fn here(args: &BuildArgs) -> Result<Self, CommandError> {
        signals::listen()?;
        let workspace = Cargo::default().workspace(args)?;
        let root = git::root(&workspace.workspace_root)?;
        let inside = |folder: &Path| {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
            folder.strip_prefix(&root).map(Path::to_owned).unwrap_or(folder)
        };
        let (current, workspace_folder) = (inside(Path::new(".")), inside(&workspace.workspace_root));
        Ok(Self {
            folder: if current.is_relative() { current } else { workspace_folder.clone() },
            workspace: workspace_folder,
            target: workspace.target_directory,
            root,
        })
    }

    /// Returns the folder of runs and work trees.
    pub(super) fn home(&self) -> PathBuf {
        self.target.join("gpubench")
    }

    /// Returns the revision `name`; `.` is the working tree.
    pub(super) fn named(&self, name: &str) -> Result<Revision, RevisionError> {
        if name == "." {
            return Ok(Revision { name: "the working tree".to_owned(), hash: None });
        }
        let hash = git::commit(&self.root, name)?;
        let short = git::short(&hash);
        let name = if hash.starts_with(name) { short.to_owned() } else { format!("{name} ({short})") };
        Ok(Revision { name, hash: Some(hash) })
    }

    /// Checks out a revision, and finds its bench targets.
    pub(super) fn check_out(
        &self,
        revision: &Revision,
        args: &BuildArgs,
    ) -> Result<CheckedOut, RevisionError> {
        let Revision { name, hash } = revision;
        let (mut cargo, mut tree) = (Cargo::default(), None);
        if let Some(hash) = hash {
            let checked_out = Tree::check_out(&self.home(), &self.root, hash, name)?;
            let sources = checked_out.sources();
            // Cargo's settings and toolchains depend on the folder: the user's, if the commit has it.
            let folders = [&self.folder, &self.workspace].map(|folder| sources.join(folder));
            cargo = Cargo {
                manifest: Some(folders[1].join("Cargo.toml")),
                folder: folders.into_iter().find(|folder| folder.is_dir()),
                target: Some(checked_out.target()),
            };
            tree = Some(checked_out);
        }
        // Cargo has read the workspace here before, so that a failure now is one of the revision's manifests.
        let unreadable = |error: CommandError| not_built(name, error.exit().max(Exit::Failed), &error);
        let workspace = cargo.workspace(args).map_err(unreadable)?;
        let targets = workspace.suites(args).map_err(|error| not_built(name, error.exit(), &error))?;
        Ok(CheckedOut { name: name.clone(), targets, cargo, tree })
    }
}

impl CheckedOut {
    /// Returns the number of bench targets that the other revision has too.
    pub(super) fn in_common(&self, other: &Self) -> usize {
        self.targets
            .iter()
            .filter(|target| other.targets.iter().any(|other| target.has_names_of(other)))
            .count()
    }

    /// Builds its benchmark binaries.
    pub(super) fn build(self, args: &BuildArgs) -> Result<BuiltRevision, RevisionError> {
        let Self { name, targets, cargo, tree } = self;
        match cargo.build(&targets, args) {
            Ok(built) => Ok(BuiltRevision { name, built, _tree: tree }),
            Err(error) => Err(not_built(&name, error.exit(), &error)),
        }
    }
}

fn not_built(name: &str, exit: Exit, error: &CommandError) -> RevisionError {
    match error.exit() {
        Exit::Interrupted(_) => RevisionError::Interrupted(error.exit()),
        _ => RevisionError::new(exit, format!("{name}: {error}")),
    }
}
