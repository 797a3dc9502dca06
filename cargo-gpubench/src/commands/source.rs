//! The workspace whose benchmarks `run` runs: this one, that of a folder, of a repository, or of a published crate. Repositories and crates
//! are fetched into the user's cache folder.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use gpubench_records::files::cache;

use super::git;
use super::suites::Cargo;
use crate::args::RunArgs;
use crate::error::{CommandError, at};
use crate::manifest::Manifest;

/// Returns the manifest of the source that `args` name; `None` for the workspace of the current folder.
pub(super) fn manifest(args: &RunArgs) -> Result<Option<PathBuf>, CommandError> {
    let cache = || {
        let folder = args.cache_dir.clone().or_else(cache);
        folder.ok_or_else(|| CommandError::usage("this user has no cache folder: give one by --cache-dir"))
    };
    let manifest = if let Some(wanted) = &args.krate {
        published(wanted, &cache()?.join("crates"), args.build.offline)?
    } else if let Some(url) = &args.git {
        repository(url, args.rev.as_deref(), &cache()?.join("git"))?
    } else if let Some(path) = &args.path {
        if path.is_dir() { path.join("Cargo.toml") } else { path.clone() }
    } else {
        return Ok(None);
    };
    // Benchmark binaries are started in the folders of their packages.
    manifest.canonicalize().map(Some).map_err(|error| CommandError::usage(at(&manifest, error)))
}

fn no_place(path: &Path) -> impl Fn(io::Error) -> CommandError {
    move |error| CommandError::failed(at(path, error))
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
        .map_err(no_place(&asking))?;
    let cargo = Cargo { manifest: Some(manifest), ..Cargo::default() };
    let workspace = cargo.metadata(offline.then_some("--offline"))?;
    let found = workspace.packages.into_iter().find(|package| package.name == name).ok_or_else(bad_crate)?;
    let source = found.manifest_path.parent().unwrap_or(Path::new("."));
    let copy = folder.join(format!("{name}-{}", found.version));
    if !copy.join("Cargo.toml").is_file() {
        copy_folder(source, &copy).map_err(no_place(&copy))?;
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

/// Fetches a repository into a folder of its own below `folder`, and returns its manifest there. What was built there stays.
fn repository(url: &str, revision: Option<&str>, folder: &Path) -> Result<PathBuf, CommandError> {
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    let name =
        url.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next().unwrap_or("repository");
    let clone = folder.join(format!("{name}-{:08x}", hasher.finish() as u32));
    fs::create_dir_all(&clone).map_err(no_place(&clone))?;
    for words in [
        &["init", "--quiet"][..],
        &["fetch", "--quiet", "--depth=1", "--no-tags", "--", url, revision.unwrap_or("HEAD")],
        &["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"],
        &["submodule", "--quiet", "update", "--init", "--recursive", "--depth=1"],
    ] {
        if git::run(&mut git::git(&clone, words))?.is_none() {
            return Err(CommandError::failed(format!("{url} could not be fetched: git's message is above")));
        }
    }
    Ok(clone.join("Cargo.toml"))
}
