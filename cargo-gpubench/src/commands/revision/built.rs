//! A revision on its way from sources to programs. In: its sources, and the cargo that builds them; out: its bench targets, then the
//! suites that are built of them.

use super::trees::Tree;
use crate::args::BuildArgs;
use crate::commands::suites::{BenchTarget, Built, Cargo, Interruption, Workspace, build, metadata_flags};
use crate::error::{RevisionError, RunError};

/// A revision whose sources are there. Its work tree is in use until this is dropped.
#[derive(Debug)]
pub(in crate::commands) struct CheckedOut<'a> {
    name: String,
    /// The bench targets that are to be built. Some may be no suites.
    targets: Vec<BenchTarget>,
    cargo: Cargo<'a>,
    tree: Option<Tree>,
}

/// A revision that was built. Its work tree is in use until this is dropped.
#[derive(Debug)]
pub(in crate::commands) struct BuiltRevision {
    /// The name, as in `main (1a2b3c4d)`.
    pub(in crate::commands) name: String,
    pub(in crate::commands) built: Built,
    _tree: Option<Tree>,
}

impl<'a> CheckedOut<'a> {
    /// Finds the bench targets of the revision `name` that `args` name.
    pub(super) fn of(
        name: String,
        cargo: Cargo<'a>,
        tree: Option<Tree>,
        args: &BuildArgs,
    ) -> Result<Self, RevisionError> {
        let workspace = cargo.metadata(&metadata_flags(args));
        match workspace.and_then(|workspace: Workspace| workspace.suites(args)) {
            Ok(targets) => Ok(Self { name, targets, cargo, tree }),
            Err(error) => Err(not_built(name, error)),
        }
    }

    /// Returns the number of bench targets that the other revision has too.
    pub(in crate::commands) fn in_common(&self, other: &Self) -> usize {
        let has = |target: &&BenchTarget| other.targets.iter().any(|other| target.is_of_the_name_of(other));
        self.targets.iter().filter(has).count()
    }

    /// Builds its suites.
    pub(in crate::commands) fn build(self, args: &BuildArgs) -> Result<BuiltRevision, RevisionError> {
        let Self { name, targets, cargo, tree } = self;
        let all = build(&targets, &cargo, args).and_then(|mut built| {
            built.keep_suites();
            if built.suites.is_empty() { Err(RunError::NoSuites) } else { Ok(built) }
        });
        // A signal that ends a suite which says its version makes it none.
        let interrupted = cargo.interruption.and_then(Interruption::exit).map(RunError::Interrupted);
        match interrupted.map_or(all, Err) {
            Ok(built) => Ok(BuiltRevision { name, built, _tree: tree }),
            Err(error) => Err(not_built(name, error)),
        }
    }
}

fn not_built(name: String, error: RunError) -> RevisionError {
    match error {
        RunError::Interrupted(exit) => RevisionError::Interrupted(exit),
        error => RevisionError::NotBuilt { name, error: Box::new(error) },
    }
}
