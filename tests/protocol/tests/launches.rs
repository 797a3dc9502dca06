//! Launches of more than a kernel: what they take is what all that they enqueue takes.

use gpubench_runtime::device::Path;
use gpubench_runtime::record::Measurement;
use protocol::fake::{Measured, failed, measure};

const LAUNCHES: &str = env!("CARGO_BIN_EXE_launches");

#[track_caller]
fn of<'a>(measured: &'a Measured, name: &str) -> &'a Measurement {
    let record = measured.run.records.iter().find(|record| record.name() == format!("launches::{name}"));
    record.and_then(|record| record.measurement.as_ref()).unwrap_or_else(|| panic!("{}", measured.ended))
}

#[test]
fn several_kernels_copies_and_graphs_are_timed_as_one_launch() {
    let measured = measure(LAUNCHES, &["--quick"], &[]);
    assert_eq!(failed(&measured.run), []);
    let time = |name: &str| of(&measured, name).time.median.0;
    let each = ["kernels[KERNELS=1]", "kernels[KERNELS=2]", "kernels[KERNELS=5]"].map(time);
    assert_eq!(each, [40_000.0, 80_000.0, 200_000.0]);
    assert!(time("copy_and_kernel") > 40_000.0, "{}", time("copy_and_kernel"));
    // Two kernels, and what the launch of a graph takes by itself: 2 µs on the fake.
    assert_eq!(time("graph_of_its_own"), 82_000.0);

    // A graph is not launched into a capture here: it is timed on the stream, and says so.
    let method = &of(&measured, "graph_of_its_own").method;
    assert_eq!(method.path, Path::Stream);
    assert!(method.path_reason.is_some());
    measured.ended.with_code(0).shows("h2d: 1 row over that link, whose peak is not known");
}
