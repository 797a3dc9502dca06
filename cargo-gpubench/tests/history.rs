//! `cargo gpubench history` as a user runs it, on recorded cases whose times are made: nights of a repository with a planted change.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use gpubench_records::device_info::{DRIVER, Property, Value};
use gpubench_records::id::Arg;
use gpubench_records::record::{Package, Run};
use gpubench_report::history::add_to_history;
use gpubench_stats::Interval;
use gpubench_stats::units::Nanoseconds;
use insta::assert_snapshot;
use serde_json::{Value as Json, json};

#[cfg(unix)]
use super::repository::Repository;
use super::{TestProject, list, slowed};

/// The time of a night over the usual one: it looks random, and is the same in each run of the test.
fn night(number: usize) -> f64 {
    let random = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    1.0 + 0.004 * (random as f64 / (1u64 << 24) as f64 - 0.5)
}

/// The run of a night: of commit `number`, whose hash begins with it, with both cases so many times as slow.
pub(super) fn run_of(template: &Run, number: usize, factors: [f64; 2]) -> Run {
    let mut run = template.clone();
    run.started = 1_767_225_600 + 86_400 * number as u64;
    run.program.package =
        Some(Package { commit: Some(format!("{number:04}{:036x}", 11 * number)), ..Package::default() });
    for (case, (record, factor)) in run.records.iter_mut().zip(factors).enumerate() {
        let samples = &mut record.measurement.as_mut().expect("it was measured").samples;
        (samples.event_times, samples.start_intervals) = (Vec::new(), Vec::new());
        let time = &mut samples.time;
        let scale = factor * night(2 * number + case);
        time.median = time.median * scale;
        time.median_ci = Interval { low: time.median * 0.999, high: time.median * 1.001 };
    }
    run
}

/// Forty nights: from the 25th on the first case takes 3 % longer, and from the 35th on the second 5 % less.
fn nights() -> Vec<Run> {
    let template = slowed(1.0);
    let first = |number: usize| if number < 25 { 1.0 } else { 1.03 };
    let second = |number: usize| if number < 35 { 1.0 } else { 0.95 };
    (0..40).map(|number| run_of(&template, number, [first(number), second(number)])).collect()
}

/// A project with a history in `src/history`.
fn with_history(runs: &[Run]) -> TestProject {
    let project = TestProject::new();
    fs::create_dir_all(project.path("src")).expect("it can be made");
    fs::write(project.path("src/runs.json"), list(runs)).expect("it can be written");
    let ended = project.run(&["history", "add", "runs.json", "--history", "history"]).code(0);
    assert_eq!(ended.stderr().lines().filter(|line| line.contains(": added: history/")).count(), runs.len());
    project
}

#[test]
fn changes_are_printed_with_their_commits_the_newest_first() {
    let project = with_history(&nights());
    let ended = project.run(&["history", "history", "--width", "130"]).code(0);
    assert_eq!(ended.stderr(), "");
    // The page about histories quotes the paragraph.
    assert_snapshot!("history", format!("forty nights\n\n{}", ended.stdout()));
    project.run(&["history", "history", "--fail-on-change"]).code(3);
    project.run(&["history", "history", "cold", "--fail-on-change"]).code(0);
    project.run(&["history", "history", "--fail-on-change", "--last", "10"]).code(0);
    project.run(&["history", "history", "--fail-on-change", "--equivalence-margin", "4%"]).code(0);
    let again = project.run(&["history", "add", "runs.json", "--history", "history"]).code(0);
    assert_eq!(again.stderr().lines().filter(|line| line.contains(": is there already: ")).count(), 40);
}

#[test]
fn a_filter_that_matches_nothing_is_reported() {
    let project = with_history(&nights());
    let ended = project.run(&["history", "history", "nothing", "/no+/"]).code(4);
    let message =
        "error: no result in history matches `nothing` or `/no+/`: without a filter, all are shown\n";
    assert_eq!((ended.stdout(), ended.stderr()), (String::new(), message.to_owned()));
}

#[test]
fn json_has_the_same_changes() {
    let project = with_history(&nights());
    let ended = project.run(&["history", "history", "--json", "-"]).code(0);
    let found: Json = serde_json::from_str(&ended.stdout()).expect("it is JSON");
    assert_eq!((&found["schema"], &found["runs"]), (&json!("gpubench-changes/1"), &json!(40)));
    let hot = found["cases"].as_array().expect("a list").iter().find(|case| case["cache"] == "hot");
    let change = &hot.expect("it is there")["series"][0]["changes"][0];
    let commit = |of: &str| change[of]["commit"].as_str().expect("a commit")[..4].to_owned();
    assert_eq!((commit("after"), commit("until")), ("0024".to_owned(), "0025".to_owned()));
    let ratio = change["ratio"].as_f64().expect("a number");
    assert!((ratio - 1.03).abs() < 0.002, "{ratio}");
}

