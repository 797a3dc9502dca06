//! Launches of all shapes. Several kernels take the time of all of them; work on other streams is measured where the given
//! stream waits for it, and not where it does not; writes are detected, and their absence too.

use gpubench_records::launch::Written;
use gpubench_records::method::Path;
use gpubench_records::record::Measurement;
use gpubench_records::verdict::State;
use gpubench_stats::units::{Bytes, Nanoseconds};
use protocol::fake::{Measured, failed, measure};

/// A time is resolved to half of the fake's step where all of its samples read alike.
const RESOLVED: f64 = 16.0;

const LAUNCHES: &str = env!("CARGO_BIN_EXE_launches");

#[track_caller]
fn of<'a>(measured: &'a Measured, name: &str) -> &'a Measurement {
    let record = measured.run.records.iter().find(|record| record.case.name() == format!("launches::{name}"));
    record.and_then(|record| record.measurement.as_ref()).unwrap_or_else(|| panic!("{}", measured.ended))
}

#[test]
fn several_kernels_copies_and_graphs_are_timed_as_one_launch() {
    let measured = measure(LAUNCHES, &["--quick", "kernel", "graph_of_its_own"], &[]);
    assert_eq!(failed(&measured.run), []);
    let time = |name: &str| of(&measured, name).median().0;
    let each = ["kernels[KERNELS=1]", "kernels[KERNELS=2]", "kernels[KERNELS=5]"].map(time);
    for (time, truth) in each.into_iter().zip([40_000.0, 80_000.0, 200_000.0]) {
        assert!((time - truth).abs() < RESOLVED, "{time}, and not {truth}");
    }
    assert!(time("copy_and_kernel") > 40_000.0, "{}", time("copy_and_kernel"));
    // Two kernels, without the 2 µs that the launch of a graph takes by itself on the fake.
    assert!((time("graph_of_its_own") - 80_000.0).abs() < RESOLVED, "{}", time("graph_of_its_own"));

    // It is captured as a child graph.
    let method = &of(&measured, "graph_of_its_own").samples.method;
    assert_eq!((method.path, method.kernel_count), (Path::Graph, Some(2)));
    measured.ended.with_code(0).shows("h2d link: 1 result, whose peak is not known");
}

/// They are times of this machine, whatever the fake driver's clock. The calls come after all samples.
#[test]
fn the_costs_of_a_launch_on_the_host_are_stored_and_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let csv = folder.path().join("run.csv");
    let csv = csv.to_str().expect("UTF-8");
    let case = ["::kernels", "--arg", "KERNELS=1", "--cache", "hot", "--samples", "8", "--warmup", "0"];
    let measured = measure(LAUNCHES, &[&case[..], &["--explain", "--csv", csv]].concat(), &[("LOG", "")]);
    assert_eq!(failed(&measured.run), []);
    let found = of(&measured, "kernels[KERNELS=1]");
    let call = found.call_time.expect("the host only enqueues");
    let first = found.launch.first_launch_time.expect("there was one");
    let second = Nanoseconds::from_seconds(1.0);
    assert!(Nanoseconds::ZERO < call && call < first && first < second, "{call}, {first}");
    let ended = measured.ended.with_code(0);
    ended.shows(&format!("  host      a call of the launch function takes {call} on the host"));
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&format!("the first launch took {first} until the device was done")), "{ended}");
    let text = std::fs::read_to_string(csv).expect("it was written");
    let [heads, row] = &text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    let cell = |name: &str| {
        let at = heads.split(',').position(|head| head == name).expect("there is such a column");
        row.split(',').nth(at).expect("a cell").parse().map(Nanoseconds)
    };
    assert_eq!((cell("host_call_ns"), cell("first_launch_ns")), (Ok(call), Ok(first)));
}

/// The memory of the inputs is that of their buffer, without the engine's own.
#[test]
fn memory_that_setup_and_launch_allocate_is_counted() {
    let measured = measure(LAUNCHES, &["--quick", "::writes_half", "--explain"], &[]);
    for name in ["writes_half", "writes_half_anew"] {
        let found = of(&measured, name);
        assert_eq!([found.setup_memory, found.launch.memory], [Some(Bytes(4 << 12)), Some(Bytes::ZERO)]);
    }
    measured
        .ended
        .with_code(0)
        .shows("memory    `setup` allocated 16 KiB at its peak; the first launch allocated 0 B more");
}

