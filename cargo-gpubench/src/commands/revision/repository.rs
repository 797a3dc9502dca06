//! A git repository, asked by the program `git`. In: a folder in it, and names of commits; out: their hashes, and work trees.

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Display};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::thread;

use gpubench_report::history::CommitOrder;

use crate::commands::suites::killed;
use crate::error::RevisionError;

/// The digits of a hash that a user sees.
const SHOWN_DIGITS: usize = 8;

/// The variables that make git look at another repository than that of a folder, as a hook has them.
const ELSEWHERE: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];

/// The repository of a folder.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    root: PathBuf,
}

/// A commit, by the name that the user gave and by its hash.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Commit {
    name: String,
    hash: String,
}

impl PartialEq for Commit {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for Commit {}

impl Commit {
    pub(super) fn hash(&self) -> &str {
        &self.hash
    }
}

impl Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = &self.hash[..self.hash.len().min(SHOWN_DIGITS)];
        if self.hash.starts_with(&self.name) {
            f.write_str(short)
        } else {
            write!(f, "{} ({short})", self.name)
        }
    }
}

impl Repository {
    /// Finds the repository of `folder`.
    pub(super) fn of(folder: &Path) -> Result<Self, RevisionError> {
        let told = output(folder, &["rev-parse", "--show-toplevel"])?;
        let root = PathBuf::from(line(&told));
        match root.canonicalize() {
            Ok(root) if told.status.success() => Ok(Self { root }),
            _ => Err(RevisionError::NoRepository(folder.to_owned())),
        }
    }

    /// Returns the folder of its working tree.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the commit that `name` means.
    pub(super) fn commit(&self, name: &str) -> Result<Commit, RevisionError> {
        let commit = format!("{name}^{{commit}}");
        let told = output(&self.root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?;
        if !told.status.success() {
            return Err(RevisionError::Unknown(name.to_owned()));
        }
        Ok(Commit { name: name.to_owned(), hash: line(&told) })
    }

    /// Returns the place of each of these commits in the repository's history, every one behind its parents. Those that it does not have
    /// are missing.
    pub(super) fn order(&self, commits: &BTreeSet<&str>) -> Result<CommitOrder, RevisionError> {
        let asked: String = commits.iter().map(|commit| format!("{commit}^{{commit}}\n")).collect();
        let told = answered(&self.root, &["cat-file", "--batch-check=%(objectname)"], asked)?;
        // A line for each: its hash, or a sentence that it is missing or means several.
        let hashes: Vec<(&str, &str)> =
            commits.iter().copied().zip(told.lines()).filter(|(_, told)| !told.contains(' ')).collect();
        let asked = hashes.iter().map(|(_, hash)| format!("{hash}\n")).collect();
        let listed = answered(&self.root, &["rev-list", "--topo-order", "--reverse", "--stdin"], asked)?;
        let places: HashMap<&str, usize> = listed.lines().zip(0..).collect();
        Ok(hashes
            .into_iter()
            .filter_map(|(commit, hash)| Some((commit.to_owned(), *places.get(hash)?)))
            .collect())
    }

    /// Makes a work tree of `commit` in `folder`, which is none yet. Returns false if git does not; its words are printed.
    pub(super) fn add_tree(&self, folder: &Path, commit: &Commit) -> Result<bool, RevisionError> {
        // By force also where git's list still has a tree that somebody removed. The list itself is the user's: it names trees on disks
        // that are not there now.
        let mut command = git(&self.root, &["worktree", "add", "--quiet", "--detach", "--force"]);
        succeeds(command.arg(folder).arg(&commit.hash))
    }
}

/// Puts `commit` into the work tree `folder`, whatever was changed there. What git ignores is left, and submodules of the commit before
/// are not.
pub(super) fn switch_tree(folder: &Path, commit: &Commit) -> Result<bool, RevisionError> {
    Ok(succeeds(&mut git(folder, &["checkout", "--quiet", "--force", "--detach", &commit.hash]))?
        && succeeds(&mut git(folder, &["clean", "--quiet", "--force", "--force", "-d"]))?)
}

/// Brings the submodules of a work tree to what its commit says, from where it says.
pub(super) fn update_submodules(folder: &Path) -> Result<bool, RevisionError> {
    if !folder.join(".gitmodules").is_file() {
        return Ok(true);
    }
    let update = ["submodule", "--quiet", "update", "--init", "--recursive", "--force"];
    Ok(succeeds(&mut git(folder, &["submodule", "--quiet", "sync", "--recursive"]))?
        && succeeds(&mut git(folder, &update))?)
}

/// Returns the hash of the commit in the work tree `folder`; `None` if it is none, or damaged.
pub(super) fn head(folder: &Path) -> Option<String> {
    if !folder.join(".git").exists() {
        return None;
    }
    let told = output(folder, &["rev-parse", "HEAD"]).ok()?;
    told.status.success().then(|| line(&told))
}

fn git(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words).stdin(Stdio::null());
    for variable in ELSEWHERE {
        command.env_remove(variable);
    }
    command
}

fn output(folder: &Path, words: &[&str]) -> Result<Output, RevisionError> {
    let told = git(folder, words).output().map_err(RevisionError::NoGit)?;
    _ = ended(told.status)?;
    Ok(told)
}

/// Returns what git answers to these lines; nothing if it fails.
fn answered(folder: &Path, words: &[&str], lines: String) -> Result<String, RevisionError> {
    let mut command = git(folder, words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut asked = command.spawn().map_err(RevisionError::NoGit)?;
    let input = asked.stdin.take();
    // Of its own, since git answers while it is asked. It takes no more once it has failed.
    let asking = thread::spawn(move || _ = input.map(|mut input| input.write_all(lines.as_bytes())));
    let told = asked.wait_with_output().map_err(RevisionError::NoGit)?;
    _ = asking.join();
    let told = if told.status.success() { told.stdout } else { Vec::new() };
    Ok(String::from_utf8_lossy(&told).into_owned())
}

fn succeeds(command: &mut Command) -> Result<bool, RevisionError> {
    ended(command.stdout(Stdio::null()).status().map_err(RevisionError::NoGit)?)
}

/// Returns true if git did what it was asked for. A terminal sends Ctrl-C to git too, and its end says nothing of the repository then.
fn ended(status: ExitStatus) -> Result<bool, RevisionError> {
    killed(status).map_or(Ok(status.success()), |exit| Err(RevisionError::Interrupted(exit)))
}

fn line(told: &Output) -> String {
    String::from_utf8_lossy(&told.stdout).trim_end().to_owned()
}
