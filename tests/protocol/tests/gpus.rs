//! Several GPUs in one run: each is measured by a process of its own, whose current context is its GPU's, whatever launches
//! do to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use end_to_end::running::run_with;
use gpubench_records::device_info::Quantity;
use gpubench_records::record::{Record, Run};
use gpubench_records::verdict::State;
use protocol::fake::{Measured, failed, library, measure};

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");
const CONTEXTS: &str = env!("CARGO_BIN_EXE_contexts");

const TWO: (&str, &str) = ("GPUS", "2");
/// Four benchmarks, 7 cases on each GPU.
const SMALL: [&str; 4] = ["--quick", "cuda::copy,cuda::saxpy,cuda::sum,cuda::empty", "--arg", "n=4096"];
const CASES: usize = 7;

fn on<'a>(run: &'a Run, device: &'a str) -> impl Iterator<Item = &'a Record> {
    run.records.iter().filter(move |record| record.device == device)
}

/// Asserts that all cases were measured on both GPUs, behind a flush that was seen to work on each.
#[track_caller]
fn all_valid(measured: &Measured, each: usize) {
    assert_eq!(measured.ended.code, Some(0), "{}", measured.ended);
    assert_eq!(failed(&measured.run), []);
    for device in ["cuda:0", "cuda:1"] {
        let records: Vec<&Record> = on(&measured.run, device).collect();
        assert_eq!(records.len(), each, "{device}: {}", measured.ended);
        for record in records {
            let of = format!("{device} {} {}: {:?}", record.case.name(), record.case.cache, record.verdict);
            assert_eq!(record.verdict.state, State::Valid, "{of}");
            let method = &record.measurement.as_ref().expect("it was measured").samples.method;
            if let Some(proof) = method.flush_verification {
                assert!(proof.evicts_cache() && proof.is_clean() && method.flush_reason.is_none(), "{of}");
            }
        }
        let proofs = on(&measured.run, device)
            .filter_map(|record| record.measurement.as_ref()?.samples.method.flush_verification);
        assert_ne!(proofs.count(), 0, "no flush was proven on {device}");
    }
}

/// The GPUs that each process has made a context on, by the streams that it used.
fn gpus_of_processes(measured: &Measured) -> BTreeMap<u32, BTreeSet<char>> {
    let mut gpus: BTreeMap<u32, BTreeSet<char>> = BTreeMap::new();
    for line in &measured.log {
        // Handles of GPU 0 are below 0x1000000, those of GPU 1 begin with a 1 above six digits.
        let Some(stream) = line.stream.as_deref().filter(|stream| *stream != "s0") else { continue };
        let gpu = if stream.len() > "s1000000".len() - 1 { '1' } else { '0' };
        gpus.entry(line.process).or_default().insert(gpu);
    }
    gpus
}

#[test]
fn every_row_of_both_gpus_is_valid() {
    for devices in ["all", "1,0"] {
        let measured = measure(KERNELS, &[&SMALL[..], &["--device", devices]].concat(), &[TWO, ("LOG", "")]);
        all_valid(&measured, CASES);
        let first = if devices == "1,0" { "cuda:1" } else { "cuda:0" };
        assert_eq!(measured.run.records[0].device, first, "--device {devices}");
        let gpus = gpus_of_processes(&measured);
        let of_one: Vec<usize> = gpus.values().map(BTreeSet::len).collect();
        assert_eq!(of_one, [1, 1], "a process for each GPU: {gpus:?}");
    }
}

/// Debuggers have one process for both.
#[test]
fn so_it_is_in_one_process() {
    for devices in ["0,1", "1,0"] {
        let arguments = [&SMALL[..], &["--device", devices, "--in-process"]].concat();
        let measured = measure(KERNELS, &arguments, &[TWO, ("LOG", "")]);
        all_valid(&measured, CASES);
        let gpus = gpus_of_processes(&measured);
        assert_eq!(gpus.values().map(BTreeSet::len).collect::<Vec<_>>(), [2], "{gpus:?}");
    }
}

