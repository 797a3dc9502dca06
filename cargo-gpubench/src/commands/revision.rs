//! Revisions of a repository as benchmark binaries, with the program `git`. The working tree is built where it is, a commit in a work
//! tree of its own below the target folder.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use gpubench_records::Exit;
use gpubench_report::history::CommitOrder;

use crate::commands::benchmark_binaries::{BenchTarget, BuildArgs, BuiltBinaries, Cargo};
use crate::commands::signals;
use crate::output::{self, CommandError, Result, bail};

/// How often a comparison that waits for another looks for its end, and for signals.
const LOOK: Duration = Duration::from_millis(100);

/// The workspace of the current folder, and its repository.
pub(super) struct RevisionCheckouts {
    /// The folder of the repository.
    root: PathBuf,
    /// The workspace's folder, relative to the repository's.
    workspace: PathBuf,
    /// The current folder, relative to the repository's.
    folder: PathBuf,
    /// The folders outside of the repository that its packages depend on.
    outside: Vec<PathBuf>,
    /// The target folder of the working tree. Benchmark binaries of all revisions share it for what they measure of the machine.
    pub target: PathBuf,
    /// No other comparison uses the work trees until this is dropped.
    _lock: File,
}

/// The name of a revision in messages, such as `main (1a2b3c4d)`, and its hash; `None` for the working tree.
type NamedRevision = (String, Option<String>);

/// A revision whose sources are there.
pub(super) struct Revision {
    pub name: String,
    /// The bench targets to build.
    pub targets: Vec<BenchTarget>,
    cargo: Cargo,
}

impl RevisionCheckouts {
    /// Finds the workspace of the current folder, and waits until no other comparison uses its work trees. From now on signals end what is
    /// done with its revisions, and not this program.
    pub(super) fn here(args: &BuildArgs) -> Result<Self> {
        signals::listen()?;
        let workspace = Cargo::default().workspace(args)?;
        let root = root(&workspace.workspace_root)?;
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
            outside: workspace.path_dependencies().filter(|path| !path.starts_with(&root)).collect(),
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
    pub(super) fn named(&self, name: &str) -> Result<NamedRevision> {
        if name == "." {
            return Ok(("the working tree".to_owned(), None));
        }
        let hash = commit(&self.root, name)?;
        let short = hash.get(..SHOWN_DIGITS).unwrap_or(&hash);
        let name = if hash.starts_with(name) { short.to_owned() } else { format!("{name} ({short})") };
        Ok((name, Some(hash)))
    }

    /// Checks out a revision into the work tree `tree`, and finds its bench targets.
    pub(super) fn check_out(
        &self,
        tree: &str,
        (name, hash): NamedRevision,
        args: &BuildArgs,
    ) -> Result<Revision> {
        let mut cargo = Cargo::default();
        if let Some(hash) = hash {
            let folder = self.home().join("revisions").join(tree);
            let sources = folder.join("tree");
            if !switch(&sources, &self.root, &hash)? {
                bail!(Failed, "{name} cannot be checked out: git's message is above");
            }
            for path in &self.outside {
                link(path, &self.root, &sources, &self.home())?;
            }
            // Cargo's settings and toolchains depend on the folder: the user's, if the commit has it.
            let folders = [&self.folder, &self.workspace].map(|folder| sources.join(folder));
            cargo = Cargo {
                manifest: Some(folders[1].join("Cargo.toml")),
                folder: folders.into_iter().find(|folder| folder.is_dir()),
                target: Some(folder.join("target")),
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
        let targets = workspace.bench_targets(args).map_err(|error| not_built(error, &name))?;
        Ok(Revision { name, targets, cargo })
    }
}

impl Revision {
    /// Builds its benchmark binaries.
    pub(super) fn build(&self, args: &BuildArgs) -> Result<BuiltBinaries> {
        self.cargo.build(&self.targets, args).map_err(|error| not_built(error, &self.name))
    }
}

/// Links the folder `path` outside of the repository `root` to where a relative path in the work tree `tree` leads to, if that is in `home`.
fn link(path: &Path, root: &Path, tree: &Path, home: &Path) -> Result<(), CommandError> {
    let Some(common) = root.ancestors().find(|folder| path.starts_with(folder)) else { return Ok(()) };
    let below = |path: &Path| path.strip_prefix(common).map(Path::to_owned).unwrap_or_default();
    let above = tree.ancestors().nth(below(root).components().count());
    let Some(place) = above.filter(|folder| folder.starts_with(home)).map(|folder| folder.join(below(path)))
    else {
        return Ok(());
    };
    if place.exists() {
        return Ok(());
    }
    // A link to a folder that is gone.
    _ = fs::remove_file(&place);
    let made = place.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| symlink(path, &place));
    made.map_err(CommandError::at(&place))
}

/// Names the revision that an error is about. A signal is about none.
fn not_built(error: CommandError, name: &str) -> CommandError {
    if matches!(error.exit, Exit::Interrupted(_)) { error } else { error.with_context(name) }
}

/// The digits of a hash that a user sees.
const SHOWN_DIGITS: usize = 8;
/// The variables that make git use another repository than that of a folder, as a hook has them.
const OTHER_REPOSITORY: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// Returns a command of git in `folder`.
fn git(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words);
    OTHER_REPOSITORY.iter().for_each(|variable| _ = command.env_remove(variable));
    command
}

/// Runs git. Returns what it printed on standard output; `None` if it failed.
fn run(git: &mut Command) -> Result<Option<String>> {
    let ended = signals::tool_output(git)?;
    Ok(ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).trim_end().to_owned()))
}

