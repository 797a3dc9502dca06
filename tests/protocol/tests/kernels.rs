//! The benchmarks of gpubench's own kernels on the fake: every case is measured and checked, twice the same, and marked.

use gpubench_records::record::Run;
use protocol::fake::{Measured, measure};
use serde_json::Value;

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");

/// The benchmarks on arrays of 256 MiB and 1 GiB, most of whose time is the check, with their numbers of elements.
const LARGE: [(&str, [&str; 2]); 6] = [
    ("copy", ["n=67108864]", "n=268435456]"]),
    ("fill", ["n=67108864]", "n=268435456]"]),
    ("rmw", ["n=67108864]", "n=268435456]"]),
    ("saxpy", ["n=67108864]", "n=268435456]"]),
    ("sum", ["n=67108864]", "n=268435456]"]),
    ("vector_add", ["n=33554432]", "n=134217728]"]),
];

/// Compute-bound kernels: their checks take long, and their few launches do not converge in so short a time.
const COMPUTING: [&str; 4] = ["--skip", "matmul::", "--skip", "nbody::"];

/// The run without fields that change from run to run, or from machine to machine.
fn without_time(run: &str) -> Value {
    let mut run: Value = serde_json::from_str(run).expect("JSON");
    let fields = run.as_object_mut().expect("a run");
    for name in ["started", "wall_time", "program", "environment"] {
        assert!(fields.remove(name).is_some(), "a run has {name}");
    }
    for record in fields["records"].as_array_mut().expect("records") {
        let measurement = record["measurement"].as_object_mut();
        let Some(measurement) = measurement else { continue };
        assert!(measurement.remove("wall_time").is_some(), "a measurement has a wall time");
        for name in ["host_call_time", "call_time"] {
            assert!(measurement.remove(name).is_some(), "a call takes some time: {name}");
        }
        let launch = measurement["launch"].as_object_mut().expect("facts of a launch");
        assert!(launch.remove("first_launch_time").is_some(), "the first launch takes some time");
        for group in measurement["device_clock"]["over_time"].as_array_mut().expect("clocks over time") {
            assert!(group.as_object_mut().expect("a clock").remove("at").is_some(), "a clock has a time");
        }
    }
    run
}

#[track_caller]
fn all_are_measured_and_marked(run: &Run, cases: usize) {
    assert_eq!(run.records.len(), cases);
    assert!(run.devices[0].fake);
    for record in &run.records {
        let measurement = record.measurement.as_ref().unwrap_or_else(|| panic!("{record:?}"));
        assert!(record.fake && record.device == "cuda:0", "{}", record.case.name());
        assert_eq!(
            measurement.checked,
            !record.case.benchmark.ends_with("::empty"),
            "{}",
            record.case.name()
        );
        assert!(measurement.samples.converged, "{}", record.case.name());
    }
}

#[test]
fn every_small_case_is_measured_twice_the_same_to_the_last_byte() {
    // Elements of a plane come from afar, and bytes of a transfer from the host: those are for a test of their own. Those that
    // draw much take the longest to check; the sensors' tests have them, with less to do.
    let mut arguments =
        [&["--quick", "--skip", "cuda::plane,cuda::transfers,cuda::power"], &COMPUTING[..]].concat();
    arguments.extend(LARGE.iter().flat_map(|(_, [large, larger])| ["--skip", large, "--skip", larger]));
    let [first, second] = [0, 1].map(|_| measure(KERNELS, &arguments, &[]));
    all_are_measured_and_marked(&first.run, 61);
    assert_eq!(without_time(&first.text).to_string(), without_time(&second.text).to_string());
    let Measured { ended, .. } = first;
    let ended = ended.with_code(0);
    ended.shows("cuda:0: NVIDIA H200");
    ended.shows("FAKE");
}

/// Those of a gigabyte take seconds to check, so that one kernel of each kind stands for them.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn large_cases_are_measured() {
    for (benchmark, [large, larger]) in LARGE {
        let stands_for_all = ["copy", "sum"].contains(&benchmark);
        for n in [Some(large), stands_for_all.then_some(larger)].into_iter().flatten() {
            let case = format!("cuda::{benchmark}[{n}");
            all_are_measured_and_marked(&measure(KERNELS, &["--quick", &case], &[]).run, 2);
        }
    }
}

#[test]
fn planes_and_transfers_are_measured() {
    let sizes = ["--arg", "n=256", "--arg", "bytes=262144", "--arg", "up=262144", "--arg", "down=131072"];
    let measured =
        measure(KERNELS, &[&["--quick", "cuda::plane", "cuda::transfers"], &sizes[..]].concat(), &[]);
    all_are_measured_and_marked(&measured.run, 6 + 10);
    // Copies from pageable memory are no part of a graph, and pages cannot be sent back within one.
    for record in &measured.run.records {
        let reason = record.measurement.as_ref().and_then(|it| it.samples.method.path_reason.as_deref());
        let words = match record.case.name() {
            name if name.contains("memory=pageable") => {
                Some("the launch copies from or to pageable host memory")
            }
            name if name.contains("memory=managed") || name.contains("::unified[") => {
                Some("the reset cannot be captured")
            }
            _ => None,
        };
        assert_eq!(reason.is_some(), words.is_some(), "{}: {reason:?}", record.case.name());
        assert!(
            reason.unwrap_or_default().starts_with(words.unwrap_or_default()),
            "{}: {reason:?}",
            record.case.name()
        );
    }
}

#[test]
fn warm_ups_and_samples_are_as_many_as_are_asked_for() {
    let arguments = ["cuda::fill", "--arg", "n=4096", "--warmup", "70", "--samples", "9"];
    let measured = measure(KERNELS, &arguments, &[]);
    for record in &measured.run.records {
        let measurement = record.measurement.as_ref().unwrap_or_else(|| panic!("{record:?}"));
        assert_eq!(
            (measurement.samples.warm_up.launches, measurement.samples.event_times.len()),
            (70, 9),
            "{}",
            record.case.name()
        );
    }
}

#[test]
#[ignore = "slow: .ci/release runs it"]
fn what_computes_is_measured_and_checked() {
    let arguments = ["matmul::", "nbody::", "--samples", "3", "--warmup", "0"];
    let Measured { ended, run, .. } = measure(KERNELS, &arguments, &[]);
    all_are_measured_and_marked(&run, 13);
    // Arithmetic limits them, so that the table has a share of its peak too: on the fake 39.5 of 66.9 TFLOP/s.
    ended.shows("% of peak");
    let row = ended.stdout.lines().find(|line| line.contains("registers[n=4096] "));
    assert!(row.is_some_and(|row| row.contains("59.0  FP32")), "{row:?}");
    let counts = |name: &str| {
        let record = run.records.iter().find(|record| record.case.name().ends_with(name)).expect(name);
        let measurement = record.measurement.as_ref().expect("it was measured");
        (measurement.data_type.as_str(), measurement.counts.flops, measurement.counts.items)
    };
    assert_eq!(counts("matmul::registers[n=4096]"), ("f32", Some(2 * 4096_u64.pow(3)), None));
    assert_eq!(counts("matmul::tensor[n=4096]"), ("bf16 tensor", Some(2 * 4096_u64.pow(3)), None));
    let pairs = 65_536_u64.pow(2);
    assert_eq!(counts("nbody::gravity[n=65536]"), ("f32", Some(20 * pairs), Some(pairs)));
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
