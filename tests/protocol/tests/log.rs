//! The driver calls of a measurement, from the fake's log: those around each sample, and those of a group.

use std::ops::Range;

use protocol::fake::measure;
use protocol::log::{Line, replays};

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");
const L2: u64 = 62_914_560;
const COPY: [&str; 4] = ["--quick", "cuda::copy", "--arg", "n=4194304"];

/// True if these are lines of these kinds, one for one.
fn matches(lines: &[Line], kinds: &[(&str, &str)]) -> bool {
    let is = |line: &Line, (what, name): &(&str, &str)| {
        line.what == *what && (name.is_empty() || line.is(what, name))
    };
    lines.len() == kinds.len() && lines.iter().zip(kinds).all(|(line, kind)| is(line, kind))
}

/// The samples of a replayed group, each with the nodes of these kinds, if all have just these.
fn samples<'a>(replay: &'a [Line], kinds: &[(&str, &str)]) -> Option<Vec<&'a [Line]>> {
    let samples: Vec<&[Line]> = replay.chunks(kinds.len()).collect();
    samples.iter().all(|sample| matches(sample, kinds)).then_some(samples)
}

/// The samples of a replayed group in which they take turns with as many of the `other` kinds.
fn in_turn<'a>(
    replay: &'a [Line],
    kinds: &[(&str, &str)],
    other: &[(&str, &str)],
) -> Option<Vec<&'a [Line]>> {
    let all: Vec<&[Line]> = replay.chunks(kinds.len()).collect();
    let (samples, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|lines| matches(lines, kinds));
    let fit = samples.len() == others.len() && others.iter().all(|lines| matches(lines, other));
    (fit && !samples.is_empty()).then_some(samples)
}

const FLUSH: [(&str, &str); 2] = [("memset", ""), ("kernel", "gpubench_discard")];
/// Empty launches that take turns with the samples: hot ones, and cold ones, which wait for a parameter as the samples do.
const EMPTY: (&str, &str) = ("kernel", "gpubench_empty");
const EMPTY_READS: (&str, &str) = ("kernel", "gpubench_empty_reads");
/// The kernel before each hot sample.
const SPACE: (&str, &str) = ("kernel", "gpubench_delay");
const RECORD: (&str, &str) = ("record", "");
const LAUNCH: (&str, &str) = ("kernel", "copy");

fn disjoint(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.end <= b.start || b.end <= a.start
}

