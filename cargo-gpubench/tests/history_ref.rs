//! Histories behind a git ref, as a user has them: from any folder of a repository, beside its branches, by jobs that add at once.
#![cfg(unix)]

use std::fs;
use std::process::Command;

use super::history::{nights, run_of, with_history};
use super::repository::Repository;
use super::{list, slowed};

const REF: &str = "refs/gpubench/history";

/// Returns git's answer in the repository.
fn git(repository: &Repository, words: &[&str]) -> String {
    let mut command = Command::new("git");
    let told = command.arg("-C").arg(repository.0.path("repository")).args(words).output();
    String::from_utf8(told.expect("there is git").stdout).expect("text").trim().to_owned()
}

/// A suite runs in its package's folder, which is seldom the repository's. There a run that is added twice is there once, another of the
/// same commit and second is kept beside it, and a branch with other files is left alone.
#[test]
fn a_ref_is_the_same_history_in_each_folder() {
    let repository = Repository::of(&[100]);
    fs::create_dir_all(repository.0.path("repository/crates/kernels")).expect("it can be made");
    let [seventh, other] = [1.0, 1.5].map(|factor| run_of(&slowed(1.0), 7, [factor, 1.0]));
    for (name, runs) in
        [("nights.json", &nights()[..30]), ("seventh.json", &[seventh]), ("other.json", &[other])]
    {
        fs::write(repository.0.path(name), list(runs)).expect("it can be written");
    }
    let add = |folder: &str, file: &str, to: &str, code| {
        let file = repository.0.text(file);
        repository.run_in(folder, &["history", "add", &file, "--history", to]).code(code).stderr()
    };
    let below = "repository/crates/kernels";
    assert_eq!(add(below, "nights.json", REF, 0).matches(": added: ").count(), 30);
    assert_eq!(add(below, "nights.json", REF, 0).matches(": is there already: ").count(), 30);
    assert_eq!(add("repository", "nights.json", REF, 0).matches(": is there already: ").count(), 30);

    for (file, end) in [
        ("seventh.json", "08T00-00-00Z.json\n"),
        ("other.json", "08T00-00-00Z-2.json\n"),
        ("seventh.json", "Z.json\n"),
    ] {
        let told = add(below, file, REF, 0);
        assert!(told.ends_with(end), "{file}: {told}");
    }
    assert_eq!(git(&repository, &["rev-list", "--count", REF]), "31");
    let read = |folder: &str| repository.run_in(folder, &["history", REF]).code(0).stdout();
    assert!(read(below).contains("in 31 runs"), "{}", read(below));
    assert_eq!(read(below), read("repository"));

    let before = git(&repository, &["rev-parse", "main"]);
    assert!(add(below, "seventh.json", "refs/heads/main", 1).contains("give a history a ref of its own"));
    assert_eq!(git(&repository, &["rev-parse", "main"]), before);
}

/// Hashes of SHA-256 have 64 digits.
#[test]
fn a_ref_of_a_repository_with_longer_hashes_is_a_history_too() {
    let repository = Repository::of(&[]);
    fs::remove_dir_all(repository.0.path("repository/.git")).expect("it is there");
    git(&repository, &["init", "--quiet", "--object-format=sha256"]);
    fs::write(repository.0.path("nights.json"), list(&nights()[..3])).expect("it can be written");
    let file = repository.0.text("nights.json");
    let add =
        || repository.run_in("repository", &["history", "add", &file, "--history", REF]).code(0).stderr();
    assert_eq!(add().matches(": added: ").count(), 3);
    assert_eq!(add().matches(": is there already: ").count(), 3);
    assert_eq!(git(&repository, &["rev-parse", REF]).len(), 64);
    let told = repository.run_in("repository", &["history", REF]).code(0).stdout();
    assert!(told.contains("in 3 runs"), "{told}");
}

/// A commit that is named by its first digits is kept by its hash where the repository has it.
#[test]
fn first_digits_of_a_commit_are_made_its_hash() {
    let repository = Repository::of(&[100]);
    fs::write(repository.0.path("one.json"), list(&nights()[..1])).expect("it can be written");
    let file = repository.0.text("one.json");
    let hash = repository.hash("v100");
    let add = |folder: &str, commit: &str| {
        let words = ["history", "add", &file, "--history", "history", "--commit", commit];
        repository.run_in(folder, &words).code(0).stderr()
    };
    for (folder, digits, expected) in [
        ("repository", &hash[..8], &*hash),
        ("repository", &hash[..8].to_uppercase(), &*hash),
        ("repository", &hash, &*hash),
        ("repository", "0123456789", "0123456789"),
        // No repository.
        (".", &hash[..8], &hash[..8]),
    ] {
        let told = add(folder, digits);
        assert!(told.contains(&format!(": history/{expected}/")), "{digits}: {told}");
    }
    // A branch of such a name is no commit's first digits.
    git(&repository, &["branch", "abcdef0123"]);
    assert!(add("repository", "abcdef0123").contains(": history/abcdef0123/"));
}

