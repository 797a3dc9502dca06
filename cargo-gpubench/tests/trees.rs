//! The builds of commits, by a cargo that is a script: their folders, and what git keeps.
#![cfg(unix)]

use std::fs;

use super::repository::Repository;

/// A repository with two speeds, and runs of both.
fn of_two() -> Repository {
    let repository = Repository::of(&[100, 103]);
    repository.runs(100, 0.001, 4);
    repository.runs(103, 0.001, 4);
    repository
}

#[test]
fn trees_are_few_and_hold_what_was_built_last() {
    let repository = Repository::of(&[100, 101, 102, 103, 104]);
    for speed in 100..105 {
        repository.runs(speed, 0.001, 4);
    }
    for later in ["v101", "v102", "v103", "v104"] {
        _ = repository.ab(&["v100", later, "--time", "1ms"]).code(2);
        let ended = repository.ab(&["v100", later, "--time", "0.001"]).code(0);
        let again = ended.stderr().lines().filter(|line| line.contains(" was ")).count();
        assert_eq!(again, usize::from(later == "v104"), "{}", ended.stderr());
    }
    let trees = repository.0.path("repository/target/gpubench/revisions");
    let speed =
        |number: usize| fs::read_to_string(trees.join(format!("{number}/tree/speed"))).expect("it is there");
    assert_eq!([1, 2, 3, 4].map(speed), ["100", "104", "102", "103"]);
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
    fs::remove_dir_all(repository.0.path("repository/target/gpubench/revisions/1")).expect("it is there");
    _ = repository.ab(&["v100", "v103", "--pairs", "4"]).code(0);
    fs::rename(&gone, &disk).expect("it can be moved");
    repository.git_in("disk", &["status"]);
}
