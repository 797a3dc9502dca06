//! The source whose suites are run. In: this workspace, a folder, a repository or the name of a published crate; out: the manifest of
//! a workspace on this machine. What is not there yet is fetched into the user's cache folder, by git or by cargo.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gpubench_records::files::cache;
use serde::Deserialize;

use crate::args::RunArgs;
use crate::commands::suites::Cargo;
use crate::error::RunError;
use crate::manifest::Manifest;

/// A package of a dependency tree in cargo's words.
#[derive(Debug, Deserialize)]
struct Published {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Tree {
    packages: Vec<Published>,
}

/// Returns the manifest of the source that `args` name; `None` for the workspace of the current folder.
pub(super) fn manifest(args: &RunArgs) -> Result<Option<PathBuf>, RunError> {
    if let Some(wanted) = &args.krate {
        let folder = args.cache_dir.clone().or_else(cache).ok_or(RunError::NoCache)?;
        return published(wanted, &folder.join("crates"), args.build.offline).map(Some);
    }
    if let Some(url) = &args.git {
        let folder = args.cache_dir.clone().or_else(cache).ok_or(RunError::NoCache)?;
        return repository(url, args.rev.as_deref(), &folder.join("git")).map(Some);
    }
    let Some(path) = &args.path else { return Ok(None) };
    let manifest = if path.is_dir() { path.join("Cargo.toml") } else { path.clone() };
    // Suites are started in the folders of their packages.
    manifest.canonicalize().map(Some).map_err(|error| RunError::NotThere { path: manifest, error })
}

/// Brings a published crate into a folder of its own below `folder`, and returns its manifest there. Cargo chooses the version, fetches
/// it and checks it, as for any dependency.
fn published(wanted: &str, folder: &Path, offline: bool) -> Result<PathBuf, RunError> {
    let (name, version) = wanted.split_once('@').map_or((wanted, "*"), |(name, version)| (name, version));
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let is_version = |letter: char| letter.is_ascii_alphanumeric() || "*.+-^~=<>, ".contains(letter);
    if name.is_empty()
        || !name.chars().all(is_plain)
        || version.is_empty()
        || !version.chars().all(is_version)
    {
        return Err(RunError::BadCrate(wanted.to_owned()));
    }
    let exactly = if version.starts_with(|first: char| first.is_ascii_digit()) { "=" } else { "" };
    let asking = folder.join("asking").join(name);
    let manifest = asking.join("Cargo.toml");
    let text = format!(
        "[workspace]\n\n[package]\nname = \"asking-for-{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n[dependencies]\n{name} = \"{exactly}{version}\"\n"
    );
    let written = fs::create_dir_all(&asking)
        .and_then(|()| fs::write(&manifest, text))
        .and_then(|()| fs::write(asking.join("lib.rs"), ""))
        // Else cargo would keep to the version of last time.
        .and_then(|()| removed(fs::remove_file(asking.join("Cargo.lock"))));
    written.map_err(|error| RunError::NoPlace { path: asking, error })?;
    let flags: &[&str] = if offline { &["--offline"] } else { &[] };
    let tree: Tree = Cargo::of(Some(&manifest)).metadata(flags)?;
    let found = tree.packages.into_iter().find(|package| package.name == name);
    let found = found.ok_or_else(|| RunError::BadCrate(wanted.to_owned()))?;
    let source = found.manifest_path.parent().unwrap_or(Path::new("."));
    let copy = folder.join(format!("{name}-{}", found.version));
    if !copy.join("Cargo.toml").is_file() {
        copy_folder(source, &copy).map_err(|error| RunError::NoPlace { path: copy.clone(), error })?;
        let mut manifest = Manifest::read(&copy)?;
        manifest.stand_alone()?;
        manifest.write()?;
    }
    Ok(copy.join("Cargo.toml"))
}

fn removed(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Copies the files of a package. Its manifest comes last, so that a copy that was cut off is made again.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut manifest = None;
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        match (path.is_dir(), name.to_str()) {
            (true, Some("target" | ".git")) => {}
            (true, _) => copy_folder(&path, &to.join(name))?,
            (false, Some("Cargo.toml")) => manifest = Some(path),
            (false, _) => drop(fs::copy(&path, to.join(name))?),
        }
    }
    manifest.map_or(Ok(()), |manifest| fs::copy(manifest, to.join("Cargo.toml")).map(drop))
}

/// Brings a repository into a folder of its own below `folder`, as it is now, and returns its manifest there. What was built there
/// before is kept.
fn repository(url: &str, revision: Option<&str>, folder: &Path) -> Result<PathBuf, RunError> {
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    let name =
        url.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next().unwrap_or("repository");
    let clone = folder.join(format!("{name}-{:08x}", hasher.finish() as u32));
    fs::create_dir_all(&clone).map_err(|error| RunError::NoPlace { path: clone.clone(), error })?;
    let git = |words: &[&str]| {
        let ended = Command::new("git").arg("-C").arg(&clone).args(words).stdout(Stdio::null()).status();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(RunError::NotFetched(url.to_owned())),
            Err(error) => Err(RunError::NoGit(error)),
        }
    };
    git(&["init", "--quiet"])?;
    git(&["fetch", "--quiet", "--depth=1", "--no-tags", "--", url, revision.unwrap_or("HEAD")])?;
    git(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"])?;
    git(&["submodule", "--quiet", "update", "--init", "--recursive", "--depth=1"])?;
    let manifest = clone.join("Cargo.toml");
    manifest.canonicalize().map_err(|error| RunError::NotThere { path: manifest, error })
}
