//! The program that measured: its build, and the package that it belongs to.

use serde::{Deserialize, Serialize};

/// The build that measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// The version of gpubench.
    pub version: String,
    /// The commit that gpubench was built from, where that is known.
    pub commit: Option<String>,
    /// True where files of gpubench had changed since that commit.
    pub dirty: Option<bool>,
    /// Its `opt-level`: host cases of a program that is not optimised say little.
    pub opt_level: String,
    /// The target triple it was built for.
    pub target: String,
    /// The suite: the package and the target of its that has the `main`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    /// The hash that tells this build from any other, where runs are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The package that has the `main`. Nothing in a run of before it was known, or of a program that cargo did not build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<Package>,
}

/// The package of the user's that has the `main`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit that the program was built from. Nothing where that is not certain: without a checkout, without git, or
    /// where sources have changed since the program was built.
    pub commit: Option<String>,
    /// True where tracked files of the checkout had changed since that commit.
    pub dirty: Option<bool>,
    /// Its folder when it was built. Not stored: it says something of a machine and nothing of the program.
    #[serde(skip)]
    pub folder: String,
}