/// Write the size of the L2, discard just that, start, launch, stop, and nothing else.
#[test]
fn a_cold_sample_is_flush_event_launch_event() {
    let measured = measure(KERNELS, &[&COPY[..], &["--cache", "cold"]].concat(), &[("LOG", "")]);
    _ = measured.ended.with_code(0);
    let measurement = measured.run.records[0].measurement.as_ref().expect("it was measured");
    let groups: Vec<Vec<&[Line]>> = replays(&measured.log)
        .into_iter()
        .filter_map(|replay| {
            let around = |launch| [FLUSH[0], FLUSH[1], RECORD, launch, RECORD];
            in_turn(replay, &around(LAUNCH), &around(EMPTY_READS))
        })
        .collect();
    let sampled: usize = groups.iter().map(Vec::len).sum();
    assert_eq!(sampled, measurement.samples.warm_up.launches + measurement.samples.event_times.len());
    for sample in groups.concat() {
        let [memset, discard, start, launch, stop] = sample else { panic!("{sample:?}") };
        let written = memset.memory("write").expect("it writes");
        assert!(written.end - written.start >= L2, "{memset:?}");
        assert_eq!(discard.memory("discard"), Some(written.clone()));
        for touched in [launch.memory("read"), launch.memory("write")] {
            assert!(disjoint(&touched.expect("a copy touches two arrays"), &written), "{launch:?}");
        }
        assert_ne!(start.words, stop.words, "two events");
        // One after the other: nothing ran elsewhere meanwhile.
        let stops = [memset, discard, start, launch].map(|line| line.begin + line.duration);
        let starts = [discard, start, launch, stop].map(|line| line.begin);
        assert!(stops.iter().zip(starts).all(|(stop, start)| (stop - start).abs() < 0.2), "{sample:?}");
        assert!(sample.iter().all(|line| line.stream == start.stream), "{sample:?}");
    }
    // The clock is counted behind the last event of a group, which no replay is between.
    let work: Vec<&Line> = measured.log.iter().filter(|line| line.stream.is_some()).collect();
    let counts = (0..work.len()).filter(|index| work[*index].is("kernel", "gpubench_clock"));
    // Once when the device is opened.
    let counts: Vec<usize> = counts.skip(1).collect();
    assert!(counts.len() >= groups.len(), "{} counts", counts.len());
    for index in counts {
        let before = [work[index - 1], work[index - 2]].map(|line| line.what.as_str());
        assert_eq!(before, ["record"; 2], "the sample's event, and the group's");
    }
    // What proves the flush are reads of a quarter of the L2 and of three, and the timer has pairs around nothing and around empty
    // launches, of which some are of copies of the kernel.
    let sweep = ("kernel", "gpubench_read_sweep");
    for (count, kinds) in [
        (10, &[FLUSH[0], FLUSH[1], RECORD, RECORD][..]),
        (24, &[FLUSH[0], FLUSH[1], RECORD, EMPTY_READS, RECORD]),
        (4, &[FLUSH[0], FLUSH[1], RECORD, sweep, RECORD]),
        (4, &[sweep, RECORD, sweep, RECORD]),
    ] {
        let found = replays(&measured.log).into_iter().filter_map(|replay| samples(replay, kinds));
        assert_eq!(found.count(), count, "{kinds:?}");
    }
}

/// One launch whose time does not count, then pairs around launches.
#[test]
fn a_hot_group_begins_with_a_launch_that_does_not_count() {
    let measured = measure(KERNELS, &[&COPY[..], &["--cache", "hot"]].concat(), &[("LOG", "")]);
    _ = measured.ended.with_code(0);
    let measurement = measured.run.records[0].measurement.as_ref().expect("it was measured");
    let groups: Vec<usize> = replays(&measured.log)
        .into_iter()
        .filter(|replay| replay[0].is("kernel", "copy"))
        .filter_map(|replay| {
            let around = |launch| [SPACE, RECORD, launch, RECORD];
            Some(in_turn(&replay[1..], &around(LAUNCH), &around(EMPTY))?.len())
        })
        .collect();
    assert_eq!(
        groups.iter().sum::<usize>(),
        measurement.samples.warm_up.launches + measurement.samples.event_times.len()
    );
    // A group is a graph of 16 samples and as many empty launches.
    assert!(groups.ends_with(&[16; 8]), "{groups:?}");
}

/// A launch of under 5 µs is also timed in a row: as many as the row has, between one pair of events.
#[test]
fn a_row_has_no_events_between_its_launches() {
    let arguments = ["--quick", "cuda::empty"];
    let measured = measure(KERNELS, &arguments, &[("LOG", "")]);
    _ = measured.ended.with_code(0);
    let rows: Vec<usize> = replays(&measured.log)
        .into_iter()
        .filter(|replay| replay.iter().filter(|line| line.what == "record").count() == 2 && replay.len() > 5)
        // Rows with a wait or a flush between launches are others.
        .filter(|replay| replay.iter().all(|line| line.what == "record" || line.is("kernel", "empty")))
        .map(|replay| replay.len() - 3)
        .collect();
    assert_eq!(rows.len(), 30);
    assert!(rows.chunks(2).all(|pair| pair == [8, 72]), "{rows:?}");
    assert!(measured.run.records[0].measurement.as_ref().is_some_and(|it| it.samples.back_to_back.is_some()));
}

