//! A history in a git repository, without a working tree: commits of its own behind one ref, whose files are those of a folder. In: the
//! name of a ref, runs and paths; out: a commit more for each run, or the contents of all files. By the program `git`, in the repository
//! of the current folder.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// The tries to move a ref that others move meanwhile, and the pause behind one that failed.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// The value of a ref that is not there, whatever the length of hashes.
const NOTHING: &str = "";

/// The name and the address that commits of a history have, whoever measured.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "gpubench"),
    ("GIT_AUTHOR_EMAIL", "gpubench@localhost"),
    ("GIT_COMMITTER_NAME", "gpubench"),
    ("GIT_COMMITTER_EMAIL", "gpubench@localhost"),
];

/// A file of the history.
struct File {
    /// The hash of its contents.
    hash: String,
    path: String,
}

/// Returns the name of the ref that `place` is, if it is one: its whole name, as in `refs/gpubench/history`.
pub(super) fn name_of(place: &Path) -> Option<&str> {
    place.to_str().filter(|name| name.starts_with("refs/"))
}

/// Checks that a run can be added to the history behind this ref: git allows its name, and it is new or a history.
///
/// # Errors
/// If it cannot.
pub(super) fn check(name: &str, is_ours: impl Fn(&str) -> bool) -> io::Result<()> {
    check_name(name)?;
    old(name, &is_ours).map(drop)
}

/// Checks that the current folder is in a repository, and that git allows this name for a ref.
fn check_name(name: &str) -> io::Result<()> {
    told(&["rev-parse", "--git-dir"], &[]).map_err(|error| match error.kind() {
        io::ErrorKind::Other => io::Error::other(format!(
            "a ref is part of a git repository, and the current folder is in none: go into one, or give a folder ({error})"
        )),
        _ => error,
    })?;
    if told(&["check-ref-format", name], &[]).is_err() {
        return Err(io::Error::other(
            "git does not allow this name for a ref: give another, such as refs/gpubench/history",
        ));
    }
    Ok(())
}

/// Returns the commit of a history behind this ref, if there is one. A ref with nothing at its top, or anything that is not ours by its
/// name, is somebody's branch, and left alone.
fn old(name: &str, is_ours: &impl Fn(&str) -> bool) -> io::Result<Option<String>> {
    let Ok(old) = told(&["rev-parse", "--verify", "--quiet", name], &[]) else { return Ok(None) };
    let top = told(&["ls-tree", "-z", "--full-tree", "--name-only", &old], &[])?;
    let mut names = top.split('\0').filter(|name| !name.is_empty()).peekable();
    let has = match names.peek() {
        None => Some("no runs".to_owned()),
        Some(_) => names.find(|name| !is_ours(name)).map(|other| format!("other files, such as `{other}`")),
    };
    match has {
        Some(has) => Err(io::Error::other(format!("it has {has}: give a history a ref of its own"))),
        None => Ok(Some(old)),
    }
}

/// Adds a file of these contents below `folder`, with the first of `names` that is free. Returns its path, and true if it was there.
///
/// # Errors
/// If git says so, or the ref is no history.
pub(super) fn add(
    name: &str,
    folder: &str,
    names: impl Fn(usize) -> String,
    contents: &[u8],
    is_ours: impl Fn(&str) -> bool,
) -> io::Result<(PathBuf, bool)> {
    check_name(name)?;
    let hash = told(&["hash-object", "-w", "--stdin"], contents)?;
    let mut refused = io::Error::other("it was moved by others again and again");
    for _ in 0..TRIES {
        let old = old(name, &is_ours)?;
        let there =
            old.as_deref().map_or_else(|| Ok(Vec::new()), |old| files(&[old, &format!("{folder}/")]))?;
        let path = |number| format!("{folder}/{}", names(number));
        let found = |path: &String| there.iter().find(|file| file.path == *path);
        let mut taken = (1..).map(path).take_while(|path| found(path).is_some());
        if let Some(path) = taken.find(|path| found(path).is_some_and(|file| file.hash == hash)) {
            return Ok((shown(name, &path), true));
        }
        let free = (1..).map(path).find(|path| found(path).is_none()).unwrap_or_default();
        let commit = commit(old.as_deref(), (&hash, &free))?;
        match told(&["update-ref", name, &commit, old.as_deref().unwrap_or(NOTHING)], &[]) {
            Ok(_) => return Ok((shown(name, &free), false)),
            Err(error) => refused = error,
        }
        thread::sleep(PAUSE);
    }
    Err(refused)
}

