//! `cargo gpubench verify` with a stand-in for Nsight Compute, which looks at what the fake driver does. A profiler that refuses costs the
//! check and no time.

use std::path::Path;

use gpubench_records::method::Cache;
use gpubench_records::record::{Record, Run};
use gpubench_records::verdict::{Reason, State};
use gpubench_records::verification::{Counters, NcuPass};
use gpubench_stats::units::Bytes;
use protocol::fake::{Measured, verify};

const DECLARED: &str = env!("CARGO_BIN_EXE_declared");
const NCU: &str = env!("CARGO_BIN_EXE_ncu");
const READ: u64 = 64 << 20;

/// Verifies these cases where `ncu` is in the PATH and does this.
fn counted(flags: &[&str], ncu: &str) -> Measured {
    counted_with(&["--explain"], flags, ncu)
}

fn counted_with(own: &[&str], flags: &[&str], ncu: &str) -> Measured {
    let folder = Path::new(NCU).parent().expect("a folder").to_str().expect("UTF-8");
    verify(DECLARED, own, flags, &[("NCU", ncu), ("PATH", folder)])
}

fn row<'a>(run: &'a Run, name: &str, cache: Cache) -> &'a Record {
    let is = |record: &&Record| {
        record.case.benchmark.ends_with(&format!("::{name}")) && record.case.cache == cache
    };
    run.records.iter().find(is).unwrap_or_else(|| panic!("no {name} {cache}"))
}

fn pass(record: &Record) -> &NcuPass {
    let measured = record.measurement.as_ref().expect("it was measured");
    measured.verification.as_ref().and_then(|it| it.ncu.as_ref()).expect("it was counted")
}

fn counters(record: &Record) -> &Counters {
    match pass(record) {
        NcuPass::Counted(counters) => counters,
        NcuPass::Failed(why) => panic!("{why}"),
    }
}

/// Of many cases in one process each has its own counters, however the table is written.
#[test]
fn each_case_has_its_counters() {
    for ncu in ["", "unknown"] {
        let measured = counted(&["::right", "::in_two", "--cache", "both"], ncu);
        assert_eq!(measured.ended.code, Some(0), "{}", measured.ended);
        for (name, kernels) in [("right", 1), ("in_two", 2)] {
            let cold = row(&measured.run, name, Cache::Cold);
            let counted = counters(cold);
            assert_eq!((counted.launches, counted.kernels), (3, kernels), "{ncu} {name}");
            assert_eq!((counted.moved(), counted.l2_hit), (Some(Bytes(READ)), Some(0.125)), "{ncu} {name}");
            // 99 cycles of each kernel at 1.98 GHz; the usual metrics are without them.
            let executed = (ncu != "unknown").then_some(50.0 * kernels as f64);
            assert_eq!(counted.active_time.map(|time| time.0.round()), executed, "{ncu} {name}");
            assert_eq!(cold.verdict.state, State::Valid, "{:?}", cold.verdict);
            let hot = counters(row(&measured.run, name, Cache::Hot));
            assert_eq!(
                (hot.moved(), hot.l2_hit.map(|hit| (1000.0 * hit).round())),
                (Some(Bytes(0)), Some(995.0)),
                "{ncu} {name}"
            );
        }
        let shown = &measured.ended.stdout;
        let words =
            ["moved", "L2 hit", "64 MiB declared; 64 MiB read from memory and 0 B written there", "of DRAM"];
        assert!(words.iter().all(|words| shown.contains(words)), "{shown}");
        assert!(shown.contains("(3 launches; sums of 2 kernels, rates by their times)"), "{shown}");
    }
}

