//! Two launches that are compared on a GPU: their order in the slots of a graph, the addresses of their inputs, and the answer under noise.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gpubench_records::comparison::{Answer, Comparison};
use gpubench_records::method::Path;
use gpubench_records::record::Run;
use protocol::fake::{Measured, failed, measure};
use protocol::log::{Line, replays};

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");
const CAPTURES: &str = env!("CARGO_BIN_EXE_captures");
const LASTING: &str = env!("CARGO_BIN_EXE_lasting");

/// Returns true for an event or a stamp.
fn is_clock(line: &Line) -> bool {
    line.what == "record" || line.is("kernel", "gpubench_stamp")
}

/// The kernels that are timed, in the order they ran: those between two stamps. A copy is `A`, and what it is compared with `B`.
fn order(replay: &[Line]) -> String {
    let timed = replay.windows(3).filter(|lines| is_clock(&lines[0]) && is_clock(&lines[2]));
    let kernels = timed.map(|lines| &lines[1]).filter(|line| line.what == "kernel");
    kernels
        .filter_map(|line| {
            if line.is("kernel", "copy") { Some('A') } else { line.is("kernel", "rmw").then_some('B') }
        })
        .collect()
}

/// Sixteen rounds of 64 pairs.
fn compared(cache: &str) -> Measured {
    let arguments = ["cuda::copy", "--arg", "n=262144", "--cache", cache, "--compare-with", "cuda::rmw"];
    let how = ["--samples", "1024", "--warmup", "1ms"];
    let measured = measure(KERNELS, &[&arguments[..], &how].concat(), &[("LOG", "")]);
    assert_eq!(failed(&measured.run), []);
    measured
}

static COLD: LazyLock<Measured> = LazyLock::new(|| compared("cold"));

#[test]
fn launches_are_interleaved_within_graphs_and_swap_slots_between_them() {
    let measured = &*COLD;
    let orders: Vec<String> = replays(&measured.log).into_iter().map(order).collect();
    let whole: Vec<&String> = orders.iter().filter(|order| order.len() == 64).collect();
    // Those of the first round come behind the warm-up's.
    let of_rounds = &whole[whole.len() - 30..];
    let mirrored =
        |order: &str| -> String { order.chars().map(|whose| if whose == 'A' { 'B' } else { 'A' }).collect() };
    for (round, graphs) in (1..).zip(of_rounds.chunks(2)) {
        // In the second round of a pair the other one goes first.
        let first = if round % 2 == 0 { graphs[0].clone() } else { mirrored(graphs[0]) };
        assert!(first.starts_with("ABBABAABBAABABBA"), "{round}: {first}");
        // What was A is B in the graph that follows.
        assert_eq!(*graphs[1], mirrored(graphs[0]));
    }
    let streams: BTreeSet<_> = replays(&measured.log)
        .concat()
        .into_iter()
        .filter(|line| line.is("kernel", "copy") || line.is("kernel", "rmw"))
        .map(|line| line.stream)
        .collect();
    assert_eq!(streams.len(), 1, "{streams:?}");
}

/// The times of each are those of its own launches: a copy and an update in place are far apart on the fake.
#[test]
fn the_times_of_each_are_its_own() {
    let measured = &*COLD;
    let record = &measured.run.records[0];
    let other = &record.compared.as_ref().expect("it was compared").measurement;
    let own = record.measurement.as_ref().expect("it was measured");
    for (name, found) in [("copy", own), ("rmw", other)] {
        let alone = measure(
            KERNELS,
            &[&format!("cuda::{name}"), "--arg", "n=262144", "--cache", "cold", "--quick"],
            &[],
        );
        let alone = alone.run.records[0].measurement.clone().expect("it was measured");
        let apart = (alone.median().0 - found.median().0).abs();
        assert!(apart <= 32.0, "{name}: {:?} in turn, {:?} alone", found.samples.time, alone.samples.time);
        assert_eq!(found.samples.event_times.len(), 1024);
    }
}

/// The launch before a hot sample is of its own.
#[test]
fn hot_samples_follow_a_launch_of_their_own() {
    let measured = compared("hot");
    let mut samples = 0;
    for replay in replays(&measured.log) {
        for lines in replay.windows(5).filter(|lines| is_clock(&lines[2]) && is_clock(&lines[4])) {
            if lines[1].is("kernel", "gpubench_delay") && !lines[3].words[0].starts_with("gpubench_") {
                assert_eq!(lines[0].words[0], lines[3].words[0]);
                samples += 1;
            }
        }
    }
    assert!(samples >= 1024, "{samples}");
}

