//! Fleets read from files, as a user has them: the recorded four H200s, and every fault that files of many hosts have.

#[path = "../../examples/fleet_files/made.rs"]
mod made;
mod statistics;

use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::selection::CaseSelection;
use gpubench_report::fleet::{
    Bottleneck, FleetGpu, FleetGroup, FleetReport, FleetRules, FleetRuns, GpuVerdict,
};
use serde_json::{Value, json};

use self::made::{GpuPlacement, four_h200s, run_at, template, write};

/// The rules that `cargo gpubench fleet` has unless the user gives others.
const RULES: FleetRules = FleetRules { least: 0.01, false_discoveries: 0.01 };

fn report(given: &[PathBuf]) -> FleetReport {
    FleetReport::new(FleetRuns::read(given, &CaseSelection::default()), RULES)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The four H200s in a folder of their own, whose first file is changed.
fn with_fault(fault: impl Fn(&Path, &[PathBuf])) -> FleetReport {
    let folder = folder();
    let files = four_h200s(folder.path());
    fault(folder.path(), &files);
    report(&[folder.path().to_owned()])
}

fn changed(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut run = serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON");
    change(&mut run);
    write(file, &run);
}

/// The missing parts, a line each, with the names of files alone.
fn missing(report: &FleetReport) -> Vec<String> {
    let told = |sentence: &String| {
        let words = sentence
            .split(' ')
            .map(|word| if word.starts_with('/') { word.rsplit('/').next().unwrap_or(word) } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    report.missing.iter().map(told).collect()
}

/// The slow GPUs of all groups.
fn slow_gpus(report: &FleetReport) -> Vec<&FleetGpu> {
    report.groups.iter().flat_map(FleetGroup::slow_gpus).collect()
}

/// GPU 1 reads its memory slower, and nothing else is told of any GPU.
#[track_caller]
fn assert_answer(report: &FleetReport) {
    assert_eq!(report.groups.len(), 1);
    let group = &report.groups[0];
    assert_eq!(group.gpus.len(), 4);
    for gpu in &group.gpus {
        for on in &gpu.roofs {
            let is_found = gpu.device == "cuda:1" && on.roof == Bottleneck::MemoryReads;
            let expected = if is_found { GpuVerdict::Slow } else { GpuVerdict::Normal };
            assert_eq!(on.verdict, expected, "{} {}: {on:?}", gpu.device, on.roof);
            if is_found {
                assert!((0.044..=0.047).contains(&on.effect), "{on:?}");
                assert!(on.interval[0] > 0.042 && on.interval[1] < 0.049, "{on:?}");
            }
        }
    }
    assert_eq!(slow_gpus(report).iter().map(|gpu| &*gpu.device).collect::<Vec<_>>(), ["cuda:1"]);
    assert_eq!(report.exit().code(), 3);
}

#[test]
fn one_of_the_four_recorded_gpus_reads_its_memory_slower() {
    let report = with_fault(|_, _| ());
    assert_answer(&report);
    assert_eq!((report.files, report.runs, report.missing.len()), (12, 12, 0));
    let group = &report.groups[0];
    assert_eq!(
        (&*group.model, group.fake, &group.hosts[..]),
        ("NVIDIA H200", false, &["node7".to_owned()][..])
    );
    let roofs: Vec<String> = group.roofs.iter().map(|it| format!("{} {}", it.roof, it.cases.len())).collect();
    assert_eq!(
        roofs,
        ["memory reads 5", "memory writes 2", "memory mixed 5", "L2 3", "compute 1", "PCIe 2", "latency 1"]
    );
    assert!(group.gpus.iter().all(|gpu| gpu.runs.len() == 3));
}

/// A suite with `--processes 3` has all of them in one record.
#[test]
fn processes_of_one_record_count_as_processes() {
    let folder = folder();
    let files = four_h200s(folder.path());
    for three in files.chunks(3) {
        let runs: Vec<Value> = three
            .iter()
            .map(|file| serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON"))
            .collect();
        let mut run = runs[0].clone();
        for (number, record) in run["records"].as_array_mut().expect("records").iter_mut().enumerate() {
            let others: Vec<Value> =
                runs[1..].iter().map(|run| run["records"][number]["measurement"].clone()).collect();
            record["other_processes"] = others.into();
        }
        write(&three[0], &run);
        three[1..].iter().for_each(|file| fs::remove_file(file).expect("it is there"));
    }
    let report = report(&[folder.path().to_owned()]);
    assert_answer(&report);
    assert!(report.groups[0].gpus.iter().all(|gpu| gpu.roofs.iter().all(|on| on.processes == 3)));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_rest_is_judged() {
    let report = with_fault(|folder, files| {
        let whole = fs::read(&files[0]).expect("a file");
        fs::write(folder.join("half.json"), &whole[..whole.len() / 2]).expect("a file");
        fs::write(folder.join("empty.json"), "").expect("a file");
        fs::write(folder.join("other.json"), "{\"a\": 1}").expect("a file");
        let newer = String::from_utf8(whole).expect("UTF-8").replace("gpubench/3", "gpubench/9");
        fs::write(folder.join("newer.json"), newer).expect("a file");
    });
    assert_answer(&report);
    let told = missing(&report);
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("empty.json: not a stored run: it is empty"), "{told:?}");
    assert!(told[1].starts_with("half.json: not a stored run: line 1, column "), "{told:?}");
    assert!(told[1].contains("it is cut off there"), "{told:?}");
    assert!(told[2].contains("read it with the gpubench that wrote it, or measure anew"), "{told:?}");
    assert!(told[3].contains("it has no `schema`"), "{told:?}");
}

/// A node died: its file of lines ends within one.
#[test]
fn a_run_that_was_cut_off_counts_as_far_as_it_goes() {
    let report = with_fault(|folder, files| {
        let mut run: Value = serde_json::from_slice(&fs::read(&files[0]).expect("a file")).expect("JSON");
        let records = run["records"].as_array_mut().map(std::mem::take).expect("records");
        run["records"] = json!([]);
        let mut lines = json!({ "run": run }).to_string() + "\n";
        for record in records {
            lines += &(json!({ "record": { "at": 1.0, "record": record } }).to_string() + "\n");
        }
        fs::remove_file(&files[0]).expect("it is there");
        fs::write(folder.join("gpu0.jsonl"), &lines[..lines.len() - 40]).expect("a file");
    });
    assert_answer(&report);
    assert_eq!(
        missing(&report),
        [
            "gpu0.jsonl: its last line is cut off: the case in it is left out",
            "gpu0.jsonl: unfinished: 18 of 19 cases are there",
        ]
    );
}

#[test]
fn a_run_in_two_files_counts_once() {
    let report = with_fault(|folder, files| {
        fs::copy(&files[4], folder.join("again.json")).expect("a copy");
    });
    assert_answer(&report);
    assert_eq!(missing(&report), Vec::<String>::new());
    assert!(report.groups[0].gpus.iter().all(|gpu| gpu.runs.len() == 3));
}

/// A task that was requeued goes on from its run: the first file ends early, and the second begins with its measurements.
#[test]
fn a_run_that_was_resumed_is_whole() {
    let report = with_fault(|folder, files| {
        let whole: Value = serde_json::from_slice(&fs::read(&files[4]).expect("a file")).expect("JSON");
        changed(&files[4], |run| run["records"].as_array_mut().expect("records").truncate(7));
        changed(&files[4], |run| run["planned_cases"] = 19.into());
        let mut resumed = whole;
        resumed["resumed"] = json!({"run": "gpu1-process1", "kept": 7, "planned": 19});
        write(&folder.join("gpu1-process1-again.json"), &resumed);
    });
    assert_answer(&report);
    assert_eq!(missing(&report), Vec::<String>::new());
}

#[test]
fn an_answer_beside_the_runs_is_no_run() {
    let report =
        with_fault(|folder, _| write(&folder.join("answer.json"), &json!({"schema": "gpubench-fleet/2"})));
    assert_answer(&report);
    assert_eq!(missing(&report), Vec::<String>::new());
}

/// The four GPUs of a node that calls them otherwise after it started again.
#[test]
fn a_gpu_is_known_by_its_uuid() {
    let report = with_fault(|_, files| {
        for (file, number) in [(&files[5], 3), (&files[11], 1)] {
            changed(file, |run| {
                run["devices"][0]["device"] = format!("cuda:{number}").into();
                for record in run["records"].as_array_mut().expect("records") {
                    record["device"] = format!("cuda:{number}").into();
                }
            });
        }
    });
    assert_answer(&report);
}

#[test]
fn invalid_rows_are_named_and_do_not_count() {
    let report = with_fault(|_, files| {
        changed(&files[0], |run| {
            let record = &mut run["records"][3];
            // Ten times as long, were it to count.
            record["verdict"] = json!({"state": "invalid", "reasons": [{"failed": {"stage": "check", "message": "wrong sum"}}]});
        });
        changed(&files[1], |run| {
            let reason = json!({"not-converged": {"reached": 0.02, "requested": 0.005}});
            run["records"][3]["verdict"] = json!({"state": "suspect", "reasons": [reason]});
        });
    });
    assert_answer(&report);
    let told = missing(&report);
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("gpu0-process0.json: `gpubench_kernels::cuda::"), "{told:?}");
    assert!(
        told[0].contains("not usable on cuda:0 of machine node7 (") && told[0].contains("wrong sum"),
        "{told:?}"
    );
}

#[test]
fn cases_that_a_gpu_lacks_are_named() {
    let report = with_fault(|_, files| {
        for file in &files[..3] {
            changed(file, |run| {
                let records = run["records"].as_array_mut().expect("records");
                records.retain(|record| record["benchmark"] != "gpubench_kernels::cuda::power::fma");
                run["planned_cases"] = records.len().into();
            });
        }
    });
    let told = missing(&report);
    assert_eq!(told.len(), 1);
    assert!(
        told[0].contains("cuda:0")
            && told[0].contains(
                "`gpubench_kernels::cuda::power::fma[steps=16384] hot` (1 case): missing, which most GPUs have"
            ),
        "{told:?}"
    );
    let gpu = report.groups[0].gpus.iter().find(|gpu| gpu.device == "cuda:0").expect("it is there");
    let has = |roof| gpu.roofs.iter().any(|on| on.roof == roof);
    assert!(!has(Bottleneck::Compute) && has(Bottleneck::MemoryReads));
    assert_eq!(slow_gpus(&report).len(), 1);
}

#[test]
fn another_method_is_not_compared() {
    let report = with_fault(|_, files| {
        changed(&files[0], |run| run["records"][0]["measurement"]["method"]["path"] = "stream".into());
    });
    assert_answer(&report);
    let told = missing(&report);
    assert_eq!(told.len(), 1);
    assert!(told[0].ends_with("left out: path graph → stream"), "{told:?}");
}

#[test]
fn other_models_and_builds_are_judged_apart() {
    let report = with_fault(|_, files| {
        for file in &files[..3] {
            changed(file, |run| run["devices"][0]["name"] = "NVIDIA H100 80GB HBM3".into());
        }
        for file in &files[3..6] {
            changed(file, |run| {
                run["program"]["fingerprint"] = "another".into();
                // Builds of one commit without changes count as one.
                run["program"]["package"]["dirty"] = true.into();
            });
        }
    });
    let models: Vec<(&str, usize)> =
        report.groups.iter().map(|group| (&*group.model, group.gpus.len())).collect();
    assert_eq!(models, [("NVIDIA H200", 2), ("NVIDIA H100 80GB HBM3", 1), ("NVIDIA H200", 1)]);
    assert_ne!(report.groups[0].build, report.groups[2].build);
    assert!(
        report
            .groups
            .iter()
            .flat_map(|group| &group.gpus)
            .all(|gpu| gpu.verdict == GpuVerdict::NotEnoughData)
    );
    // A health check must not pass without a verdict.
    assert_eq!(report.exit().code(), 4);
}

#[test]
fn a_commit_names_a_build_and_one_with_changes_does_not() {
    let build = |dirty: bool| {
        let report = with_fault(|_, files| {
            for file in files {
                changed(file, |run| {
                    run["program"]["package"]["commit"] = "0123456789abcdef".into();
                    run["program"]["package"]["dirty"] = dirty.into();
                });
            }
        });
        report.groups[0].build.clone()
    };
    assert!(build(false).contains("commit 0123456789ab,"), "{}", build(false));
    assert!(build(true).contains(", build ") && !build(true).contains("commit"), "{}", build(true));
}

#[test]
fn facts_that_most_gpus_do_not_share_are_reported() {
    let report = with_fault(|_, files| {
        // In the recorded run the power cap slowed some rows, whatever GPU it was.
        for file in files {
            changed(file, |run| {
                for record in run["records"].as_array_mut().expect("records") {
                    record["measurement"]["conditions"]["during"]["throttle_reasons"] = json!([]);
                }
            });
        }
        for file in &files[3..6] {
            changed(file, |run| {
                let properties = run["devices"][0]["properties"].as_array_mut().expect("properties");
                let limit = properties.iter_mut().find(|it| it["name"] == "power limit").expect("a limit");
                limit["value"]["text"] = "500 W".into();
                let peaks = run["devices"][0]["peaks"].as_array_mut().expect("peaks");
                let bus = peaks.iter_mut().find(|it| it["quantity"] == "host-to-device").expect("a bus");
                bus["method"] = "PCIe 4.0: 16 lanes × 16 GT/s × 128/130 / 8".into();
                for record in run["records"].as_array_mut().expect("records") {
                    let measured = &mut record["measurement"];
                    measured["conditions"]["during"]["throttle_reasons"] = json!(["power cap"]);
                    measured["conditions"]["during"]["other_processes"] = 2.into();
                }
            });
        }
    });
    let all = slow_gpus(&report)[0].reasons.join("\n");
    for expected in [
        "clocks held down by power cap",
        "other processes on the GPU",
        "power limit 500 W",
        "bus to the host PCIe 4.0: 16 lanes × 16 GT/s × 128/130 / 8",
    ] {
        assert!(all.contains(expected), "{expected}\nis not in\n{all}");
    }
    let others = report.groups[0].gpus.iter().filter(|gpu| gpu.verdict == GpuVerdict::Normal);
    assert!(
        others.clone().all(|gpu| gpu.reasons.is_empty()),
        "{:?}",
        others.map(|it| &it.reasons).collect::<Vec<_>>()
    );
}

#[test]
fn a_device_without_an_identity_is_named() {
    let report = with_fault(|folder, _| {
        let place = GpuPlacement { host: "node8".to_owned(), number: 0, uuid: String::new(), process: 99 };
        let mut run =
            run_at(&template(), &place, 30, |_, record| record["measurement"]["time"]["median"].as_f64());
        run["devices"][0]["properties"] = json!([]);
        // The results of a device that is no GPU are not named too.
        let failed = json!({ "failed": { "stage": "check", "message": "wrong sum" } });
        run["records"][3]["verdict"] = json!({ "state": "invalid", "reasons": [failed] });
        write(&folder.join("vgpu.json"), &run);
    });
    assert_eq!(missing(&report), ["vgpu.json: `cuda:0` is not a GPU: give runs that were measured on GPUs"]);
}

/// The driver does not start on a GPU that fell off its bus: its run has failures, and no facts of it.
#[test]
fn a_gpu_that_was_not_opened_is_named() {
    let report = with_fault(|folder, _| {
        let place = GpuPlacement { host: "node8".to_owned(), number: 0, uuid: String::new(), process: 99 };
        let mut run =
            run_at(&template(), &place, 30, |_, record| record["measurement"]["time"]["median"].as_f64());
        run["devices"] = json!([]);
        let failed = json!({ "failed": { "stage": "device", "message": "cuInit returned 999" } });
        for record in run["records"].as_array_mut().expect("records") {
            record["measurement"] = Value::Null;
            record["verdict"] = json!({ "state": "invalid", "reasons": [failed] });
        }
        write(&folder.join("lost.json"), &run);
    });
    let told = missing(&report);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("lost.json: `") && told[0].contains(" not usable on cuda:0 of machine node8 ("),
        "{told:?}"
    );
    assert!(told[0].contains("cuInit returned 999"), "{told:?}");
}

#[test]
fn nothing_to_read_is_no_answer() {
    let report = report(&[PathBuf::from("there/is/none.json")]);
    assert_eq!((report.groups.len(), report.exit().code()), (0, 4));
    assert!(report.missing[0].starts_with("there/is/none.json: "));
}

/// Under Slurm each task has one GPU, which it calls `cuda:0`.
#[test]
fn gpus_of_a_host_with_one_name_are_shown_by_their_uuids() {
    let report = with_fault(|_, files| {
        for file in files {
            changed(file, |run| {
                run["devices"][0]["device"] = "cuda:0".into();
                for record in run["records"].as_array_mut().expect("records") {
                    record["device"] = "cuda:0".into();
                }
            });
        }
    });
    assert_eq!(
        slow_gpus(&report).iter().map(|gpu| gpu.host_and_device()).collect::<Vec<_>>(),
        ["node7 GPU-10000000"]
    );
}

/// `--runs 3` stores a record of each process in one run.
#[test]
fn records_of_several_processes_in_one_run_are_several_processes() {
    let report = with_fault(|_, files| {
        for files in files.chunks(3) {
            let mut records = Vec::new();
            for file in files {
                changed(file, |run| records.append(run["records"].as_array_mut().expect("records")));
            }
            changed(&files[0], |run| run["records"] = records.clone().into());
            files[1..].iter().for_each(|file| fs::remove_file(file).expect("a file"));
        }
    });
    assert_eq!(report.runs, 4);
    assert_answer(&report);
}
