//! The errors of `init`.

use std::io;
use std::path::PathBuf;

use super::ManifestError;

/// A package that gets no benchmark.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InitError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("there is a bench target `{name}` already, in {place}: give another name by --bench")]
    Exists { name: String, place: String },
    #[error("--bench {0}: a name has letters, digits, `-` and `_`")]
    Name(String),
    #[error("--path {}: no checkout of gpubench, whose Cargo.toml has `name = \"gpubench\"`", .0.display())]
    NoCheckout(PathBuf),
    #[error("{}: {error}", path.display())]
    NotWritten { path: PathBuf, error: io::Error },
}
