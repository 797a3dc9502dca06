//! Launches of graphs are timed like the same work captured inline where the driver takes them, and on the stream otherwise.

use gpubench_records::method::Path;
use gpubench_records::record::Measurement;
use gpubench_records::verdict::State;
use gpubench_stats::units::Bytes;
use protocol::fake::{Measured, failed, measure};
use protocol::log::{Line, replays};

const RECORDED: &str = env!("CARGO_BIN_EXE_recorded");
/// A time is resolved to half of the fake's step where all of its samples read alike.
const RESOLVED: f64 = 16.0;

#[track_caller]
fn of<'a>(measured: &'a Measured, name: &str) -> &'a Measurement {
    let record = measured.run.records.iter().find(|record| record.case.name() == format!("recorded::{name}"));
    record.and_then(|record| record.measurement.as_ref()).unwrap_or_else(|| panic!("{}", measured.ended))
}

/// What the launch of an executable takes by itself on the fake, 2 µs, is not part of the time.
#[test]
fn a_graph_is_captured_as_a_child() {
    let measured = measure(
        RECORDED,
        &["--quick", "graph_of_its_own", "flagged_graph", "recorded_kernels", "recorded_fill"],
        &[("LOG", "")],
    );
    assert_eq!(failed(&measured.run), []);
    for name in ["graph_of_its_own", "flagged_graph", "recorded_kernels"] {
        let measurement = of(&measured, name);
        let method = &measurement.samples.method;
        assert_eq!((method.path, method.kernel_count), (Path::Graph, Some(2)), "{:?}", method.path_reason);
        assert!((measurement.median().0 - 80_000.0).abs() < RESOLVED, "{name}: {}", measurement.median());
    }
    let fills = measured.run.records.iter().filter(|record| record.case.name() == "recorded::recorded_fill");
    let fills: Vec<_> = fills.collect();
    assert_eq!(fills.len(), 2, "hot and cold");
    for record in fills {
        assert_eq!(record.verdict.state, State::Valid, "{:?}", record.verdict);
        let measurement = record.measurement.as_ref().expect("it was measured");
        assert_eq!(measurement.samples.method.path, Path::Graph);
    }
    // The graphs of samples are not cloned.
    let calls = |name: &str| measured.log.iter().filter(|line| line.is("call", name)).count();
    let (clones, executables) = (calls("cuGraphClone"), calls("cuGraphInstantiateWithFlags"));
    assert!(clones > 0 && 2 * clones < executables, "{clones} of {executables}");
}

/// A graph of kernels writes what can be seen.
#[test]
fn the_writes_of_a_graph_are_compared_with_those_that_are_declared() {
    let measured = measure(RECORDED, &["--quick", "recorded_too_little"], &[]);
    let [record] = &measured.run.records[..] else { panic!("{}", measured.ended) };
    assert_ne!(record.verdict.state, State::Valid, "{:?}", record.verdict);
}

/// Two launches of one graph are two children, and a launch of gpubench's own graph is one.
#[test]
fn launches_on_streams_that_join_are_each_captured_once() {
    let measured = measure(RECORDED, &["--quick", "forked_graphs"], &[]);
    assert_eq!(failed(&measured.run), []);
    let measurement = of(&measured, "forked_graphs");
    let method = &measurement.samples.method;
    assert_eq!((method.path, method.kernel_count), (Path::Graph, Some(5)), "{:?}", method.path_reason);
    // The fake runs the nodes of a graph one after the other.
    assert!((measurement.median().0 - 200_000.0).abs() < RESOLVED, "{}", measurement.median());
}

#[track_caller]
fn is_timed_on_the_stream(measured: &Measured, name: &str, time: f64, why: &str) {
    let measurement = of(measured, name);
    let method = &measurement.samples.method;
    let reason = method.path_reason.as_deref().unwrap_or_default();
    assert_eq!(method.path, Path::Stream, "{name}");
    assert!(reason.contains(&format!("its graph cannot be added as a child: {why}")), "{name}: {reason}");
    assert!(reason.ends_with("the overhead of an empty graph is subtracted"), "{reason}");
    assert!((measurement.median().0 - time).abs() < RESOLVED, "{name}: {}", measurement.median());
}

