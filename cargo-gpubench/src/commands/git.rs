//! The program `git`: commits of a repository, and the work trees that they are built in.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gpubench_report::history::CommitOrder;

use super::signals;
use crate::error::CommandError;
use crate::output;

/// The digits of a hash that a user sees.
const SHOWN_DIGITS: usize = 8;
/// The variables that make git use another repository than that of a folder, as a hook has them.
const OTHER_REPOSITORY: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// Returns a command of git in `folder`.
pub(super) fn git(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words).stdin(Stdio::null()).stdout(Stdio::piped());
    OTHER_REPOSITORY.iter().for_each(|variable| _ = command.env_remove(variable));
    command
}

/// Runs git. Returns what it printed on standard output; `None` if it failed.
fn run(git: &mut Command) -> Result<Option<String>, CommandError> {
    let ended =
        signals::output(git).map_err(|error| CommandError::usage(format!("git does not start: {error}")))?;
    match signals::ended_by(ended.status) {
        Some(exit) => Err(signals::interrupted(exit)),
        None => {
            Ok(ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).trim_end().to_owned()))
        }
    }
}

/// The same without git's messages.
fn ask(folder: &Path, words: &[&str]) -> Result<Option<String>, CommandError> {
    run(git(folder, words).stderr(Stdio::null()))
}

/// Returns the folder of the repository that `folder` is in.
pub(super) fn root(folder: &Path) -> Result<PathBuf, CommandError> {
    let root = ask(folder, &["rev-parse", "--show-toplevel"])?;
    root.and_then(|root| Path::new(&root).canonicalize().ok()).ok_or_else(|| {
        let message = "is not in a git repository, which `ab` needs for revisions";
        CommandError::usage(format!("{} {message}", folder.display()))
    })
}

/// Returns the hash of the commit that `name` means.
pub(super) fn commit(root: &Path, name: &str) -> Result<String, CommandError> {
    let commit = format!("{name}^{{commit}}");
    ask(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?.ok_or_else(|| {
        CommandError::usage(format!(
            "{name}: the repository has no such commit, tag or branch. `.` is the working tree. Clones in CI often have a branch \
             only as origin/NAME"
        ))
    })
}

/// Returns the beginning of a hash that a user sees.
pub(super) fn short(hash: &str) -> &str {
    hash.get(..SHOWN_DIGITS).unwrap_or(hash)
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

/// A work tree, in which cargo rebuilds what differs from the commit before.
pub(super) struct Tree(PathBuf);

impl Tree {
    /// Puts the commit `hash` into the work tree in `folder`, whatever was changed there. Files that git ignores stay.
    pub(super) fn check_out(
        folder: PathBuf,
        root: &Path,
        hash: &str,
        name: &str,
    ) -> Result<Self, CommandError> {
        let tree = Self(folder);
        if tree.switch(root, hash, name)? {
            return Ok(tree);
        }
        Err(CommandError::failed(format!("{name} cannot be checked out: git's message is above")))
    }

    /// Returns the hash of its commit; `None` if it is no work tree yet, or a damaged one.
    fn head(&self) -> Option<String> {
        let sources = self.sources();
        sources.join(".git").exists().then(|| ask(&sources, &["rev-parse", "HEAD"]).ok()?)?
    }

    /// Returns false if git fails.
    fn switch(&self, root: &Path, hash: &str, name: &str) -> Result<bool, CommandError> {
        let sources = self.sources();
        let succeeds = |words: &[&str]| Ok::<_, CommandError>(run(&mut git(&sources, words))?.is_some());
        let switched = if let Some(earlier) = self.head() {
            if earlier != hash {
                output::note(&format!("{}: {name} replaces {}", sources.display(), short(&earlier)));
            }
            succeeds(&["checkout", "--quiet", "--force", "--detach", hash])?
                && succeeds(&["clean", "--quiet", "--force", "--force", "-d"])?
        } else {
            if sources.exists() {
                fs::remove_dir_all(&sources).map_err(CommandError::at(&sources))?;
            }
            // By force, since git's list may have a tree that somebody removed. The list itself stays: it may name trees on disks that
            // are not mounted now.
            let mut add = git(root, &["worktree", "add", "--quiet", "--detach", "--force"]);
            run(add.arg(&sources).arg(hash))?.is_some()
        };
        if !switched || !sources.join(".gitmodules").is_file() {
            return Ok(switched);
        }
        Ok(succeeds(&["submodule", "--quiet", "sync", "--recursive"])?
            && succeeds(&["submodule", "--quiet", "update", "--init", "--recursive", "--force"])?)
    }

    /// Returns the folder of the commit's files.
    pub(super) fn sources(&self) -> PathBuf {
        self.0.join("tree")
    }

    /// Returns the folder that cargo builds them into.
    pub(super) fn target(&self) -> PathBuf {
        self.0.join("target")
    }
}
