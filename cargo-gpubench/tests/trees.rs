//! The builds of commits, by a cargo that is a script: their folders, their toolchains, what git keeps, and how a signal ends them.
#![cfg(unix)]

use std::fs;
use std::thread;

use super::repository::Repository;

/// A repository with two speeds, and runs of both.
fn of_two() -> Repository {
    let repository = Repository::of(&[100, 103]);
    repository.runs(100, 0.001, 4);
    repository.runs(103, 0.001, 4);
    repository
}

/// Commits the file `name`, which tells the scripts what to do, and takes it back.
fn commit_with(repository: &Repository, name: &str, text: &str) {
    repository.change(name, text);
    repository.commit(name);
    repository.remove(name);
}

#[test]
fn trees_are_two_and_hold_what_was_built_last() {
    let repository = Repository::of(&[100, 101, 102, 103, 104]);
    for speed in 100..105 {
        repository.runs(speed, 0.001, 4);
    }
    for later in ["v101", "v102", "v103", "v104"] {
        _ = repository.ab(&["v100", later, "--time", "1x"]).code(2);
        _ = repository.ab(&["v100", later, "--time", "0.001"]).code(0);
    }
    let trees = repository.0.path("repository/target/gpubench/revisions");
    let speed =
        |tree: &str| fs::read_to_string(trees.join(format!("{tree}/tree/speed"))).expect("it is there");
    assert_eq!(["then", "now"].map(speed), ["100", "104"]);
}

/// A work tree of the user on a disk that is not there now is still the user's, and one of ours that is gone is made again.
#[test]
fn trees_of_the_user_stay_in_the_list_of_git() {
    let repository = of_two();
    let (disk, gone) = (repository.0.text("disk"), repository.0.text("gone"));
    repository.git(&["worktree", "add", "--quiet", "--detach", &disk, "v100"]);
    fs::rename(&disk, &gone).expect("it can be moved");
    _ = repository.ab(&["v100", "v103", "--pairs", "4"]).code(0);
    assert!(repository.git(&["worktree", "list"]).contains(&disk));
    fs::remove_dir_all(repository.0.path("repository/target/gpubench/revisions/then")).expect("it is there");
    _ = repository.ab(&["v100", "v103", "--pairs", "4"]).code(0);
    fs::rename(&gone, &disk).expect("it can be moved");
    repository.git_in("disk", &["status"]);
}

/// Cargo finds its settings by its folder, and rustup a toolchain.
#[test]
fn commits_are_built_in_their_own_folders() {
    let repository = of_two();
    let folder = |name: &str| repository.0.path("repository").join(name);
    fs::create_dir_all(folder("deep")).expect("it can be made");
    repository.change("deep/file", "");
    repository.commit("deep");
    let root = repository.0.text("repository");
    let words = ["ab", "v103", "deep", "--pairs", "4"];
    _ = repository.run_with("repository/deep", &words, &[("ROOT", &root)]).code(0);
    let tree = |side| format!("PROJECT/repository/target/gpubench/revisions/{side}/tree");
    // The folder that the user is in, where the commit has it.
    assert_eq!(
        repository.lines("builders"),
        [
            format!("cargo of the folder {}", tree("then")),
            format!("cargo of the folder {}/deep", tree("now"))
        ]
    );
}

/// rustup has all programs below `cargo gpubench` take its toolchain. Those of commits are their own, unless the user chose one.
#[test]
fn commits_have_their_own_toolchains() {
    let repository = of_two();
    fs::create_dir_all(repository.0.path("bin")).expect("it can be made");
    fs::copy(repository.0.path("cargo"), repository.0.path("bin/cargo")).expect("it can be copied");
    fs::rename(repository.0.path("cargo"), repository.0.path("cargo-of-1.95")).expect("it can be renamed");
    let path = format!("{}:{}", repository.0.text("bin"), std::env::var("PATH").expect("a path"));
    let caller = repository.0.text("cargo-of-1.95");
    let builders = |source: &str| {
        let given = [
            ("PATH", &*path),
            ("CARGO", &caller),
            ("RUSTUP_TOOLCHAIN", "1.95"),
            ("RUSTUP_TOOLCHAIN_SOURCE", source),
        ];
        _ = fs::remove_file(repository.0.path("builders"));
        _ = repository.run_with("repository", &["ab", "v100", "--pairs", "4"], &given).code(0);
        let lines = repository.lines("builders");
        let words = |line: &String| line.split(" PROJECT").next().unwrap_or_default().to_owned();
        lines.iter().map(words).collect::<Vec<_>>()
    };
    for source in ["toolchain-file", "default"] {
        assert_eq!(builders(source), ["cargo of the folder", "cargo-of-1.95 1.95"], "{source}");
    }
    for source in ["cli", "env", ""] {
        assert_eq!(builders(source), ["cargo-of-1.95 1.95"; 2], "{source}");
    }
}

