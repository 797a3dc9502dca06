//! `bisect` in a repository whose cargo and suites are scripts: the commits that it asks about, and what it finds.
#![cfg(unix)]

use std::fs;

use super::Ended;
use super::repository::{Repository, without_hashes};

/// A history with one commit for each speed, in percent of the usual time, tagged `c0`, `c1` and so on.
fn history(speeds: &[u32]) -> Repository {
    let repository = Repository::of(&[]);
    for speed in [97, 100, 103] {
        repository.runs(speed, 0.001, 4);
    }
    for (number, speed) in speeds.iter().enumerate() {
        repository.change("speed", &speed.to_string());
        repository.commit(&format!("c{number}"));
    }
    repository
}

/// So many commits of the usual speed, then so many of another.
fn changed(before: usize, behind: usize, speed: u32) -> Vec<u32> {
    [vec![100; before], vec![speed; behind]].concat()
}

fn bisect(repository: &Repository, arguments: &[&str]) -> Ended {
    repository.run_in("repository", &[&["bisect"], arguments].concat())
}

/// The subjects of the commits that were found.
fn found(ended: &Ended) -> Vec<String> {
    let lines = ended.stdout();
    lines.lines().skip(1).map(|line| line.rsplit(": ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_commit_that_made_a_case_slower_is_found() {
    let repository = history(&changed(11, 6, 103));
    let ended = bisect(&repository, &["c0", "c16", "copy", "--", "--quick"]).code(0);
    let answers = ended.stderr().lines().filter(|line| line.contains(" candidates: ")).count();
    assert_eq!(answers, 4, "{}", ended.stderr());
    // Four pairs for the whole change and for each answer; behind the first, the case alone.
    let ran = repository.lines("ran");
    assert_eq!(ran.len(), 5 * 8);
    assert!(ran[..8].iter().all(|words| words.ends_with(": --quick copy --bench")), "{ran:?}");
    assert!(ran[8..].iter().all(|words| words.contains("--exact ")), "{ran:?}");
    insta::assert_snapshot!("bisect", without_hashes(&format!("{}---\n{}", ended.stdout(), ended.stderr())));
}

/// Every place in a short history, slower and faster.
#[test]
fn each_place_is_found() {
    for (place, speed) in [(1, 103), (2, 97), (3, 103), (5, 103)] {
        let repository = history(&changed(place, 6 - place, speed));
        let ended = bisect(&repository, &["c0", "c5", "copy"]).code(0);
        assert_eq!(found(&ended), [format!("c{place}")], "{}", ended.stdout());
        let verb = if speed > 100 {
            " is slower since this commit: +3."
        } else {
            " is faster since this commit: -3."
        };
        let head = ended.stdout();
        assert!(head.contains(verb) || head.contains(" is faster since this commit: -2."), "{head}");
    }
}

/// Those that do not build are passed over. If they are neighbours of the change, the answer is a range.
#[test]
fn commits_that_do_not_build_give_no_answer() {
    let repository = history(&[100, 100]);
    repository.change("broken", "");
    repository.commit("c2");
    repository.commit("c3");
    fs::remove_file(repository.0.path("repository/broken")).expect("it is there");
    repository.change("speed", "103");
    for number in 4..7 {
        repository.commit(&format!("c{number}"));
    }
    let ended = bisect(&repository, &["c0", "c6", "copy"]).code(0);
    assert_eq!(found(&ended), ["c2", "c3", "c4"]);
    assert!(ended.stdout().contains("since one of these 3 commits, of which some gave no answer"));
    assert!(ended.stderr().contains("gives no answer: "), "{}", ended.stderr());
}

#[test]
fn what_cannot_be_searched_is_told() {
    let repository = history(&[100, 100, 103]);
    let mut told = String::new();
    let mut refused = |arguments: &[&str], code| {
        let ended = bisect(&repository, arguments).code(code);
        assert_eq!(ended.stdout(), "");
        told += &ended.stderr();
    };
    refused(&["c0", "c1", "copy"], 4);
    refused(&["c2", "c0", "copy"], 2);
    refused(&["c1", "c1", "copy"], 2);
    refused(&["c0", ".", "copy"], 2);
    refused(&["c0", "c9", "copy"], 2);
    refused(&["c0", "c2"], 2);
    insta::assert_snapshot!("bisect-refused", without_hashes(&told));
}

#[test]
fn a_signal_ends_the_search() {
    let repository = history(&[100, 103]);
    repository.change("signal", "");
    repository.commit("c2");
    let ended = bisect(&repository, &["c0", "c2", "copy"]).code(130);
    assert_eq!(ended.stdout(), "");
}

/// Four commits that each give no answer of another kind, between one before the change and one behind it.
#[test]
fn what_is_wrong_with_one_commit_does_not_end_the_search() {
    let repository = history(&[100]);
    // A file that tells the scripts what to do, and the words for what follows.
    let faults = [
        ("unread", "", "cargo finds no workspace"),
        ("broken", "", "the suites could not be built"),
        ("ends", "1", "the suite stored no run"),
        ("ends", "2", "the suite ended with exit code 2"),
        ("ends", "4", "it has no case"),
        ("garbles", "", "a run that cannot be read"),
        ("benches", "others", "--bench kernels"),
    ];
    for (number, (name, text, _)) in faults.iter().enumerate() {
        repository.change(name, text);
        repository.commit(&format!("c{}", number + 1));
        repository.remove(name);
    }
    // A submodule that is nowhere.
    repository.change(".gitmodules", "[submodule \"a\"]\n\tpath = sub\n\turl = ./nowhere\n");
    repository.git(&["add", "."]);
    repository.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},sub", repository.hash("c0")),
    ]);
    repository.git(&["commit", "--quiet", "--message", "c8"]);
    repository.git(&["rm", "--quiet", "--cached", "sub"]);
    repository.remove(".gitmodules");
    repository.change("speed", "103");
    repository.commit("c9");
    let ended = bisect(&repository, &["c0", "c9", "copy"]).code(0);
    for words in faults.map(|(_, _, words)| words).into_iter().chain(["cannot be checked out"]) {
        let told = ended.stderr();
        assert!(
            told.lines().any(|line| line.contains("gives no answer") && line.contains(words)),
            "{words}: {told}"
        );
    }
    assert_eq!(found(&ended).len(), 9);
}

