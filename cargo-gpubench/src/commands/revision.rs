//! Revisions of a repository as benchmark binaries, by the program `git`. The working tree is built where it is,
//! and a commit in a git work tree of its own below the target folder.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use gpubench_records::Exit;
use gpubench_report::history::CommitOrder;

use super::benchmark_binaries::{BenchTarget, BuildArgs, BuiltBinaries, Cargo};
use super::signals;
use crate::output::{self, CommandError, Result, bail};

/// The time between two attempts to lock the work trees, and between two checks for signals.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The workspace in the current folder, with the git work trees in which revisions are built.
pub(super) struct RevisionCheckouts {
    /// The folder of the repository.
    root: PathBuf,
    /// The folder of the workspace, relative to that of the repository.
    workspace: PathBuf,
    /// The current folder, relative to that of the repository; that of the workspace if the current one is
    /// outside.
    folder: PathBuf,
    /// The folders of the workspace's path dependencies that are outside of the repository.
    outside: Vec<PathBuf>,
    /// The target folder of the working tree. Benchmark binaries of all revisions share it for measurements of
    /// the machine, such as peaks.
    pub target: PathBuf,
    /// A locked file: while it is open, no other comparison uses the work trees.
    _lock: File,
}

/// The name of a revision for messages, such as `main (1a2b3c4d)`, and the hash of its commit, which is
/// `None` for the working tree.
type NamedRevision = (String, Option<String>);

/// A revision with its sources on disk.
pub(super) struct Revision {
    pub name: String,
    /// The bench targets to build.
    pub targets: Vec<BenchTarget>,
    cargo: Cargo,
}

impl RevisionCheckouts {
    /// Opens the workspace of the current folder. Waits until no other comparison uses its git work trees,
    /// and locks them. From this call on, signals do not end this program; child processes get them. A signal
    /// during the wait is an error.
    pub(super) fn open(args: &BuildArgs) -> Result<Self> {
        signals::listen()?;
        let workspace = Cargo::default().metadata(args)?;
        let root = repository_root(&workspace.workspace_root)?;
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
                if let Some(exit) = signals::received_signal() {
                    return Err(signals::interrupted_error(exit));
                }
                thread::sleep(LOCK_POLL_INTERVAL);
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

    /// Returns the folder with stored runs and work trees.
    pub(super) fn gpubench_folder(&self) -> PathBuf {
        self.target.join("gpubench")
    }

    /// Returns the revision that the user calls `name`; `.` is the working tree. An unknown name is an error.
    pub(super) fn resolve(&self, name: &str) -> Result<NamedRevision> {
        if name == "." {
            return Ok(("the working tree".to_owned(), None));
        }
        let Some(hash) = commit_hash(&self.root, name)? else {
            let branches = newest_branches(&self.root)?;
            return Err(CommandError::usage(format!(
                "the repository has no commit, tag or branch `{name}`{branches}. In a clone made by CI, try `origin/{name}`; for the working tree, give `.`. \
                 A FILTER goes after both revisions, as in `cargo gpubench ab HEAD . {name}`"
            )));
        };
        let short = hash.get(..SHOWN_DIGITS).unwrap_or(&hash);
        let name = if hash.starts_with(name) { short.to_owned() } else { format!("{name} ({short})") };
        Ok((name, Some(hash)))
    }

    /// Checks out the commit of a revision into the git work tree `tree`, and finds the bench targets there.
    /// For the working tree, checks out nothing and finds the targets where it is.
    pub(super) fn check_out(
        &self,
        tree: &str,
        (name, hash): NamedRevision,
        args: &BuildArgs,
    ) -> Result<Revision> {
        let mut cargo = Cargo::default();
        if let Some(hash) = hash {
            let folder = self.gpubench_folder().join("revisions").join(tree);
            let sources = folder.join("tree");
            if !switch_work_tree(&sources, &self.root, &hash)? {
                bail!(Failed, "{name} cannot be checked out: git's message is above");
            }
            for path in &self.outside {
                link_outside_folder(path, &self.root, &sources, &self.gpubench_folder())?;
            }
            // Cargo's settings and toolchains depend on the folder: the user's, if the commit has it.
            let folders = [&self.folder, &self.workspace].map(|folder| sources.join(folder));
            cargo = Cargo {
                manifest: Some(folders[1].join("Cargo.toml")),
                folder: folders.into_iter().find(|folder| folder.is_dir()),
                target: Some(folder.join("target")),
            };
        }
        let workspace = cargo.metadata(args);
        let targets = workspace.and_then(|workspace| workspace.bench_targets(args));
        let targets = targets.map_err(|error| with_revision_name(error, &name))?;
        Ok(Revision { name, targets, cargo })
    }
}

impl Revision {
    /// Builds the benchmark binaries of the revision. An error begins with the name of the revision.
    pub(super) fn build(&self, args: &BuildArgs) -> Result<BuiltBinaries> {
        self.cargo.build(&self.targets, args).map_err(|error| with_revision_name(error, &self.name))
    }
}

/// Makes a symbolic link to the folder `path`, which is outside of the repository `root`, for the git work
/// tree `tree`. From `tree`, the link has the same relative path as the folder has from `root`. Does nothing
/// if the link would be outside of the folder `home`, or if something is there already.
fn link_outside_folder(path: &Path, root: &Path, tree: &Path, home: &Path) -> Result<(), CommandError> {
    let Some(common) = root.ancestors().find(|folder| path.starts_with(folder)) else { return Ok(()) };
    let below = |path: &Path| path.strip_prefix(common).map(Path::to_owned).unwrap_or_default();
    let above = tree.ancestors().nth(below(root).components().count());
    let Some(link) = above.filter(|folder| folder.starts_with(home)).map(|folder| folder.join(below(path)))
    else {
        return Ok(());
    };
    if link.exists() {
        return Ok(());
    }
    // A link to a folder that is gone.
    _ = fs::remove_file(&link);
    let made = link.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| symlink(path, &link));
    made.map_err(CommandError::at(&link))
}

