//! `cargo gpubench fleet` as a user runs it: on the four recorded H200s, on damaged files, and on other command lines.

#[path = "../../gpubench-report/examples/fleet_files/made.rs"]
mod made;

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use self::made::{GpuPlacement, four_h200s, run_at, template, write};
use super::TestProject;

/// A project with the runs of the four H200s in its folder `src/runs`, where commands run.
fn with_runs() -> TestProject {
    let project = TestProject::new();
    let folder = project.path("src/runs");
    fs::create_dir_all(&folder).expect("it can be made");
    four_h200s(&folder);
    project
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

#[test]
fn the_answer_comes_first_and_the_exit_code_is_that_of_a_slow_gpu() {
    let project = with_runs();
    let ended = project.run(&["fleet", "runs", "--width", "80"]).code(3);
    assert_eq!(ended.stderr(), "");
    let table = ended.stdout();
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert_snapshot!("fleet", table);
}

/// In one file or in many, the answer is the same.
#[test]
fn files_and_folders_are_read() {
    let project = with_runs();
    let whole = project.run(&["fleet", "runs"]).code(3).stdout();
    let runs: Vec<Value> = (0..4)
        .flat_map(|gpu| (0..3).map(move |process| format!("src/runs/gpu{gpu}-process{process}.json")))
        .map(|file| json_of(&fs::read_to_string(project.path(&file)).expect("a file")))
        .collect();
    write(&project.path("src/all.json"), &runs.into());
    let one = project.run(&["fleet", "all.json"]).code(3).stdout();
    assert_eq!(one.replace("in 1 file", "in 12 files"), whole);
}

#[test]
fn json_has_every_gpu_on_every_roof() {
    let project = with_runs();
    let json = json_of(&project.run(&["fleet", "runs", "--json", "-"]).code(3).stdout());
    assert_eq!((&json["schema"], &json["runs"]), (&json!("gpubench-fleet/2"), &json!(12)));
    let group = &json["groups"][0];
    assert_eq!((&group["model"], group["gpus"].as_array().map(Vec::len)), (&json!("NVIDIA H200"), Some(4)));
    let slow = &group["gpus"][0];
    assert_eq!((&slow["verdict"], &slow["device"]), (&json!("slow"), &json!("cuda:1")));
    let reads = &slow["roofs"][0];
    assert_eq!((&reads["roof"], &reads["verdict"]), (&json!("memory-reads"), &json!("slow")));
    let ends = [&reads["interval"][0], &reads["effect"], &reads["interval"][1]]
        .map(|it| it.as_f64().expect("a number"));
    assert!(ends.is_sorted() && ends[0] > 0.04 && ends[2] < 0.05, "{reads}");
}

/// Files that cannot be read do not change the answer, unless there is no other.
#[test]
fn damaged_files_are_named() {
    let project = with_runs();
    let whole = fs::read(project.path("src/runs/gpu0-process0.json")).expect("a file");
    fs::write(project.path("src/runs/half.json"), &whole[..whole.len() / 2]).expect("it can be written");
    fs::write(project.path("src/runs/again.json"), &whole).expect("it can be written");
    let ended = project.run(&["fleet", "runs", "none.json", "--width", "80"]).code(3);
    assert_snapshot!("fleet-missing", ended.stdout());
    let ended = project.run(&["fleet", "runs/half.json"]).code(2);
    assert!(
        ended.stderr().starts_with("error: no run could be read. runs/half.json: not a stored run: "),
        "{}",
        ended.stderr()
    );
    let ended = project.run(&["fleet", "none.json"]).code(2);
    assert!(ended.stderr().contains("none.json: No such file"), "{}", ended.stderr());
}

#[test]
fn what_counts_as_slow_is_the_users_choice() {
    let project = with_runs();
    let ended = project.run(&["fleet", "runs", "--least", "6%"]).code(0);
    assert!(ended.stdout().starts_with("none of 4 NVIDIA H200 is slow"), "{}", ended.stdout());
    // Without the cases that only read, it is as the others.
    let without_reads = ["fleet", "runs", "--skip", "sum", "--skip", "dot"];
    project.run(&without_reads).code(0);
    let ended = project.run(&["fleet", "runs", "--", "no such case"]).code(4);
    let words = "no GPU can be judged: 12 runs in 12 files without a selected result of a GPU";
    assert!(ended.stdout().starts_with(words), "{}", ended.stdout());
    for (arguments, told) in [
        (
            &["--least", "x"][..],
            "'x' for '--least <PERCENT>': give a percentage above 0 and below 100, such as 5%\n",
        ),
        (
            &["--fdr=-1%"],
            "'-1%' for '--fdr <PERCENT>': give a percentage above 0 and below 100, such as 5%\n",
        ),
        (&["--fdr", "200"], "'200' for '--fdr <PERCENT>': give a percentage above 0 and below 100"),
        (
            &["--json", "runs/gpu0-process0.json"],
            "runs/gpu0-process0.json is one of the runs to read, and would be overwritten: write to another file\n",
        ),
    ] {
        let refused = project.run(&[&["fleet", "runs"], arguments].concat()).code(2).stderr();
        assert!(refused.starts_with("error: ") && refused.contains(told), "{refused}");
    }
}

/// Two GPUs that differ: nothing says which is slow, and the difference is shown.
#[test]
fn two_gpus_are_too_few_for_a_verdict() {
    let project = with_runs();
    let files = (0..6).map(|number| format!("runs/gpu{}-process{}.json", number / 3, number % 3));
    let files: Vec<String> = files.collect();
    let files: Vec<&str> = files.iter().map(|file| &**file).collect();
    let ended = project.run(&[&["fleet", "--width", "80"], &files[..]].concat()).code(4);
    assert_snapshot!("fleet-of-two", ended.stdout());
}

/// GPUs of hosts whose names fill a line, of which one is slow on all roofs for a reason that its sensors tell.
#[test]
fn many_gpus_have_lines_only_if_they_are_slow() {
    let project = TestProject::new();
    let folder = project.path("src/runs");
    fs::create_dir_all(&folder).expect("it can be made");
    let template = template();
    for gpu in 0..24 {
        let place = GpuPlacement {
            host: format!("gpu-node-{:04}.rack-7.cluster.example.org", gpu / 4),
            number: gpu % 4,
            uuid: format!("GPU-{gpu:08x}-0000-0000-0000-000000000000"),
            process: gpu,
        };
        let slow = if gpu == 9 { 1.03 } else { 1.0 };
        let mut run = run_at(&template, &place, 10, |number, record| {
            let noise = ((gpu * 7919 + number * 104_729) % 1009) as f64 / 1009.0 - 0.5;
            Some(record["measurement"]["time"]["median"].as_f64()? * slow * (1.0 + 0.004 * noise))
        });
        if gpu == 9 {
            for record in run["records"].as_array_mut().expect("records") {
                record["measurement"]["device_clock"]["mean"] = 1_905_000_000.into();
                record["measurement"]["conditions"]["during"]["throttle_reasons"] = json!(["SW power cap"]);
            }
        }
        write(&folder.join(format!("{gpu}.json")), &run);
    }
    let ended = project.run(&["fleet", "runs", "--width", "80"]).code(3);
    assert_snapshot!("fleet-of-many", ended.stdout());
}