/// The same in a git repository, without a file in its working tree: two processes add to it at once, and nothing is lost.
#[test]
fn a_ref_of_a_git_repository_is_a_history_too() {
    let repository = Repository::of(&[100]);
    let (first, second) = (&nights()[..20], &nights()[20..]);
    for (name, runs) in [("first.json", first), ("second.json", second)] {
        fs::write(repository.0.path(name), list(runs)).expect("it can be written");
    }
    let add = |file: &str| {
        let file = repository.0.text(file);
        repository.run_in("repository", &["history", "add", &file, "--history", REF]).code(0).stderr()
    };
    let told = std::thread::scope(|scope| {
        let both = ["first.json", "second.json"].map(|file| scope.spawn(move || add(file)));
        both.map(|thread| thread.join().expect("it ended")).concat()
    });
    assert_eq!(told.matches(": added: refs/gpubench/history:").count(), 40, "{told}");
    assert_eq!(add("first.json").matches(": is there already: ").count(), 20);
    let ended = repository.run_in("repository", &["history", REF, "--fail-on-change"]).code(3);
    let project = with_history(&nights());
    assert_eq!(ended.stdout(), project.run(&["history", "history"]).code(0).stdout());

    let git = |words: &[&str]| git(&repository, words);
    assert_eq!(git(&["rev-list", "--count", REF]), "40", "a commit for each run");
    assert_eq!(git(&["status", "--porcelain"]), "", "the working tree is left alone");
    let left = fs::read_dir(repository.0.path("repository/.git")).expect("it is there");
    let ours = left.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("gpubench"));
    assert_eq!(ours.count(), 0);
    let missing = repository.run_in("repository", &["history", "refs/gpubench/other"]).code(2).stderr();
    assert!(missing.contains("this repository has no such ref"), "{missing}");
    let elsewhere = repository.run_in(".", &["history", REF]).code(2).stderr();
    assert!(elsewhere.contains("refs/gpubench/history"), "{elsewhere}");
    let first = repository.0.text("first.json");
    let refused = |name: &str| {
        let words = ["history", "add", &first, "--history", name];
        repository.run_in("repository", &words).code(1).stderr()
    };
    for name in ["refs/a..b", "refs/a b"] {
        let told = refused(name);
        assert!(told.contains(&format!("{name}: git does not allow this name for a ref: ")), "{told}");
    }
    let words = ["history", "add", &first, "--history", REF];
    let outside = repository.run_in(".", &words).code(1).stderr();
    assert!(outside.contains("the current folder is in none: go into one, or give a folder"), "{outside}");
    // Somebody's branch is left alone.
    let before = git(&["rev-parse", "main"]);
    assert!(refused("refs/heads/main").contains("give a history a ref of its own"));
    assert_eq!(git(&["rev-parse", "main"]), before);
    // One without files too.
    let empty = git(&["commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-m", "begin"]);
    git(&["branch", "begun", &empty]);
    assert!(refused("refs/heads/begun").contains("it has no runs: give a history a ref of its own"));
    assert_eq!(git(&["rev-parse", "begun"]), empty);
}

/// Two jobs of CI, each with a clone of its own: the second push is refused, and its runs are added again behind those of the first, as the page
/// about histories has it.
#[test]
fn clones_share_a_ref_by_fetching_and_adding_again() {
    let repository = Repository::of(&[100]);
    let run = |folder: &str, words: &[&str]| {
        let ended = Command::new("git").current_dir(repository.0.path(folder)).args(words).output();
        ended.expect("there is git").status.success()
    };
    let fetch = |job: &str| run(job, &["fetch", "--quiet", "origin", "+refs/gpubench/*:refs/gpubench/*"]);
    let push = |job: &str| run(job, &["push", "--quiet", "origin", REF]);
    let add = |job: &str| {
        let file = repository.0.text(&format!("{job}.json"));
        repository.run_in(job, &["history", "add", &file, "--history", REF]).code(0);
    };
    assert!(run("", &["clone", "--quiet", "--bare", "repository", "shared"]));
    let all = nights();
    for (job, runs) in [("first", &all[..20]), ("second", &all[20..])] {
        assert!(run("", &["clone", "--quiet", "shared", job]));
        fs::write(repository.0.path(&format!("{job}.json")), list(runs)).expect("it can be written");
        assert!(fetch(job), "a ref that is not there yet is no fault");
        add(job);
    }
    assert!(push("first"));
    assert!(!push("second"), "the runs of the first are not lost");
    assert!(fetch("second"));
    add("second");
    assert!(push("second") && fetch("first"));
    let told = repository.run_in("first", &["history", REF, "--fail-on-change"]).code(3).stdout();
    assert!(told.contains("in 40 runs"), "{told}");
}
