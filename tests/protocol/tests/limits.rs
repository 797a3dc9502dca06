//! The limits of an H200, on a fake whose kernels last as long as they are told: its peaks, the verdicts by them, the roof
//! that binds, and the remarks on launches that are hardly longer than an empty one. Ceilings and links have a module each.

mod ceilings;
mod links;

use end_to_end::running::SettingsFile;
use gpubench_records::device_info::{PeakSource, Quantity};
use gpubench_records::method::Cache;
use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};
use protocol::fake::{Measured, measure};

const LASTING: &str = env!("CARGO_BIN_EXE_lasting");
const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");

/// The names of the invalid cases, each too fast for what it claims.
#[track_caller]
fn impossible(run: &Run) -> Vec<String> {
    let invalid = run.records.iter().filter(|record| record.verdict.state == State::Invalid);
    let named = invalid.map(|record| {
        assert!(matches!(record.verdict.reasons[..], [Reason::ImpossibleSpeed(_)]), "{:?}", record.verdict);
        assert!(record.measurement.is_some(), "the measurement is kept");
        let name = record.case.name();
        format!("{} {}", name.trim_start_matches("lasting::"), record.case.cache)
    });
    named.collect()
}

/// In a launch's favour are a step of the clock and, behind a flush that is proven, the 0.3 µs that the two methods may differ by.
#[test]
fn bytes_that_cannot_have_crossed_the_memory_are_impossible() {
    let quick = ["--quick", "claims_bytes", "--color", "never"];
    let measured = measure(LASTING, &quick, &[]);
    assert_eq!(impossible(&measured.run), ["claims_bytes[ns=8300] cold", "claims_bytes[ns=9600] cold"]);
    let ended = measured.ended.with_code(1);
    ended.shows("which takes 10.00 µs at its peak of 4814 GB/s");
    ended.shows_against("lasting::claims_bytes[ns=8300] cold", "invalid: impossible: ");
    // 48 MB fit the L2, and a flush that does nothing leaves them there.
    let unflushed = measure(LASTING, &[&quick[..], &["--flush", "none"]].concat(), &[]);
    assert_eq!(impossible(&unflushed.run), [""; 0]);
    // The user knows better, and is believed.
    let peak = SettingsFile::peak("cuda:0", "memory=4700GB/s");
    let slower = measure(LASTING, &quick, &[peak.variable()]);
    assert_eq!(impossible(&slower.run).len(), 3);
}

/// All of it might be writes, which the L2 holds; another launch on other memory shows that none is.
#[test]
fn twice_the_bytes_of_a_cold_read_are_impossible() {
    let Measured { ended, run, .. } = measure(LASTING, &["--quick", "claims_twice", "--color", "never"], &[]);
    let [hot, cold] = &run.records[..] else { panic!("{ended}") };
    assert!(matches!(hot.verdict.reasons[..], [Reason::NothingWritten { .. }]), "{:?}", hot.verdict);
    let [Reason::ImpossibleSpeed(speed), Reason::NothingWritten { .. }] = &cold.verdict.reasons[..] else {
        panic!("{:?}", cold.verdict)
    };
    assert_eq!((&speed.quantity, speed.work), (&Quantity::MemoryBandwidth, 32 << 20));
    let share = cold.measurement.as_ref().and_then(|it| it.metrics.share(&Quantity::MemoryBandwidth));
    assert!(share.is_some_and(|share| (1.3..1.5).contains(&share)), "{share:?}");
    _ = ended.with_code(1);
}

