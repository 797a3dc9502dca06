//! The errors of a `Cargo.toml`.

use std::io;
use std::path::PathBuf;

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error(
        "{} has no Cargo.toml: make a package by `cargo new --lib NAME`, or give the folder of one", .0.display()
    )]
    Missing(PathBuf),
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    NotToml { path: PathBuf, error: toml_edit::TomlError },
    #[error("{}: a workspace without a package of its own: give the folder of one of its packages", .0.display())]
    NoPackage(PathBuf),
    #[error("{}: `{key}` is no table as cargo has it", path.display())]
    NotATable { path: PathBuf, key: &'static str },
    #[error("{}: {error}", path.display())]
    NotWritten { path: PathBuf, error: io::Error },
}