/// Adds the name of the revision to an error, unless a signal caused it.
fn with_revision_name(error: CommandError, name: &str) -> CommandError {
    if matches!(error.exit, Exit::Interrupted(_)) { error } else { error.with_context(name) }
}

/// The number of digits of a hash in messages.
const SHOWN_DIGITS: usize = 8;
/// Environment variables that make git use another repository than that of the folder. Git sets them for
/// hooks; [`git_command`] removes them.
const REPOSITORY_VARIABLES: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// Returns a command of git in `folder`, with these arguments.
fn git_command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words);
    REPOSITORY_VARIABLES.iter().for_each(|variable| _ = command.env_remove(variable));
    command
}

/// Runs git. Returns its standard output; `None` if git exits with a failure.
///
/// # Errors
/// Returns an error if git cannot be started.
fn run_git(git: &mut Command) -> Result<Option<String>> {
    let ended = signals::run_tool(git)?;
    Ok(ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).trim_end().to_owned()))
}

/// Runs git without showing its messages. Returns its standard output; `None` if git exits with a failure.
///
/// # Errors
/// Returns an error if git cannot be started.
fn query_git(folder: &Path, args: &[&str]) -> Result<Option<String>> {
    run_git(git_command(folder, args).stderr(Stdio::null()))
}

/// Returns the absolute path of the repository that contains `folder`. A folder that is in no repository is
/// an error.
fn repository_root(folder: &Path) -> Result<PathBuf> {
    let root = query_git(folder, &["rev-parse", "--show-toplevel"])?;
    root.and_then(|root| Path::new(&root).canonicalize().ok()).ok_or_else(|| {
        let message = "is not in a git repository, which `ab` needs for revisions: run it in one";
        CommandError::usage(format!("{} {message}", folder.display()))
    })
}

