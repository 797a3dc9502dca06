//! The benchmarks of gpubench's own kernels on the fake: every case is measured and checked, twice the same, and marked.

use protocol::fake::measure;
use serde_json::Value;

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");

/// The arrays of 256 MiB and more, most of whose time is the check.
const LARGE: [&str; 4] = ["n=33554432", "n=67108864", "n=134217728", "n=268435456"];

/// What changes from run to run, or from machine to machine.
fn without_time(run: &str) -> Value {
    let mut run: Value = serde_json::from_str(run).expect("JSON");
    let fields = run.as_object_mut().expect("a run");
    for name in ["started", "wall", "program"] {
        assert!(fields.remove(name).is_some(), "a run has {name}");
    }
    run
}

#[test]
fn every_case_is_measured_and_marked_as_fake() {
    let measured = measure(KERNELS, &["--quick"], &[]);
    let (ended, run) = (measured.ended.with_code(0), measured.run);
    assert_eq!(run.records.len(), 73);
    for record in &run.records {
        let measurement = record.measurement.as_ref().unwrap_or_else(|| panic!("{record:?}"));
        assert!(record.fake && record.device == "cuda:0", "{}", record.name());
        assert_eq!(measurement.checked, !record.benchmark.ends_with("::empty"), "{}", record.name());
        assert!(measurement.converged, "{}", record.name());
    }
    assert!(run.devices[0].fake);
    ended.shows("cuda:0: NVIDIA H200");
    ended.shows("FAKE");
}

#[test]
fn two_runs_are_the_same_to_the_last_byte() {
    let mut arguments = vec!["--quick"];
    arguments.extend(LARGE.iter().flat_map(|large| ["--skip", large]));
    let [first, second] = [0, 1].map(|_| measure(KERNELS, &arguments, &[]));
    assert_eq!(first.run.records.len(), 49);
    let (first, second) = (without_time(&first.text), without_time(&second.text));
    assert_eq!(first.to_string(), second.to_string());
}

/// Noise is no exception: it comes from a seed.
#[test]
fn noise_is_the_same_for_a_seed_and_another_for_another() {
    let noisy = |seed| {
        let arguments = ["--quick", "sum", "--arg", "n=262144"];
        without_time(&measure(KERNELS, &arguments, &[("NOISE", "0.05"), ("SEED", seed)]).text).to_string()
    };
    let first = noisy("1");
    assert_eq!(first, noisy("1"));
    assert_ne!(first, noisy("2"));
}