#[test]
fn several_runs_have_fresh_processes_for_each() {
    let arguments = [&SMALL[..], &["--device", "all", "--runs", "2"]].concat();
    let measured = measure(KERNELS, &arguments, &[TWO, ("LOG", "")]);
    all_valid(&measured, CASES);
    let gpus = gpus_of_processes(&measured);
    let of_one: Vec<usize> = gpus.values().map(BTreeSet::len).collect();
    assert_eq!(of_one, [1; 4], "{gpus:?}");
}

#[test]
fn test_mode_launches_on_both() {
    let environment = [("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8")), ("GPUBENCH_FAKE_GPUS", "2")];
    for more in [&[] as &[&str], &["--in-process"]] {
        let arguments = [&["--test", "--device", "1,0"], &SMALL[1..], more].concat();
        run_with(KERNELS, &arguments, &environment).with_code(0).shows("8 passed; 0 failed");
    }
}

/// As a test runner starts them: a process for each listed name, without `--device`.
#[test]
fn names_of_both_devices_run_where_there_is_a_gpu() {
    let environment = [("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8"))];
    let [gpu, cpu] = ["cuda", "host"].map(|kind| format!("gpubench_kernels::{kind}::copy[n=4096]"));
    let started = |names: &[&str], flags: &[&str]| {
        let selected = [names, &["--exact", "--arg", "n=4096"]].concat();
        run_with(KERNELS, &[&selected[..], flags].concat(), &environment).with_code(0)
    };
    for (name, device) in [(&*gpu, "cuda:0: NVIDIA H200"), (&*cpu, "host: ")] {
        started(&[name], &["--test"]).shows("test result: ok. 1 passed; 0 failed");
        let ended = started(&[name], &["--quick", "--cache", "hot", "--bench"]);
        ended.shows("1 result: ");
        assert!(ended.stdout.lines().any(|line| line.starts_with(device)), "{ended}");
    }
    // Of several names those of the default device are measured, and all are tested.
    started(&[&gpu, &cpu], &["--quick", "--cache", "hot"]).shows("1 result: 1 valid");
    started(&[&gpu, &cpu], &["--test"]).shows("test result: ok. 2 passed; 0 failed");
}

/// The same, comma and all, from where an interrupted run has stopped.
#[test]
fn a_run_on_both_is_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().to_str().expect("UTF-8");
    let environment = [
        ("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8")),
        ("GPUBENCH_FAKE_GPUS", "2"),
        ("TMPDIR", folder),
    ];
    let kept = [&SMALL[..], &["--runs-dir", folder, "--device", "1,0"]].concat();
    // Of each GPU's seven cases the last three are left.
    let part: Vec<&str> = kept.iter().copied().chain(["--skip", "saxpy,sum"]).collect();
    let ended = run_with(KERNELS, &part, &environment).with_code(0);
    ended.shows("6 results: 6 valid");
    let resumed: Vec<&str> = kept[..6].iter().copied().chain(["--resume", "last"]).collect();
    let ended = run_with(KERNELS, &resumed, &environment).with_code(0);
    ended.shows("resumed: 6 of 14 results were measured by the run of");
    ended.shows("14 results: 14 valid, 0 suspect, 0 invalid");
}

/// A fault of one GPU is told in its rows alone, and once below the table.
#[test]
fn one_gpu_that_breaks_costs_its_own_rows() {
    for (fault, more, words) in [
        ("cuModuleLoadData=999@1", &[] as &[&str], "cuModuleLoadData returned 999"),
        ("cuCtxSynchronize=719!@1", &[], "cuCtxSynchronize returned 719"),
        ("cuModuleLoadData=999@1", &["--in-process"], "cuModuleLoadData returned 999"),
    ] {
        let arguments = [&SMALL[..], &["--device", "1,0", "--color", "never"], more].concat();
        let measured = measure(KERNELS, &arguments, &[TWO, ("FAULT", fault)]);
        let told = &measured.ended;
        assert_eq!(told.code, Some(1), "{told}");
        for record in on(&measured.run, "cuda:0") {
            assert_eq!(record.verdict.state, State::Valid, "{}: {told}", record.case.name());
        }
        assert_eq!(on(&measured.run, "cuda:0").count(), CASES, "{told}");
        for record in on(&measured.run, "cuda:1") {
            assert_eq!(record.verdict.state, State::Invalid, "{}: {told}", record.case.name());
        }
        assert_eq!(on(&measured.run, "cuda:1").count(), CASES, "{told}");
        // Told once, with the rows that it costs and their device.
        let said: Vec<&str> = told.stdout.lines().filter(|line| line.contains(words)).collect();
        let [said] = said[..] else { panic!("{said:?} of {told}") };
        let begins = ["    [1] invalid: ", "    [1] invalid on cuda:1: "];
        assert!(begins.iter().any(|begin| said.starts_with(begin)), "{said}");
        told.shows("[1] applies to 7 results");
        let is_failed =
            |line: &&str| line.starts_with("! ") && line.contains("failed") && line.ends_with("[1]");
        assert_eq!(told.stdout.lines().filter(is_failed).count(), CASES, "{told}");
        // A GPU that does not even open has rows of its own.
        told.shows("on cuda:1");
    }
}