#[test]
fn a_group_is_waited_for_once_and_nothing_is_allocated_between_groups() {
    let arguments = [&COPY[..], &["--cache", "cold", "--samples", "1024"]].concat();
    let measured = measure(KERNELS, &arguments, &[("LOG", "")]);
    _ = measured.ended.with_code(0);
    let calls: Vec<&str> =
        measured.log.iter().filter(|line| line.what == "call").map(|line| line.words[0].as_str()).collect();
    // Of the samples, the first 16 groups have a graph with stamps besides. A later group is launched between two events, with the count of cycles behind it. While it runs, the next one is captured and made, and
    // the last one released. Then comes the only wait, and readings follow.
    let launched =
        ["cuEventRecord", "cuGraphLaunch", "cuEventRecord", "cuLaunchKernel", "cuStreamBeginCapture_v2"];
    let next = [
        "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags",
        "cuGraphDestroy",
        "cuGraphExecDestroy",
        "cuStreamSynchronize",
    ];
    let wait_of = |from: usize| {
        from + calls[from..].iter().position(|call| *call == "cuStreamSynchronize").expect("a wait")
    };
    let is_group =
        |from: &usize| calls[*from..].starts_with(&launched) && calls[..=wait_of(*from)].ends_with(&next);
    let groups: Vec<usize> = (0..calls.len()).filter(is_group).collect();
    assert!(groups.len() > 15, "{}", groups.len());
    let last = groups[groups.len() - 1];
    let readings = ["cuEventElapsedTime"; 32 + 1];
    assert!(calls[wait_of(last) + 1..].starts_with(&readings));
    // Nothing is allocated between the last groups. A launch of these benchmarks looks its kernel up, also while it is captured; and
    // a flush is a memset.
    let between = &calls[groups[groups.len() - 8]..last];
    // A launch of one piece needs no copy of its graph.
    for forbidden in ["cuMem", "cuModule", "cuCtxSynchronize", "cuGraphUpload"] {
        let found = between.iter().find(|call| {
            call.starts_with(forbidden) && !["cuModuleGetFunction", "cuMemsetD32Async"].contains(*call)
        });
        assert_eq!(found, None);
    }
}

/// The launches after the samples of a case: on what they left, on used inputs, two with other contents, two on fresh inputs, and those
/// whose calls the host times.
const RELAUNCHES: usize = 6 + 15;

/// On the stream the same is enqueued anew for each group, behind a delay.
#[test]
fn on_the_stream_a_group_stands_behind_a_delay() {
    let arguments = [&COPY[..], &["--cache", "cold", "--path", "stream", "--flush", "write"]].concat();
    let measured = measure(KERNELS, &arguments, &[("LOG", "")]);
    _ = measured.ended.with_code(0);
    let measurement = measured.run.records[0].measurement.as_ref().expect("it was measured");
    assert_eq!(measurement.samples.method.path_reason.as_deref(), Some("asked for"));
    let done: Vec<&Line> = measured.log.iter().filter(|line| line.stream.is_some()).collect();
    let launches: Vec<usize> = (0..done.len()).filter(|index| done[*index].is("kernel", "copy")).collect();
    // All but the first, which is checked, and the last, which are compared with it.
    let sampled = &launches[1..launches.len() - RELAUNCHES];
    for index in sampled {
        let around: Vec<&str> = done[index - 2..=index + 1].iter().map(|line| line.what.as_str()).collect();
        assert_eq!(around, ["memset", "record", "kernel", "record"]);
    }
    let delays = done[..sampled[sampled.len() - 1]].iter().filter(|line| line.is("kernel", "gpubench_delay"));
    assert!(delays.clone().all(|delay| delay.duration <= 2e6));
    // Those of 8 µs go before hot samples, of which the proof of the flush has some.
    let delays = delays.filter(|delay| delay.duration > 8e3);
    let waits = measured.log.iter().filter(|line| line.is("call", "cuStreamSynchronize")).count();
    assert!(delays.count() <= waits);
}
