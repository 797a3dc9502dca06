//! The numbers of a run on a clock whose truth is known: what is printed and stored must be exactly that.

use end_to_end::clockwork::{BANDWIDTH, FLOOR, FLUSH, STEP};
use end_to_end::running::{Ended, measure, record, run};
use gpubench_records::device_info::Quantity;
use gpubench_records::method::{Cache, Flush};
use gpubench_records::record::{Measurement, Run};
use gpubench_records::verdict::{Reason, State};

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");

#[track_caller]
fn measured(arguments: &[&str]) -> (Ended, Run) {
    let (ended, run) = measure(SUITE, &[&["--device", "clockwork", "--color", "never"], arguments].concat());
    let ended = ended.with_code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    (ended, run)
}

#[track_caller]
fn measurement<'a>(run: &'a Run, case: &str) -> &'a Measurement {
    record(run, &format!("two_devices::{case}")).measurement.as_ref().expect("it was measured")
}

/// Returns true if two rates are the same but for rounding.
fn same(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-12
}

#[test]
fn a_steady_launch_is_measured_exactly() {
    let (_, run) = measured(&["s::beat"]);
    for (cache, flush, launch, gigabytes) in
        [("hot", Flush::None, 3_200, 3.0), ("cold", Flush::Read, 8_000, 1.2)]
    {
        let beat = measurement(&run, &format!("beat {cache}"));
        assert_eq!(beat.median().0, f64::from(launch));
        assert_eq!(
            (beat.samples.time.min, beat.samples.time.max, beat.samples.time.cv),
            (beat.median(), beat.median(), 0.0)
        );
        // What was read is kept, with the overhead still in it.
        let event = f64::from(launch) + FLOOR as f64;
        assert!(
            beat.samples.event_times.iter().all(|sample| sample.0 == event),
            "{:?}",
            beat.samples.event_times
        );
        assert_eq!(
            (beat.samples.timer.resolution.0, beat.samples.timer.overhead.0),
            (STEP as f64, FLOOR as f64)
        );
        assert_eq!(beat.samples.method.flush, flush);
        assert!(beat.samples.converged && !beat.checked);
        assert_eq!(
            (beat.counts.reads, beat.counts.writes, beat.counts.bytes),
            (Some(6_400), Some(3_200), Some(9_600))
        );

        let metrics = &beat.metrics;
        assert!(same(metrics.bandwidth.expect("bytes are given").0, gigabytes * 1e9), "{metrics:?}");
        assert!(
            same(metrics.read_bandwidth.expect("reads are given").0, 6_400e9 / f64::from(launch)),
            "{metrics:?}"
        );
        assert!(
            same(metrics.write_bandwidth.expect("writes are given").0, 3_200e9 / f64::from(launch)),
            "{metrics:?}"
        );
        assert!(
            same(metrics.throughput.expect("flops are given").0, 1_600e9 / f64::from(launch)),
            "{metrics:?}"
        );
        let share = metrics.share(&Quantity::MemoryBandwidth).expect("the peak is known");
        assert!(same(share, gigabytes * 1e9 / BANDWIDTH), "{metrics:?}");
    }
    assert_eq!(measurement(&run, "beat hot").metrics.cold_over_hot, None);
    assert_eq!(measurement(&run, "beat cold").metrics.cold_over_hot, Some(2.5));
}

/// Without its reset before each sample, and outside the pair of events, it would read 320 ns, or 67 µs.
#[test]
fn a_reset_goes_before_each_sample_and_is_not_timed() {
    let (_, run) = measured(&["sorts", "--quick"]);
    for case in ["sorts hot", "sorts cold"] {
        let sorts = measurement(&run, case);
        assert_eq!((sorts.samples.time.min.0, sorts.samples.time.max.0), (3_200.0, 3_200.0), "{case}");
    }
}

