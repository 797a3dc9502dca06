//! Measured ceilings of a GPU: measured by the engine that measures benchmarks, kept for later runs, and a denominator only
//! where there is no better one.

use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::device_info::{DeviceInfo, Peak, PeakSource, Quantity};
use gpubench_records::verdict::State;
use protocol::fake::{Measured, measure};

use super::{LASTING, impossible};

/// The rates of the fake in bytes a second: reads from memory and write-backs to it, allocation in the L2, and moves within
/// it.
const MEMORY: f64 = 4600e9;
const L2: f64 = 7000e9;

/// The suite on the fake, with what it measured before in `folder`.
fn measured(folder: &Path, arguments: &[&str], asked: &[(&str, &str)]) -> Measured {
    let kept = ("GPUBENCH_CACHE_DIR", folder.to_str().expect("UTF-8"));
    let arguments = [&["--warmup", "20ms", "--color", "never"], arguments].concat();
    measure(LASTING, &arguments, &[asked, &[kept]].concat())
}

fn reached<'a>(info: &'a DeviceInfo, quantity: &Quantity) -> Vec<&'a Peak> {
    let of = |peak: &&Peak| peak.quantity == *quantity && peak.source == PeakSource::Measured;
    info.peaks.iter().filter(of).collect()
}

fn file(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder.join("ceilings")).expect("something is kept");
    let files: Vec<PathBuf> = files.map(|file| file.expect("it can be read").path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    file.clone()
}

#[test]
fn ceilings_are_what_the_model_says_and_are_shown_by_later_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let Measured { ended, run, .. } = measured(folder.path(), &["--measure-peaks"], &[]);
    assert_eq!((ended.code, run.records.len()), (Some(0), 13), "{ended}");
    assert!(run.records.iter().all(|record| record.verdict.state == State::Valid), "{ended}");
    // By what the memory does, and what it takes to begin: a launch, as many blocks as there is room for, and the first bytes.
    let through = |bytes: f64, each: f64, begins: f64| bytes / (bytes * each + begins);
    let (reads, writes) = (2.55e-6 + 2112.0 * 0.6e-9, 0.9e-6);
    let size = f64::from(1 << 16) * f64::from(1 << 16);
    let moved = [
        ("read", through(size, 1.0 / MEMORY, reads)),
        ("write", through(size, 1.0 / MEMORY, writes)),
        ("copy", 2.0 * through(size, 2.0 / MEMORY, writes)),
        ("l2_read", L2),
        ("l2_write", L2),
    ];
    let computed = [
        ("f64", 31e12),
        ("f32", 62e12),
        ("f16", 121e12),
        ("bf16", 119e12),
        ("f64_tensor", 60e12),
        ("tf32_tensor", 310e12),
        ("f16_tensor", 620e12),
        ("bf16_tensor", 630e12),
    ];
    for (record, (name, truth)) in run.records.iter().zip(moved.iter().chain(&computed)) {
        assert_eq!(record.case.name(), format!("gpubench::ceilings::{name}"));
        let metrics = &record.measurement.as_ref().expect("it was measured").metrics;
        let rate = metrics.throughput.map(|rate| rate.0).or(metrics.bandwidth.map(|rate| rate.0));
        let rate = rate.unwrap_or_else(|| panic!("{name} has a rate"));
        // What launching takes is a part of it.
        assert!((0.995..=1.001).contains(&(rate / truth)), "{name}: {rate} is not {truth}");
    }

    // They are beside the peaks that count, and say what they are.
    let line = |text: &str, begin: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(begin));
        found.map(str::to_owned).unwrap_or_else(|| panic!("no {begin} in {text}"))
    };
    let memory = line(&ended.stdout, "peak DRAM bandwidth 4814 GB/s (from attributes: ");
    let of_memory = reached(&run.devices[0], &Quantity::MemoryBandwidth);
    assert_eq!(of_memory.len(), 3, "{:?}", run.devices[0]);
    for (peak, what) in of_memory.iter().zip(["copies, read + written", "writes", "reads"]) {
        let shown = format!("; measured: {:.0} GB/s, {what}", peak.value.0 / 1e9);
        assert!(memory.contains(&shown), "no `{shown}` in {memory}");
    }
    let tensor = line(&ended.stdout, "peak BF16 tensor 1071 TFLOP/s (from attributes: ");
    assert!(tensor.contains("; measured: at least 6"), "{tensor}");
    assert!(
        tensor.contains("TFLOP/s, mma.sync of 8.0, less than this GPU's own instructions do"),
        "{tensor}"
    );
    assert_eq!(ended.stderr, format!("kept for later runs in {}\n", file(folder.path()).display()));

    // Later runs show them, for all that they are compared with, and count by the others.
    let later = measured(folder.path(), &["claims_flops"], &[]);
    assert_eq!(impossible(&later.run), ["claims_flops[ns=8300] hot", "claims_flops[ns=8600] hot"]);
    assert_eq!(line(&later.ended.stdout, "peak DRAM"), memory);
    assert_eq!(line(&later.ended.stdout, "peak BF16 tensor"), tensor);
    line(&later.ended.stdout, "peak L2 bandwidth ");
    assert_eq!(later.run.devices[0].peaks, run.devices[0].peaks);
}