/// Ctrl-C while cargo builds is no failure of the commit, whether this program hears of it or cargo alone.
#[test]
fn a_signal_ends_a_build() {
    let repository = of_two();
    commit_with(&repository, "signals", "");
    commit_with(&repository, "killed", "");
    for (commit, code) in [("signals", 130), ("killed", 143)] {
        let ended = repository.ab(&["v100", commit]).code(code);
        assert_eq!((ended.stdout(), repository.lines("ran").len()), (String::new(), 0));
        assert!(ended.stderr().contains("error: a signal ended the command"), "{}", ended.stderr());
    }
}

/// The suite's speed is that of a submodule where the commit has one: it came, went and came back at another commit.
#[test]
fn submodules_are_those_of_each_commit() {
    let repository = of_two();
    for (place, speed) in [("slow", "103"), ("fast", "100")] {
        fs::create_dir_all(repository.0.path(place)).expect("it can be made");
        repository.git_in(place, &["init", "--quiet"]);
        fs::write(repository.0.path(place).join("speed"), speed).expect("it can be written");
        repository.git_in(place, &["add", "."]);
        repository.git_in(place, &["commit", "--quiet", "--message", "a"]);
    }
    let add = |place: &str, tag: &str| {
        let from = repository.0.text(place);
        repository.git(&["submodule", "--quiet", "add", "--force", "--name", place, &from, "sub"]);
        repository.commit(tag);
    };
    add("fast", "with-fast");
    repository.git(&["rm", "--quiet", "-f", "sub", ".gitmodules"]);
    repository.commit("without");
    add("slow", "with-slow");
    let environment = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "protocol.file.allow"),
        ("GIT_CONFIG_VALUE_0", "always"),
    ];
    for (commit, speed) in
        [("with-fast", "100"), ("without", "103"), ("with-slow", "103"), ("with-fast", "100")]
    {
        _ = fs::remove_file(repository.0.path("ran"));
        let words = ["ab", "v100", commit, "--time", "0.001"];
        _ = repository.run_with("repository", &words, &environment).code(0);
        let ran = repository.lines("ran");
        assert!(ran.iter().any(|line| line.starts_with(&format!("{speed}: "))), "{commit}: {ran:?}");
    }
}

/// A manifest that cargo does not read is the commit's, and no mistake of the command line.
#[test]
fn a_commit_that_cargo_does_not_read_does_not_build() {
    let repository = of_two();
    commit_with(&repository, "unread", "");
    let ended = repository.ab(&["v100", "unread"]).code(1);
    assert!(ended.stderr().contains("error: unread ("), "{}", ended.stderr());
    // `git bisect run` compares commits in the working tree.
    repository.change("unread", "");
    _ = repository.ab(&["v100"]).code(1);
}

#[test]
fn comparisons_at_once_do_not_share_their_runs() {
    let repository = Repository::of(&[100, 103, 106]);
    for speed in [100, 103, 106] {
        repository.runs(speed, 0.001, 4);
    }
    let compare = |later: &'static str| repository.ab(&["v100", later, "--pairs", "4"]).code(0).stdout();
    thread::scope(|scope| {
        let both = ["v103", "v106"].map(|later| scope.spawn(move || compare(later)));
        for (thread, change) in both.into_iter().zip(["+3.0", "+6.0"]) {
            let told = thread.join().expect("it ended");
            assert!(told.contains(change) && told.contains("processes: 4 now, 4 in the baseline"), "{told}");
        }
    });
    let folder = repository.0.path("repository/target/gpubench/ab");
    let runs = |side: &str| fs::read_dir(folder.join(side).join("runs")).expect("it is there").count();
    assert_eq!(["then", "now"].map(runs), [8, 8]);
}