/// Returns a commit of the files of `old` and one more.
fn commit(old: Option<&str>, (hash, path): (&str, &str)) -> io::Result<String> {
    let index = Index::new()?;
    let asked = |words: &[&str]| {
        let mut command = git(words);
        answer(command.env("GIT_INDEX_FILE", &index.0).envs(AUTHOR), &[])
    };
    asked(&["read-tree", old.unwrap_or("--empty")])?;
    asked(&["update-index", "--add", "--cacheinfo", &format!("100644,{hash},{path}")])?;
    let tree = asked(&["write-tree"])?;
    let parent = old.map(|old| ["-p", old]);
    let words: Vec<&str> =
        ["commit-tree", &tree, "-m", path].into_iter().chain(parent.into_iter().flatten()).collect();
    asked(&words)
}

/// Gives the path and the contents of each file to `take`, in the order of their paths.
///
/// # Errors
/// If there is no such ref, or git says so.
pub(super) fn read(name: &str, mut take: impl FnMut(PathBuf, Vec<u8>)) -> io::Result<()> {
    if told(&["rev-parse", "--verify", "--quiet", name], &[]).is_err() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "this repository has no such ref"));
    }
    let mut all = files(&["-r", name])?;
    // Runs of one second have longer names, the later ones.
    all.sort_by(|one, other| (one.path.len(), &one.path).cmp(&(other.path.len(), &other.path)));
    let mut asked = git(&["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (input, output) = (asked.stdin.take(), asked.stdout.take());
    let hashes: Vec<String> = all.iter().map(|file| file.hash.clone()).collect();
    // Git answers while it is asked.
    let asking = thread::spawn(move || {
        input.map_or(Ok(()), |mut input| hashes.iter().try_for_each(|hash| writeln!(input, "{hash}")))
    });
    let mut answers = BufReader::new(output.ok_or(io::ErrorKind::BrokenPipe)?);
    for file in all {
        take(shown(name, &file.path), contents(&mut answers)?);
    }
    drop(answers);
    asking.join().unwrap_or(Ok(()))?;
    ended(asked)
}

/// Reads one of git's answers: a line with the length, and so many bytes.
fn contents(answers: &mut BufReader<ChildStdout>) -> io::Result<Vec<u8>> {
    let mut head = String::new();
    answers.read_line(&mut head)?;
    let length = head.split_whitespace().nth(2).and_then(|length| length.parse().ok());
    let length: usize =
        length.ok_or_else(|| io::Error::other(format!("git answers `{}`", head.trim_end())))?;
    let mut contents = vec![0; length + 1];
    answers.read_exact(&mut contents)?;
    contents.pop();
    Ok(contents)
}

/// Returns the files that `git ls-tree` finds, by their paths from the top: the current folder may be any of the repository.
fn files(words: &[&str]) -> io::Result<Vec<File>> {
    let told = told(&[&["ls-tree", "-z", "--full-tree"], words].concat(), &[])?;
    // `100644 blob HASH<tab>PATH`
    let file = |line: &str| {
        let (what, path) = line.split_once('\t')?;
        let mut what = what.split(' ').skip(1);
        (what.next() == Some("blob")).then_some(())?;
        Some(File { hash: what.next()?.to_owned(), path: path.to_owned() })
    };
    Ok(told.split('\0').filter_map(file).collect())
}

/// The file as git names it.
fn shown(name: &str, path: &str) -> PathBuf {
    PathBuf::from(format!("{name}:{path}"))
}

/// An index of its own, beside the repository's. It is removed when this is dropped.
struct Index(PathBuf);

impl Index {
    fn new() -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let folder = PathBuf::from(told(&["rev-parse", "--absolute-git-dir"], &[])?);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Ok(Self(folder.join(format!("gpubench-index-{}-{number}", process::id()))))
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

fn git(words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(words).stdin(Stdio::null()).stderr(Stdio::piped());
    // A hook has them, of an operation that is no part of this.
    ["GIT_INDEX_FILE", "GIT_WORK_TREE"].iter().for_each(|name| _ = command.env_remove(name));
    command
}

/// Returns git's answer, without the end of its line.
fn told(words: &[&str], input: &[u8]) -> io::Result<String> {
    answer(&mut git(words), input)
}

fn answer(command: &mut Command, input: &[u8]) -> io::Result<String> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("git does not start: {error}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    let told = child.wait_with_output()?;
    if !told.status.success() {
        return Err(io::Error::other(format!("git: {}", String::from_utf8_lossy(&told.stderr).trim_end())));
    }
    Ok(String::from_utf8_lossy(&told.stdout).trim_end_matches('\n').to_owned())
}

fn ended(child: Child) -> io::Result<()> {
    let told = child.wait_with_output()?;
    let failed = || io::Error::other(format!("git: {}", String::from_utf8_lossy(&told.stderr).trim_end()));
    told.status.success().then_some(()).ok_or_else(failed)
}
