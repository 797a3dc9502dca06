//! Published crates whose benchmarks `run` runs. They are copied into the user's cache folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use gpubench_records::files::cache;

use super::{run::RunArgs, suites::Cargo};
use crate::{manifest::Manifest, output::CommandError};

/// Returns the manifest of the crate that `args` name; `None` for the workspace of the current folder.
pub(super) fn manifest(args: &RunArgs) -> Result<Option<PathBuf>, CommandError> {
    let Some(wanted) = &args.krate else { return Ok(None) };
    let folder = args.cache_dir.clone().or_else(cache);
    let folder = folder
        .ok_or_else(|| CommandError::usage("this user has no cache folder: give one by --cache-dir"))?
        .join("crates");
    let manifest = published(wanted, &folder, args.build.offline)?;
    // Benchmark binaries are started in the folders of their packages.
    manifest.canonicalize().map(Some).map_err(CommandError::at(&manifest))
}

/// Copies a published crate into a folder of its own below `folder`, and returns its manifest there. Cargo chooses the version, fetches
/// it and checks it, as for any dependency.
fn published(wanted: &str, folder: &Path, offline: bool) -> Result<PathBuf, CommandError> {
    let bad_crate = || {
        CommandError::usage(format!("--crate {wanted}: give the name of a published crate, or NAME@VERSION"))
    };
    let (name, version) = wanted.split_once('@').unwrap_or((wanted, "*"));
    let is_made_of = |text: &str, others: &str| {
        !text.is_empty()
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
    };
    if !is_made_of(name, "-_") || !is_made_of(version, "*.+-^~=<>, ") {
        return Err(bad_crate());
    }
    let exactly = if version.starts_with(|first: char| first.is_ascii_digit()) { "=" } else { "" };
    let asking = folder.join("asking").join(name);
    let manifest = asking.join("Cargo.toml");
    let text = format!(
        "[workspace]\n\n[package]\nname = \"asking-for-{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n[dependencies]\n{name} = \"{exactly}{version}\"\n"
    );
    // An earlier Cargo.lock would keep the version of last time.
    _ = fs::remove_file(asking.join("Cargo.lock"));
    fs::create_dir_all(&asking)
        .and_then(|()| fs::write(&manifest, text))
        .and_then(|()| fs::write(asking.join("lib.rs"), ""))
        .map_err(CommandError::at(&asking))?;
    let cargo = Cargo { manifest: Some(manifest), ..Cargo::default() };
    let workspace = cargo.metadata(offline.then_some("--offline"))?;
    let found = workspace.packages.into_iter().find(|package| package.name == name).ok_or_else(bad_crate)?;
    let source = found.manifest_path.parent().unwrap_or(Path::new("."));
    let copy = folder.join(format!("{name}-{}", found.version));
    if !copy.join("Cargo.toml").is_file() {
        copy_folder(source, &copy).map_err(CommandError::at(&copy))?;
        let mut manifest = Manifest::read(&copy)?;
        // It is a workspace of its own, whatever workspace is around its folder.
        manifest.table("workspace")?;
        manifest.write()?;
    }
    Ok(copy.join("Cargo.toml"))
}

/// Copies the files of a package. Its manifest comes last, so that a copy that was cut off is made again.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut manifest = None;
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else if name == "Cargo.toml" {
            manifest = Some(path);
        } else {
            _ = fs::copy(&path, to.join(name))?;
        }
    }
    manifest.map_or(Ok(()), |manifest| fs::copy(manifest, to.join("Cargo.toml")).map(drop))
}
