//! GPUs whose timer is coarse, 0.5 to 1 µs instead of 32 ns, with a small L2, and with `discard` or without. Each result is compared with
//! the time that the fake driver gave its kernel.

use gpubench_records::comparison::Answer;
use gpubench_records::method::{Cache, Flush, Path};
use gpubench_records::record::Record;
use gpubench_records::samples::Samples;
use gpubench_records::verdict::{Reason, State};
use protocol::fake::{Measured, measure};

const TIMERS: &str = env!("CARGO_BIN_EXE_timers");
const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");

/// Compute capabilities and sizes of the L2 in MiB: T4 and V100 are below 8.0, RTX 3070 and RTX 3090 are 8.6.
const GPUS: [(&str, &str); 5] = [("75", "4"), ("75", "6"), ("86", "4"), ("86", "6"), ("90", "60")];
const NOISE: f64 = 0.01;

fn timed(arguments: &[&str], step: &str, (capability, l2): (&str, &str), aligned: bool) -> Measured {
    let noise = NOISE.to_string();
    let aligned = aligned.to_string();
    let asked =
        [("STEP", step), ("CAPABILITY", capability), ("L2", l2), ("ALIGNED", &aligned), ("NOISE", &noise)];
    measure(TIMERS, arguments, &asked)
}

fn samples(record: &Record) -> &Samples {
    &record.measurement.as_ref().expect("it was measured").samples
}

/// The time that the fake driver gave the kernel: its argument, and 4 KiB from the L2 or from memory.
fn truth(record: &Record) -> f64 {
    let bandwidth = if record.case.cache == Cache::Hot { 7000.0 } else { 4600.0 };
    record.case.args[0].value.parse::<f64>().expect("a number") + 4096.0 / bandwidth
}

/// The distance of a time from the truth, in half-widths of its interval.
fn distance(record: &Record) -> f64 {
    let time = &samples(record).time;
    (time.median.0 - truth(record)).abs() / time.median_ci.half_width().0
}

#[track_caller]
fn is_true(record: &Record, step: f64) {
    let (samples, truth) = (samples(record), truth(record));
    let name =
        || format!("{} {}: {:?} {:?}", record.case.name(), record.case.cache, samples.time, record.verdict);
    assert_eq!(
        (samples.timer.resolution.0, samples.timer.effective_resolution().0),
        (step, step / 16.0),
        "{}",
        name()
    );
    // A time shorter than a step is below the resolution, and every other one is valid.
    let is_short =
        record.verdict.reasons.iter().any(|reason| matches!(reason, Reason::BelowResolution { .. }));
    let expected = if is_short { State::Suspect } else { State::Valid };
    assert_eq!(
        (record.verdict.state, record.verdict.reasons.len()),
        (expected, usize::from(is_short)),
        "{}",
        name()
    );
    assert_eq!(is_short, truth < step, "{}", name());
    // Intervals contain what rounding hides and what processes differ by, and are of use all the same: of 1 % noise, 300 samples
    // have a median to ± 0.15 %.
    let half_width = samples.time.median_ci.half_width().0;
    assert!(
        (step / 16.0..step / 5.0 + 0.35 * NOISE * truth).contains(&half_width),
        "{half_width}: {}",
        name()
    );
    assert!(distance(record) <= 1.5, "{truth}: {}", name());
    // Processes differ by a standard error of 0.12 %.
    assert!(half_width >= 0.0023 * truth, "{half_width}: {}", name());
    // A short hot launch has the time of one of 64 back-to-back launches too.
    let is_repeated = record.case.cache == Cache::Hot
        && samples.method.path == Path::Graph
        && samples.time.median.0 < 5_000.0;
    assert_eq!(samples.back_to_back.is_some(), is_repeated, "{}", name());
    if let Some(time) = samples.back_to_back {
        assert!((time.0 - truth).abs() <= step / 64.0 + 0.5 * NOISE * truth, "{time:?}: {}", name());
    }
    assert_eq!(samples.timer.dram_stall_period, None);
}

/// All GPUs with a timer of this resolution, with delays that end on its ticks and with others.
#[track_caller]
fn results_are_true(step: &str) {
    let nanoseconds: f64 = step.parse().expect("a number");
    let (mut all, mut held) = (0, 0);
    for gpu in GPUS {
        for aligned in [false, true] {
            let measured = timed(&["::lasts"], step, gpu, aligned);
            let Measured { ended, run, .. } = measured;
            let ended = ended.with_code(0);
            assert_eq!(run.records.len(), 12);
            for record in &run.records {
                is_true(record, nanoseconds);
                all += 1;
                held += usize::from(distance(record) <= 1.0);
            }
            let words = |step, part| {
                format!(
                    "cuda:0: the timer steps by {step}; samples start at random points of a step, which reduces the error to {part}: for a smaller error, do more work per launch"
                )
            };
            ended.shows(&match step {
                "500" => words("500.0 ns", "31.25 ns"),
                "1000" => words("1.000 µs", "62.50 ns"),
                _ => words("1.024 µs", "64.00 ns"),
            });
        }
    }
    // Intervals of 95 %.
    assert!(held >= all * 93 / 100, "{held} of {all} intervals hold the truth");
}