/// A device that is missing is missing for all commits.
#[test]
fn a_missing_device_ends_the_search() {
    let repository = history(&[100]);
    repository.change("ends", "5");
    repository.commit("c1");
    repository.remove("ends");
    repository.change("speed", "103");
    repository.commit("c2");
    let ended = bisect(&repository, &["c0", "c2", "copy"]).code(5);
    assert_eq!(ended.stdout(), "");
}

/// The suite's speed is that of a submodule where the commit has one: it came, moved, went and came back.
#[test]
fn submodules_are_those_of_each_commit() {
    let repository = history(&[100]);
    for place in ["slow", "fast"] {
        let folder = repository.0.path(place);
        fs::create_dir_all(&folder).expect("it can be made");
        repository.git_in(place, &["init", "--quiet"]);
        fs::write(folder.join("speed"), if place == "slow" { "103" } else { "100" })
            .expect("it can be written");
        repository.git_in(place, &["add", "."]);
        repository.git_in(place, &["commit", "--quiet", "--message", "a"]);
    }
    let add = |place: &str| {
        repository.git(&[
            "submodule",
            "--quiet",
            "add",
            "--force",
            "--name",
            place,
            &repository.0.text(place),
            "sub",
        ]);
    };
    let remove = || {
        repository.git(&["rm", "--quiet", "-f", "sub", ".gitmodules"]);
    };
    add("fast");
    repository.commit("c1");
    // Here the speed is that of the file again, and the former submodule would have it slow.
    remove();
    repository.commit("c2");
    add("slow");
    repository.commit("c3");
    repository.commit("c4");
    let environment = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "protocol.file.allow"),
        ("GIT_CONFIG_VALUE_0", "always"),
    ];
    let ended = repository.run_with("repository", &["bisect", "c0", "c4", "copy"], &environment).code(0);
    assert_eq!(found(&ended), ["c3"], "{}", ended.stderr());
    assert!(!ended.stderr().contains("gives no answer"), "{}", ended.stderr());
}

