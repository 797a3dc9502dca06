//! Times checked by CUPTI: the fake's, which traces what the fake driver does. Whatever is wrong with it costs the check and no row.

use gpubench_records::method::Path;
use gpubench_records::record::Record;
use gpubench_records::verdict::{Reason, State};
use gpubench_records::verification::{CuptiPass, CuptiTimes};
use protocol::fake::{Measured, library, measure};

const LAUNCHES: &str = env!("CARGO_BIN_EXE_launches");

/// Runs with the fake's CUPTI, which has these faults.
fn verified(program: &str, arguments: &[&str], asked: &[(&str, &str)]) -> Measured {
    let library = library().to_str().expect("UTF-8");
    measure(
        program,
        &[arguments, &["--verify", "cupti"]].concat(),
        &[asked, &[("GPUBENCH_CUPTI", library)]].concat(),
    )
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
        assert_eq!((times.activity_count, times.activities.len(), times.streams), (kernels, kernels, 1));
        assert!(
            times.activities.iter().all(|piece| piece.name == "lasts" && (piece.time.0 - 40e3).abs() < 2.0)
        );
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
    assert_eq!((times.activity_count, times.streams), (2, 2));
    // Both last 40 µs, and the second begins a little later.
    assert!((40e3..44e3).contains(&times.time.median.0), "{times:?}");
    assert!(times.gaps.0 < 1.0, "{times:?}");
}

/// A graph that is launched on the stream has a start of its own, which is no piece: the difference is reported and not judged.
#[test]
fn rows_of_the_stream_path_are_not_judged() {
    let measured = verified(LAUNCHES, &["::graph_of_its_own", "--explain", "--path", "stream"], &[]);
    let record = &measured.run.records[0];
    let samples = &record.measurement.as_ref().expect("it was measured").samples;
    assert_eq!(samples.method.path, Path::Stream);
    let difference = traced(record).difference(samples);
    assert!(difference.by.0 > 1000.0 && difference.allowed.is_none(), "{difference:?}");
    assert_eq!(record.verdict.state, State::Valid);
    for words in ["CUPTI 80.00 µs, which includes ", ", not judged (+"] {
        assert!(measured.ended.stdout.contains(words), "{}", measured.ended);
    }
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
    let words = "CUPTI disagrees: the samples give 40.00 µs, and CUPTI's trace of later launches gives 40.60 µs, which includes ";
    assert!(shown.contains(words), "{shown}");
    assert!(shown.contains("; CUPTI 40.60 µs, which includes "), "{shown}");
    assert!(shown.contains(", disagrees (−60") || shown.contains(", disagrees (−59"), "{shown}");
    // 300 ns are not.
    let measured = verified(LAUNCHES, &["::kernels", "--arg", "KERNELS=1"], &[("CUPTI", "late:300")]);
    assert_eq!(measured.run.records[0].verdict.state, State::Valid);
}

/// Kernels take 6 or 12 % longer while CUPTI traces. Events on the stream measure that, and the rest of CUPTI's time is the row's.
#[test]
fn a_launch_that_tracing_slows_is_no_wrong_row() {
    let arguments = ["::kernels", "--arg", "KERNELS=1,2", "--cache", "both", "--explain"];
    for percent in [6, 12] {
        let measured = verified(LAUNCHES, &arguments, &[("CUPTI", &format!("slows:{percent}"))]);
        assert_eq!(measured.run.records.len(), 4);
        for record in &measured.run.records {
            let samples = &record.measurement.as_ref().expect("it was measured").samples;
            let (times, kernels) =
                (traced(record), record.case.args[0].value.parse::<f64>().expect("a number"));
            let slowdown = times.slowdown().expect("it was measured");
            let off = slowdown.by.0 - kernels * 400.0 * f64::from(percent);
            assert!(
                off.abs() <= slowdown.half_width.0 && slowdown.half_width.0 < 60.0,
                "{off}: {slowdown:?}"
            );
            let difference = times.difference(samples);
            assert!(
                difference.by.0.abs() < 100.0 && difference.agrees() == Some(true),
                "{:?}: {difference:?}",
                record.case
            );
            assert!((difference.other - slowdown.by - samples.time.median + difference.by).0.abs() < 100.0);
            assert_eq!(record.verdict.state, State::Valid, "{:?}", record.verdict);
        }
        let [cupti, of_which] = if percent == 6 { ["42.40", "2.400"] } else { ["44.80", "4.800"] };
        let words = format!("; CUPTI {cupti} µs, which includes {of_which} µs ± ");
        assert!(measured.ended.stdout.contains(&words), "{}", measured.ended);
        // One operation has no share. Each of two has half, tracing included.
        let words = format!("1 operation on 1 stream: lasts {cupti} µs; mean {cupti} µs, median ");
        assert!(measured.ended.stdout.contains(&words), "{}", measured.ended);
        let words = format!(
            "2 operations on 1 stream: lasts {cupti} µs (50.0 %), lasts {cupti} µs (50.0 %), tracing included; "
        );
        assert!(measured.ended.stdout.contains(&words), "{}", measured.ended);
        let words = format!("median {cupti} µs, which includes {of_which} µs ± ");
        assert!(measured.ended.stdout.contains(&words), "{}", measured.ended);
    }
}