/// Returns the full hash of the commit that `name` means: a commit, a tag or a branch. Returns `None` for an
/// unknown name.
fn commit_hash(root: &Path, name: &str) -> Result<Option<String>> {
    let commit = format!("{name}^{{commit}}");
    query_git(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
}

/// Returns a phrase with the names of up to six branches, such as ``; the newest branches: `fix`, `main` ``,
/// the one with the newest commit first. Without branches, the phrase is empty, or advises to commit if there
/// is no commit.
fn newest_branches(root: &Path) -> Result<String> {
    let words = ["for-each-ref", "--sort=-committerdate", "--count=6", "--format=`%(refname:short)`"];
    let words = [&words[..], &["refs/heads", "refs/remotes"]].concat();
    let names = query_git(root, &words)?.unwrap_or_default().replace('\n', ", ");
    Ok(match commit_hash(root, "HEAD")? {
        None => "; it has no commit: commit first".to_owned(),
        Some(_) if names.is_empty() => names,
        Some(_) => format!("; the newest branches: {names}"),
    })
}

/// Returns the position of each of these commits in the history of the current repository; parents come
/// before their children. The keys are the hashes as given, which may be shortened. Commits that the
/// repository lacks have no position. Returns `None` without a repository, or if git fails.
pub(super) fn commit_order(commits: &BTreeSet<&str>) -> Option<CommitOrder> {
    let root = repository_root(Path::new(".")).ok()?;
    let whole = |commit: &&str| {
        let is_whole = commit.len() >= 40;
        Some((if is_whole { commit.to_ascii_lowercase() } else { full_hash(commit)? }, (*commit).to_owned()))
    };
    let names: Vec<(String, String)> = commits.iter().filter_map(whole).collect();
    let mut list = git_command(&root, &["rev-list", "--topo-order", "--reverse", "--ignore-missing"]);
    list.args(names.iter().map(|(hash, _)| hash)).arg("--").stderr(Stdio::null());
    let listed = run_git(&mut list).ok()??;
    let places: HashMap<&str, _> = listed.lines().zip(0..).collect();
    Some(names.into_iter().filter_map(|(hash, name)| Some((name, *places.get(&*hash)?))).collect())
}

/// Returns the full hash of the commit in the current repository whose hash begins with these digits; `None`
/// if no commit or several commits match, or without a repository.
pub(super) fn full_hash(digits: &str) -> Option<String> {
    let hash = repository_root(Path::new(".")).and_then(|root| commit_hash(&root, digits)).ok()??;
    // A branch may have such a name, and another commit.
    hash.starts_with(&digits.to_ascii_lowercase()).then_some(hash)
}

/// Checks out the commit `hash` and its submodules in the git work tree in the folder `sources`, and discards
/// changes there. Creates the work tree if it is missing or damaged. Keeps ignored files, so that cargo
/// rebuilds only what differs. Returns false if a command of git fails.
fn switch_work_tree(sources: &Path, root: &Path, hash: &str) -> Result<bool> {
    let succeeds =
        |words: &[&str]| -> Result<bool> { Ok(run_git(&mut git_command(sources, words))?.is_some()) };
    // A damaged work tree is made again. Without a file `.git`, the answer is about the repository around it.
    let is_tree = sources.join(".git").is_file() && query_git(sources, &["rev-parse", "HEAD"])?.is_some();
    let switched = if is_tree {
        succeeds(&["checkout", "--quiet", "--force", "--detach", hash])?
            && succeeds(&["clean", "--quiet", "--force", "--force", "-d"])?
    } else {
        if sources.exists() {
            fs::remove_dir_all(sources).map_err(CommandError::at(sources))?;
        }
        // By force, since git's list may have a tree that somebody removed. The list itself stays: it may name trees on disks that are
        // not mounted now.
        let mut add = git_command(root, &["worktree", "add", "--quiet", "--detach", "--force"]);
        run_git(add.arg(sources).arg(hash))?.is_some()
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
                link_outside_folder(&at(outside), &root, &tree, &home).expect("it can be linked");
            }
        }
        assert!(tree.join("../gpubench/Cargo.toml").exists() && tree.join("../other/shared").is_dir());
        // A path that leads out of the folder for revisions is left alone.
        link_outside_folder(Path::new("/usr"), &root, &tree, &home).expect("nothing to do");
    }
}
