//! `ab` in a repository whose cargo and suites are scripts: what is built where, in which order processes run, and what follows from
//! what they stored.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use super::repository::{Repository, without_hashes};
use super::{CommandOutput, PROGRAM};

/// The part of a report on the comparison.
fn comparison(ended: &CommandOutput) -> String {
    let text = ended.stdout();
    let begin = text.find("against baseline").unwrap_or_else(|| panic!("{text}{}", ended.stderr()));
    text[begin..].to_owned()
}

/// Two commits, each in a work tree of its own, in pairs of which every other is reversed; and the working tree, built in place.
#[test]
fn a_commit_is_slower_than_the_one_before() {
    let repository = Repository::of(&[100, 103]);
    repository.runs(100, 0.001, 4);
    repository.runs(103, 0.001, 12);
    let ended = repository.ab(&["v100", "v103", "--fail-on-regression", "2%", "--", "--quick"]).code(3);
    insta::assert_snapshot!("ab", without_hashes(&comparison(&ended)));
    insta::assert_snapshot!(
        "ab-order",
        format!(
            "{}---\n{}\n---\n{}",
            without_hashes(&ended.stderr()),
            repository.lines("built").join("\n"),
            repository.lines("ran").join("\n")
        )
    );
    let ended = repository.ab(&["v103", "--fail-on-regression", "2%", "--pairs", "4"]).code(0);
    let built = repository.lines("built");
    assert!(ended.stdout().contains("0 regressions"), "{}", ended.stdout());
    assert!(!built.last().is_some_and(|words| words.contains("--manifest-path")), "{built:?}");
    assert!(built[2].contains("revisions/then/tree"), "{built:?}");
}

/// What no process is needed for any more is not measured again, and what four pairs leave open is.
#[test]
fn undecided_cases_alone_are_measured_further() {
    let repository = Repository::of(&[100, 101]);
    repository.runs(100, 0.02, 8);
    repository.runs(101, 0.02, 8);
    let ended = repository.ab(&["v100", "v101", "copy", "--pairs", "8", "--seed", "7"]).code(0);
    let ran = repository.lines("ran");
    assert_eq!(ran.len(), 16, "{}", ended.stderr());
    assert!(ran[..8].iter().all(|words| words.ends_with(": copy --bench")), "{ran:?}");
    assert!(
        ran[8..].iter().all(|words| words.contains(": --exact ") && !words.contains(" copy ")),
        "{ran:?}"
    );
    // The name of the hot and the cold result is given once, and both results are counted, as in the table.
    assert_eq!(ran[8].matches("cuda::copy[").count(), 1, "{ran:?}");
    assert!(ended.stderr().contains("pair 8 of at most 8: 2 results undecided after pair 4"));
    assert_eq!(comparison(&ended).matches(" undecided\n").count(), 2);
}

#[test]
fn little_time_is_one_pair() {
    let repository = Repository::of(&[100, 103]);
    repository.runs(100, 0.001, 1);
    repository.runs(103, 0.001, 1);
    let markdown = repository.0.text("pull.md");
    let ended = repository.ab(&["v100", "v103", "--time", "0.001s", "--markdown", &markdown]).code(0);
    assert_eq!(repository.lines("ran").len(), 2);
    assert!(
        comparison(&ended).contains("two runs are assumed to differ by up to"),
        "one process shows no spread: {}",
        ended.stdout()
    );
    let written = fs::read_to_string(markdown).expect("it was written");
    assert!(written.contains("v100"), "{written}");
}

/// A signal ends the process that runs, and what both sides have is compared.
#[test]
fn a_signal_keeps_what_was_measured() {
    let repository = Repository::of(&[100, 103]);
    repository.runs(100, 0.001, 1);
    repository.runs(103, 0.001, 1);
    repository.change("signal", "");
    repository.commit("signalled");
    fs::remove_file(repository.0.path("repository/signal")).expect("it is there");
    let ended = repository.ab(&["v100", "signalled"]).code(130);
    let ran = repository.lines("ran");
    assert!(ran.len() <= 2, "{ran:?}");
    let runs = repository.0.path("repository/target/gpubench/ab/now/runs");
    assert_eq!(fs::read_dir(runs).expect("it is there").count(), 1);
    assert_eq!(ended.stdout().contains("against baseline"), ran.len() == 2);
}