#[test]
fn a_declaration_that_counters_contradict_is_suspect() {
    let measured = counted(&["::twice", "::half"], "");
    assert_eq!(measured.ended.code, Some(1), "{}", measured.ended);
    for (name, factor, words) in [
        (
            "twice",
            2.0,
            "it declares 128 MiB, and 64 MiB crossed the memory's bus according to the GPU's counters: does the kernel process",
        ),
        (
            "half",
            0.5,
            "it declares 32 MiB, and 64 MiB crossed the memory's bus according to the GPU's counters: is something not declared",
        ),
    ] {
        let record = row(&measured.run, name, Cache::Cold);
        let [Reason::TrafficMismatch { declared, counted: moved, .. }] = &record.verdict.reasons[..] else {
            panic!("{:?}", record.verdict)
        };
        assert_eq!((declared.as_f64(), moved.as_f64()), (factor * READ as f64, READ as f64));
        assert_eq!(record.verdict.state, State::Suspect);
        let shown = measured.ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(words), "{shown}");
    }
}

/// One line for each refusal; rows are as without it.
#[test]
fn a_profiler_that_refuses_costs_the_check_alone() {
    for (ncu, words) in [
        ("permission", "the driver lets only administrators read the GPU's counters: run as root"),
        ("virtual", "this GPU's counters cannot be read, as in most virtual machines"),
        ("mig", "the counters of a GPU that is partitioned (MIG) cannot be read"),
        ("busy", "another profiler reads the GPU's counters"),
        ("silent", "ncu profiled nothing, and ended with exit status: 1"),
    ] {
        let measured = counted(&["::right", "--cache", "cold"], ncu);
        assert_eq!(measured.ended.code, Some(1), "{}", measured.ended);
        let record = row(&measured.run, "right", Cache::Cold);
        assert_eq!(record.verdict.state, State::Valid);
        let NcuPass::Failed(why) = pass(record) else { panic!("{ncu} counted") };
        assert!(why.contains(words), "{ncu}: {why}");
        let warned = measured
            .ended
            .stderr
            .matches("declared bytes and flops of cold results on `cuda:0` were not checked: ")
            .count();
        assert_eq!(warned, 1, "{}", measured.ended);
        assert!(measured.ended.stdout.contains("; ncu: not available: "), "{}", measured.ended);
    }
}

#[test]
fn without_ncu_rows_say_so() {
    let measured = verify(DECLARED, &[], &["::right", "--cache", "cold"], &[("PATH", "/nowhere")]);
    assert_eq!(measured.ended.code, Some(1), "{}", measured.ended);
    let NcuPass::Failed(why) = pass(row(&measured.run, "right", Cache::Cold)) else { panic!("it counted") };
    assert!(why.starts_with("ncu (Nsight Compute) is not in the PATH"), "{why}");
    assert_eq!(measured.run.records[0].verdict.state, State::Valid);
}

/// What a table does not tell is not known, and not zero.
#[test]
fn columns_may_be_missing() {
    let measured = counted(&["::right", "--cache", "cold"], "columns");
    let counted = counters(row(&measured.run, "right", Cache::Cold));
    assert!(counted.duration.is_some());
    assert_eq!((counted.moved(), counted.l2_hit, counted.registers), (None, None, None));
    assert_eq!(measured.run.records[0].verdict.state, State::Valid);
    assert!(measured.ended.stdout.contains("an unknown number read from memory"), "{}", measured.ended);
}

/// A case that was not measured is not counted, and the others are.
#[test]
fn a_case_that_fails_costs_no_other_its_counters() {
    let measured =
        counted(&["::right", "::has_no_inputs", "::half", "--cache", "cold", "--include-ignored"], "");
    assert_eq!(measured.ended.code, Some(1), "{}", measured.ended);
    for name in ["right", "half"] {
        assert_eq!(counters(row(&measured.run, name, Cache::Cold)).moved(), Some(Bytes(READ)), "{name}");
    }
    assert!(row(&measured.run, "has_no_inputs", Cache::Cold).measurement.is_none());
}

/// Nsight Compute that does not end is ended with its cases' limits.
#[test]
fn a_profiler_that_hangs_is_ended() {
    let measured = counted_with(&["--timeout", "3s"], &["::right", "--cache", "cold"], "hangs");
    let NcuPass::Failed(why) = pass(row(&measured.run, "right", Cache::Cold)) else { panic!("it counted") };
    assert_eq!(why, "ncu exceeded the time limits of its cases, and was killed");
}
