//! Times checked by CUPTI: the fake's, which traces what the fake driver does. Whatever is wrong with it costs the check and no row.

use gpubench_records::certificate::{CuptiPass, CuptiTimes};
use gpubench_records::method::{Cache, Path};
use gpubench_records::record::Record;
use gpubench_records::verdict::{Reason, State};
use protocol::fake::{Measured, library, measure};

const LAUNCHES: &str = env!("CARGO_BIN_EXE_launches");
const STALLS: &str = env!("CARGO_BIN_EXE_stalls");

/// Runs with the fake's CUPTI, which has these faults.
fn verified(program: &str, arguments: &[&str], asked: &[(&str, &str)]) -> Measured {
    let library = library().to_str().expect("UTF-8");
    measure(program, &[arguments, &["--verify", "cupti", "--cupti", library]].concat(), asked)
}

fn pass(record: &Record) -> &CuptiPass {
    let measured = record.measurement.as_ref().expect("it was measured");
    measured.verification.as_ref().and_then(|it| it.cupti.as_ref()).expect("it was verified")
}

fn traced(record: &Record) -> &CuptiTimes {
    match pass(record) {
        CuptiPass::Traced(times) => times,
        CuptiPass::Failed(why) => panic!("{why}"),
    }
}

fn median(record: &Record) -> f64 {
    record.measurement.as_ref().expect("it was measured").median().0
}

/// Hot and cold, of one kernel or several, on one stream or two: CUPTI's time is the row's, and tracing is in no sample. The fake's events
/// read 400 ns more in a process that was traced.
#[test]
fn cupti_agrees_with_rows_that_are_right() {
    let arguments = ["::kernels", "--cache", "both"];
    let with = verified(LAUNCHES, &arguments, &[]);
    let without = measure(LAUNCHES, &arguments, &[]);
    assert_eq!(with.run.records.len(), 6);
    for (record, other) in with.run.records.iter().zip(&without.run.records) {
        assert_eq!(record.verdict.state, State::Valid, "{:?}", record.verdict);
        // Groups are as many as this machine has time for.
        assert!((median(record) - median(other)).abs() < 5.0, "{} and {}", median(record), median(other));
        let times = traced(record);
        let kernels: usize = record.case.args[0].value.parse().expect("a number");
        assert_eq!((times.piece_count, times.pieces.len(), times.streams), (kernels, kernels, 1));
        assert!(times.pieces.iter().all(|piece| piece.name == "lasts" && (piece.time.0 - 40e3).abs() < 2.0));
        assert_eq!(times.time.samples, 64);
        let samples = &record.measurement.as_ref().expect("it was measured").samples;
        let difference = times.difference(samples);
        assert!(
            difference.by.0.abs() < 40.0 && difference.half_width.0 < 0.005 * times.time.median.0,
            "{difference:?}"
        );
        assert_eq!(difference.agrees(), Some(true));
    }
    let line = with.ended;
    assert!(!line.stdout.contains("CUPTI"), "{line}");
}

/// From the first begin to the last end, whichever stream that was on.
#[test]
fn work_on_other_streams_is_part_of_a_launch() {
    let measured = verified(LAUNCHES, &["::forks_and_joins"], &[]);
    let times = traced(&measured.run.records[0]);
    assert_eq!((times.piece_count, times.streams), (2, 2));
    // Both last 40 µs, and the second begins a little later.
    assert!((40e3..44e3).contains(&times.time.median.0), "{times:?}");
    assert!(times.gaps.0 < 1.0, "{times:?}");
}

/// A graph that the launch starts has a start of its own, which is no piece: the difference is told and not judged.
#[test]
fn rows_of_the_stream_path_are_not_judged() {
    let measured = verified(LAUNCHES, &["::graph_of_its_own", "--explain"], &[]);
    let record = &measured.run.records[0];
    let samples = &record.measurement.as_ref().expect("it was measured").samples;
    assert_eq!(samples.method.path, Path::Stream);
    let difference = traced(record).difference(samples);
    assert!(difference.by.0 > 1000.0 && difference.allowed.is_none(), "{difference:?}");
    assert_eq!(record.verdict.state, State::Valid);
    assert!(measured.ended.stdout.contains("CUPTI 80.00 µs, not judged (+"), "{}", measured.ended);
}