#[test]
fn what_cannot_be_compared_is_told() {
    let repository = Repository::of(&[100, 103]);
    repository.runs(100, 0.001, 2);
    repository.change("broken", "");
    repository.commit("broken");
    fs::remove_file(repository.0.path("repository/broken")).expect("it is there");
    repository.change("ends", "2");
    repository.commit("ends");
    repository.change("ends", "4");
    repository.commit("nothing");
    repository.change("speed", "100");
    let mut told = String::new();
    let mut refused = |arguments: &[&str], code| {
        let ended = repository.ab(arguments).code(code);
        assert_eq!(ended.stdout(), "");
        told += &ended.stderr();
    };
    refused(&["v7"], 2);
    refused(&["v100", "saxpy"], 2);
    refused(&["--upload-pack=x"], 2);
    refused(&["v100", "main~4"], 2);
    refused(&["v100", "broken"], 1);
    refused(&["v100", "ends", "--seed", "1"], 2);
    refused(&["nothing"], 4);
    refused(&["v100", "--equivalence-margin", "x"], 2);
    refused(&["v100", "--pairs", "1"], 2);
    let folder: &Path = &repository.0.path("elsewhere");
    fs::create_dir_all(folder).expect("it can be made");
    told += &repository.ab_in("elsewhere", &["v100"]).code(2).stderr();
    insta::assert_snapshot!("ab-refused", without_hashes(&told));
}

/// The message about an unknown revision names the branches, the newest first.
#[test]
fn an_unknown_revision_names_branches() {
    let repository = Repository::of(&[100]);
    repository.git(&["branch", "--move", "master"]);
    let branches = |phrase: &str| {
        let told = repository.ab(&["main"]).code(2).stderr();
        let expected = format!("has no commit, tag or branch `main`{phrase}. In a clone");
        assert!(told.contains(&expected), "{told}");
    };
    branches("; the newest branches: `master`");
    (1..8).for_each(|number| _ = repository.git(&["branch", &format!("fix-{number}"), "v100"]));
    let mut newest = Command::new("git");
    newest.args(["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty"]);
    newest.arg("--message=a").current_dir(repository.0.path("repository"));
    newest.env("GIT_COMMITTER_DATE", "2026-11-21T12:00:00Z");
    assert!(newest.status().expect("there is git").success());
    branches("; the newest branches: `master`, `fix-1`, `fix-2`, `fix-3`, `fix-4`, `fix-5`");
    repository.git(&["checkout", "--quiet", "--detach"]);
    (1..8).for_each(|number| _ = repository.git(&["branch", "-D", &format!("fix-{number}")]));
    repository.git(&["branch", "-D", "master"]);
    branches("");
    repository.git(&["checkout", "--quiet", "--orphan", "master"]);
    branches("; it has no commit: commit first");
}

/// Each fault of a commit has its message and its exit code.
#[test]
fn faults_of_a_commit_are_told() {
    let repository = Repository::of(&[100]);
    repository.runs(100, 0.001, 4);
    // The file that tells the scripts what to do, the exit code and the message.
    let faults = [
        ("ends", "1", 1, "the benchmark binary stored no run"),
        ("ends", "5", 5, "the benchmark binary ended with exit code 5"),
        ("garbles", "", 1, "a run that cannot be read"),
        ("benches", "others", 2, "--bench kernels"),
    ];
    for (number, (name, text, code, message)) in faults.into_iter().enumerate() {
        repository.change(name, text);
        let tag = format!("c{number}");
        repository.commit(&tag);
        repository.remove(name);
        let ended = repository.ab(&["v100", &tag, "--bench", "kernels"]).code(code);
        assert_eq!(ended.stdout(), "");
        assert!(ended.stderr().contains(message), "{message}: {}", ended.stderr());
    }
    // A submodule that is nowhere.
    repository.change(".gitmodules", "[submodule \"a\"]\n\tpath = sub\n\turl = ./nowhere\n");
    repository.git(&["add", "."]);
    let entry = format!("160000,{},sub", repository.hash("v100"));
    repository.git(&["update-index", "--add", "--cacheinfo", &entry]);
    repository.git(&["commit", "--quiet", "--message", "nowhere"]);
    let ended = repository.ab(&["v100", "HEAD"]).code(1);
    assert!(ended.stderr().contains("cannot be checked out"), "{}", ended.stderr());
}