/// Work that is missing in a time is told, longer or shorter than the rest.
#[test]
fn work_that_the_given_stream_does_not_wait_for_is_no_part_of_a_time() {
    let measured = measure(LAUNCHES, &["--quick", "join", "beside", "--color", "never"], &[]);
    let failed = failed(&measured.run);
    let remedy = "not all of its time would be measured: put this work on the given stream, or let its stream first wait for the given stream";
    let unordered = "work on another stream can begin or end outside the sample";
    let expected = [
        ("joins_without_a_fork", unordered),
        ("joins_after_a_reset", unordered),
        ("joins_after_a_query", unordered),
        ("joins_after_an_old_fork", unordered),
        ("joins_one_of_two", unordered),
        ("joins_and_forks_once", unordered),
        ("joins_another_thread", unordered),
        ("forks_and_does_not_join", unordered),
        ("goes_on_beside", "when the given stream was done, work of the launch still ran on 1 other stream"),
        ("is_short_beside", unordered),
    ];
    // The host waits for it, which no graph does.
    let waits = [
        ("is_waited_for_beside", "launch: waits for the GPU: cuStreamSynchronize: "),
        ("is_passed_beside", "launch: waits for the GPU: cuEventSynchronize: "),
    ];
    let (waiting, elsewhere): (Vec<_>, Vec<_>) =
        failed.iter().partition(|(case, _)| waits.iter().any(|(name, _)| case.contains(name)));
    assert_eq!((waiting.len(), elsewhere.len()), (waits.len(), expected.len()), "{failed:?}");
    for ((case, reason), (name, seen)) in waiting.iter().zip(waits) {
        assert!(case.contains(name) && reason.starts_with(seen), "{case}: {reason}");
    }
    for ((case, reason), (name, seen)) in elsewhere.iter().zip(expected) {
        assert_eq!(case, &format!("launches::{name} hot"));
        let says = format!(": work elsewhere: {seen}: {remedy}");
        let place = reason.split_once(&says).map_or("", |(place, _)| place);
        assert!(["first launch", "launch"].contains(&place) || place.starts_with("launch ("), "{reason}");
    }

    // The stream of `--path stream` misses it too.
    let on_the_stream = measure(LAUNCHES, &["--quick", "join", "beside", "--path", "stream"], &[]);
    assert_eq!(protocol::fake::failed(&on_the_stream.run), failed);

    // On the fake, what is captured runs one after the other.
    for (name, time, kernels) in [("forks_and_joins", 80_000.0, 2), ("works_beside_and_joins", 40_000.0, 1)] {
        let joined = of(&measured, name);
        assert!((joined.median().0 - time).abs() < RESOLVED, "{name}: {}", joined.median().0);
        assert_eq!(joined.samples.method.kernel_count, Some(kernels), "{name}");
    }
    let ended = measured.ended.with_code(1);
    ended.shows_against("launches::goes_on_beside hot", "invalid: first launch: work elsewhere: ");
    ended.shows("14 results: 2 valid, 0 suspect, 12 invalid");
}

/// The changes of the checked launch, and the result of write detection for those without.
#[track_caller]
fn written<'a>(measured: &'a Measured, name: &str) -> &'a Written {
    of(measured, name).launch.written.as_ref().expect("the device tells")
}

const N: u64 = 1 << 12;

#[test]
fn outputs_that_are_never_written_make_a_row_suspect() {
    let rows = ["writes", "only_reads", "launches::reads", "trusts", "copies_out"];
    let measured =
        measure(LAUNCHES, &[&["--quick", "--explain", "--color", "never"], &rows[..]].concat(), &[]);
    let suspects: Vec<(String, String)> = measured
        .run
        .records
        .iter()
        .filter(|record| record.verdict.state != State::Valid)
        .map(|record| (record.case.name(), record.verdict.reasons.iter().map(ToString::to_string).collect()))
        .collect();
    let says = |moves, reads| {
        format!(
            "outputs never written: it declares 16 KiB {moves}, and a launch changed no byte of memory, even after gpubench changed the memory's contents: \
             did the kernel run, on the declared buffers?{reads}"
        )
    };
    assert_eq!(
        suspects,
        [
            ("launches::writes_nothing".to_owned(), says("written", "")),
            (
                "launches::writes_half".to_owned(),
                "declared traffic too high: it declares 16 KiB written, but a launch changes only 8 KiB of the 16 KiB of memory that it can reach, \
             even after gpubench changed the memory's contents: does the kernel run over the whole buffer, and is the count right? Count each byte at most once as read and \
                 once as written, and bytes that one kernel passes to another as `intermediates`"
                    .to_owned()
            ),
            (
                "launches::moves_only_reads".to_owned(),
                says("moved", " If it only reads, declare `reads` in place of `bytes`")
            ),
        ]
    );
    let found = |name: &str| {
        let written = written(&measured, name);
        (written.changed, written.writes_on_other_contents)
    };
    let nothing = Bytes(0);
    assert_eq!(found("writes_nothing"), (nothing, Some(false)));
    assert_eq!(found("writes_half"), (Bytes(2 * N), Some(true)));
    // Zeros over zeros are written all the same.
    assert_eq!(found("writes_half_anew"), (Bytes(2 * N), Some(true)));
    assert_eq!(written(&measured, "writes_half_anew").changed_on_other_contents, Some(Bytes(4 * N)));
    assert_eq!(found("writes_what_is_there"), (nothing, Some(true)));
    assert_eq!(found("writes"), (Bytes(4 * N), None));
    // No claim, no doubt.
    assert_eq!(found("reads"), (nothing, None));
    // It went astray on what it did not expect, which cost the process that it was tried in, and no row.
    assert_eq!(found("trusts_its_input"), (nothing, None));
    assert_eq!(found("writes_what_was_there_before"), (Bytes(4 * N), None));
    assert_eq!(found("writes_pinned_memory"), (Bytes(4 * N), None));
    let out = written(&measured, "copies_out");
    assert_eq!((out.changed, out.writes_on_other_contents), (nothing, None));
    assert_eq!(out.unseen_reason.as_deref(), Some("the launch copies to the host or to an array"));

    let ended = measured.ended.with_code(0);
    ended.shows_against("launches::writes_nothing hot", "suspect: outputs never written: ");
    ended.shows("11 results: 8 valid, 3 suspect, 0 invalid");
    ended.shows(
        "  writes    a launch changed 16 KiB of 16 KiB of memory, compared in blocks of 512 B; the benchmark declares 16 KiB written",
    );
    ended.shows(
        "in blocks of 512 B; on memory that holds other values, it changed 16 KiB; the benchmark declares 16 KiB written",
    );
    ended.shows("  kernel    fill: 4 blocks of 256 threads; 32 registers a thread; a multiprocessor holds 8 blocks at once");
}