/// The second kernel of one of them waits in a graph that was not copied to the device, which is no part of the launch.
#[test]
fn back_to_back_kernels_do_not_wait_for_their_graph_with_another_launch() {
    let time = |set: &[(&str, &str)]| {
        let arguments = ["sets_memory", "--compare-with", "launches_two_kernels", "--quick"];
        let measured = measure(CAPTURES, &arguments, set);
        let other = measured.run.records[0].compared.as_ref().expect("it was compared");
        assert_eq!(other.measurement.samples.method.path, Path::Graph);
        other.measurement.median().0
    };
    let (usual, waits) = (time(&[]), time(&[("UNCOPIED", "370")]));
    assert!((waits - usual).abs() < 32.0, "{usual} {waits}");
}

#[test]
fn rounds_have_different_addresses() {
    let measured = &*COLD;
    let addresses: BTreeSet<u64> = measured
        .log
        .iter()
        .filter(|line| line.is("kernel", "copy"))
        .map(|line| line.memory("read").expect("a copy reads").start)
        .collect();
    // Sixteen rounds, of which two each share the allocations before them, and swap their buffers; and the inputs after the samples.
    assert_eq!(addresses.len(), 17, "{addresses:?}");
}

#[test]
fn where_one_cannot_be_on_a_graph_neither_is() {
    let measured = measure(CAPTURES, &["calls_the_host", "--compare-with", "sets_memory", "--quick"], &[]);
    let record = &measured.run.records[0];
    let other = &record.compared.as_ref().expect("it was compared").measurement.samples.method;
    let own = &record.measurement.as_ref().expect("it was measured").samples.method;
    assert_eq!((own.path, other.path), (Path::Stream, Path::Stream));
    assert_eq!(own.path_reason.as_deref(), Some("the launch calls a function on the host"));
    assert_eq!(
        other.path_reason.as_deref(),
        Some("the benchmark of --compare-with needs it: the launch calls a function on the host")
    );
    let refused =
        measure(CAPTURES, &["calls_the_host", "--compare-with", "sets_memory", "--path", "graph"], &[]);
    let [(_, why)] = &failed(&refused.run)[..] else { panic!("{:?}", refused.run.records) };
    assert!(why.contains("--path graph cannot be had"), "{why}");
}

fn comparison(run: &Run) -> &Comparison {
    &run.records[0].compared.as_ref().expect("it was compared").comparison
}

/// 100 µs against 98, 100 and 102, cold, under 2 % of noise.
#[test]
fn answers_are_right_under_noise() {
    for (ns, answer) in [("98000", Answer::Slower), ("100000", Answer::Same), ("102000", Answer::Faster)] {
        let with = format!("reads[ns={ns}]");
        let arguments = ["reads", "--arg", "ns=100000", "--arg", "bytes=4096", "--compare-with", &with];
        let arguments = [&arguments[..], &["--cache", "cold", "--warmup", "10ms"]].concat();
        let measured = measure(LASTING, &arguments, &[("NOISE", "0.02")]);
        let comparison = comparison(&measured.run);
        assert_eq!(comparison.answer, answer, "{ns}: {comparison:?}");
        let ratio = comparison.ratio.expect("there are rounds");
        let truth = 100_000.0 / ns.parse::<f64>().expect("a number");
        assert!(ratio.low < truth && truth < ratio.high, "{ns}: {ratio:?}");
    }
}

/// Times from different paths or flushes are not compared.
#[test]
fn another_path_or_flush_than_the_baselines_is_not_comparable() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("then.json");
    let file = file.to_str().expect("UTF-8");
    let case = ["reads", "--arg", "ns=2000", "--arg", "bytes=4096", "--cache", "cold", "--quick"];
    let against = |arguments: &[&str]| {
        let arguments = [&case[..], &["--baseline", file], arguments].concat();
        measure(LASTING, &arguments, &[]).ended.with_code(0)
    };
    _ = measure(LASTING, &[&case[..], &["--save-baseline", file]].concat(), &[]).ended.with_code(0);
    against(&[]).shows("+0.00 %");
    against(&["--path", "stream"]).shows("not comparable: path stream, was graph");
    against(&["--flush", "read"]).shows("not comparable: flush read, was discard");
}