/// A published row: a copy of 128 MiB in 2.56 µs. It is shown, and nobody takes it for a speed.
#[test]
fn a_kernel_copy_that_never_ran_is_invalid() {
    let Measured { ended, run, .. } = measure(LASTING, &["--quick", "kernel_copy", "--color", "never"], &[]);
    assert_eq!(run.records.len(), 2);
    let [never, ran] = &run.records[..] else { panic!("{ended}") };
    assert_eq!(
        (never.case.name(), never.verdict.state),
        ("lasting::kernel_copy[runs=false]".to_owned(), State::Invalid)
    );
    let measurement = never.measurement.as_ref().expect("the measurement is kept");
    assert!((measurement.median().0 - 2_560.0).abs() < 4.0, "{:?}", measurement.samples.time);
    let [Reason::ImpossibleSpeed(speed), Reason::NothingWritten { .. }] = &never.verdict.reasons[..] else {
        panic!("{:?}", never.verdict)
    };
    // 60 MiB of each array may have been in the L2.
    assert_eq!((&speed.quantity, speed.work), (&Quantity::MemoryBandwidth, 136 << 20));
    // The same claim by one that runs.
    assert_eq!((ran.verdict.state, &ran.verdict.reasons[..]), (State::Valid, &[][..]));
    let ended = ended.with_code(1);
    ended.shows_against(
        "lasting::kernel_copy[runs=false] hot",
        "invalid: impossible: at least 136 MiB of the declared bytes have to cross the memory's bus",
    );
    ended.shows(
        "which takes 29.62 µs at its peak of 4814 GB/s, but the launch took 2.560 µs, too little even with the timer's errors: did the kernel run",
    );
    ended.shows_against(
        "lasting::kernel_copy[runs=false] hot",
        "suspect: outputs never written: it declares 128 MiB written",
    );
    let row = ended.stdout.lines().find(|line| line.contains("[runs=false]")).expect("its row");
    assert!(
        row.starts_with("! ")
            && row.contains("2.560 µs")
            && row.contains("104854")
            && row.trim_end().ends_with("fake [1][2]"),
        "{row}"
    );
    ended.shows("2 results: 1 valid, 0 suspect, 1 invalid");
}

/// A clock may be a quarter above what the driver tells.
#[test]
fn operations_that_cannot_have_been_done_are_impossible() {
    let measured = measure(LASTING, &["--quick", "claims_flops", "--color", "never"], &[]);
    assert_eq!(impossible(&measured.run), ["claims_flops[ns=8300] hot", "claims_flops[ns=8600] hot"]);
    let ended = measured.ended.with_code(1);
    ended.shows("take 12.50 µs at the BF16 tensor peak of 1071 TFLOP/s, but the launch took");
    ended.shows(
        "peak BF16 tensor 1071 TFLOP/s (from attributes: multiprocessors × 2048 FMA × 2 × clock; \
         from the datasheet: 989 TFLOP/s, ",
    );
    // Of what no row is compared with, nothing is said.
    assert!(!ended.stdout.contains("peak FP32"), "{ended}");
    let info = &measured.run.devices[0];
    let f32_peak = info.peak(&Quantity::Compute("f32".to_owned())).expect("it is known all the same");
    assert_eq!((f32_peak.value.0, f32_peak.source), (2.0 * 128.0 * 132.0 * 1.98e9, PeakSource::Attribute));
}

/// 0.17 operations a byte, on a GPU that has 66.9 TFLOP/s for 4.8 TB/s.
#[test]
fn the_roof_and_launches_that_are_hardly_more_are_explained() {
    let arguments = ["--quick", "--explain", "--color", "never", "cuda::saxpy", "--arg", "n=16384,4194304"];
    let Measured { ended, run, .. } = measure(KERNELS, &arguments, &[]);
    let ended = ended.with_code(0);
    let lines = |words: &str| ended.stdout.lines().filter(|line| line.contains(words)).count();
    let binds =
        "the roof is DRAM: 0.17 flop/byte is below the ridge point of 13.9 flop/byte between DRAM and FP32; ";
    // One is launch-bound, and one is faster than the memory.
    assert_eq!((lines(binds), run.records.len()), (2, 4), "{ended}");
    assert_eq!(lines("L2 serves the data, faster than memory can; the peak of L2 is unknown"), 1, "{ended}");
    let cold = run.records.iter().filter(|record| record.case.cache == Cache::Cold);
    for record in cold {
        let metrics = &record.measurement.as_ref().expect("it was measured").metrics;
        let roof = metrics.roofline.as_ref().expect("both peaks are known");
        assert_eq!(Some(roof.fraction), metrics.share(&Quantity::MemoryBandwidth));
        assert_eq!(metrics.arithmetic_intensity, Some(1.0 / 6.0));
    }
    // Of 64 KiB an array, hot; not cold, and not of 16 MiB. It is said of valid rows.
    assert_eq!(lines("launch-bound: on the device, an empty launch takes 550.0 ns, 59."), 1, "{ended}");
    assert!(run.records.iter().all(|record| record.verdict.state == State::Valid), "{ended}");
}