/// Each kernel but the last passes on its memory once, written and read, and a launch of one kernel passes on nothing. Intermediates
/// count as moved.
#[test]
fn intermediates_count_as_moved_and_are_as_many_as_kernels_pass_on() {
    for extra in [&[][..], &["--path", "stream"]] {
        let arguments = [&["--quick", "passes_on", "--explain", "--color", "never"], extra].concat();
        let measured = measure(LAUNCHES, &arguments, &[]);
        assert_eq!(measured.run.records.len(), 9);
        for record in &measured.run.records {
            let argument = |at: usize| record.case.args[at].value.parse::<u64>().expect("a number");
            let (kernels, passes) = (argument(0), argument(1));
            let measurement = record.measurement.as_ref().expect("it was measured");
            let (counts, intermediates) = (&measurement.counts, 8 * N * (passes - 1));
            assert_eq!(counts.intermediates, Some(intermediates).filter(|bytes| *bytes > 0));
            assert_eq!(counts.bytes, Some(8 * N + intermediates));
            let bandwidth = measurement.metrics.bandwidth.expect("it moves some");
            assert_eq!(bandwidth, Bytes(8 * N * passes).per(measurement.median()));
            let reasons: Vec<String> = record.verdict.reasons.iter().map(ToString::to_string).collect();
            let begin = "declared traffic too high: it declares";
            let expected = match (kernels, passes) {
                (1, 2) => vec![format!(
                    "{begin} 32 KiB of intermediates, but a launch has one kernel: leave out `intermediates`"
                )],
                (1, 3) => vec![format!(
                    "{begin} 64 KiB of intermediates, but a launch has one kernel: leave out `intermediates`"
                )],
                (2, 3) => vec![format!(
                    "{begin} 64 KiB of intermediates, and a launch of 2 operations is given 16 KiB of memory, which each but the last \
                     passes on at most once, written and read: is the count right?"
                )],
                _ => Vec::new(),
            };
            assert_eq!(reasons, expected, "{}", record.case);
        }
        let ended = measured.ended.with_code(0);
        ended.shows("9 results: 6 valid, 3 suspect, 0 invalid");
        ended.shows("the benchmark declares 16 KiB written; the benchmark declares 32 KiB of intermediates, written and read between its kernels");
    }
}

/// Without a reset before it, each of its launches goes astray: the checked one, and those that tell whether it writes.
#[test]
fn the_checked_launch_and_those_on_other_memory_follow_a_reset() {
    let measured = measure(LAUNCHES, &["--quick", "needs_its_reset"], &[]);
    let written = written(&measured, "needs_its_reset");
    // The reset's own writes are not the launch's.
    assert_eq!((written.changed, written.writes_on_other_contents), (Bytes(0), Some(true)));
    let record = &measured.run.records[0];
    assert_eq!((record.verdict.state, &record.verdict.reasons[..]), (State::Valid, &[][..]));
    _ = measured.ended.with_code(0);
}

/// Nothing is tried where it could cost more than a process.
#[test]
fn in_one_process_nothing_is_tried_on_other_memory() {
    let measured = measure(LAUNCHES, &["--quick", "--in-process", "writes_nothing"], &[]);
    let written = written(&measured, "writes_nothing");
    assert_eq!((written.changed, written.writes_on_other_contents), (Bytes(0), None));
    assert_eq!(measured.run.records[0].verdict.state, State::Valid);
    _ = measured.ended.with_code(0);
}
