//! The toolchain of a build, where rustup manages several. In: the variables that rustup sets; out: a cargo.

use std::env;
use std::process::Command;

/// The variable by which rustup has all programs take one toolchain, whatever their folder asks for.
const CHOSEN: &str = "RUSTUP_TOOLCHAIN";
/// The variable that says whose choice that was, from rustup 1.29 on.
const SOURCE: &str = "RUSTUP_TOOLCHAIN_SOURCE";
/// Choices that rustup made by the folder that this program was started in, and not the user for this program.
const BY_FOLDER: [&str; 3] = ["default", "path-override", "toolchain-file"];

/// The toolchain that cargo is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::commands) enum Toolchain {
    /// The one whose subcommand this program is.
    #[default]
    Caller,
    /// The one that rustup chooses for the folder of a build, such as by its `rust-toolchain.toml`.
    Folder,
}

impl Toolchain {
    /// Returns the toolchain of builds in folders of their own. One that the user chose for this program, as in `cargo +nightly gpubench`,
    /// builds all.
    pub(in crate::commands) fn of_folders() -> Self {
        let source = env::var(SOURCE).unwrap_or_default();
        if BY_FOLDER.contains(&&*source) { Self::Folder } else { Self::Caller }
    }

    /// Returns its cargo.
    pub(super) fn cargo(self) -> Command {
        match self {
            // Cargo names itself in the environment of its subcommands.
            Self::Caller => Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
            // The cargo that is found by its name is rustup's, which chooses.
            Self::Folder => {
                let mut cargo = Command::new("cargo");
                cargo.env_remove(CHOSEN).env_remove(SOURCE);
                cargo
            }
        }
    }
}
