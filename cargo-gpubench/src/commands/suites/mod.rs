//! Suites of a workspace on this machine, for the commands that start some. In: a manifest and flags of a build; out: programs, and
//! processes that hear of signals.

mod build;
mod cargo;
mod ended;
mod interruption;
mod started;
mod toolchain;
mod workspace;

use crate::args::BuildArgs;
use crate::output;

pub(super) use self::build::{Built, BuiltSuite, build};
pub(super) use self::cargo::Cargo;
pub(super) use self::ended::{exit, killed};
pub(super) use self::interruption::Interruption;
pub(super) use self::started::command;
pub(super) use self::toolchain::Toolchain;
pub(super) use self::workspace::{BenchTarget, Workspace};

impl BuiltSuite {
    /// The words for it.
    pub(super) fn name(&self) -> String {
        format!("{}: {}", self.target.package, self.target.name)
    }
}

impl Built {
    /// Leaves out the programs that are no suites, with a warning for each.
    pub(super) fn keep_suites(&mut self) {
        let loader_path = self.loader_path();
        let (suites, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.suites)
            .into_iter()
            .partition(|suite| started::is_suite(&suite.program, &loader_path));
        for other in others {
            output::warn(&format!("{} is no suite of gpubench, and left out", other.name()));
        }
        self.suites = suites;
    }
}

/// Returns the words to `cargo metadata` that a build with `args` needs too.
pub(super) fn metadata_flags(args: &BuildArgs) -> Vec<&'static str> {
    let flags = [(args.locked, "--locked"), (args.offline, "--offline")];
    let given = flags.into_iter().filter_map(|(given, flag)| given.then_some(flag));
    ["--no-deps"].into_iter().chain(given).collect()
}