/// 600 ns by which kernels of 40 µs end later are more than a clock may be off.
#[test]
fn a_row_that_cupti_contradicts_is_suspect() {
    let measured =
        verified(LAUNCHES, &["::kernels", "--arg", "KERNELS=1", "--explain"], &[("CUPTI", "late:600")]);
    let record = &measured.run.records[0];
    let [reason @ Reason::CuptiDisagrees { time, cupti, .. }] = &record.verdict.reasons[..] else {
        panic!("{:?}", record.verdict)
    };
    assert!((cupti.0 - time.0 - 600.0).abs() < 40.0, "{reason:?}");
    assert_eq!(record.verdict.state, State::Suspect);
    let shown = &measured.ended.stdout;
    assert!(shown.contains("CUPTI disagrees: 40.00 µs by events, 40.60 µs by CUPTI's trace"), "{shown}");
    assert!(shown.contains("; CUPTI 40.60 µs, disagrees (−60"), "{shown}");
    // 300 ns are not.
    let measured = verified(LAUNCHES, &["::kernels", "--arg", "KERNELS=1"], &[("CUPTI", "late:300")]);
    assert_eq!(measured.run.records[0].verdict.state, State::Valid);
}

/// Kernels that take 6 % longer while CUPTI traces: events on the stream see them take longer too, so that the row is right.
#[test]
fn a_launch_that_tracing_slows_is_no_wrong_row() {
    let arguments = ["::kernels", "--arg", "KERNELS=1,2", "--cache", "both", "--explain"];
    let measured = verified(LAUNCHES, &arguments, &[("CUPTI", "slows:6")]);
    assert_eq!(measured.run.records.len(), 4);
    for record in &measured.run.records {
        let samples = &record.measurement.as_ref().expect("it was measured").samples;
        let (times, kernels) = (traced(record), record.case.args[0].value.parse::<f64>().expect("a number"));
        let slowed = times.slowed.expect("it was measured").0;
        assert!((slowed - kernels * 2400.0).abs() < 40.0, "{slowed}");
        let difference = times.difference(samples);
        assert!(difference.agrees() == Some(false) && difference.is_by_tracing(), "{difference:?}");
        assert_eq!(record.verdict.state, State::Valid, "{:?}", record.verdict);
    }
    for words in ["agrees but for 2.400 µs ± ", ", by which tracing slows the launch (−2.4"] {
        assert!(measured.ended.stdout.contains(words), "{}", measured.ended);
    }
    // An error of CUPTI's own beside it is none of tracing's.
    let measured = verified(LAUNCHES, &arguments, &[("CUPTI", "slows:6,late:2000")]);
    assert!(measured.run.records.iter().all(|record| record.verdict.state == State::Suspect));
}

/// Each fault of CUPTI is told in the certificate. The row is what it would be without the check.
#[test]
fn a_fault_of_cupti_costs_the_check_alone() {
    let usual = measure(LAUNCHES, &["::kernels", "--arg", "KERNELS=2"], &[]);
    for (fault, words) in [
        ("lost", "launches have 1 to 2 records, and 2 pieces were enqueued: records are missing or doubled"),
        ("twice", "launches have 2 to 3 records, and 2 pieces were enqueued: records are missing or doubled"),
        ("zero", "a record of lasts has no time: begin 0, end 0"),
        ("order", "a record of lasts has no time: begin "),
        ("garbled", "CUPTI handed out records that cannot be read"),
        ("dropped:7", "CUPTI dropped 7 records"),
        ("version:12", "has version 12, and 13 is needed (CUDA 11.0): name another by --cupti"),
        (
            "refuses:35",
            "returned 35 (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES): the driver lets only administrators trace",
        ),
        (
            "refuses:39",
            "returned 39 (CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED): another tool traces this program",
        ),
        ("dies", "the process was ended by signal SIGABRT"),
    ] {
        let measured =
            verified(LAUNCHES, &["::kernels", "--arg", "KERNELS=2", "--explain"], &[("CUPTI", fault)]);
        let record = &measured.run.records[0];
        let off = median(record) - median(&usual.run.records[0]);
        assert!(
            off.abs() < 5.0 && record.verdict.state == State::Valid,
            "{fault}: {off} ns, {:?}",
            record.verdict
        );
        let CuptiPass::Failed(why) = pass(record) else { panic!("{fault} was not seen") };
        assert!(why.contains(words), "{fault}: {why}");
        assert!(measured.ended.stdout.contains("; CUPTI: not available: "), "{fault}: {}", measured.ended);
        _ = measured.ended.with_code(0);
    }
}