/// A branch that was merged: what came before the merge on the line is not behind GOOD.
#[test]
fn good_is_on_the_line_of_first_parents() {
    let repository = history(&[100]);
    repository.git(&["checkout", "--quiet", "-b", "branch"]);
    repository.commit("branched");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.change("speed", "103");
    repository.commit("c1");
    repository.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "branch"]);
    repository.git(&["tag", "merge"]);
    repository.commit("c2");
    let ended = bisect(&repository, &["branched", "c2", "copy"]).code(2);
    let merge = repository.hash("merge")[..8].to_owned();
    let told = format!(
        "came into c2 ({}) by the merge {merge}, and the search follows",
        &repository.hash("c2")[..8]
    );
    assert!(
        ended.stderr().contains(&told) && ended.stderr().contains(&format!("else {merge}^")),
        "{}",
        ended.stderr()
    );
    assert_eq!(repository.lines("ran").len(), 0);
    // What it says to give.
    let ended = bisect(&repository, &["c0", "c2", "copy"]).code(0);
    assert_eq!(found(&ended), ["c1"]);
    _ = bisect(&repository, &["merge", "c2", "copy"]).code(4);
}

/// The exit code tells whether there is nothing to find, or whether it is not known.
#[test]
fn what_does_not_begin_a_search_has_its_exit_code() {
    let repository = history(&[100, 100]);
    for processes in [101, 102] {
        repository.runs(processes, 0.02, 4);
        repository.change("speed", &processes.to_string());
        repository.commit(&format!("noisy{processes}"));
    }
    repository.change("ends", "4");
    repository.commit("nothing");
    repository.commit("nothing-more");
    let told = |good: &str, bad: &str, code| {
        let words = [good, bad, "copy", "--pairs", "4"];
        bisect(&repository, &words).code(code).stderr()
    };
    assert!(told("c0", "c1", 4).contains("is not slower or faster than"));
    assert!(told("noisy101", "noisy102", 1).contains("error: it is not decided whether"));
    let one = told("c0", "nothing", 4);
    assert!(one.contains("no case that c0") && one.contains("it is not in nothing"), "{one}");
    assert!(told("nothing", "nothing-more", 4).contains("no case that"));
}

/// 64 commits, of which one is 3 % slower than the one before; processes differ by normal noise. What it prints stands in the
/// decision on it.
#[test]
#[ignore = "takes minutes"]
#[expect(clippy::print_stdout, reason = "its figures are read by whoever runs it")]
fn a_planted_change_is_found_among_64_commits() {
    for noise in [0.002, 0.005] {
        let (mut right, mut answers, mut processes) = (0, Vec::new(), Vec::new());
        for seed in 0..20_u64 {
            let place = 1 + (seed * 37 + 11) as usize % 64;
            let repository = Repository::of(&[]);
            repository.random_runs(100, noise, 60, 2 * seed);
            repository.random_runs(103, noise, 60, 2 * seed + 1);
            for (number, speed) in changed(place, 65 - place, 103).iter().enumerate() {
                repository.change("speed", &speed.to_string());
                repository.commit(&format!("c{number}"));
            }
            let ended = bisect(&repository, &["c0", "c64", "copy"]).code(0);
            right += usize::from(found(&ended) == [format!("c{place}")]);
            answers.push(ended.stderr().lines().filter(|line| line.contains(" candidates: ")).count());
            processes.push(repository.lines("ran").len());
        }
        processes.sort_unstable();
        println!(
            "noise {noise}: {right} of 20 right, at most {:?} answers, {} processes in the median, {:?} at most",
            answers.iter().max(),
            processes[10],
            processes.last()
        );
        assert!(right == 20 && answers.iter().all(|answers| *answers <= 7), "{right} {answers:?}");
    }
}
