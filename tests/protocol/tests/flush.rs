//! Flushes that are tried before anything is timed behind them, and what is done where one does not do what it is for.

use gpubench_records::method::{Flush, Method};
use gpubench_records::verdict::State;
use protocol::fake::{Measured, measure};

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");
const PERSISTS: &str = env!("CARGO_BIN_EXE_persists");

fn copies(arguments: &[&str], asked: &[(&str, &str)]) -> Measured {
    let copy = ["--quick", "cuda::copy", "--arg", "n=4194304", "--cache", "cold"];
    measure(KERNELS, &[&copy[..], arguments].concat(), asked)
}

#[track_caller]
fn method(measured: &Measured) -> &Method {
    &measured.run.records[0].measurement.as_ref().expect("it was measured").samples.method
}

/// The fake's L2 is emptied by 60 MiB to the last line, and its kernels take as long as what they move.
#[test]
fn the_usual_flush_is_seen_to_do_what_it_is_for() {
    let measured = copies(&[], &[]);
    let Method { flush, flush_reason, flush_verification, .. } = method(&measured);
    assert_eq!((flush, flush_reason), (&Flush::Discard, &None));
    let proof = flush_verification.expect("it was tried");
    // 15 MiB of hits, or of misses; 45 MiB of misses.
    let [hits, misses, sweep] =
        [15.0 / 7000.0, 15.0 / 4600.0, 45.0 / 4600.0].map(|read| read * 1024.0 * 1024.0);
    assert!(
        (proof.flushed_read.0 - proof.cached_read.0 - (misses - hits + 1650.0)).abs() <= 64.0,
        "{proof:?}"
    );
    assert!((proof.large_read.0 - proof.flushed_read.0 - (sweep - misses)).abs() <= 64.0, "{proof:?}");
    assert_eq!(proof.reference_read, proof.flushed_read);
    assert!((proof.reference_large_read - proof.large_read).0.abs() <= 32.0, "{proof:?}");
    assert!(proof.evicts_cache() && proof.is_clean());
    measured.ended.with_code(0).shows("flushed by `discard`, which leaves the cache empty and clean");
}

/// Stamps and events time a launch after every flush, and agree.
#[test]
fn two_clocks_agree_after_every_flush() {
    for flush in
        [&[][..], &["--flush", "discard"], &["--flush", "write"], &["--flush", "read"], &["--flush", "none"]]
    {
        let measured = copies(flush, &[]);
        let samples = &measured.run.records[0].measurement.as_ref().expect("it was measured").samples;
        assert!(
            samples.cross_check_difference().is_some_and(|gap| gap.0 <= 64.0),
            "{flush:?}: {:?}",
            samples.cross_check
        );
    }
}

/// Lines that a `write` flush leaves dirty are written back by the next reader.
#[test]
fn a_written_flush_is_seen_to_leave_dirt() {
    let measured = copies(&["--flush", "write"], &[]);
    let Method { flush, flush_reason, flush_verification, .. } = method(&measured);
    assert_eq!((flush, flush_reason), (&Flush::Write, &None));
    let proof = flush_verification.expect("it was tried");
    assert!(proof.evicts_cache() && !proof.is_clean(), "{proof:?}");
    // As much again is written back, on top of a launch and a pair of events.
    assert!(proof.dirt() > 0.6 && proof.dirt() < 0.7, "{proof:?}");
    measured.ended.with_code(0).shows("which leaves the cache empty and dirty");
}

#[test]
fn where_discarding_does_nothing_the_l2_is_swept_and_the_report_says_why() {
    let measured = copies(&[], &[("KERNEL", "gpubench_discard:nothing")]);
    let method = method(&measured);
    assert_eq!(method.flush, Flush::Read);
    let reason = method.flush_reason.as_deref().expect("it is not the usual one");
    assert!(reason.starts_with("`discard` leaves the L2 dirty: a sweep takes 6"), "{reason}");
    let ended = measured.ended.with_code(0);
    ended.shows("flushed by `read`, which leaves the cache empty and clean, `discard` leaves the L2 dirty");
}

/// The user has the last word, and is told.
#[test]
fn a_flush_that_is_asked_for_is_used_whatever_it_does() {
    let measured = copies(&["--flush", "discard"], &[("KERNEL", "gpubench_discard:nothing")]);
    let method = method(&measured);
    assert_eq!((method.flush, &method.flush_reason), (Flush::Discard, &None));
    measured.ended.with_code(0).shows("flushed by `discard`, which leaves the cache empty and dirty");
}

/// Reads that do nothing show nothing of any flush.
#[test]
fn a_flush_that_cannot_be_verified_makes_cold_results_suspect() {
    let measured = copies(&[], &[("KERNEL", "gpubench_read_sweep:nothing")]);
    assert_eq!(measured.run.records[0].verdict.state, State::Suspect);
    let ended = measured.ended.with_code(0);
    ended.shows("suspect: flush not verified: timed reads do not show that `discard` empties the cache");
    ended.shows("flushed by `discard`, which could not be verified: reads from the L2 are no faster than from memory; no other flush could be verified either");
}

/// The limit is the benchmark's own again when its cold case is done, and nobody touches it where nothing is kept.
#[test]
fn lines_that_are_kept_are_let_go_for_cold_samples() {
    let calls = |keep| {
        let arguments = ["--quick", "--cache", "cold", "persists[", "--arg", keep];
        let measured = measure(PERSISTS, &arguments, &[("LOG", "")]);
        _ = measured.ended.with_code(0);
        let calls =
            measured.log.into_iter().filter(|line| line.what == "call").map(|line| line.words[0].clone());
        calls.filter(|call| call == "cuCtxSetLimit" || call.contains("Persisting")).collect::<Vec<_>>()
    };
    // `setup` sets it, once before the samples and once after them.
    assert_eq!(calls("keep=0"), ["cuCtxSetLimit"; 2]);
    let kept =
        ["cuCtxSetLimit", "cuCtxSetLimit", "cuCtxResetPersistingL2Cache", "cuCtxSetLimit", "cuCtxSetLimit"];
    assert_eq!(calls("keep=16777216"), kept);
}

/// `--explain` has a paragraph for each row.
#[test]
fn explain_tells_how_each_number_came_about() {
    let ended = copies(&["--explain"], &[]).ended.with_code(0);
    for words in [
        "gpubench_kernels::cuda::copy[n=4194304] cold on cuda:0",
        "− overhead 2.4",
        " µs (event time of a launch that only reads a parameter) − 550.0 ns (which such a launch itself takes)",
        " (correction: the second method, time stamps, measures ",
        "; the event time has steps of 32.00 ns",
        "  error     ",
        ", half of the 95 % interval); worst case ",
        "): plus two steps of the event time (64.00 ns), plus the whole correction (",
        "  path      graph",
        "  flush     discard; the cache is empty: after the flush, reading data of 1/4 of the cache's size takes ",
        " (from an empty cache ",
        "; no lines are dirty: reading data of 3/4 of the cache's size takes ",
        ", steady",
        "on the device, including everything between samples; ",
    ] {
        ended.shows(words);
    }
}