#[test]
fn a_library_that_is_none_costs_the_check_alone() {
    for (library, words) in [
        ("/nowhere/libcupti.so", "/nowhere/libcupti.so cannot be opened ("),
        ("libc.so.6", "libc.so.6 has no cuptiGetVersion, so it is not CUPTI"),
    ] {
        let arguments = ["::kernels", "--arg", "KERNELS=1", "--verify", "cupti", "--cupti", library];
        let measured = measure(LAUNCHES, &arguments, &[]);
        let record = &measured.run.records[0];
        let CuptiPass::Failed(why) = pass(record) else { panic!("{library} is CUPTI") };
        assert!(why.contains(words), "{why}");
        assert_eq!(record.verdict.state, State::Valid);
    }
}

/// Samples by CUPTI: the same times, with nothing taken off, and the memory's stall in them.
#[test]
fn cupti_is_a_path() {
    let library = library().to_str().expect("UTF-8");
    let arguments = ["::reads", "--arg", "bytes=55574528", "--cache", "both", "--precision", "0.2%"];
    let asked = [("STALL", "1400@100190"), ("NOISE", "0.002")];
    let by_cupti = measure(
        STALLS,
        &[&arguments[..], &["--path", "cupti", "--cupti", library, "--explain"]].concat(),
        &asked,
    );
    let by_events = measure(STALLS, &arguments, &asked);
    for (record, other) in by_cupti.run.records.iter().zip(&by_events.run.records) {
        let samples = &record.measurement.as_ref().expect("it was measured").samples;
        assert_eq!((samples.method.path, samples.timer.overhead.0), (Path::Cupti, 0.0));
        assert!(
            (median(record) / median(other) - 1.0).abs() < 0.01,
            "{} and {}",
            median(record),
            median(other)
        );
        assert_eq!(samples.stall.is_some(), record.case.cache == Cache::Cold);
    }
    let shown = &by_cupti.ended.stdout;
    assert!(shown.contains(" by CUPTI; its stamps step by 1.000 ns"), "{shown}");
}

/// The clocks of two paths are not compared.
#[test]
fn times_of_cupti_are_not_compared_with_those_of_events() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("events.json");
    let (file, library) = (file.to_str().expect("UTF-8"), library().to_str().expect("UTF-8"));
    let case = ["::kernels", "--arg", "KERNELS=1"];
    _ = measure(LAUNCHES, &[&case[..], &["--save-baseline", file]].concat(), &[]);
    let against = ["--baseline", file, "--path", "cupti", "--cupti", library];
    let measured = measure(LAUNCHES, &[&case[..], &against].concat(), &[]);
    assert!(measured.ended.stdout.contains("not comparable"), "{}", measured.ended);
    assert!(measured.ended.stdout.contains("path"), "{}", measured.ended);
}

/// A path that cannot be had is the row's failure, and not another path.
#[test]
fn without_cupti_its_path_fails() {
    let arguments = ["::kernels", "--arg", "KERNELS=1", "--path", "cupti", "--cupti", "/nowhere/libcupti.so"];
    let measured = measure(LAUNCHES, &arguments, &[]);
    let [Reason::Failed(failure)] = &measured.run.records[0].verdict.reasons[..] else {
        panic!("{:?}", measured.run.records)
    };
    assert!(failure.message.contains("/nowhere/libcupti.so cannot be opened"), "{failure}");
}
