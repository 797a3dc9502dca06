//! `history --confirm` in a repository whose cargo and suites are scripts: which changes are measured again, in which order, on which
//! device.
#![cfg(unix)]

use gpubench_records::device_info::{Property, UUID, Value};
use gpubench_records::history::add;
use gpubench_records::record::{Package, Run};
use serde_json::Value as Json;

use super::history::run_of;
use super::repository::Repository;
use super::{Ended, slowed};

/// Adds ten nights of a commit, with both cases so many times as slow.
fn add_nights(repository: &Repository, first: usize, commit: &str, factors: [f64; 2], template: &Run) {
    let folder = repository.0.path("repository/target/gpubench/history");
    for number in first..first + 10 {
        let mut run = run_of(template, number, factors);
        run.program.suite = "a/kernels".to_owned();
        run.program.package = Some(Package { commit: Some(repository.hash(commit)), ..Package::default() });
        add(&folder, &run, None).expect("it can be added");
    }
}

/// Nights of four commits. The first case changes with the second and the fourth, the other with the third.
fn with_three_changes() -> Repository {
    let repository = Repository::of(&[100, 103, 106, 109]);
    for speed in [100, 103, 106, 109] {
        repository.runs(speed, 0.001, 4);
    }
    let commits =
        [("v100", [1.0, 1.0]), ("v103", [1.03, 1.0]), ("v106", [1.03, 1.04]), ("v109", [1.08, 1.04])];
    for (number, (commit, factors)) in commits.into_iter().enumerate() {
        add_nights(&repository, 10 * number, commit, factors, &slowed(1.0));
    }
    repository
}

fn confirm(repository: &Repository, flags: &[&str], code: i32) -> Ended {
    let words = ["history", "--confirm", "--pairs", "4", "--json", "changes.json"];
    repository.run_in("repository", &[&words[..], flags].concat()).code(code)
}

/// The answers, those of the newest change first.
fn answers(repository: &Repository) -> Vec<Json> {
    let json = std::fs::read(repository.0.path("repository/changes.json")).expect("it was written");
    let found: Json = serde_json::from_slice(&json).expect("it is JSON");
    let cases = found["cases"].as_array().expect("a list");
    let mut changes: Vec<Json> = cases
        .iter()
        .flat_map(|case| case["series"][0]["changes"].as_array().expect("a list").clone())
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change["begins"]["started"].as_u64()));
    changes.iter().map(|change| change["confirmation"].clone()).collect()
}

#[test]
fn the_newest_changes_are_confirmed_first() {
    let repository = with_three_changes();
    let told = confirm(&repository, &[], 0).stderr();
    let hash = |name| repository.hash(name)[..8].to_owned();
    let pairs = [("v106", "v109"), ("v103", "v106"), ("v100", "v103")];
    let begins: Vec<&str> = told.lines().filter(|line| line.starts_with("a/kernels: ")).collect();
    assert_eq!(begins.len(), 3, "{told}");
    for (line, (then, now)) in begins.iter().zip(pairs) {
        assert!(line.contains(&format!("{}..{}", hash(then), hash(now))), "{told}");
    }
    assert_eq!(answers(&repository).iter().filter(|it| it["answer"] == "confirmed").count(), 3);
}

#[test]
fn changes_beyond_the_time_are_not_measured() {
    let repository = with_three_changes();
    confirm(&repository, &["--confirm-time", "0.001"], 0);
    let answers = answers(&repository);
    assert_eq!(answers[0]["answer"], "confirmed");
    for left in &answers[1..] {
        assert_eq!(left["answer"], "not-measured");
        assert_eq!(left["reason"], "the time was up: a longer --confirm-time confirms more");
    }
    assert_eq!(repository.lines("built").len(), 2);
    let refused = repository.run_in("repository", &["history", "--confirm-time", "1h"]).code(2).stderr();
    assert!(refused.contains("--confirm"), "{refused}");
}

/// What was confirmed before a signal is told.
#[test]
fn a_signal_ends_the_confirmation() {
    let repository = with_three_changes();
    repository.git(&["checkout", "--quiet", "v100"]);
    repository.change("killed", "");
    repository.commit("killed");
    let confirmed = "confirmed, +2.9";
    let history = repository.0.path("repository/target/gpubench/history");
    std::fs::remove_dir_all(history).expect("it is there");
    let commits = [("killed", [1.0, 1.0]), ("v103", [1.03, 1.0]), ("v106", [1.06, 1.0])];
    for (number, (commit, factors)) in commits.into_iter().enumerate() {
        add_nights(&repository, 10 * number, commit, factors, &slowed(1.0));
    }
    repository.remove("killed");
    let ended = confirm(&repository, &["--width", "150"], 143);
    let told = ended.stdout();
    assert!(told.contains(confirmed) && told.contains("a signal ended the command before"), "{told}");
}

fn with_uuid(mut run: Run, uuid: &str) -> Run {
    let device = &mut run.devices[0];
    device.properties.retain(|property| property.name != UUID);
    device.properties.push(Property::new(UUID, Value::Text(uuid.to_owned())));
    run
}

/// The run of a process on two devices: the first as fast as ever, and the second as fast as `run` says.
fn on_two(process: usize, run: Run) -> Run {
    let mut both = with_uuid(slowed(1.0 + 0.0003 * process as f64), "GPU-a");
    let second = with_uuid(run, "GPU-b");
    let id = "cuda:1".to_owned();
    both.devices.extend(second.devices.into_iter().map(|mut info| {
        info.device.clone_from(&id);
        info
    }));
    both.records.extend(second.records.into_iter().map(|mut record| {
        record.device.clone_from(&id);
        record
    }));
    both.planned_cases = 4;
    both
}

/// A change of one device is confirmed by what that device does, and not by the first in the table.
#[test]
fn the_device_of_a_change_answers() {
    for (of, answer) in [("GPU-b", "confirmed"), ("GPU-a", "not-confirmed"), ("GPU-c", "not-measured")] {
        let repository = Repository::of(&[100, 103]);
        for speed in [100, 103] {
            repository.runs_with(speed, 0.001, 4, on_two);
        }
        for (number, (commit, factor)) in [("v100", 1.0), ("v103", 1.03)].into_iter().enumerate() {
            add_nights(&repository, 10 * number, commit, [factor, 1.0], &with_uuid(slowed(1.0), of));
        }
        confirm(&repository, &[], 0);
        let answers = answers(&repository);
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["answer"], answer, "{of}: {}", answers[0]);
        if answer == "not-measured" {
            let reason = "its device, GPU-c, is not among cuda:0, cuda:1: choose one by -- --device";
            assert_eq!(answers[0]["reason"], reason);
        }
    }
}
