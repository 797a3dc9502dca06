//! Finds the commit that the user's package was built from. A user's package has no build script that could ask git, so the running
//! program asks. Another commit may be checked out by then. The answer counts only if no source of the checkout is newer than the program.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use gpubench_records::files;
use gpubench_records::record::Package;

/// The endings of files that programs are built from. Changes to other files leave a program unchanged.
const SOURCES: [&str; 13] =
    ["rs", "toml", "lock", "cu", "cuh", "ptx", "cubin", "fatbin", "c", "cc", "cpp", "h", "hpp"];

/// The commit of a checkout, and true if files have changed since.
type CheckoutState = (String, bool);

/// Returns the package with the commit that this program was built from, if git knows it.
pub(crate) fn with_commit(package: Package) -> Package {
    let built = files::program().and_then(|program| program.metadata()?.modified()).ok();
    let found = built.and_then(|built| state("git", Path::new(&package.folder), built));
    let (commit, dirty) = found.unzip();
    Package { commit, dirty, ..package }
}

/// Returns the state of the checkout with the package in `folder`, if none of its sources is newer than a program
/// `built` at this time.
fn state(git: &str, folder: &Path, built: SystemTime) -> Option<CheckoutState> {
    // The paths of all files of the checkout, as seen from `folder`.
    let files = ask(git, folder, &["ls-files", "-z", ":/"])?;
    let mut files = files.split('\0').filter(|file| !file.is_empty());
    // A package that another project's checkout ignores, such as one of cargo's registry, is not part of its
    // commit.
    let is_tracked = files.clone().any(|file| file == "Cargo.toml");
    if !is_tracked || files.any(|file| is_source(file) && is_newer(&folder.join(file), built)) {
        return None;
    }
    let status = ask(git, folder, &["status", "--porcelain=v2", "--branch", "--untracked-files=no"])?;
    let commit = status.lines().find_map(|line| line.strip_prefix("# branch.oid "))?;
    let is_commit = commit.len() >= 40 && commit.bytes().all(|digit| digit.is_ascii_hexdigit());
    let dirty = status.lines().any(|line| !line.starts_with('#'));
    is_commit.then(|| (commit.to_owned(), dirty))
}

fn is_source(file: &str) -> bool {
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SOURCES.contains(&ending))
}

/// Returns true if the file has changed since then. Git reports a missing file as a change.
fn is_newer(file: &Path, than: SystemTime) -> bool {
    fs::symlink_metadata(file).and_then(|file| file.modified()).is_ok_and(|modified| modified > than)
}

/// Runs git in `folder` and returns what it prints, if it succeeds.
fn ask(git: &str, folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(git);
    // A hook of another checkout sets these to that checkout.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    command.arg("--no-optional-locks").arg("-C").arg(folder).args(arguments);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok().filter(|_| output.status.success())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    /// A checkout with a package in one of its folders. All files are an hour old.
    struct Checkout(TempDir);

    impl Checkout {
        fn new() -> Self {
            let checkout = Self(tempfile::tempdir().expect("a folder"));
            checkout.git(&["init", "--quiet"]);
            fs::create_dir_all(checkout.package().join("src")).expect("a folder");
            for file in ["Cargo.toml", "src/main.rs", "README.md"] {
                checkout.write(file, "before", hours_ago(1));
            }
            checkout.git(&["add", "."]);
            checkout.commit();
            checkout
        }

        fn package(&self) -> std::path::PathBuf {
            self.0.path().join("kernels")
        }

        #[track_caller]
        fn git(&self, arguments: &[&str]) -> String {
            let who =
                ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
            ask("git", self.0.path(), &[&who, arguments].concat()).expect("git does it")
        }

        fn commit(&self) -> String {
            self.git(&["commit", "--quiet", "--all", "--message", "a change"]);
            self.git(&["rev-parse", "HEAD"]).trim().to_owned()
        }

        fn write(&self, file: &str, text: &str, modified: SystemTime) {
            let path = self.package().join(file);
            fs::write(&path, text).expect("it can be written");
            File::options()
                .write(true)
                .open(path)
                .and_then(|file| file.set_modified(modified))
                .expect("a time");
        }

        fn state(&self, built: SystemTime) -> Option<CheckoutState> {
            state("git", &self.package(), built)
        }
    }

    fn hours_ago(hours: u64) -> SystemTime {
        SystemTime::now() - Duration::from_secs(3600 * hours)
    }

    #[test]
    fn a_program_is_of_the_commit_whose_files_it_was_built_from() {
        let checkout = Checkout::new();
        let commit = checkout.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let clean = (commit.clone(), false);
        assert_eq!(checkout.state(SystemTime::now()), Some(clean));
        // Changed, then built, and only then committed.
        checkout.write("src/main.rs", "after", hours_ago(1));
        assert_eq!(checkout.state(hours_ago(0)), Some((commit.clone(), true)));
        let later = checkout.commit();
        assert_ne!(later, commit);
        assert_eq!(checkout.state(hours_ago(0)), Some((later, false)));
    }

    #[test]
    fn what_changed_after_the_build_leaves_it_unknown() {
        let checkout = Checkout::new();
        assert_eq!(checkout.state(hours_ago(2)), None, "its source is newer than the program");
        // No program is built from a text for people.
        checkout.write("README.md", "after", SystemTime::now());
        assert!(checkout.state(hours_ago(0)).is_some_and(|(_, dirty)| dirty));
        checkout.write("src/main.rs", "after", SystemTime::now());
        assert_eq!(checkout.state(hours_ago(0) - Duration::from_secs(60)), None);
    }

    #[test]
    fn without_a_checkout_or_git_it_is_unknown() {
        let checkout = Checkout::new();
        assert_eq!(state("no-git-here", &checkout.package(), SystemTime::now()), None);
        assert_eq!(state("git", &checkout.package().join("gone"), SystemTime::now()), None);
        // A package in another project's checkout, and not part of it.
        let other = checkout.0.path().join("vendored");
        fs::create_dir(&other).expect("a folder");
        fs::write(other.join("Cargo.toml"), "").expect("a file");
        assert_eq!(state("git", &other, SystemTime::now()), None);
    }
}