/// The script on the page about `git bisect` finds a slower commit and skips those that do not build.
#[test]
fn git_bisect_finds_the_commit() {
    let page = include_str!("../../docs/book/compare.md");
    let script =
        page.split_once("```sh\n#!/bin/sh").expect("a script").1.split_once("```").expect("its end").0;
    let script = format!("#!/bin/sh{script}").replace("cargo gpubench", &format!("{PROGRAM} gpubench"));
    for place in [1, 3, 5] {
        let repository = Repository::of(&[]);
        repository.runs(100, 0.001, 4);
        repository.runs(103, 0.001, 4);
        for number in 0..=6 {
            repository.change("speed", if number < place { "100" } else { "103" });
            if number == 2 {
                repository.change("broken", "");
            }
            repository.commit(if number == 0 {
                "v1.2"
            } else {
                ["c1", "c2", "c3", "c4", "c5", "c6"][number - 1]
            });
            if number == 2 {
                repository.remove("broken");
            }
        }
        repository.script("bisect.sh", &script);
        let here = repository.0.text("");
        repository.git(&["bisect", "start", "HEAD", "v1.2"]);
        let mut command = Command::new("git");
        command.arg("-C").arg(repository.0.path("repository")).args(["bisect", "run", "../bisect.sh"]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("CARGO", repository.0.path("cargo")).env("HERE", here);
        let output = command.output().expect("there is git");
        let told =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        // Next to a commit that does not build, the answer is both.
        let found = if place == 3 { "c2" } else { &format!("c{place}") };
        let hash = repository.hash(found);
        assert!(told.contains(&hash) && told.contains("is the first bad commit") == (place != 3), "{told}");
        assert!(told.contains("could be any of") == (place == 3), "{told}");
    }
}

/// What a filter finds in one revision alone is new or missing there.
#[test]
fn cases_of_one_revision_are_listed() {
    let repository = Repository::of(&[100, 103]);
    repository.runs(100, 0.001, 4);
    repository.runs(103, 0.001, 4);
    repository.change("ends", "4");
    repository.commit("nothing");
    let told = |arguments: &[&str], code| {
        let told = comparison(&repository.ab(arguments).code(code));
        assert_eq!(repository.lines("ran").len() % 2, 0);
        told
    };
    let markdown = repository.0.text("missing.md");
    let text = format!(
        "{}---\n{}---\n{}",
        told(&["v100", "nothing", "copy", "--markdown", &markdown], 0),
        told(&["nothing", "v100", "copy"], 0),
        fs::read_to_string(markdown).expect("it was written")
    );
    insta::assert_snapshot!("ab-of-one", without_hashes(&text));
    assert_eq!(repository.lines("ran").len(), 4, "a process of each is enough");
    // A gate passes nothing that it did not judge.
    _ = told(&["v100", "nothing", "copy", "--fail-on-regression", "5%"], 1);
    _ = told(&["nothing", "v100", "copy", "--fail-on-regression", "5%"], 1);
}

/// A pull request wants one text; the other formats hold one run, and are refused before anything is built.
#[test]
fn several_suites_are_sections_of_one_text() {
    let repository = Repository::of(&[]);
    repository.runs(100, 0.001, 4);
    repository.runs(103, 0.001, 4);
    for (speed, benches) in [("100", "copies kernels old_ones"), ("103", "copies kernels new_ones")] {
        repository.change("speed", speed);
        repository.change("benches", benches);
        repository.commit(&format!("v{speed}"));
    }
    let (pull, json) = (repository.0.text("pull.md"), repository.0.text("run.json"));
    let refused = repository.ab(&["v100", "v103", "--markdown", &pull, "--json", &json]).code(2);
    assert_eq!(refused.stdout(), "");
    assert!(refused.stderr().contains("error: --json holds one benchmark binary"), "{}", refused.stderr());
    assert_eq!(repository.lines("built").len(), 0);
    let ended = repository.ab(&["v100", "v103", "--pairs", "4", "--markdown", &pull]).code(0);
    let written = fs::read_to_string(&pull).expect("it was written");
    let shown: String =
        written.lines().filter(|line| !line.starts_with('|')).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!("ab-suites", without_hashes(&shown));
    let others =
        "a: new_ones is new in v103 (HASH), and not measured\na: old_ones is missing in v103 (HASH)\n";
    assert!(without_hashes(&ended.stdout()).ends_with(others), "{}", ended.stdout());
    // One suite has no heading, and any format.
    let one = ["v100", "v103", "--pairs", "4", "--bench", "kernels", "--json", &json, "--markdown", &pull];
    _ = repository.ab(&one).code(0);
    assert!(!fs::read_to_string(pull).expect("it was written").contains("## "));
    assert!(Path::new(&json).is_file());
}
