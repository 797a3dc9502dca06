//! What an H200 cannot do, on a fake whose kernels last as long as they are told: its peaks, and the verdicts by them.

use gpubench_runtime::device::{PeakSource, Quantity};
use gpubench_runtime::record::Run;
use gpubench_runtime::verdict::{Reason, State};
use protocol::fake::measure;

const LASTING: &str = env!("CARGO_BIN_EXE_lasting");

/// The names of the invalid cases, each too fast for what it claims.
#[track_caller]
fn impossible(run: &Run) -> Vec<String> {
    let invalid = run.records.iter().filter(|record| record.verdict.state == State::Invalid);
    let named = invalid.map(|record| {
        assert!(matches!(record.verdict.reasons[..], [Reason::ImpossibleSpeed(_)]), "{:?}", record.verdict);
        assert!(record.measurement.is_some(), "the measurement is kept");
        let name = record.name();
        format!("{} {}", name.trim_start_matches("lasting::"), record.cache)
    });
    named.collect()
}

/// A pair around it reads 9.84 µs or 10.14: the overhead is in its favour, and so is a step of the clock.
#[test]
fn bytes_that_cannot_have_crossed_the_memory_are_impossible() {
    let quick = ["--quick", "claims_bytes", "--color", "never"];
    let measured = measure(LASTING, &quick, &[]);
    assert_eq!(impossible(&measured.run), ["claims_bytes[ns=8300] cold"]);
    let ended = measured.ended.with_code(1);
    ended.shows("at its peak of 4814 GB/s that takes 10.00 µs: did the kernel run?");
    ended.shows("fake, invalid");
    // 48 MB fit the L2, and a flush that does nothing leaves them there.
    let unflushed = measure(LASTING, &[&quick[..], &["--flush", "none"]].concat(), &[]);
    assert_eq!(impossible(&unflushed.run), [""; 0]);
    // The user knows better, and is believed.
    let slower = measure(LASTING, &[&quick[..], &["--peak", "memory=4700GB/s"]].concat(), &[]);
    assert_eq!(impossible(&slower.run), ["claims_bytes[ns=8300] cold", "claims_bytes[ns=8600] cold"]);
}

/// A clock may be a quarter above what the driver tells.
#[test]
fn operations_that_cannot_have_been_done_are_impossible() {
    let measured = measure(LASTING, &["--quick", "claims_flops", "--color", "never"], &[]);
    assert_eq!(impossible(&measured.run), ["claims_flops[ns=8300] hot"]);
    let ended = measured.ended.with_code(1);
    ended.shows(
        "at the bf16 tensor peak of 1071 TFLOP/s that takes 12.50 µs: did the kernel run, and in this",
    );
    ended.shows(
        "  peak bf16 tensor 1071 TFLOP/s (from attributes: multiprocessors × 2048 FMA × 2 × clock; \
         from the datasheet: 989 TFLOP/s)",
    );
    // Of what no row is held against, nothing is said.
    assert!(!ended.stdout.contains("peak f32"), "{ended}");
    let facts = &measured.run.devices[0];
    let f32_peak = facts.peak(&Quantity::Compute("f32".to_owned())).expect("it is known all the same");
    assert_eq!((f32_peak.value, f32_peak.source), (2.0 * 128.0 * 132.0 * 1.98e9, PeakSource::Attribute));
}
