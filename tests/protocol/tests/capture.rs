//! Launches that are timed in a graph, and those that are not, with the reason; and the flushes that are not the usual one.

use gpubench_stats::units::Bytes;
use protocol::fake::{failed, measure};
use protocol::log::replays;

const CAPTURES: &str = env!("CARGO_BIN_EXE_captures");
const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");

const IN_A_GRAPH: [&str; 7] = [
    "adds_to_managed_memory",
    "is_checked_in_pinned_memory",
    "writes_managed_memory",
    "launches_two_kernels",
    "copies_pinned_memory",
    "copies_on_the_device",
    "sets_memory",
];

const ON_THE_STREAM: [(&str, &str); 4] = [
    ("copies_pageable_memory", "the launch copies from or to pageable host memory"),
    ("copies_to_pageable_memory", "the launch copies from or to pageable host memory"),
    ("calls_the_host", "the launch calls a function on the host"),
    ("allocates", "the launch does nothing but allocate memory"),
];

/// The launch that waits for a copy: no time stands for it.
const WAITS: &str = "captures::allocates_at_once hot";

#[test]
fn a_graph_stands_for_a_launch_where_it_does_the_same() {
    let measured = measure(CAPTURES, &["--quick", "--samples", "50"], &[("LOG", "")]);
    let [(waits, why)] = &failed(&measured.run)[..] else { panic!("{:?}", failed(&measured.run)) };
    assert!(
        waits == WAITS && why.starts_with("launch: waits for the GPU: cuMemcpyHtoD_v2"),
        "{waits}: {why}"
    );
    let reasons: Vec<(&str, Option<&str>)> = measured
        .run
        .records
        .iter()
        .filter(|record| record.case.name() != WAITS.trim_end_matches(" hot"))
        .map(|record| {
            let method = &record.measurement.as_ref().expect("it was measured").samples.method;
            let name = record.case.benchmark.strip_prefix("captures::").expect("the suite's name");
            (name, method.path_reason.as_deref())
        })
        .collect();
    assert_eq!(reasons.len(), IN_A_GRAPH.len() + ON_THE_STREAM.len());
    for (name, reason) in &reasons {
        let expected = ON_THE_STREAM.iter().find(|(other, _)| other == name).map(|(_, words)| *words);
        assert_eq!(expected.is_none(), IN_A_GRAPH.contains(name), "{name}");
        assert_eq!(expected.is_none(), reason.is_none(), "{name}: {reason:?}");
        assert!(reason.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{name}: {reason:?}");
    }
    // No replay touches memory of the host that the driver does not know, calls the host, or only allocates.
    for line in replays(&measured.log).concat() {
        assert!(!["host", "allocation"].contains(&line.what.as_str()), "{line:?}");
    }
}

/// Launches that add to managed memory cannot be repeated on restored memory: the check sees one launch all the same.
#[test]
fn a_launch_that_adds_to_managed_memory_is_valid() {
    let measured = measure(CAPTURES, &["--quick", "adds_to_managed_memory"], &[]);
    _ = measured.ended.with_code(0);
    let record = &measured.run.records[0];
    assert_eq!(record.verdict.reasons, []);
    let relaunch = record.measurement.as_ref().and_then(|measurement| measurement.relaunch.as_ref());
    assert_eq!(relaunch.and_then(|relaunch| relaunch.checked), Some(true));
}

/// The check has changed that memory between two launches with the same output.
#[test]
fn memory_that_a_check_changes_is_no_output() {
    let measured = measure(CAPTURES, &["--quick", "is_checked_in_pinned_memory"], &[]);
    _ = measured.ended.with_code(0);
    let relaunch = measured.run.records[0].measurement.as_ref().and_then(|it| it.relaunch.as_ref());
    assert_eq!(relaunch.map(|relaunch| relaunch.differs), Some(Bytes(0)));
}

/// A graph runs kernels closer together than a stream, so that a record has both times.
#[test]
fn the_kernels_of_a_launch_are_counted_and_several_are_timed_on_the_stream_too() {
    let measured = measure(CAPTURES, &["--quick", "writes_managed_memory", "launches_two_kernels"], &[]);
    _ = measured.ended.with_code(0);
    for (record, kernels) in measured.run.records.iter().zip([1, 2]) {
        let measurement = record.measurement.as_ref().expect("it was measured");
        assert_eq!(measurement.samples.method.kernel_count, Some(kernels));
        assert_eq!(measurement.samples.stream_time.is_some(), kernels > 1);
    }
    // Of one managed buffer, and of another.
    for record in &measured.run.records {
        let seen = record.measurement.as_ref().and_then(|measurement| measurement.launch.written.as_ref());
        assert_eq!(seen.map(|written| written.changed), Some(Bytes(16 << 10)), "{}", record.case.name());
    }
    let two = measured.run.records[1].measurement.as_ref().expect("it was measured");
    // The fake has no gaps on either path.
    let gap = two.samples.stream_time.expect("it has two kernels").0 - two.median().0;
    assert!(gap.abs() <= 64.0, "{gap}");
}

/// The second kernel of a launch waits in a graph that was not copied to the device, which is no part of the launch.
#[test]
fn back_to_back_kernels_do_not_wait_for_their_graph_to_be_copied() {
    let time = |set: &[(&str, &str)]| {
        let measured = measure(CAPTURES, &["--quick", "launches_two_kernels"], set);
        _ = measured.ended.with_code(0);
        measured.run.records[0].measurement.as_ref().expect("it was measured").median().0
    };
    let (usual, waits) = (time(&[]), time(&[("UNCOPIED", "370")]));
    assert!((waits - usual).abs() < 32.0, "{usual} {waits}");
}

#[test]
fn a_graph_that_is_asked_for_and_cannot_be_had_is_a_failure() {
    let measured = measure(CAPTURES, &["--quick", "calls_the_host", "--path", "graph"], &[]);
    let [(_, reason)] = &failed(&measured.run)[..] else { panic!("{}", measured.ended) };
    assert!(
        reason.contains("--path graph cannot be had: the launch calls a function on the host"),
        "{reason}"
    );
}

/// A sweep over twice the L2, and the L2 is clean and full of what nobody asks for.
#[test]
fn a_read_flush_sweeps_twice_the_l2() {
    let arguments = ["--quick", "cuda::copy", "--arg", "n=4194304", "--cache", "cold", "--flush", "read"];
    let measured = measure(KERNELS, &arguments, &[("LOG", "")]);
    _ = measured.ended.with_code(0);
    let sweeps: Vec<_> = replays(&measured.log)
        .iter()
        .flat_map(|replay| replay.chunks(4))
        .filter(|sample| sample.len() == 4 && sample[2].is("kernel", "copy"))
        .map(|sample| sample[0].clone())
        .collect();
    assert!(sweeps.len() >= 30);
    for sweep in sweeps {
        let read = sweep.memory("read").expect("it reads");
        assert!(
            sweep.is("kernel", "gpubench_read_sweep") && read.end - read.start == 2 * 62_914_560,
            "{sweep:?}"
        );
    }
    let medians = ["discard", "read", "none"].map(|flush| {
        let arguments = [&arguments[..7], &[flush]].concat();
        let measured = measure(KERNELS, &arguments, &[]);
        measured.run.records[0].measurement.as_ref().expect("it was measured").median().0
    });
    // Clean after either flush, and both arrays are in the L2 without one.
    assert!((medians[0] - medians[1]).abs() <= 32.0 && medians[2] < medians[0] - 500.0, "{medians:?}");
}
