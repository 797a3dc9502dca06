//! A device of a crate of its own, which knows nothing of gpubench but its public items: its suite measures, lists and refuses
//! as those of gpubench's devices do. `docs/contributing/device.md` shows the crate.

use end_to_end::running::{SettingsFile, measure, record, run, run_with};
use gpubench_records::device_info::Quantity;
use gpubench_records::method::{Flush, Method, Path};
use gpubench_records::verdict::State;

const SUITE: &str = env!("CARGO_BIN_EXE_own_device");

#[test]
fn its_launches_are_measured_checked_and_held_against_its_peak() {
    let (ended, run) = measure(SUITE, &["--quick", "--color", "never"]);
    let ended = ended.with_code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    ended.shows("coprocessor: a thread that computes checksums");
    ended.shows("  counter 25.0 MHz");
    ended.shows("peak DRAM bandwidth 4.00 GB/s (from the datasheet: 1 byte × 4 GHz)");
    ended.shows("coprocessor hot: timed by the device's own clock");
    let medians = ["4096", "65536"].map(|n| {
        let record = record(&run, &format!("device_of_ones_own::checksum[n={n}] hot"));
        let measured = record.measurement.as_ref().expect("it was measured");
        // On a machine with other work a thread is no steady device.
        assert!(record.verdict.state != State::Invalid && measured.checked, "{:?}: {ended}", record.verdict);
        assert_eq!(measured.samples.method, Method::new(Path::Device).with_flush(Flush::None));
        // Forty nanoseconds are a step of its counter, whichever of its steps were seen.
        let timer = &measured.samples.timer;
        assert!(timer.resolution.0 > 0.0 && timer.resolution.0 % 40.0 == 0.0, "{timer:?}");
        assert!(measured.samples.event_times.iter().all(|event| event.0 % 40.0 == 0.0), "{timer:?}");
        let share = measured.metrics.share(&Quantity::MemoryBandwidth).expect("the peak is known");
        assert!((0.01..1.0).contains(&share), "{share}: {ended}");
        measured.median().0
    });
    // Sixteen times the bytes.
    assert!((8.0..32.0).contains(&(medians[1] / medians[0])), "{medians:?}");
}

/// Without a cache each byte crosses the memory's bus.
#[test]
fn no_row_is_faster_than_its_memory() {
    let ended = run_with(
        SUITE,
        &["--quick", "--color", "never"],
        &[SettingsFile::peak("coprocessor", "memory=100MB/s").variable()],
    )
    .with_code(1);
    ended.shows("coprocessor: a thread that computes checksums");
    ended.shows_against(
        "device_of_ones_own::checksum[n=4096] hot",
        "invalid: impossible: at least 4 KiB of the declared bytes have to cross",
    );
}

#[test]
fn its_kind_is_listed_and_selected() {
    let ended = run(SUITE, &["--list", "--format", "json"]).with_code(0);
    insta::assert_snapshot!(ended.stdout, @r#"
    {"name":"device_of_ones_own::checksum[n=4096]","device":"coprocessor","caches":["hot"]}
    {"name":"device_of_ones_own::checksum[n=65536]","device":"coprocessor","caches":["hot"]}
    "#);
    run(SUITE, &["--device", "coprocessor", "--test"]).with_code(0).shows("2 passed; 0 failed");
    run(SUITE, &["--device", "host"]).with_code(5).says_only("--device takes `coprocessor`");
}

#[test]
fn what_it_cannot_do_is_told_in_the_row() {
    for (arguments, why) in [
        (&["--cache", "cold"][..], "this device cannot flush a cache, so that none of its samples is cold"),
        (&["--cache", "cold", "--flush", "read"], "--flush read: this device has `none`"),
        (&["--path", "graph"], "--path graph: this device times one launch at a time, and has no other path"),
        (
            &["--compare-with", "device_of_ones_own::checksum[n=65536]"],
            "this device cannot interleave two benchmarks",
        ),
    ] {
        let quick = ["--quick", "--color", "never", "n=4096"];
        let ended = run(SUITE, &[arguments, &quick].concat()).with_code(1);
        assert!(ended.stdout.contains(why), "no `{why}` in {ended}");
    }
}
