//! The work trees that revisions are built in. In: a commit; out: a folder with its sources and one that cargo builds into, which nobody
//! else uses meanwhile. There are few: the one that was not used for longest gets the next commit, and cargo builds anew only
//! what differs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::repository::{Commit, Repository, head, switch_tree, update_submodules};
use crate::error::RevisionError;
use crate::output;

/// The most work trees: the two of a comparison, and two more whose builds are kept.
const MOST: usize = 4;

/// The time for which another comparison may take to choose a tree.
const PATIENCE: Duration = Duration::from_secs(5);

/// The work trees of a repository.
#[derive(Debug)]
pub(super) struct Trees {
    folder: PathBuf,
}

/// A work tree in use, until this is dropped.
#[derive(Debug)]
pub(super) struct Tree {
    folder: PathBuf,
    lock: File,
}

impl Trees {
    /// Those below `home`, the folder of what outlives a run.
    pub(super) fn below(home: &Path) -> Self {
        Self { folder: home.join("revisions") }
    }

    /// Puts `commit`, which is called `name`, into a work tree: the one that has it, else a new one, else the one that was not used
    /// for longest.
    pub(super) fn check_out(
        &self,
        repository: &Repository,
        commit: &Commit,
        name: &str,
    ) -> Result<Tree, RevisionError> {
        let (begin, mut free) = (Instant::now(), self.free()?);
        // Another comparison holds them all for the moment in which it chooses.
        while free.is_empty() && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(20));
            free = self.free()?;
        }
        // Of those without sources the first, as if it had not been used for longest.
        free.sort_by_key(|(used, tree)| (tree.sources().exists(), *used));
        let chosen =
            free.iter().position(|(_, tree)| head(&tree.sources()).as_deref() == Some(commit.hash()));
        if free.is_empty() {
            return Err(RevisionError::AllInUse(self.folder.clone()));
        }
        let (_, tree) = free.swap_remove(chosen.unwrap_or(0));
        drop(free);
        tree.hold(repository, commit, name)?;
        Ok(tree)
    }

    /// Takes all trees that nobody uses, each with the time of its last use.
    fn free(&self) -> Result<Vec<(SystemTime, Tree)>, RevisionError> {
        let mut free = Vec::new();
        for number in 1..=MOST {
            let folder = self.folder.join(number.to_string());
            let failed = |error| RevisionError::NoPlace { path: folder.clone(), error };
            free.extend(Tree::lock(&folder).map_err(failed)?);
        }
        Ok(free)
    }
}

/// Opens a file to lock, and leaves what is in it.
fn lock_file(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

impl Tree {
    /// Takes the tree in `folder`, with the time of its last use; nothing if another process uses it.
    fn lock(folder: &Path) -> io::Result<Option<(SystemTime, Self)>> {
        fs::create_dir_all(folder)?;
        let lock = lock_file(&folder.join("lock"))?;
        match lock.try_lock() {
            Ok(()) => {
                let used = lock.metadata()?.modified()?;
                Ok(Some((used, Self { folder: folder.to_owned(), lock })))
            }
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Makes it the tree of `commit`.
    fn hold(&self, repository: &Repository, commit: &Commit, name: &str) -> Result<(), RevisionError> {
        let sources = self.sources();
        let has = head(&sources);
        let done = match &has {
            None => {
                let removed = if sources.exists() { fs::remove_dir_all(&sources) } else { Ok(()) };
                let failed = |error| RevisionError::NoPlace { path: sources.clone(), error };
                removed.map_err(failed)?;
                let _alone = self.alone().map_err(failed)?;
                repository.add_tree(&sources, commit)?
            }
            Some(earlier) => {
                if *earlier != commit.hash() {
                    output::note(&format!(
                        "{} was {}, and gets {name}",
                        sources.display(),
                        &earlier[..8.min(earlier.len())]
                    ));
                }
                switch_tree(&sources, commit)?
            }
        };
        if !(done && update_submodules(&sources)?) {
            return Err(RevisionError::NotCheckedOut { name: name.to_owned() });
        }
        // The next search takes the one that was not used for longest.
        self.lock
            .set_modified(SystemTime::now())
            .map_err(|error| RevisionError::NoPlace { path: self.folder.clone(), error })
    }

    /// Waits until no other process adds a tree, and holds the others back: git fails where it reads of a tree that another git is
    /// about to add.
    fn alone(&self) -> io::Result<File> {
        let lock = lock_file(&self.folder.with_file_name("lock"))?;
        lock.lock()?;
        Ok(lock)
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