/// The same without git's messages.
fn ask(folder: &Path, words: &[&str]) -> Result<Option<String>> {
    run(git(folder, words).stderr(Stdio::null()))
}

/// Returns the folder of the repository that `folder` is in.
fn root(folder: &Path) -> Result<PathBuf> {
    let root = ask(folder, &["rev-parse", "--show-toplevel"])?;
    root.and_then(|root| Path::new(&root).canonicalize().ok()).ok_or_else(|| {
        let message = "is not in a git repository, which `ab` needs for revisions";
        CommandError::usage(format!("{} {message}", folder.display()))
    })
}

/// Returns the hash of the commit that `name` means.
fn commit(root: &Path, name: &str) -> Result<String> {
    let commit = format!("{name}^{{commit}}");
    ask(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?.ok_or_else(|| {
        CommandError::usage(format!(
            "the repository has no commit, tag or branch `{name}`: in a clone made by CI, try `origin/{name}`; for the working tree, give `.`. \
             A FILTER goes after both revisions, as in `cargo gpubench ab main . {name}`"
        ))
    })
}

/// Returns the place of each of these commits in the history of the current folder's repository, each after its parents. Commits that the
/// repository lacks are missing.
pub(super) fn commit_order(commits: &BTreeSet<&str>) -> Option<CommitOrder> {
    let root = root(Path::new(".")).ok()?;
    let whole = |commit: &&str| {
        let is_whole = commit.len() >= 40;
        Some((if is_whole { commit.to_ascii_lowercase() } else { whole_hash(commit)? }, (*commit).to_owned()))
    };
    let names: Vec<(String, String)> = commits.iter().filter_map(whole).collect();
    let mut list = git(&root, &["rev-list", "--topo-order", "--reverse", "--ignore-missing"]);
    list.args(names.iter().map(|(hash, _)| hash)).arg("--").stderr(Stdio::null());
    let listed = run(&mut list).ok()??;
    let places: HashMap<&str, _> = listed.lines().zip(0..).collect();
    Some(names.into_iter().filter_map(|(hash, name)| Some((name, *places.get(&*hash)?))).collect())
}

/// Returns the whole hash of the commit that begins with these digits in the current folder's repository.
pub(super) fn whole_hash(digits: &str) -> Option<String> {
    let hash = root(Path::new(".")).and_then(|root| commit(&root, digits)).ok()?;
    // A branch may have such a name, and another commit.
    hash.starts_with(&digits.to_ascii_lowercase()).then_some(hash)
}

/// Puts the commit `hash` into the work tree in `run_files`, whatever was changed there, so that cargo rebuilds what differs from the commit
/// before. Files that git ignores stay. Returns false if git fails.
fn switch(sources: &Path, root: &Path, hash: &str) -> Result<bool> {
    let succeeds = |words: &[&str]| -> Result<bool> { Ok(run(&mut git(sources, words))?.is_some()) };
    // A damaged work tree is made again. Without a file `.git`, the answer is about the repository around it.
    let is_tree = sources.join(".git").is_file() && ask(sources, &["rev-parse", "HEAD"])?.is_some();
    let switched = if is_tree {
        succeeds(&["checkout", "--quiet", "--force", "--detach", hash])?
            && succeeds(&["clean", "--quiet", "--force", "--force", "-d"])?
    } else {
        if sources.exists() {
            fs::remove_dir_all(sources).map_err(CommandError::at(sources))?;
        }
        // By force, since git's list may have a tree that somebody removed. The list itself stays: it may name trees on disks that are
        // not mounted now.
        let mut add = git(root, &["worktree", "add", "--quiet", "--detach", "--force"]);
        run(add.arg(sources).arg(hash))?.is_some()
    };
    if !switched || !sources.join(".gitmodules").is_file() {
        return Ok(switched);
    }
    Ok(succeeds(&["submodule", "--quiet", "sync", "--recursive"])?
        && succeeds(&["submodule", "--quiet", "update", "--init", "--recursive", "--force"])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_out_of_the_repository_leads_to_the_same_folder_in_a_work_tree() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let (root, home) = (at("kernels"), at("kernels/target/gpubench"));
        let tree = home.join("revisions/then/tree");
        for made in [&tree, &at("gpubench"), &at("other/shared")] {
            fs::create_dir_all(made).expect("it can be made");
        }
        fs::write(at("gpubench/Cargo.toml"), "").expect("it can be written");
        for _ in 0..2 {
            for outside in ["gpubench", "other/shared"] {
                link(&at(outside), &root, &tree, &home).expect("it can be linked");
            }
        }
        assert!(tree.join("../gpubench/Cargo.toml").exists() && tree.join("../other/shared").is_dir());
        // A path that leads out of the folder for revisions is left alone.
        link(Path::new("/usr"), &root, &tree, &home).expect("nothing to do");
    }
}
