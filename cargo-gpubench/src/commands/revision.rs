//! Revisions of a repository as benchmark binaries. The working tree is built where it is, a commit in a work tree of its own below the
//! target folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use gpubench_records::exit::Exit;

use super::git::{self, Tree};
use super::signals;
use super::suites::{BenchTarget, Built, Cargo};
use crate::args::BuildArgs;
use crate::error::CommandError;
use crate::output;

/// How often a comparison that waits for another looks for its end, and for signals.
const LOOK: Duration = Duration::from_millis(100);

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
    /// No other comparison uses the work trees until this is dropped.
    _lock: File,
}

/// The name of a revision in messages, such as `main (1a2b3c4d)`, and its hash; `None` for the working tree.
pub(super) type NamedRevision = (String, Option<String>);

/// A revision whose sources are there.
pub(super) struct Revision {
    pub(super) name: String,
    /// The bench targets to build.
    pub(super) targets: Vec<BenchTarget>,
    cargo: Cargo,
}

impl Revisions {
    /// Finds the workspace of the current folder, and waits until no other comparison uses its work trees. From now on signals end what is
    /// done with its revisions, and not this program.
    pub(super) fn here(args: &BuildArgs) -> Result<Self, CommandError> {
        signals::listen()?;
        let workspace = Cargo::default().workspace(args)?;
        let root = git::root(&workspace.workspace_root)?;
        let inside = |folder: &Path| {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
            folder.strip_prefix(&root).map(Path::to_owned).unwrap_or(folder)
        };
        let trees = workspace.target_directory.join("gpubench/revisions");
        let lock = fs::create_dir_all(&trees).and_then(|()| File::create(trees.join("lock")));
        let lock = lock.map_err(CommandError::at(&trees))?;
        if lock.try_lock().is_err() {
            output::note("another comparison runs here: waiting for its end");
            // The system's wait for a lock does not end by a signal that is caught.
            while lock.try_lock().is_err() {
                if let Some(exit) = signals::received() {
                    return Err(signals::interrupted(exit));
                }
                thread::sleep(LOOK);
            }
        }
        let (current, workspace_folder) = (inside(Path::new(".")), inside(&workspace.workspace_root));
        Ok(Self {
            folder: if current.is_relative() { current } else { workspace_folder.clone() },
            workspace: workspace_folder,
            target: workspace.target_directory,
            root,
            _lock: lock,
        })
    }

    /// Returns the folder of runs and work trees.
    pub(super) fn home(&self) -> PathBuf {
        self.target.join("gpubench")
    }

    /// Returns the revision `name`; `.` is the working tree.
    pub(super) fn named(&self, name: &str) -> Result<NamedRevision, CommandError> {
        if name == "." {
            return Ok(("the working tree".to_owned(), None));
        }
        let hash = git::commit(&self.root, name)?;
        let short = git::short(&hash);
        let name = if hash.starts_with(name) { short.to_owned() } else { format!("{name} ({short})") };
        Ok((name, Some(hash)))
    }

    /// Checks out a revision into the work tree `tree`, and finds its bench targets.
    pub(super) fn check_out(
        &self,
        tree: &str,
        (name, hash): NamedRevision,
        args: &BuildArgs,
    ) -> Result<Revision, CommandError> {
        let mut cargo = Cargo::default();
        if let Some(hash) = hash {
            let folder = self.home().join("revisions").join(tree);
            let tree = Tree::check_out(folder, &self.root, &hash, &name)?;
            let sources = tree.sources();
            // Cargo's settings and toolchains depend on the folder: the user's, if the commit has it.
            let folders = [&self.folder, &self.workspace].map(|folder| sources.join(folder));
            cargo = Cargo {
                manifest: Some(folders[1].join("Cargo.toml")),
                folder: folders.into_iter().find(|folder| folder.is_dir()),
                target: Some(tree.target()),
            };
        }
        // Cargo has read the workspace here before, so that a failure now is one of the revision's manifests.
        let unreadable = |mut error: CommandError| {
            if error.exit == Exit::Usage {
                error.exit = Exit::Failed;
            }
            not_built(error, &name)
        };
        let workspace = cargo.workspace(args).map_err(unreadable)?;
        let targets = workspace.suites(args).map_err(|error| not_built(error, &name))?;
        Ok(Revision { name, targets, cargo })
    }
}

impl Revision {
    /// Builds its benchmark binaries.
    pub(super) fn build(&self, args: &BuildArgs) -> Result<Built, CommandError> {
        self.cargo.build(&self.targets, args).map_err(|error| not_built(error, &self.name))
    }
}

/// Names the revision that an error is about. A signal is about none.
fn not_built(error: CommandError, name: &str) -> CommandError {
    if matches!(error.exit, Exit::Interrupted(_)) { error } else { error.within(name) }
}