/// In half of the groups events read 1 µs more, whatever is launched. That is no slowdown.
#[test]
fn a_shift_of_a_group_is_no_slowdown() {
    let arguments = ["::kernels", "--arg", "KERNELS=1", "--cache", "both"];
    for percent in [0, 6] {
        let faults = [("CUPTI", &*format!("slows:{percent}")), ("GROUPS", "1000")];
        let measured = verified(LAUNCHES, &arguments, &faults);
        for record in &measured.run.records {
            let slowdown = traced(record).slowdown().expect("it was measured");
            let off = slowdown.by.0 - 400.0 * f64::from(percent);
            assert!(
                off.abs() <= slowdown.half_width.0 && slowdown.half_width.0 < 60.0,
                "{off}: {slowdown:?}"
            );
            assert_eq!(record.verdict.state, State::Valid, "{:?}", record.verdict);
        }
    }
}

/// Stamps that are wrong stay wrong after subtraction of the slowdown, which is zero or not.
#[test]
fn a_slowdown_does_not_explain_stamps_that_are_late() {
    let arguments = ["::kernels", "--arg", "KERNELS=1", "--cache", "both", "--explain"];
    for (faults, slowed) in [("late:600", 0.0), ("slows:6,late:600", 2400.0), ("slows:12,late:600", 4800.0)] {
        let measured = verified(LAUNCHES, &arguments, &[("CUPTI", faults)]);
        for record in &measured.run.records {
            let [reason @ Reason::CuptiDisagrees { time, cupti, slowdown: Some(slowdown), .. }] =
                &record.verdict.reasons[..]
            else {
                panic!("{faults}: {:?}", record.verdict)
            };
            assert_eq!(record.verdict.state, State::Suspect);
            assert!((slowdown.by.0 - slowed).abs() <= slowdown.half_width.0, "{faults}: {reason:?}");
            assert!((cupti.0 - time.0 - slowed - 600.0).abs() < 40.0, "{faults}: {reason:?}");
        }
    }
    // A larger launch has a larger tolerance.
    let arguments = ["::kernels", "--arg", "KERNELS=2", "--cache", "both"];
    let measured = verified(LAUNCHES, &arguments, &[("CUPTI", "slows:6,late:2000")]);
    assert!(measured.run.records.iter().all(|record| record.verdict.state == State::Suspect));
}

/// Each fault of CUPTI is told in the certificate. The row is what it would be without the check.
#[test]
fn a_fault_of_cupti_costs_the_check_alone() {
    let usual = measure(LAUNCHES, &["::kernels", "--arg", "KERNELS=2"], &[]);
    for (fault, words) in [
        ("lost", "launches have 1 to 2 records instead of 2: records are missing or doubled"),
        ("twice", "launches have 2 to 3 records instead of 2: records are missing or doubled"),
        ("zero", "a record of lasts has no time: begin 0, end 0"),
        ("order", "a record of lasts has no time: begin "),
        ("garbled", "CUPTI handed out records that cannot be read"),
        ("dropped:7", "CUPTI dropped 7 records"),
        ("version:12", "has version 12, and 13 is needed (CUDA 11.0): name another by GPUBENCH_CUPTI"),
        (
            "refuses:35",
            "returned 35 (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES): the driver lets only administrators trace",
        ),
        (
            "refuses:39",
            "returned 39 (CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED): another tool traces this program",
        ),
        ("dies", "its process was ended by SIGABRT"),
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
        let arguments = ["::kernels", "--arg", "KERNELS=1", "--verify", "cupti"];
        let measured = measure(LAUNCHES, &arguments, &[("GPUBENCH_CUPTI", library)]);
        let record = &measured.run.records[0];
        let CuptiPass::Failed(why) = pass(record) else { panic!("{library} is CUPTI") };
        assert!(why.contains(words), "{why}");
        assert_eq!(record.verdict.state, State::Valid);
    }
}