/// Counts, the checked launch, its check and the first launch of each round of a comparison have inputs that are reset.
#[test]
fn a_reset_goes_before_the_checked_launch() {
    let case = "needs_its_reset hot";
    let (ended, run) = measured(&["needs_its_reset", "--quick"]);
    _ = ended.with_code(0);
    assert_eq!((measurement(&run, case).checked, measurement(&run, case).counts.items), (true, Some(3)));
    let (ended, run) = measured(&["needs_its_reset", "--quick", "--compare-with", "two_devices::sorts"]);
    _ = ended.with_code(0);
    assert!(measurement(&run, case).checked);

    let on_the_host = ["needs_its_reset_on_the_host", "--device", "host"];
    let (ended, run) = measure(SUITE, &[&on_the_host[..], &["--quick"]].concat());
    _ = ended.with_code(0);
    let record = record(&run, "two_devices::needs_its_reset_on_the_host hot");
    assert!(record.measurement.as_ref().is_some_and(|measured| measured.checked), "{record:?}");

    for device in ["host", "clockwork"] {
        let ended = self::run(SUITE, &["needs_its_reset", "--test", "--device", device]).with_code(0);
        ended.shows("1 passed; 0 failed");
    }
}

#[test]
fn the_table_shows_them() {
    let (ended, _) =
        measured(&["beat", "hair", "tick_tock", "--skip", "haste", "--quick", "--samples", "40"]);
    // The wall time is the only thing that changes.
    let (table, _) = ended.stdout.rsplit_once(", in ").expect("the wall time");
    insta::assert_snapshot!(table, @"
    clockwork: a clock with known hands
      2 hands · cache 32 KiB

    two_devices                    time   ± % spread     GB/s % of peak           GFLOP/s cold/hot samples
      beat              hot    3.200 µs  1.00 ···█···    3.00  25.0  DRAM            0.50               40
      beat              cold   8.000 µs  0.40 ···█···    1.20  10.0  DRAM            0.20    2.50×      40
    ? hair              hot    0.000 ns     ?                                                           40 [1]
        [1] suspect: below resolution: the time is below one step of the timer, 32.00 ns: do more work per launch
    ? tick_tock         hot    4.800 µs 33.33 ▄·····▄    1.33  11.1  DRAM                               40 [2][3]
        [2] suspect: wide interval: the interval of the median is ± 33.3 %, wider than ± 5.00 %, the limit of a valid result: take more samples, or do more work per launch
        [3] suspect: two modes: 50.0 % of the samples are near 3.200 µs, 50.0 % near 6.400 µs: the median jumps if these shares change: look for what alternates (clocks, other programs, alignment, a branch in the launch)

    two_devices::inner             time   ± % spread  samples
      beat[size=one]    hot    1.920 µs  1.67 ···█···      40
      beat[size=three]  hot    3.200 µs  1.00 ···█···      40

    ± %: half of the 95 % interval of the median, with the timer's random errors; spread: a histogram of the samples: in the middle within 0.2 % of the median, outwards within 1 %, 5 %, and more
    `?` in place of a number: unknown, or ± 100 % or more

    peak DRAM bandwidth 12.0 GB/s (measured: copy on this test device)

    clockwork hot: timed by the device's own clock
    clockwork cold: timed by the device's own clock, flushed by `read`

    6 results: 4 valid, 2 suspect, 0 invalid
    ");
}

/// Two readings can hide up to a step: more than that the time may not be off.
#[test]
fn between_two_steps_the_time_is_off_by_less_than_one() {
    let (_, run) = measured(&["between_steps"]);
    let time = &measurement(&run, "between_steps hot").samples.time;
    assert!((time.median.0 - 3_000.0).abs() < STEP as f64, "{time:?}");
    assert!(time.median_ci.low.0 <= 3_000.0 && 3_000.0 <= time.median_ci.high.0, "{time:?}");
    // The mean averages the steps out.
    assert!((time.mean.0 - 3_000.0).abs() < 3.0, "{time:?}");
}

#[test]
fn less_than_a_step_is_no_time_and_has_no_rates() {
    let (ended, run) = measured(&["hair"]);
    let case = record(&run, "two_devices::hair hot");
    assert_eq!(case.verdict.state, State::Suspect);
    let step = case.verdict.reasons.iter().find_map(|reason| match reason {
        Reason::BelowResolution { resolution } => Some(resolution.0),
        _ => None,
    });
    assert_eq!(step, Some(STEP as f64));
    assert_eq!(measurement(&run, "hair hot").metrics, Default::default());
    ended.shows_against(
        "two_devices::hair hot",
        "suspect: below resolution: the time is below one step of the timer, 32.00 ns: do more work per launch",
    );
}

#[test]
fn what_does_not_converge_says_so_and_how_far_it_came() {
    let (ended, run) = measured(&["tick_tock", "--skip", "haste", "--max-time", "0.1"]);
    let case = record(&run, "two_devices::tick_tock hot");
    assert_eq!(case.verdict.state, State::Suspect);
    let [Reason::NotConverged { reached, requested: wanted }, Reason::TwoModes(modes)] =
        case.verdict.reasons[..]
    else {
        panic!("{:?}", case.verdict)
    };
    assert!(same(reached, 1.0 / 3.0) && wanted == 0.005, "{:?}", case.verdict);
    assert_eq!((modes.low.0, modes.high.0, modes.high_fraction), (3_200.0, 6_400.0, 0.5));
    let measured = measurement(&run, "tick_tock hot");
    assert!(!measured.samples.converged && measured.median().0 == 4_800.0);
    // All samples are kept, none of them dropped as an outlier.
    assert_eq!((measured.samples.time.min.0, measured.samples.time.max.0), (3_200.0, 6_400.0));
    ended.shows_against(
        "two_devices::tick_tock hot",
        "suspect: not converged: the interval of the median is ± 33.3 %, wider than the target of ± 0.50 %: raise --max-time (which overrides",
    );
}

#[test]
fn the_precision_asked_for_decides() {
    let (_, run) = measured(&["tick_tock", "--skip", "haste", "--precision", "34%"]);
    let two_modes = |run: &Run| record(run, "two_devices::tick_tock hot").verdict.reasons.len();
    assert!(measurement(&run, "tick_tock hot").samples.converged && two_modes(&run) == 1);
    assert_eq!(run.sampling.precision, 0.34);
    let (_, run) = measured(&["tick_tock", "--skip", "haste", "--precision", "33%", "--max-time", "0.1"]);
    assert!(!measurement(&run, "tick_tock hot").samples.converged && two_modes(&run) == 2);
}

#[test]
fn exactly_as_many_samples_as_asked_for() {
    for (samples, arguments) in [(50, &["--samples", "50"] as &[&str]), (1, &["--samples", "1", "--quick"])] {
        let (_, run) = measured(&[&["beat", "tick_tock"], arguments].concat());
        assert_eq!(run.records.len(), 6);
        for record in &run.records {
            let measured = record.measurement.as_ref().expect("it was measured");
            assert_eq!(
                (measured.samples.event_times.len(), measured.samples.time.samples),
                (samples, samples),
                "{}",
                record.case.name()
            );
            // It is what was asked for, and no valid row without an interval, or with one of ± 33 %.
            let two_modes = samples > 1 && record.case.benchmark.contains("tick_tock");
            match &record.verdict.reasons[..] {
                [Reason::TooFewSamples { samples: 1, needed: 6, .. }] => assert_eq!(samples, 1),
                [Reason::WideInterval { reached, limit }, Reason::TwoModes(_)] => {
                    assert!(
                        two_modes && same(*reached, 1.0 / 3.0) && *limit == 0.05,
                        "{}",
                        record.case.name()
                    );
                }
                reasons => {
                    assert!(
                        reasons.is_empty() && !two_modes && samples > 1,
                        "{}: {reasons:?}",
                        record.case.name()
                    );
                }
            }
        }
    }
    let (ended, _) = measured(&["s::beat", "tick_tock", "--skip", "haste", "--samples", "5"]);
    for case in ["beat hot", "beat cold", "tick_tock hot"] {
        ended.shows_against(case, "suspect: too few samples: 5, where a 95 % interval of the median needs 6");
    }
    ended.shows("[1] applies to 3 results");
    ended.shows("3 results: 0 valid, 3 suspect, 0 invalid");
    let (ended, _) = measured(&["s::beat", "tick_tock", "--skip", "haste", "--samples", "12"]);
    ended.shows_against(
        "tick_tock hot",
        "suspect: wide interval: the interval of the median is ± 33.3 %, wider than ± 5.00 %",
    );
    ended.shows("3 results: 2 valid, 1 suspect, 0 invalid");
    // More than a group or the usual limit holds.
    let (_, run) = measured(&["s::beat", "--cache", "hot", "--samples", "70000"]);
    assert_eq!(measurement(&run, "beat hot").samples.event_times.len(), 70_000);
}

/// Groups take at most about 10 ms, so that a budget is overdrawn by no more.
#[test]
fn budgets_are_in_device_time() {
    let group = 12e6;
    let within = |elapsed: f64, budget: f64| (budget..budget + group).contains(&elapsed);
    // After 0.1 s, hopeless samples end.
    let (_, run) = measured(&["tick_tock", "--skip", "haste", "--max-time", "0.09", "--quick"]);
    let elapsed = measurement(&run, "tick_tock hot").samples.device_time.0;
    // The checked launch and those on fresh inputs, of 0.1 ms or so each, and the rest of the warm-up count too.
    assert!(within(elapsed + 2e6, 0.09e9), "{elapsed}");
    let (_, run) = measured(&["s::beat", "--min-time", "0.15", "--quick"]);
    for cache in [Cache::Hot, Cache::Cold] {
        let beat = measurement(&run, &format!("beat {cache}"));
        assert!(
            within(beat.samples.device_time.0 + 4e6, 0.15e9) && beat.samples.converged,
            "{}",
            beat.samples.device_time.0
        );
        // A flush takes its part of the budget.
        let flush = if cache == Cache::Cold { FLUSH as f64 } else { 0.0 };
        let sampled = beat.samples.event_times.iter().map(|sample| sample.0 + flush).sum::<f64>();
        assert!(
            (beat.samples.device_time.0 - sampled).abs() < STEP as f64 * beat.samples.groups as f64,
            "{} {sampled}",
            beat.samples.device_time.0
        );
    }
}

/// There are only so many samples that are kept, which must not be compared with those that there are.
#[test]
fn a_least_time_is_no_reservation() {
    let (_, run) = measured(&["s::beat", "--cache", "hot", "--min-time", "0.3"]);
    let beat = record(&run, "two_devices::beat hot");
    assert_eq!(beat.verdict.state, State::Valid, "{:?}", beat.verdict);
}

#[test]
fn a_benchmarks_own_budget_holds_unless_the_user_gives_one() {
    let (ended, run) = measured(&["in_haste"]);
    let usual = measurement(&run, "tick_tock_in_haste hot").samples.device_time.0;
    assert!((5e5..12e6).contains(&usual), "{usual}");
    ended.shows("than the target of ± 0.50 %: raise --max-time (which overrides the attribute's `max_time`)");
    // It never comes to the precision that is asked for, and would be given up before that.
    let (_, run) = measured(&["in_haste", "--max-time", "0.5", "--min-time", "0.5"]);
    let asked = measurement(&run, "tick_tock_in_haste hot").samples.device_time.0;
    // So fast a case has as many samples as are kept before that.
    let kept = measurement(&run, "tick_tock_in_haste hot").samples.event_times.len() == 1 << 16;
    assert!(asked >= 0.5e9 || kept, "--max-time 0.5 gave {asked} ns, nothing gave {usual} ns");
}

/// It wakes up after 200 ms: warmed up for longer it is fast from the first sample on.
#[test]
fn a_warm_up_takes_the_time_it_is_given() {
    let (_, run) = measured(&["wakes_up", "--warmup", "300ms"]);
    let awake = measurement(&run, "wakes_up hot");
    assert_eq!((awake.median().0, awake.samples.time.max.0), (3_200.0, 3_200.0));
    assert!(
        awake.samples.warm_up.steady && awake.samples.warm_up.elapsed.0 >= 0.3e9,
        "{:?}",
        awake.samples.warm_up
    );
    let (_, run) = measured(&["wakes_up", "--quick"]);
    let asleep = measurement(&run, "wakes_up hot");
    assert_eq!(asleep.median().0, 6_400.0);
    assert!((0.002e9..0.025e9).contains(&asleep.samples.warm_up.elapsed.0), "{:?}", asleep.samples.warm_up);
}
