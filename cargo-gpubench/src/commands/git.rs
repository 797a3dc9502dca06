//! The program `git`: commits of a repository, and the work trees that they are built in. There are few work trees: the one that was not
//! used for longest gets the next commit, and cargo rebuilds only what differs.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::SystemTime;

use gpubench_records::exit::Exit;
use gpubench_report::history::CommitOrder;

use super::signals;
use crate::error::RevisionError;
use crate::output;

/// The digits of a hash that a user sees.
const SHOWN_DIGITS: usize = 8;
/// The variables that make git use another repository than that of a folder, as a hook has them.
const OTHER_REPOSITORY: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];
/// The most work trees: the two of a comparison, and two more whose builds are kept.
const MOST_TREES: usize = 4;

/// Returns a command of git in `folder`.
pub(super) fn git(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(words).stdin(Stdio::null()).stdout(Stdio::piped());
    OTHER_REPOSITORY.iter().for_each(|variable| _ = command.env_remove(variable));
    command
}

/// Runs git. Returns what it printed on standard output; `None` if it failed.
pub(super) fn run(git: &mut Command) -> Result<Option<String>, RevisionError> {
    let ended = signals::output(git).map_err(RevisionError::NoGit)?;
    match signals::ended_by(ended.status) {
        Some(exit) => Err(RevisionError::Interrupted(exit)),
        None => {
            Ok(ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).trim_end().to_owned()))
        }
    }
}

/// The same without git's messages.
fn ask(folder: &Path, words: &[&str]) -> Result<Option<String>, RevisionError> {
    run(git(folder, words).stderr(Stdio::null()))
}

/// Returns the folder of the repository that `folder` is in.
pub(super) fn root(folder: &Path) -> Result<PathBuf, RevisionError> {
    let root = ask(folder, &["rev-parse", "--show-toplevel"])?;
    root.and_then(|root| Path::new(&root).canonicalize().ok()).ok_or_else(|| {
        let message =
            format!("{} is not in a git repository, which `ab` needs for revisions", folder.display());
        RevisionError::new(Exit::Usage, message)
    })
}

