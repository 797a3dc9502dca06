//! Speeds that a device cannot have had, on a clock whose truth is known: a launch that is one reading too fast for what it
//! claims is invalid, one that is not is measured as ever.

use end_to_end::running::{Ended, SettingsFile, measure_with, record};
use gpubench_records::device_info::Quantity;
use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};
use gpubench_stats::units::Nanoseconds;

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");
const ODD: &str = env!("CARGO_BIN_EXE_odd_devices");

/// Measures `beat` on a clock with this peak.
#[track_caller]
fn limited(peak: &str) -> (Ended, Run) {
    let usual = ["s::beat", "--device", "clockwork", "--color", "never", "--quick", "--samples", "40"];
    measure_with(SUITE, &usual, &[SettingsFile::peak("clockwork", peak).variable()])
}

fn reasons<'a>(run: &'a Run, case: &str) -> &'a [Reason] {
    &record(run, &format!("two_devices::{case}")).verdict.reasons
}

/// Cold, `beat` reads 6400 bytes and writes 3200, which the cache may keep. The pair around it reads 8512 ns, so that it took
/// less than 8544.
#[test]
fn what_is_read_cold_must_cross_the_memory() {
    let (ended, run) = limited("memory=0.749GB/s");
    _ = ended.with_code(1);
    let [Reason::ImpossibleSpeed(speed)] = reasons(&run, "beat cold") else { panic!("{:?}", run.records) };
    assert_eq!((&speed.quantity, speed.work, speed.peak.0), (&Quantity::MemoryBandwidth, 6_400, 0.749e9));
    assert_eq!(speed.time, Nanoseconds(8_000.0), "the time of the row");
    assert!((speed.least_time.0 - 6_400.0 / 0.749).abs() < 1e-6, "{speed:?}");
    // Hot, all of it fits the cache.
    assert_eq!(reasons(&run, "beat hot"), []);

    // The time, less the overhead, is still too short for it: 8000 ns, where it takes 8533.
    let (ended, run) = limited("memory=0.75GB/s");
    _ = ended.with_code(0);
    assert!(run.records.iter().all(|record| record.verdict.state == State::Valid), "{:?}", run.records);
}

/// 1600 operations, hot in less than 3744 ns.
#[test]
fn what_is_computed_takes_its_time() {
    let cold_over_hot = |run: &Run| {
        let cold = record(run, "two_devices::beat cold").measurement.as_ref().expect("it was measured");
        cold.metrics.cold_over_hot
    };
    let (ended, run) = limited("f32=0.427GFLOP/s");
    let ended = ended.with_code(1);
    ended.shows("peak FP32 0.43 GFLOP/s (given: gpubench.toml)");
    ended.shows_against(
        "two_devices::beat hot",
        "invalid: impossible: 1.60 kFLOP take 3.747 µs at the FP32 peak of 0.43 GFLOP/s, but the launch took 3.200 µs, too little even with the timer's errors: \
         did all of it run, in this data type, and is the count right? Is the peak right (--measure-peaks, or `peaks` in gpubench.toml)?",
    );
    assert!(matches!(reasons(&run, "beat hot"), [Reason::ImpossibleSpeed(_)]), "{:?}", run.records);
    assert_eq!(reasons(&run, "beat cold"), []);
    // Nothing is compared with a time that cannot be.
    assert_eq!(cold_over_hot(&run), None);

    let (ended, run) = limited("f32=0.428GFLOP/s");
    _ = ended.with_code(0);
    assert!(run.records.iter().all(|record| record.verdict.state == State::Valid), "{:?}", run.records);
    assert_eq!(cold_over_hot(&run), Some(2.5));
}

/// It claims a MiB in a nanosecond: ten times what the device says that it has measured of its memory is a limit too.
#[test]
fn a_launch_that_takes_no_time_is_impossible_where_a_limit_is_known() {
    let usual = ["on_hasty", "--device", "hasty", "--color", "never", "--quick", "--samples", "40"];
    for (settings, measured) in
        [(SettingsFile::peak("hasty", "memory=1TB/s"), false), (SettingsFile::new(""), true)]
    {
        let (ended, run) = measure_with(ODD, &usual, &[settings.variable()]);
        for (bytes, name) in [(1_u64 << 20, "1048576"), (1_000_000_000_000, "1000000000000")] {
            let record = record(&run, &format!("odd_devices::on_hasty[bytes={name}] hot"));
            let [Reason::ImpossibleSpeed(speed), Reason::BelowResolution { .. }] =
                &record.verdict.reasons[..]
            else {
                panic!("{:?}", record.verdict)
            };
            // Twice the cache may have been there: as much of what is read as of what is written.
            assert_eq!((speed.work, speed.measured), (bytes - 2 * (32 << 10), measured));
        }
        let ended = ended.with_code(1);
        if measured {
            ended.shows(
                "at least 960 KiB of the declared bytes have to cross the memory's bus, which takes 81.92 µs at its measured peak \
                 of 12.0 GB/s (8.192 µs if the true peak is ten times as high), but the launch took 0.000 ns, too little even with the timer's errors: did the kernel run",
            );
        }
    }
}

/// The number is shown, and nobody reads it without its mark.
#[test]
fn the_table_shows_what_is_impossible() {
    let (ended, _) = limited("memory=0.5GB/s");
    let (table, _) = ended.stdout.rsplit_once(", in ").expect("the wall time");
    insta::assert_snapshot!(table, @"
    clockwork: a clock with known hands
      2 hands · cache 32 KiB

    two_devices        time   ± % spread     GB/s % of peak           GFLOP/s cold/hot samples
      beat  hot    3.200 µs  1.00 ···█···    3.00  cache                 0.50               40
    ! beat  cold   8.000 µs  0.40 ···█···    1.20 240    DRAM            0.20    2.50×      40 [1]
        [1] invalid: impossible: at least 6.2 KiB of the declared bytes have to cross the memory's bus, which takes 12.80 µs at its peak of 0.50 GB/s, but the launch took 8.000 µs, too little even with the timer's errors: did the kernel run, and is the count right? Is the peak right (--measure-peaks, or `peaks` in gpubench.toml)?

    ± %: half of the 95 % interval of the median, with the timer's random errors; spread: a histogram of the samples: in the middle within 0.2 % of the median, outwards within 1 %, 5 %, and more
    cache in place of a % of peak: the cache served the data, faster than memory can

    peak DRAM bandwidth 0.50 GB/s (given: gpubench.toml; measured: 12.0 GB/s, copy on this test device)

    clockwork hot: timed by the device's own clock
    clockwork cold: timed by the device's own clock, flushed by `read`

    2 results: 1 valid, 0 suspect, 1 invalid
    ");
}