/// Transfers begin first and end between rows of kernels, also where one GPU breaks.
#[test]
fn each_module_has_one_heading() {
    let selected = [
        "h2d[memory=pinned",
        "cuda::copy[n=16384]",
        "cuda::copy[n=262144]",
        "cuda::saxpy[n=16384]",
        "cuda::saxpy[n=262144]",
        "cuda::empty",
    ];
    let flags = ["--quick", "--samples", "6", "--cache", "hot", "--device", "0,1", "--color", "never"];
    for fault in [None, Some(("FAULT", "cuCtxSynchronize=719!@1"))] {
        let asked: Vec<_> = [Some(TWO), fault].into_iter().flatten().collect();
        let arguments = [&selected[..], &flags].concat();
        let Measured { ended, run, .. } = measure(KERNELS, &arguments, &asked);
        let modules: BTreeSet<&str> = run
            .records
            .iter()
            .filter_map(|record| record.case.benchmark.rsplit_once("::").map(|(module, _)| module))
            .collect();
        assert_eq!(modules.len(), 2, "{ended}");
        let mut headings: Vec<&str> = ended
            .stdout
            .lines()
            .filter(|line| line.starts_with("gpubench_kernels::"))
            .filter_map(|line| line.split(' ').next())
            .collect();
        headings.sort_unstable();
        assert_eq!(headings, Vec::from_iter(modules), "{ended}");
    }
}

/// A GPU's UUID finds its sensors, whose clocks are locked for each.
#[test]
fn each_gpu_has_its_own_name_and_sensors() {
    let measured = measure(KERNELS, &[&SMALL[..], &["--device", "all"]].concat(), &[TWO, ("CLOCKS", "1980")]);
    all_valid(&measured, CASES);
    let uuids: BTreeSet<String> = measured
        .run
        .devices
        .iter()
        .filter(|info| info.device != "host")
        .map(|info| info.text("UUID").unwrap_or("none").to_owned())
        .collect();
    assert_eq!(uuids.len(), 2, "{uuids:?}");
    assert!(
        measured
            .run
            .records
            .iter()
            .filter_map(|record| record.measurement.as_ref())
            .all(|measured| measured.samples.conditions.is_some())
    );
    let environment = [("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8")), ("GPUBENCH_FAKE_GPUS", "2")];
    for uuid in &uuids {
        let arguments = ["--test", "--device", uuid, "cuda::empty"];
        run_with(KERNELS, &arguments, &environment).with_code(0).shows("1 passed; 0 failed");
    }
}