/// Returns the hash of the commit that `name` means.
pub(super) fn commit(root: &Path, name: &str) -> Result<String, RevisionError> {
    let commit = format!("{name}^{{commit}}");
    ask(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?.ok_or_else(|| {
        let message = format!(
            "{name}: the repository has no such commit, tag or branch. `.` is the working tree. Clones in CI often have a branch \
             only as origin/NAME"
        );
        RevisionError::new(Exit::Usage, message)
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
    let names: String = commits.iter().map(|commit| format!("{commit}^{{commit}}\n")).collect();
    let found = answer(&root, &["cat-file", "--batch-check=%(objectname)"], names)?;
    // A line for each: its hash, or a sentence that it is missing or ambiguous.
    let hashes: Vec<(&str, &str)> =
        commits.iter().copied().zip(found.lines()).filter(|(_, found)| !found.contains(' ')).collect();
    let lines = hashes.iter().map(|(_, hash)| format!("{hash}\n")).collect();
    let listed = answer(&root, &["rev-list", "--topo-order", "--reverse", "--stdin"], lines)?;
    let places: HashMap<&str, usize> = listed.lines().zip(0..).collect();
    Some(
        hashes
            .into_iter()
            .filter_map(|(commit, hash)| Some((commit.to_owned(), *places.get(hash)?)))
            .collect(),
    )
}

/// Returns the whole hash of the commit that begins with these digits in the current folder's repository.
pub(super) fn whole_hash(digits: &str) -> Option<String> {
    let hash = root(Path::new(".")).and_then(|root| commit(&root, digits)).ok()?;
    // A branch may have such a name, and another commit.
    hash.starts_with(&digits.to_ascii_lowercase()).then_some(hash)
}

/// Returns what git answers to these lines; nothing if it fails.
fn answer(folder: &Path, words: &[&str], lines: String) -> Option<String> {
    let mut asked = git(folder, words).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let input = asked.stdin.take();
    // Git answers while it reads.
    let writing = thread::spawn(move || _ = input.map(|mut input| input.write_all(lines.as_bytes())));
    let answer = asked.wait_with_output().ok()?;
    _ = writing.join();
    answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).into_owned())
}

/// A work tree that no other process uses until this is dropped.
pub(super) struct Tree {
    folder: PathBuf,
    lock: File,
}

impl Tree {
    /// Puts the commit `hash` into a work tree below `home`: the one that has it, else a new one, else the one that was not used for
    /// longest.
    pub(super) fn check_out(home: &Path, root: &Path, hash: &str, name: &str) -> Result<Self, RevisionError> {
        let folder = home.join("revisions");
        let no_place = RevisionError::no_place(&folder);
        let trees = (1..=MOST_TREES).map(|number| folder.join(number.to_string()));
        // One process at a time takes a tree: git fails while another git adds one.
        let _taking = locked(&folder).map_err(&no_place)?;
        let free = trees.filter_map(|tree| Self::lock(tree).transpose()).collect::<io::Result<Vec<_>>>();
        let mut free = free.map_err(&no_place)?;
        // Trees without sources come first.
        free.sort_by_key(|(used, tree)| (tree.sources().exists(), *used));
        let has_it = |tree: &Self| tree.head().as_deref() == Some(hash);
        let chosen = free.iter().position(|(_, tree)| has_it(tree)).unwrap_or(0);
        if free.is_empty() {
            return Err(RevisionError::AllInUse(folder.clone()));
        }
        let (_, tree) = free.swap_remove(chosen);
        if !tree.switch(root, hash, name)? {
            let message = format!("{name} cannot be checked out: git's message is above");
            return Err(RevisionError::new(Exit::Failed, message));
        }
        // The time of the last use.
        tree.lock.set_modified(SystemTime::now()).map_err(&no_place)?;
        Ok(tree)
    }

    /// Takes the tree in `folder`, with the time of its last use; nothing if another process uses it.
    fn lock(folder: PathBuf) -> io::Result<Option<(SystemTime, Self)>> {
        let lock = lock_file(&folder)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some((lock.metadata()?.modified()?, Self { folder, lock }))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns the hash of its commit; `None` if it is no work tree yet, or a damaged one.
    fn head(&self) -> Option<String> {
        let sources = self.sources();
        sources.join(".git").exists().then(|| ask(&sources, &["rev-parse", "HEAD"]).ok()?)?
    }

    /// Puts a commit into it, whatever was changed there. Files that git ignores stay. Returns false if git fails.
    fn switch(&self, root: &Path, hash: &str, name: &str) -> Result<bool, RevisionError> {
        let sources = self.sources();
        let succeeds = |words: &[&str]| Ok::<_, RevisionError>(run(&mut git(&sources, words))?.is_some());
        let switched = if let Some(earlier) = self.head() {
            if earlier != hash {
                output::note(&format!("{}: {name} replaces {}", sources.display(), short(&earlier)));
            }
            succeeds(&["checkout", "--quiet", "--force", "--detach", hash])?
                && succeeds(&["clean", "--quiet", "--force", "--force", "-d"])?
        } else {
            if sources.exists() {
                fs::remove_dir_all(&sources).map_err(RevisionError::no_place(&sources))?;
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
        self.folder.join("tree")
    }

    /// Returns the folder that cargo builds them into.
    pub(super) fn target(&self) -> PathBuf {
        self.folder.join("target")
    }
}

/// Opens the file `lock` in `folder`, which it makes if needed.
pub(super) fn lock_file(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder)?;
    File::options().create(true).truncate(false).write(true).open(folder.join("lock"))
}

/// Waits until no other process has `folder` locked, and locks it.
fn locked(folder: &Path) -> io::Result<File> {
    let lock = lock_file(folder)?;
    lock.lock()?;
    Ok(lock)
}