/// Of a GPU that hides its clocks, what was measured is the denominator, and never a limit.
#[test]
fn a_ceiling_counts_where_nothing_else_is_known_and_makes_nothing_impossible() {
    let (folder, hides) = (tempfile::tempdir().expect("a folder"), [("HIDES", "true")]);
    let share = |measured: &Measured| {
        let record = &measured.run.records[0];
        record.measurement.as_ref().expect("it was measured").metrics.share(&Quantity::MemoryBandwidth)
    };
    let claims = ["claims_bytes", "--cache", "cold", "--arg", "ns=1000"];
    assert_eq!(share(&measured(folder.path(), &claims, &hides)), None);
    let ceilings = measured(folder.path(), &["--measure-peaks", "::read"], &hides);
    assert_eq!((ceilings.run.records.len(), share(&ceilings)), (1, None));
    let reached =
        ceilings.run.records[0].measurement.as_ref().and_then(|measured| measured.metrics.bandwidth);
    let reached = reached.expect("it was measured").0;
    let later = measured(folder.path(), &claims, &hides);
    // 48 MB in one microsecond and a little: ten times what the memory reaches.
    let rate = later.run.records[0].measurement.as_ref().and_then(|measured| measured.metrics.bandwidth);
    let rate = rate.expect("it was measured").0;
    assert_eq!(share(&later), Some(rate / reached));
    assert!(rate > 5.0 * reached, "{rate}");
    assert_eq!(impossible(&later.run), [""; 0]);
    later
        .ended
        .with_code(0)
        .shows(&format!("peak DRAM bandwidth {:.0} GB/s (measured: reads", reached / 1e9));
}

#[test]
fn a_file_that_is_damaged_is_told_left_alone_and_written_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    _ = measured(folder.path(), &["--measure-peaks", "::read"], &[]);
    let (kept, claims) = (file(folder.path()), ["claims_flops", "--arg", "ns=9000"]);
    fs::write(&kept, "{").expect("it can be written");
    let told = measured(folder.path(), &claims, &[]);
    let note = format!(
        "{}: this is no file of measured peaks: line 1, column 1: it is cut off there",
        kept.display()
    );
    assert!(told.run.notes[0].starts_with(&note), "{:?}", told.run.notes);
    assert!(told.run.notes[0].ends_with("it is not used, and --measure-peaks writes it anew"));
    told.ended.with_code(0).shows(&note);
    assert_eq!(reached(&told.run.devices[0], &Quantity::MemoryBandwidth).len(), 0);
    let anew = measured(folder.path(), &["--measure-peaks", "::write"], &[]);
    assert!(anew.run.notes.is_empty(), "{:?}", anew.run.notes);
    let later = measured(folder.path(), &claims, &[]);
    assert_eq!(reached(&later.run.devices[0], &Quantity::MemoryBandwidth).len(), 1);
    // Another driver may reach something else.
    let updated = measured(folder.path(), &claims, &[("DRIVER", "13010")]);
    assert_eq!(reached(&updated.run.devices[0], &Quantity::MemoryBandwidth).len(), 0);
}

#[test]
fn what_a_gpu_has_no_instructions_for_is_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let turing = [("CAPABILITY", "75"), ("HIDES", "true")];
    let Measured { ended, run, .. } = measured(folder.path(), &["--measure-peaks"], &turing);
    assert_eq!((ended.code, run.records.len(), run.skipped.len()), (Some(0), 8, 5), "{ended}");
    let line = "skipped by `skip_if`: gpubench::ceilings::bf16: its instructions need compute capability 8.0";
    assert!(ended.stdout.lines().any(|shown| shown == line), "{ended}");
}

/// A ceiling benchmark that fails gives no ceiling; the others do.
#[test]
fn a_ceiling_that_fails_is_not_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let fails = [("KERNEL", "gpubench_ceiling_write:700")];
    let Measured { ended, run, .. } =
        measured(folder.path(), &["--measure-peaks", "::read", "::write"], &fails);
    assert_eq!((ended.code, run.records.len()), (Some(1), 2), "{ended}");
    let methods: Vec<&str> = run.devices[0]
        .peaks
        .iter()
        .filter(|peak| peak.source == PeakSource::Measured)
        .map(|peak| &*peak.method)
        .collect();
    assert_eq!(methods, ["reads"]);
    let kept = fs::read_to_string(file(folder.path())).expect("it is there");
    assert!(kept.contains("\"read\"") && !kept.contains("\"write\""), "{kept}");
}