#[test]
fn a_graph_that_cannot_be_a_child_is_timed_on_the_stream() {
    let names =
        ["updated_graph", "prioritised_graph", "allocating_graph", "recorded_allocation", "recorded_update"];
    let measured = measure(RECORDED, &[&["--quick"], &names[..]].concat(), &[]);
    assert_eq!(failed(&measured.run), []);
    // The fake takes 2 µs to launch an executable, which is its overhead.
    for (name, time, why) in [
        ("updated_graph", 20_000.0, "it was updated"),
        ("prioritised_graph", 80_000.0, "its flags ask for"),
        ("allocating_graph", 40_000.0, "it allocates memory"),
        ("recorded_allocation", 40_000.0, "it allocates memory"),
        ("recorded_update", 20_000.0, "it was updated"),
    ] {
        is_timed_on_the_stream(&measured, name, time, why);
    }
    let refused = [("FAULT", "cuGraphAddChildGraphNode=1")];
    let measured = measure(RECORDED, &["--quick", "graph_of_its_own"], &refused);
    is_timed_on_the_stream(&measured, "graph_of_its_own", 80_000.0, "the driver refuses it");
}

#[test]
fn a_capture_that_is_no_launch_is_refused() {
    let measured = measure(RECORDED, &["--quick", "captures_", "library_fails"], &[]);
    let failed = failed(&measured.run);
    let expected = [
        (
            "captures_a_launch_of_a_graph",
            "setup: the driver returned 900; the driver says: cuGraphLaunch returned 900",
        ),
        ("captures_and_drops", "setup: the library made 0 graphs instead of one"),
        ("captures_nothing", "setup: the library made 0 graphs instead of one"),
        ("captures_an_empty_graph", "launch (before the warm-up): no work on its stream"),
        ("captures_two_graphs", "setup: the library made 2 graphs instead of one"),
        ("library_fails", "setup: the library refuses"),
    ];
    assert_eq!(failed.len(), expected.len(), "{failed:?}");
    for ((case, why), (name, words)) in failed.iter().zip(expected) {
        assert!(case.contains(name) && why.starts_with(words), "{case}: {why}");
        assert!(!why.contains("as a child"), "gpubench does not capture this: {why}");
    }
}

/// The check gets the output of the checked launch, whose memory no sample keeps.
#[test]
fn an_output_that_a_launch_returns_is_checked() {
    let measured = measure(RECORDED, &["--quick", "returns_"], &[]);
    assert_eq!(failed(&measured.run), []);
    for record in &measured.run.records {
        let is_checked = record.case.benchmark.ends_with("returns_its_output");
        let expected = if is_checked { State::Valid } else { State::Suspect };
        assert_eq!(record.verdict.state, expected, "{:?}", record.verdict);
        let measurement = record.measurement.as_ref().expect("it was measured");
        let method = &measurement.samples.method;
        assert_eq!((method.path, method.kernel_count), (Path::Graph, Some(1)), "{:?}", method.path_reason);
        let memory = [measurement.setup_memory, measurement.launch.memory];
        assert_eq!(memory, [Some(Bytes::ZERO), Some(Bytes(4 << 12))], "the output alone");
        let written = measurement.launch.written.as_ref().expect("writes were looked at");
        assert_eq!(written.unseen_reason.as_deref(), is_checked.then_some("the launch allocates memory"));
    }
    // A sample ends before its output is freed. A row of launches has two events.
    let records = |replay: &&[Line]| replay.iter().filter(|line| line.what == "record").count();
    let logged = measure(RECORDED, &["--quick", "returns_its_output"], &[("LOG", "")]);
    let replays = replays(&logged.log);
    let samples = replays.iter().filter(|replay| records(replay) > 2).flat_map(|replay| replay.windows(4));
    let samples = samples.filter(|nodes| nodes[0].what == "record" && nodes[1].what == "allocation");
    let after: Vec<_> = samples.map(|nodes| &*nodes[3].what).collect();
    assert!(after.len() > 100 && after.iter().all(|what| *what == "record"), "{after:?}");
    let wrong = measure(RECORDED, &["--quick", "returns_its_output"], &[("KERNEL", "fill:nothing")]);
    let [(_, why)] = &failed(&wrong.run)[..] else { panic!("{}", wrong.ended) };
    assert!(why.starts_with("check: the first is "), "{why}");
}