#[test]
fn results_are_true_to_half_a_microsecond() {
    results_are_true("500");
}

#[test]
fn results_are_true_to_a_microsecond() {
    results_are_true("1000");
}

#[test]
fn results_are_true_to_a_microsecond_of_two_to_the_tenth() {
    results_are_true("1024");
}

/// Launches that no graph can stand for are sampled alike.
#[test]
fn results_on_the_stream_are_true() {
    for aligned in [false, true] {
        let measured = timed(&["::lasts", "--path", "stream"], "1024", ("86", "4"), aligned);
        for record in &measured.run.records {
            is_true(record, 1024.0);
        }
    }
}

/// A timer of 32 ns is read as ever: no delay counts cycles, and no line names its resolution.
#[test]
fn a_fine_timer_needs_none_of_that() {
    let measured = measure(TIMERS, &["::lasts", "--explain"], &[("NOISE", "0.01"), ("LOG", "")]);
    assert!(!measured.log.iter().any(|line| line.is("kernel", "gpubench_spin")));
    for record in &measured.run.records {
        let timer = &samples(record).timer;
        assert_eq!((timer.resolution.0, timer.averaged_resolution), (32.0, None));
    }
    let ended = measured.ended.with_code(0);
    assert!(
        !ended.stdout.contains("the timer steps by 32.00 ns:") && !ended.stdout.contains("reduces the error"),
        "{ended}"
    );
}

/// Launches that alternate are rounded alike too. No answer is wrong, though a difference of less than a step may stay undecided.
#[test]
fn comparisons_are_not_wrong() {
    for aligned in [false, true] {
        for (other, right) in [("timers::again", Answer::Same), ("timers::longer", Answer::Faster)] {
            let arguments = ["::lasts", "--cache", "hot", "--compare-with", other];
            let measured = timed(&arguments, "1024", ("86", "6"), aligned);
            assert_eq!(measured.run.records.len(), 6);
            for record in &measured.run.records {
                // Their own times are medians, with intervals of a step or more.
                assert!(distance(record) <= 1.0, "{record:?}");
                let answer = record.compared.as_ref().expect("it was compared").comparison.answer;
                // 5 % of 203 µs are ten steps.
                let is_long = record.case.args[0].value == "203400";
                let is_right = answer == right || (answer == Answer::Undecided && !is_long);
                assert!(is_right, "{aligned} {}: {answer:?}", record.case.name());
            }
        }
    }
}

#[test]
fn explain_names_the_resolution() {
    let measured =
        timed(&["::lasts", "--explain", "--cache", "hot", "--arg", "ns=2300"], "1024", ("86", "6"), true);
    let ended = measured.ended.with_code(0);
    ended.shows(
        "the event time has steps of 1.024 µs; samples start at random points of a step, which reduces the error to 64.00 ns",
    );
}

/// A quarter of a small L2 is read to see what a flush does. Of an L2 of 4 MiB, a quarter of the 32 MiB that a flush has at least would not
/// fit.
#[test]
fn the_flush_of_a_small_l2_is_proven() {
    for step in ["32", "500", "1024"] {
        for gpu in GPUS {
            let measured = timed(&["::lasts", "--cache", "cold", "--arg", "ns=2300"], step, gpu, true);
            let method = &samples(&measured.run.records[0]).method;
            let usual = if gpu.0 == "75" { Flush::Read } else { Flush::Discard };
            assert_eq!((method.flush, &method.flush_reason), (usual, &None), "{step} {gpu:?}");
            let proof = method.flush_verification.expect("it was tried");
            assert!(proof.evicts_cache() && proof.is_clean(), "{step} {gpu:?}: {proof:?}");
        }
    }
}

/// A flush that leaves dirty lines is found out to a microsecond too.
#[test]
fn a_broken_flush_is_not_hidden_by_a_coarse_timer() {
    for l2 in ["4", "60"] {
        let asked =
            [("STEP", "1024"), ("L2", l2), ("ALIGNED", "true"), ("KERNEL", "gpubench_discard:nothing")];
        let arguments = ["--quick", "cuda::copy", "--arg", "n=4194304", "--cache", "cold"];
        let measured = measure(KERNELS, &arguments, &asked);
        let method = &samples(&measured.run.records[0]).method;
        assert_eq!(method.flush, Flush::Read);
        let reason = method.flush_reason.as_deref().expect("it is not the usual one");
        assert!(reason.starts_with("`discard` leaves the L2 dirty"), "{reason}");
    }
}