/// Another driver begins another series.
#[test]
fn drivers_are_apart() {
    let mut runs = nights();
    for run in &mut runs[30..] {
        run.devices[0].properties.retain(|property| property.name != DRIVER);
        run.devices[0].properties.push(Property::new(DRIVER, Value::Text("999.9".to_owned())));
    }
    let project = with_history(&runs);
    let ended = project.run(&["history", "history", "--width", "100"]).code(0);
    assert!(ended.stdout().contains("→ 999.9: 2 cases: apart"), "{}", ended.stdout());
    assert!(ended.stdout().contains("2 series of less than 20 runs"), "{}", ended.stdout());
}

/// A slowdown that was undone is told, and fails nothing.
#[test]
fn what_is_undone_is_said() {
    let template = slowed(1.0);
    let first = |number: usize| if (20..40).contains(&number) { 1.03 } else { 1.0 };
    let runs: Vec<Run> = (0..60).map(|number| run_of(&template, number, [first(number), 1.0])).collect();
    let project = with_history(&runs);
    let flags = ["--fail-on-change", "--equivalence-margin", "0.1%", "--width", "150"];
    let words = [&["history", "history", "--json", "a.json"][..], &flags].concat();
    let ended = project.run(&words).code(0);
    assert_snapshot!("history-undone", ended.stdout());
    let json = fs::read_to_string(project.path("src/a.json")).expect("it was written");
    assert!(json.contains("\"remains\":"), "{json}");
}

#[test]
fn wrong_histories_are_refused() {
    let project = with_history(&nights()[..2]);
    fs::create_dir_all(project.path("src/empty")).expect("it can be made");
    fs::write(project.path("src/one.json"), list(&nights()[..1])).expect("it can be written");
    let mut told = String::new();
    for (arguments, code) in [
        (&["history"][..], 4),
        (&["history", "nowhere"], 2),
        (&["history", "empty"], 4),
        (&["history", "history", "no-such-case"], 4),
        (&["history", "history", "/sum[/"], 2),
        (&["history", "history", "--equivalence-margin", "-1%"], 2),
        (&["history", "add", "runs.json", "--history", "history", "--commit", "0123456"], 2),
        (&["history", "add", "one.json", "--history", "history", "--commit", "main"], 2),
        (&["history", "add", "nowhere.json", "--history", "history"], 2),
        (&["history", "add", "one.json", "--history", "runs.json"], 1),
    ] {
        let ended = project.run(&[arguments, &["--home", "home"]].concat()).code(code);
        let output = ended.stdout() + &ended.stderr();
        told += &format!("$ cargo gpubench {}\n{output}[{code}]\n\n", arguments.join(" "));
    }
    assert_snapshot!("history-refused", told);
}

/// Ten years of nightly runs of 120 cases: the changes in at most 20 s, and 1 GiB.
#[test]
#[ignore = "ten years take a minute to write; in a release build"]
#[expect(clippy::print_stderr, reason = "its figures are read by whoever runs it")]
fn ten_years_of_nights() {
    let project = TestProject::new();
    let folder = project.path("src/history");
    let mut template = slowed(1.0);
    let cases = template.records.clone();
    template.records.clear();
    for number in 0..60 {
        for record in &cases {
            let mut record = record.clone();
            record.case.args = vec![Arg { name: "n".to_owned(), value: number.to_string() }];
            template.records.push(record);
        }
    }
    let medians: Vec<Nanoseconds> =
        template.records.iter().map(|it| it.measurement.as_ref().expect("one").samples.time.median).collect();
    for record in &mut template.records {
        record.forget_samples();
    }
    for number in 0..3650 {
        let mut run = run_of(&template, number, [1.0, 1.0]);
        for (case, record) in run.records.iter_mut().enumerate() {
            let samples = &mut record.measurement.as_mut().expect("it was measured").samples;
            // Each case changes every 500 nights, at nights of its own.
            let level = 1.0 + 0.03 * (((number + 37 * case) / 500) % 2) as f64;
            let time = medians[case] * (level * night(number * 127 + case));
            samples.time.median = time;
            samples.time.median_ci = Interval { low: time * 0.999, high: time * 1.001 };
        }
        add_to_history(&folder, &run, None).expect("it can be added");
    }
    let begin = Instant::now();
    // A process that asks for more memory than this ends.
    let limited = "ulimit -v 1048576; exec \"$0\" gpubench history history";
    let mut command = Command::new("bash");
    command.args(["-c", limited, super::PROGRAM]).current_dir(project.path("src"));
    let output = command.output().expect("it runs");
    let took = begin.elapsed();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    eprintln!("{took:?}: {}", told.lines().next().unwrap_or_default());
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// A commit that is named by its first digits is kept by its hash where the repository has it.
#[cfg(unix)]
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
    repository.git(&["branch", "abcdef0123"]);
    assert!(add("repository", "abcdef0123").contains(": history/abcdef0123/"));
}
