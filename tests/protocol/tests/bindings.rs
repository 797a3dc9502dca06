//! Launch functions of several bindings in one suite: all are timed and watched alike, and mistakes with them are told.

use gpubench_records::method::Path;
use gpubench_records::record::Record;
use gpubench_records::verdict::State;
use gpubench_stats::units::Bytes;
use protocol::fake::{Measured, failed, measure};

const BINDINGS: &str = env!("CARGO_BIN_EXE_bindings");
const MISTAKES: &str = env!("CARGO_BIN_EXE_cudarc_mistakes");

#[track_caller]
fn record<'a>(measured: &'a Measured, name: &str) -> &'a Record {
    let record = measured.run.records.iter().find(|record| record.case.name() == name);
    record.unwrap_or_else(|| panic!("no {name} in {}", measured.ended))
}

/// cust, cudarc and C launch the same kernel of the same PTX with the same grid.
#[test]
fn every_binding_is_watched_alike() {
    let n = "n=16384,262144";
    let measured = measure(
        BINDINGS,
        &["--quick", "::saxpy", "--skip", "sources", "--arg", n, "--device", "cuda:0"],
        &[],
    );
    measured.ended.shows("12 results: 12 valid, 0 suspect, 0 invalid");
    for n in [16_384, 262_144] {
        let seen = ["gpubench_kernels::cuda", "kernels_with_c", "kernels_with_cudarc"].map(|module| {
            let record = record(&measured, &format!("{module}::saxpy[n={n}]"));
            let measurement = record.measurement.as_ref().expect("it was measured");
            let written = measurement.launch.written.as_ref().expect("writes were looked at");
            assert_eq!((written.changed, written.unseen_reason.as_deref()), (Bytes(4 * n), None), "{module}");
            (measurement.launch.kernels.clone(), measurement.samples.method.clone(), measurement.counts)
        });
        assert_eq!(seen[0].0[0].name.as_deref(), Some("saxpy"));
        assert!(seen.iter().all(|other| *other == seen[0]), "{seen:?}");
    }
}

/// A suite on two devices by four kinds of streams.
#[test]
fn bindings_and_the_cpu_go_together() {
    let filters = ["--quick", "saxpy", "--skip", "sources", "--arg", "n=16384"];
    let measured = measure(BINDINGS, &[&filters[..], &["--device", "0,host"]].concat(), &[]);
    let devices = |device: &str| measured.run.records.iter().filter(|record| record.device == device).count();
    assert_eq!((devices("cuda:0"), devices("host")), (6, 2), "{}", measured.ended);
    assert!(
        measured.run.records.iter().all(|record| record.verdict.state != State::Invalid),
        "{}",
        measured.ended
    );
}

#[test]
fn what_goes_wrong_with_cudarc_is_told() {
    let measured = measure(
        MISTAKES,
        &["--quick", "--device", "0", "--color", "never", "--skip", "wrong"],
        &[("GPUS", "2")],
    );
    let failed = failed(&measured.run);
    let [(other, left)] = &failed[..] else { panic!("{failed:?} of {}", measured.ended) };
    assert_eq!(other, "cudarc_mistakes::uses_the_other_gpu hot");
    assert!(left.contains("left a context of GPU 1 current"), "{left}");
    // It is measured on the stream, and says what to call.
    let tracked =
        record(&measured, "cudarc_mistakes::tracks_events").measurement.as_ref().expect("it was measured");
    assert_eq!(tracked.samples.method.path, Path::Stream);
    let why = tracked.samples.method.path_reason.as_deref().unwrap_or_default();
    assert!(why.contains("905 (CUDA_ERROR_STREAM_CAPTURE_ISOLATION)"), "{why}");
    assert!(why.contains("`disable_event_tracking` was called on the context before it allocated"), "{why}");
    assert_eq!(record(&measured, "cudarc_mistakes::right").verdict.state, State::Valid, "{}", measured.ended);
}

#[test]
fn wrong_arguments_are_told_as_a_gpu_tells_them() {
    let measured = measure(MISTAKES, &["--quick", "--device", "0", "--color", "never", "::wrong"], &[]);
    let failed = failed(&measured.run);
    let reason = |argument: &str| {
        let name = format!("cudarc_mistakes::wrong[argument={argument}] hot");
        let found = failed.iter().find(|(failed, _)| *failed == name);
        found.map(|(_, reason)| reason.as_str()).unwrap_or_else(|| panic!("{name}: {failed:?}"))
    };
    for argument in ["pointer", "address", "count", "table"] {
        let says = "700 (CUDA_ERROR_ILLEGAL_ADDRESS): an illegal memory access was encountered in a kernel of \
            `cudarc_mistakes::wrong`: to find the place, run `compute-sanitizer ";
        assert!(reason(argument).contains(says), "{}", measured.ended);
    }
    assert!(
        reason("none").contains("cuLaunchKernel returned 1 (CUDA_ERROR_INVALID_VALUE)"),
        "{}",
        measured.ended
    );
    assert!(!measured.ended.stderr.contains("panicked"), "{}", measured.ended);
}