/// A step that leaves the context of another GPU current is told, and costs no row but its own.
#[test]
fn a_benchmark_that_leaves_another_context_current_costs_itself() {
    for more in [&[] as &[&str], &["--in-process"], &["--path", "stream"]] {
        let arguments = [&["--quick", "--device", "0,1", "--color", "never"], more].concat();
        let measured = measure(CONTEXTS, &arguments, &[TWO]);
        assert_eq!(measured.ended.code, Some(1), "{}", measured.ended);
        let failed: BTreeMap<String, String> = failed(&measured.run).into_iter().collect();
        let expected = [
            ("strays_in_setup", "setup: left a context of GPU"),
            ("strays_in_launch", "first launch: left a context of GPU"),
            ("strays_later", "left a context of GPU"),
            ("launches_astray", "first launch: "),
            ("strays_in_reset", "left a context of GPU"),
            ("strays_in_check", "check: left a context of GPU"),
            ("strays_in_counts", "counts: left a context of GPU"),
        ];
        let names: BTreeSet<String> =
            expected.iter().map(|(name, _)| format!("contexts::{name} hot")).collect();
        assert_eq!(failed.keys().cloned().collect::<BTreeSet<_>>(), names, "{more:?}: {}", measured.ended);
        for (name, words) in expected {
            let reason = &failed[&format!("contexts::{name} hot")];
            assert!(reason.contains(words), "{name}: {reason}");
        }
        for device in ["cuda:0", "cuda:1"] {
            let valid = on(&measured.run, device).filter(|record| record.verdict.state != State::Invalid);
            let valid: Vec<String> =
                valid.map(|record| format!("{} {}", record.case.name(), record.case.cache)).collect();
            let expected = [
                "behaves hot",
                "behaves cold",
                "strays_in_drop hot",
                "comes_back hot",
                "behaves_at_the_end hot",
            ];
            assert_eq!(
                valid,
                expected.map(|name| format!("contexts::{name}")),
                "{device}: {}",
                measured.ended
            );
        }
    }
}

/// The file of the run has the records of both GPUs.
#[test]
fn both_gpus_are_in_the_file_of_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let environment = [
        ("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8")),
        ("GPUBENCH_FAKE_GPUS", "2"),
        ("TMPDIR", path),
    ];
    let json = format!("{path}/run.json");
    let arguments = ["--quick", "cuda::empty", "--device", "all", "--json", &json];
    _ = run_with(KERNELS, &arguments, &environment).with_code(0);
    let run = Run::parse(&fs::read(&json).expect("it is there")).expect("a run");
    let devices: Vec<&str> = run.records.iter().map(|record| record.device.as_str()).collect();
    assert_eq!(devices, ["cuda:0", "cuda:1"]);
}

/// Every GPU copies to each of the others and from it, one GPU at a time, and what arrives is checked.
#[test]
fn links_are_measured_between_all_pairs_in_both_directions() {
    let p2p = ["--quick", "transfers::p2p", "--arg", "bytes=1048576", "--device", "0,1,2"];
    let links = [("GPUS", "3"), ("NVLINKS", "18")];
    let measured = measure(KERNELS, &p2p, &links);
    assert_eq!((measured.ended.code, failed(&measured.run)), (Some(0), Vec::new()), "{}", measured.ended);
    // Two ways, two kinds of copies, six pairs.
    assert_eq!(measured.run.records.len(), 24);
    for record in &measured.run.records {
        let row = record.measurement.as_ref().expect("it was measured");
        assert!(row.checked && record.verdict.state == State::Valid, "{}: {:?}", record.case, record.verdict);
        let written = row.launch.written.as_ref().expect("memory was looked at");
        assert!(!written.changed_nothing(), "{}: writes to another GPU are seen too", record.case);
        let share = row.metrics.share(&Quantity::PeerToPeer).expect("NVLink's peak is known");
        assert!(share > 0.1 && share < 0.9, "{}: {share}", record.case);
    }
    measured.ended.shows("p2p link: 24 results, compared with the peak bandwidth of the link, not of DRAM");
}

#[test]
fn a_pair_without_access_is_skipped_with_the_reason() {
    let p2p = ["--quick", "transfers::p2p", "cuda::empty", "--device", "all"];
    let measured = measure(KERNELS, &p2p, &[TWO]);
    assert_eq!(measured.ended.code, Some(0), "{}", measured.ended);
    assert_eq!((measured.run.records.len(), measured.run.skipped.len()), (2, 8), "{}", measured.ended);
    measured.ended.shows("no other GPU is there that this one reaches directly");
}

/// What arrives somewhere else is no copy.
#[test]
fn a_copy_to_another_gpu_that_does_not_arrive_is_invalid() {
    let p2p = ["--quick", "p2p::copy", "--arg", "bytes=1048576", "--arg", "way=write", "--device", "0"];
    let links = [TWO, ("NVLINKS", "18"), ("KERNEL", "memcpy:nothing")];
    let measured = measure(KERNELS, &p2p, &links);
    assert_eq!(measured.ended.code, Some(1), "{}", measured.ended);
    measured.ended.shows("check: element 0 is 4294967295, not ");
}
