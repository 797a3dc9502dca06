//! The shares of a split, merged.

use std::fs;

use gpubench_records::device_info::{Property, UUID, Value};
use gpubench_records::record::Run;
use gpubench_records::{ShareMode, Task};
use gpubench_report::loading::load;
use insta::assert_snapshot;

use super::{TestProject, corpus};

/// The recorded run of 4 cases on a GPU as the share of task `number` of 2: `copy`, or `sum`.
fn share(number: usize, node: &str) -> Run {
    let mut run = load(&corpus("gpu.jsonl")).expect("a run").run;
    let name = ["copy", "sum"][number - 1];
    run.records.retain(|record| record.case.benchmark.ends_with(name));
    run.planned_cases = run.records.len();
    run.devices[0].properties.retain(|property| property.name != UUID);
    run.devices[0].properties.push(Property::new(UUID, Value::Text(format!("GPU-{node}"))));
    let (scheduler, job, node) = (Some("slurm".to_owned()), Some("7".to_owned()), Some(node.to_owned()));
    let share = ShareMode::Split;
    run.environment.task =
        Some(Task { share, number, of: 2, cases: Some(4), scheduler, job, node, restarts: None });
    run
}

#[test]
fn shares_become_one_run_and_what_is_missing_is_told() {
    let project = TestProject::new();
    let names = [project.write("1.json", &share(1, "n1")), project.write("2.json", &share(2, "n2"))];
    let merged = project.text("merged.json");
    let ended = project.run(&["merge", &names[0], &names[1], "-o", &merged]).code(0);
    assert_eq!(ended.stderr(), "wrote PROJECT/merged.json\n");
    assert_snapshot!("merged-shares", project.run(&["report", &merged, "--width", "100"]).code(0).stdout());
    // One never came, or left a file that cannot be read.
    let alone = project.run(&["merge", &names[1], "-o", &merged]).code(1).stderr();
    assert_eq!(
        alone,
        "warning: 2 of 4 cases are missing: share 1/2 left no run\nwrote PROJECT/merged.json\n"
    );
    fs::write(&names[0], "{\"run\":").expect("it can be written");
    let damaged = project.run(&["merge", &names[0], &names[1], "-o", &merged]).code(1).stderr();
    assert_snapshot!("merged-shares-damaged", damaged);
    assert_eq!(load(merged.as_ref()).expect("a run").run.records.len(), 2);
}
